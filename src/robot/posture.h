/* What on the ground and standing mean, and how a robot on the ground lies, whatever its heading and place:
 * to find the recorded moment that is most like it, and to bring that moment to where the robot is. */
#ifndef HRC_ROBOT_POSTURE_H
#define HRC_ROBOT_POSTURE_H

#include <stdbool.h>

#include "robot/g1.h"

/* On the ground, on its feet, standing, following: all thresholds of these. Heights are the pelvis', in m;
 * the G1 stands at 0.74. */
#define POSTURE_LIES_M 0.35f /* under this it lies or sits, whatever touches the floor */
#define POSTURE_DOWN_M 0.40f /* under this it is on the ground, or nearly */
#define POSTURE_DOWN_TOUCH_M                                                                                 \
    0.45                      /* ... also under this, where it is tilted or more than feet and hands touch */
#define POSTURE_FEET_M 0.5    /* over this and upright it is on its feet; under it sits, kneels or lies */
#define POSTURE_STAND_M 0.62f /* over this and upright it stands */
#define POSTURE_UPRIGHT 0.5   /* vertical part of the pelvis' up axis: tilted by less than 60 degrees */
#define FOLLOWS_HEIGHT_M 0.3  /* a pelvis no further than this from the reference's height ... */
#define FOLLOWS_TILT_RAD 1.2  /* ... and tilt has not lost it: the paper's completion */

#define POSTURE_HURRY 0.15f /* distance that a second less on the ground is worth */

typedef struct {
    float up[3];  /* the world's up in the frame of the pelvis */
    float height; /* of the pelvis, m */
    float q[HRC_JOINTS];
} posture;

posture posture_of(const float qpos[HRC_NQ]);
bool posture_down(const posture *p);
bool posture_stands(const posture *p);

/* 0 for equal ones; about 1 for half a radian in every joint, 3 for 60 degrees of tilt. */
float posture_distance(const posture *a, const posture *b);

/* Numbers whose squared differences sum up to that distance. */
enum { POSTURE_FEATURES = 4 + HRC_JOINTS };
void posture_features(float out[POSTURE_FEATURES], const posture *p);

/* A pose that lies like this now and so a second later only rests: no moment to begin getting up from. */
bool posture_rests(const posture *now, const posture *later);

/* The turn about the vertical after which `from` is as near to `to` as such a turn can bring it. Yaw angles
 * would not do: those of a lying pose jump. */
void heading_turn(float turn[4], const float from[4], const float to[4]);
float heading_between(const float from[4], const float to[4]); /* its angle, -pi .. pi */

/* A robot taken to where a recorded pose is: turned about the vertical and moved on the floor. Angular
 * velocity is in the robot's own frame and stays; qvel NULL: it rests. */
void posture_bring(double qpos[HRC_NQ], double *qvel, const float to[HRC_NQ]);

#endif
