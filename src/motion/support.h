/* What the floor can carry: the convex hull of the places where the robot touches it, and the point in which
 * the floor's force has to act for the centre of mass to move as it does. A motion whose point leaves the
 * hull makes the robot fall over. */
#ifndef HRC_MOTION_SUPPORT_H
#define HRC_MOTION_SUPPORT_H

#include "robot/capsules.h"

enum { SUPPORT_CORNERS = 4 * G1_GEOMS };

typedef struct {
    int n;                             /* 0: nothing touches */
    double corner[SUPPORT_CORNERS][2]; /* counterclockwise */
} support_hull;

/* Of all capsules that are lower than 3 cm. */
void support_find(support_hull *h, const capsule *c);

/* Distance of a point of the floor from the hull, 0 inside, INFINITY when nothing touches; out is the nearest
 * point of the hull, or the point itself. out may be NULL. */
double support_nearest(const support_hull *h, const double at[2], double out[2]);

/* The force's point in frame i of the path com (n) of the centre of mass, accelerations by parabolas over
 * `half` frames to both sides; lever is the height over the floor divided by the weight's acceleration, s^2.
 * False in flight, and next to the ends of the path. */
bool support_point(double at[2], double *lever, double (*com)[3], int n, int i, int half, double fps);

int support_half(double fps); /* the half width used here, frames */

#endif
