/* From K keyframes to the reference at any time: a cubic spline through joints and root position, slerp
 * between orientations, and the velocities of the same curves. */
#ifndef HRC_PLAN_DENSIFY_H
#define HRC_PLAN_DENSIFY_H

#include "robot/g1.h"

#define PLAN_K 8      /* keyframes */
#define PLAN_H 10     /* frames that they span by default: keyframe k stands at frame k H / (K-1) */
#define PLAN_MAX_H 40 /* ... and at the most */
#define PLAN_FPS 50

typedef struct {
    float step; /* s between keyframes */
    float qpos[PLAN_K][HRC_NQ];
    float slope[PLAN_K][HRC_NQ]; /* of position and joints at the knots, per second; orientation unused */
    float turn[PLAN_K][3];       /* rotation vector from keyframe k to k+1, in the frame of keyframe k */
} plan_curve;

/* qpos (PLAN_K, HRC_NQ); span: s from the first to the last. */
void plan_curve_fit(plan_curve *curve, const float (*qpos)[HRC_NQ], float span);

static inline float plan_curve_span(const plan_curve *curve)
{
    return curve->step * (PLAN_K - 1);
}

/* Pose and velocity (MuJoCo's frames: linear world, angular root) at t seconds after keyframe 0. Before the
 * first and after the last keyframe: that pose, at rest. */
void plan_curve_at(float qpos[HRC_NQ], float qvel[HRC_NV], const plan_curve *curve, float t);

/* The same, but straight on after the last keyframe, with the velocities it ends with: for windows that
 * begin between two replans and so reach beyond the plan. */
void plan_curve_beyond(float qpos[HRC_NQ], float qvel[HRC_NV], const plan_curve *curve, float t);

/* The controller keeps a plan as the curve of how it differs from the reference, so that a plan that is the
 * reference gives the reference's own frames, to the bit, and its own velocities. Positions and joints differ
 * by a sum, orientations by a rotation in the world: plan = D R. Keyframe 0 only anchors the plan: a curve
 * through it and keyframe 1 would make a velocity that is in no reference, so the curve goes back from
 * keyframes 1 and 2 instead. reference (horizon + 1, HRC_NQ). */
void plan_difference_fit(plan_curve *curve, const float (*keyframes)[HRC_NQ],
                         const float (*reference)[HRC_NQ], int horizon);

/* The pose of such a window at a fractional frame. */
void plan_window_at(float out[HRC_NQ], const float (*reference)[HRC_NQ], float frame, int horizon);

/* frame: that of the reference t seconds after keyframe 0; becomes the plan's. */
void plan_difference_add(hrc_frame *frame, const plan_curve *curve, float t);

#endif
