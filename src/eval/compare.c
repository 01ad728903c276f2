#include "eval/compare.h"

#include <math.h>
#include <string.h>

int compare_base(const method *methods, int n)
{
    for (int m = 0; m < n; m++)
        if (methods[m].tracker && !methods[m].planner) return m;
    return -1;
}

double compare_rate(const evaluation *e, int base, int m, const course *courses, const char *category)
{
    double sum = 0;
    int n = 0;
    for (int i = 0; i < e->ncourses; i++) {
        if (category && strcmp(category, courses[i].category)) continue;
        sum += outcome_of(e, m, i)->result.figures.cr - outcome_of(e, base, i)->result.figures.cr;
        n++;
    }
    return n ? sum / n : (double)NAN;
}

identity compare_identity(const evaluation *e, int base, int m)
{
    identity out = {0, (double)NAN};
    double with = 0, alone = 0;
    for (int i = 0; i < e->ncourses; i++) {
        const figures *f = &outcome_of(e, base, i)->result.figures;
        if (f->cr < 1 - 1e-9) continue;
        alone += f->joint_rad;
        with += outcome_of(e, m, i)->result.figures.joint_rad;
        out.n++;
    }
    if (alone > 0) out.ratio = with / alone;
    return out;
}
