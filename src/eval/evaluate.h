/* Methods times courses, in parallel, with the same bits for any number of threads; then means over courses
 * with bootstrap intervals, over all and by category. */
#ifndef HRC_EVAL_EVALUATE_H
#define HRC_EVAL_EVALUATE_H

#include "base/pool.h"
#include "eval/course.h"

#define EVALUATE_MAX_METHODS 64 /* every seed of a method counts as one */

/* A row of the table. Models are borrowed. */
typedef struct {
    const char *name;
    const hrc_model *tracker; /* NULL: plain PD */
    const hrc_model *planner; /* NULL: none */
    hrc_options options;
} method;

typedef struct {
    course_result result;
    rollout record; /* when asked for */
} outcome;

typedef struct {
    int nmethods, ncourses;
    outcome *outcomes; /* (nmethods, ncourses) */
} evaluation;

typedef struct {
    const config *cfg;
    pool *threads;
    bool record;        /* keep the rollouts in memory too; a folder needs it */
    bool plans;         /* and the planner's keyframes */
    const char *folder; /* where finished rollouts are kept and found again; NULL: nowhere */
    void (*progress)(void *ctx, double fraction); /* called by one thread; may be NULL */
    bool (*stop)(void);                           /* asked before each rollout; may be NULL */
    void *ctx;
} evaluate_options;

hrc_status evaluate(evaluation *out, const method *methods, int nmethods, const course *courses, int ncourses,
                    const evaluate_options *options, hrc_error *err);
void evaluation_free(evaluation *e);

static inline const outcome *outcome_of(const evaluation *e, int m, int t)
{
    return &e->outcomes[(size_t)m * (size_t)e->ncourses + (size_t)t];
}

/* Of n methods times `seeds`, the seeds of all methods after one another: only the n remain, with figures
 * that are means over the seeds. What is no figure (records, plans) is of the first seed. spread (n):
 * standard deviation over seeds of the mean completion rate; 0 for one seed. */
void evaluation_fold(evaluation *e, int n, double *spread);

/* ---- Means ---- */

typedef struct {
    int n;
    figures mean, low, high; /* 95 % interval of the mean, by resampling the courses; NAN: of one */
} summary;

/* Of one method over the courses of a category; NULL: of all. The seed is fixed: the same data, the same
 * interval. */
void summarise(summary *out, const evaluation *e, int m, const course *courses, const char *category);

/* The categories in the order in which they first occur. Returns how many; at most max. */
int categories_of(const char **out, int max, const course *courses, int n);

/* A method with a planner beside the tracker alone: what the planner gains and costs on the same courses. */
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
