/* By which recorded ways up a tracker gets up, found out by trial: robots that lie on every side with their
 * limbs anyhow, and the heaps that become of them when that fails, are led along every way from every second
 * of it on. What is kept is how each robot lay and where on which way to begin with it: of those that got it
 * up the one that also got up most of the robots that lay like it, and soon. Where to begin need not look
 * like the robot: a tracker that is led to the middle of a way often gets there by itself. */
#ifndef HRC_EVAL_WAYS_H
#define HRC_EVAL_WAYS_H

#include "base/pool.h"
#include "eval/course.h"
#include "plan/getups.h"

typedef struct {
    int a_side;                                   /* robots dropped on each, WAYS_MOST at the most */
    void (*progress)(void *ctx, double fraction); /* may be NULL */
    bool (*stop)(void);                           /* asked before each rollout; may be NULL */
    void *ctx;
} ways_options;

enum { WAYS_MOST = 10 };

typedef struct {
    int robots;    /* with the heaps */
    double up;     /* share that got up by any way */
    double unseen; /* share that gets up by the way it would be led if its own trials were not known */
} ways_result;

/* Ways that nobody is led along are dropped; the cases are in memory. */
hrc_status ways_keep(getups *ways, const hrc_model *tracker, const config *cfg, pool *threads, arena *memory,
                     const ways_options *options, ways_result *out, hrc_error *err);

/* The choice alone. */
typedef struct {
    int robots, entries;
    const float *apart;   /* (robots, robots) how differently they lie */
    const bool *stands;   /* (robots, entries) */
    const float *seconds; /* (entries) */
} ways_known;

/* The entry that robot i should be led from, by what is known of all robots but `without` (-1: of all); -1
 * when none got it up. */
int ways_best(const ways_known *k, int i, int without);

#endif
