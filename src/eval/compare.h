/* A method with a planner beside the tracker alone: what the planner gains and costs on the same courses. */
#ifndef HRC_EVAL_COMPARE_H
#define HRC_EVAL_COMPARE_H

#include "eval/evaluate.h"

/* The first method that has a tracker and no planner; -1: none. */
int compare_base(const method *methods, int n);

/* Of method m less that of `base`, over the courses of a category; NULL: of all. */
double compare_rate(const evaluation *e, int base, int m, const course *courses, const char *category);

/* Where the tracker alone completes the course (CR = 1) a planner has nothing to add: joint error of m over
 * that of `base` there, each a mean over these courses. */
typedef struct {
    int n;        /* courses */
    double ratio; /* NAN without any */
} identity;

identity compare_identity(const evaluation *e, int base, int m);

#endif
