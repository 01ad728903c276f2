/* What a plan is before a network writes to it: the reference's own frames, with part of what the robot was
 * off by when the plan was made, fading away over the plan's span.
 *
 *   joints        q_R(t) + (1 - u) a (q_p - q_R(0))            u = t / span, 1 from there on
 *   orientation   exp((1 - u) a e) R_R(t),  e = log(R_p R_R(0)^T), a rotation vector of the world
 *   position      that of the reference + (x_p - x_R(0)): kept, since closing it would be a velocity that
 *                 the reference does not have
 *
 * a = m Y: how near to lost the robot is, and how much of its offset the plan then takes over. On the
 * reference the plan is the reference. The velocities are those of these curves: joints qd_R - a (q_p -
 * q_R(0)) / span; root linear that of the reference; root angular (root frame) w_R - a R_R^T e / span. The
 * offset fades evenly from the very first frame, as it does when keyframe 0 is extrapolated from 1 and 2:
 * there is no kick at the beginning. */
#ifndef HRC_PLAN_OFFSET_H
#define HRC_PLAN_OFFSET_H

#include <stdbool.h>

#include "robot/g1.h"

#define PLAN_EVERY 2 /* control steps from one plan to the next */

/* As far off as this s is 1. */
#define PLAN_OFF_JOINTS 2.5f /* rad, L2 over 29 */
#define PLAN_OFF_HEIGHT 0.3f /* m */
#define PLAN_OFF_TILT 0.8f   /* rad */

/* As far off as this a robot is lost: no tracker comes back from there alone. Joints hardly count: a runner
 * that stumbles is off by 2.5 rad and comes back. */
#define PLAN_LOST_JOINTS 8.0f
#define PLAN_LOST_HEIGHT 0.35f
#define PLAN_LOST_TILT 1.2f
#define PLAN_LOST_FROM 0.7f /* of these: trackers come back from less */
#define PLAN_YIELD 0.5f     /* Y */

/* s: 0 on the reference, 1 as far off as that or farther. position: the height is seen; without it, it is
 * taken from the lowest point of the pose, as if that were on the floor. */
float plan_off(const float state[HRC_NQ], const float reference[HRC_NQ], bool position);

/* l: how much the robot is lost, 0 to 1. A robot higher and more upright than its reference is not. */
float plan_lost(const float state[HRC_NQ], const float reference[HRC_NQ], bool position);

/* a = m Y: the share of its offset that a plan takes over; m is the largest of the three distances in the
 * units of a robot that is lost, 1 at the most. */
float plan_yield(const float state[HRC_NQ], const float reference[HRC_NQ], bool position);

typedef struct {
    float q[HRC_JOINTS]; /* a (q_p - q_R(0)), rad */
    float turn[3];       /* a e, rad */
    float shift[3];      /* x_p - x_R(0), m */
} plan_offset;

/* Where the robot is when the plan is made, and where the reference is then. */
void plan_offset_set(plan_offset *o, const float state[HRC_NQ], const float reference[HRC_NQ]);

/* What to show t seconds after that instead of the reference's frame of that time. qpos and qvel may be
 * ref_qpos and ref_qvel; qvel NULL: not wanted. */
void plan_offset_frame(float qpos[HRC_NQ], float *qvel, const plan_offset *o, const float ref_qpos[HRC_NQ],
                       const float *ref_qvel, float t);

#endif
