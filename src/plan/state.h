/* What the planner sees of a pose, as D numbers in the heading frame of the current state: origin on the
 * floor under its root, x where it heads. So a model knows neither where the robot stands nor where it faces.
 *
 * D = 38: joints 29, root position 3, root orientation as 6D rotation 6.
 * D = 35: without the root position: only what encoders and an IMU give. */
#ifndef HRC_PLAN_STATE_H
#define HRC_PLAN_STATE_H

#include "robot/g1.h"

#define PLAN_D 38
#define PLAN_D_BLIND 35 /* without root position */

typedef struct {
    float x, y;   /* origin, m */
    float yaw[4]; /* heading as a rotation about the vertical */
} plan_frame;

static inline int plan_has_position(int D)
{
    return D == PLAN_D;
}

static inline int plan_root_at(void)
{
    return HRC_JOINTS; /* D = 38 only */
}

static inline int plan_rot_at(int D)
{
    return D - 6;
}

plan_frame plan_frame_of(const float qpos[HRC_NQ]);

void plan_encode(float *out, int D, const plan_frame *frame, const float qpos[HRC_NQ]);

#endif
