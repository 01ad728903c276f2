/* Behind the handles of heracles.h, for the parts of this program that need more than it shows. */
#ifndef HRC_TRACK_LIBRARY_H
#define HRC_TRACK_LIBRARY_H

#include "base/config.h"
#include "plan/model.h"
#include "track/model.h"

struct hrc_model {
    hrc_kind kind;
    track_model track; /* HRC_TRACKER */
    plan_model plan;   /* HRC_PLANNER */
};

/* NaN or infinity in the robot's state is refused by name. */
hrc_status state_check(const hrc_state *s, hrc_error *err);

/* Last angles, no stiffness, damping: what a failed call hands to the motors. */
void target_damped(hrc_target *out, const double q[HRC_JOINTS]);
void target_stiff(hrc_target *out); /* the robot's own gains; q is left as it is */

const float *tracker_token_of(const hrc_tracker *t, int *n); /* (n) of the last step */

/* The settings of [control]. */
hrc_options control_options(const config *cfg, uint64_t seed);

#endif
