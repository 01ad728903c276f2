/* How a robot on the ground lies, whatever its heading and place: to find the recorded moment that is most
 * like it, and to bring that moment to where the robot is. */
#ifndef HRC_ROBOT_POSTURE_H
#define HRC_ROBOT_POSTURE_H

#include <stdbool.h>

#include "robot/g1.h"

#define POSTURE_DOWN_M 0.40f  /* a pelvis under this is on the ground, or nearly */
#define POSTURE_STAND_M 0.62f /* over this it stands */
#define POSTURE_HURRY 0.15f   /* distance that a second less on the ground is worth */

typedef struct {
    float up[3];  /* the world's up in the frame of the pelvis */
    float height; /* of the pelvis, m */
    float q[HRC_JOINTS];
} posture;

posture posture_of(const float qpos[HRC_NQ]);
bool posture_down(const posture *p);

/* 0 for equal ones; about 1 for half a radian in every joint, 3 for 60 degrees of tilt. */
float posture_distance(const posture *a, const posture *b);

/* Numbers whose squared differences sum up to that distance. */
enum { POSTURE_FEATURES = 4 + HRC_JOINTS };
void posture_features(float out[POSTURE_FEATURES], const posture *p);

/* Somebody who lies like this now and so a second later only rests: no moment to begin getting up from. */
bool posture_rests(const posture *now, const posture *later);

/* The turn about the vertical after which `from` is as near to `to` as such a turn can bring it. Yaw angles
 * would not do: those of somebody who lies jump. */
void heading_turn(float turn[4], const float from[4], const float to[4]);
float heading_between(const float from[4], const float to[4]); /* its angle, -pi .. pi */

/* A robot taken to where a recorded pose is: turned about the vertical and moved on the floor. Angular
 * velocity is in the robot's own frame and stays; qvel NULL: it rests. */
void posture_bring(double qpos[HRC_NQ], double *qvel, const float to[HRC_NQ]);

#endif
