#include "deploy/times.h"

#include <math.h>

void times_add(times *t, int64_t ns)
{
    double us = 1e-3 * (double)ns;
    int bin = us > 1 ? (int)(8 * log2(us)) : 0;
    t->bin[bin < TIMES_BINS ? bin : TIMES_BINS - 1]++;
    t->n++;
    if (us > t->max_us) t->max_us = us;
}

double times_quantile(const times *t, double share)
{
    int64_t below = 0;
    for (int i = 0; i < TIMES_BINS; i++) {
        below += t->bin[i];
        if (t->n && (double)below >= share * (double)t->n) return fmin(t->max_us, exp2((i + 1) / 8.0));
    }
    return 0;
}
