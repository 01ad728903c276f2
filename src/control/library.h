/* Behind the handles of heracles.h, for the parts of this program that need more than it shows. */
#ifndef HRC_CONTROL_LIBRARY_H
#define HRC_CONTROL_LIBRARY_H

#include "base/config.h"
#include "plan/model.h"
#include "track/model.h"
#include "track/others.h"

struct hrc_model {
    hrc_kind kind;
    track_model track;   /* HRC_TRACKER */
    others_model others; /* HRC_TRACKER of another project: then others.program, and no track */
    plan_model plan;     /* HRC_PLANNER */
};

static inline bool model_of_others(const hrc_model *m)
{
    return m->others.program != NULL;
}

/* Last angles, no stiffness, damping: what a failed call hands to the motors. */
void target_damped(hrc_target *out, const double q[HRC_JOINTS]);

const float *tracker_token_of(const hrc_tracker *t, int *n); /* (n) of the last step; n = 0: has none */

void plan_vary(hrc_planner *p, uint64_t seed, float noise, float share); /* planner_vary */
void question_of(plan_question *out, const hrc_plan_request *request);

/* The settings of [control]. */
hrc_options control_options(const config *cfg, uint64_t seed);

#endif
