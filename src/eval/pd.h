/* A clip played in the simulator under plain PD tracking: every control step the motors aim at the
 * reference's joint angles, and nobody looks after the balance. The baseline below all controllers. */
#ifndef HRC_EVAL_PD_H
#define HRC_EVAL_PD_H

#include "eval/rollout.h"
#include "motion/clip.h"
#include "sim/sim.h"

typedef struct {
    double joint_rad; /* mean over time of the L2 error over 29 joints */
    double height_m;  /* mean |root height error| */
    double tilt_rad;  /* mean angle between the robot's and the reference's gravity direction */
    double upright_s; /* until the tilt error first exceeds 1.2 rad or the height error 0.3 m; or the end */
} pd_result;

/* Starts at the first frame with the reference's velocities. The clip must be at the control rate. */
hrc_status pd_play(rollout *out, pd_result *result, sim *s, const clip *c, hrc_error *err);

#endif
