/* Forward kinematics of all links, in double. It keeps what a derivative needs: joint i turns about the world
 * axis axis[i+1] through pos[i+1] (its link's origin), so d p / d q_i = axis x (p - pos) for every point p on
 * that link or beyond. */
#ifndef HRC_ROBOT_FK_H
#define HRC_ROBOT_FK_H

#include "robot/g1.h"

typedef struct {
    double pos[G1_LINKS][3]; /* link origins in the world */
    double quat[G1_LINKS][4];
    double axis[G1_LINKS][3]; /* joint axis of the link in the world; zero for the pelvis */
} fk_pose;

typedef struct {
    double lin[G1_LINKS][3]; /* velocity of the link's origin, world frame */
    double ang[G1_LINKS][3]; /* angular velocity, world frame */
} fk_velocity;

/* qpos: HRC_NQ numbers. The quaternion is taken as it is (unit). */
void fk(fk_pose *out, const double *qpos);
void fk_frame(fk_pose *out, const float *qpos); /* of a clip */

/* qvel: HRC_NV numbers, MuJoCo's frames (linear world, angular in the pelvis frame). */
void fk_velocities(fk_velocity *out, const fk_pose *pose, const double *qvel);

void fk_point(double out[3], const fk_pose *pose, int link, const double local[3]);
void fk_com(double out[3], const fk_pose *pose);

#endif
