/* By which recorded ways up a tracker gets up, found out by trial: robots that lie on every side with their
 * limbs anyhow are led along every way from every second of it on. What is kept is how each robot lay and
 * where on which way to begin with it: of those that got it up the one that also got up most of the robots
 * that lay like it, and soon. Where to begin need not look like the robot: a tracker that is led to the
 * middle of a way often gets there by itself. */
#ifndef HRC_EVAL_WAYS_H
#define HRC_EVAL_WAYS_H

#include "base/pool.h"
#include "eval/course.h"
#include "plan/getups.h"

typedef struct {
    int a_side;                                   /* robots on each, WAYS_MOST at the most */
    void (*progress)(void *ctx, double fraction); /* may be NULL */
    void *ctx;
} ways_options;

enum { WAYS_MOST = 12 };

/* Ways that nobody is led along are dropped; the cases are in memory. *up: share of the robots that got up by
 * any way. */
hrc_status ways_keep(getups *ways, const hrc_model *tracker, const config *cfg, pool *threads, arena *memory,
                     const ways_options *options, double *up, hrc_error *err);

/* The choice alone, for robot i: the entry that it should be led from, -1 when none got it up. apart (robots,
 * robots): how differently they lie; stands (robots, entries); seconds (entries). */
int ways_best(int i, const float *apart, const bool *stands, const float *seconds, int robots, int entries);

#endif
