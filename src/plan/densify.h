/* From K keyframes to the reference at any time: a cubic spline through joints and root position, slerp
 * between orientations, and the velocities of the same curves. */
#ifndef HRC_PLAN_DENSIFY_H
#define HRC_PLAN_DENSIFY_H

#include "robot/g1.h"

#define PLAN_K 8  /* keyframes */
#define PLAN_H 10 /* frames that they span: keyframe k stands at frame k H / (K-1) */
#define PLAN_FPS 50
#define PLAN_SPAN ((float)PLAN_H / PLAN_FPS) /* 0.2 s */

typedef struct {
    float qpos[PLAN_K][HRC_NQ];
    float slope[PLAN_K][HRC_NQ]; /* of position and joints at the knots, per second; orientation unused */
    float turn[PLAN_K][3];       /* rotation vector from keyframe k to k+1, in the frame of keyframe k */
} plan_curve;

/* qpos (PLAN_K, HRC_NQ) */
void plan_curve_fit(plan_curve *curve, const float (*qpos)[HRC_NQ]);

/* Pose and velocity (MuJoCo's frames: linear world, angular root) at t seconds after keyframe 0. Before the
 * first and after the last keyframe: that pose, at rest. */
void plan_curve_at(float qpos[HRC_NQ], float qvel[HRC_NV], const plan_curve *curve, float t);

/* The same, but straight on after the last keyframe, with the velocities it ends with: for windows that
 * begin between two replans and so reach beyond the plan. */
void plan_curve_beyond(float qpos[HRC_NQ], float qvel[HRC_NV], const plan_curve *curve, float t);

#endif
