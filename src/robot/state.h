/* What a controller may know of the robot at one instant, in the frames it wants them: made from qpos and
 * qvel in the same way for the simulator and the real robot. */
#ifndef HRC_ROBOT_STATE_H
#define HRC_ROBOT_STATE_H

#include "robot/g1.h"

typedef struct {
    double pos[3], quat[4]; /* root (pelvis) in the world */
    double lin_vel[3];      /* of the root's origin, in the root frame, m/s */
    double ang_vel[3];      /* in the root frame, rad/s: what the gyro reads */
    double gravity[3];      /* unit vector down, in the root frame: (0,0,-1) when upright */
    double q[HRC_JOINTS], qd[HRC_JOINTS];
} g1_state;

/* qpos (HRC_NQ), qvel (HRC_NV) in MuJoCo's frames: linear velocity world, angular velocity root. */
void g1_state_read(g1_state *out, const double *qpos, const double *qvel);

/* How far the robot is from a pose of its reference, in the measures of the paper's tables. */
typedef struct {
    double joint;  /* L2 norm over the 29 joints, rad */
    double height; /* of the root, absolute, m */
    double tilt;   /* angle between the two directions of gravity: orientation without heading, rad */
} tracking_error;

tracking_error tracking_error_of(const g1_state *robot, const float ref_qpos[HRC_NQ]);

/* L2 norm over the 29 joints of two poses, rad. */
double g1_joint_distance(const float a[HRC_NQ], const float b[HRC_NQ]);

/* The pose a part t (0..1) of the way from a to b: lerp, and slerp for the orientation. */
void g1_pose_between(float out[HRC_NQ], const float a[HRC_NQ], const float b[HRC_NQ], double t);

/* qvel (n, HRC_NV) of poses (n, HRC_NQ) at a constant rate: central differences inside, one-sided at the
 * ends. */
void g1_velocities(float *qvel, const float *qpos, int n, double fps);

#endif
