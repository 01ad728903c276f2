/* The robot's collision capsules in the world: where they are, how far the lowest reaches under the floor
 * (the plane z = 0), how far two of them are apart. Feet are the exact ones, seven capsules each. */
#ifndef HRC_ROBOT_CAPSULES_H
#define HRC_ROBOT_CAPSULES_H

#include <stdbool.h>

#include "robot/fk.h"
#include "robot/g1.h"

/* Which links of the robot may touch each other: decided once, here, for the simulator's model, the quality
 * figures and the retargeting. docs/robot.md has the measurements behind it. */
typedef enum {
    SELF_FILTERED, /* the default: without the pairs that real references violate habitually */
    SELF_ALL,      /* all but neighbours in the tree and the four pairs that overlap by construction */
    SELF_NONE,
} self_collision;

self_collision self_collision_mode(const char *word); /* a word of the setting sim.self_collision */

/* Links of one body part overlap by construction: the same link, parent and child, elbow and wrist pitch,
 * pelvis and hip roll. They never collide, in no mode. */
bool g1_pair_structural(int link_a, int link_b);

/* Symmetric in its links. */
bool g1_pair_collides(int link_a, int link_b, self_collision mode);

enum { /* order of the capsules: body, left foot, right foot */
       CAPSULE_FOOT = 7,
       CAPSULE_LEFT_FOOT = G1_GEOMS - 2 * CAPSULE_FOOT,
       CAPSULE_RIGHT_FOOT = CAPSULE_LEFT_FOOT + CAPSULE_FOOT,
       CAPSULE_PAIRS = G1_GEOMS * (G1_GEOMS - 1) / 2, /* the most capsule_pairs can give */
};

typedef struct {
    double a[3], b[3]; /* ends of the axis in the world, m; a sphere has a == b */
    double radius;
    int link;
} capsule;

typedef struct {
    double z;    /* height of the lowest point over the floor, m; negative inside it */
    int capsule; /* whose it is */
    int end;     /* at which end of the axis: 0 for a, 1 for b */
} capsule_low;

typedef struct {
    int i, j; /* capsules, i < j */
} capsule_pair;

const g1_capsule *capsule_info(int i); /* name, link and local ends of capsule i, 0 <= i < G1_GEOMS */

void capsules_place(capsule out[G1_GEOMS], const fk_pose *pose);

capsule_low capsules_lowest(const capsule *c, int first, int n); /* over capsules first .. first+n-1 */

double pose_lowest(const double qpos[HRC_NQ]); /* height of the robot's lowest point over the floor, m */

/* Distance of two segments; either may be a point, they may be parallel. */
double segment_distance(const double a0[3], const double a1[3], const double b0[3], const double b1[3]);

/* The same, with the nearest points p of the first and q of the second. */
double segment_nearest(double p[3], double q[3], const double a0[3], const double a1[3], const double b0[3],
                       const double b1[3]);

/* Gap between two surfaces; negative is the depth of penetration (as long as the axes do not cross). */
double capsule_distance(const capsule *p, const capsule *q);

/* The pairs of capsules that may touch; returns how many. */
int capsule_pairs(capsule_pair out[CAPSULE_PAIRS], self_collision mode);

/* Deepest pair and its gap, m (positive: nothing touches nearer than that, or 1 m, whichever is less). */
double capsules_deepest(capsule_pair *which, const capsule *c, const capsule_pair *pairs, int n);

#endif
