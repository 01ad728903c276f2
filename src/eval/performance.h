/* A performance: motions one after the other in one go, recorded with reference, plans and events. The second
 * and later ones begin where the robot is; with a planner, they wait until it has come to their first pose.
 */
#ifndef HRC_EVAL_PERFORMANCE_H
#define HRC_EVAL_PERFORMANCE_H

#include "eval/course.h"

typedef struct {
    const course *courses; /* the motions, the first one's first frame; nothing else of them */
    int n;
    const double *start;        /* (HRC_NQ), at rest; NULL: the first frame, in motion */
    double hold_s;              /* after the end of each motion its last frame is held */
    const disturbance *disturb; /* in order of time since the start */
    int ndisturb;
    void (*tick)(void *ctx, double t_s, const char *motion, const hrc_report *report); /* may be NULL */
    void *ctx;
} performance;

/* out->figures: against the reference where it was placed, over all control steps that did not wait. */
hrc_status perform(rollout *out, course_result *result, const performance *p, hrc_controller *c, sim *s,
                   hrc_error *err);

#endif
