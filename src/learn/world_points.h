/* Points of the robot's skin, and how high they are, how fast they rise: what decides about contact. Found by
 * forward kinematics in the root frame, for WORLD_LANES robots at a time (lanes innermost), with exact
 * derivatives.
 *
 * For point r (root frame), chain of joints j from the root outwards with axes a_j through o_j, and
 * c_j = a_j x (r - o_j):
 *   height h = z + ez.r - radius          dr/dq_k = c_k
 *   velocity y = v + w x r + sum qd_j c_j, of which u = ez.y rises
 *   d(sum qd_j c_j)/dq_k = a_k x sum_{j>=k} qd_j c_j + (sum_{j<k} qd_j a_j) x c_k */
#ifndef HRC_LEARN_WORLD_POINTS_H
#define HRC_LEARN_WORLD_POINTS_H

#include "learn/world_state.h"

#define WORLD_LANES 16
#define WORLD_POINTS 29 /* the far end of every body capsule 19, knees 2, corners of the soles 8 */
#define WORLD_CHAIN 10  /* joints from the root to a hand */

typedef struct {
    int link;
    double local[3], radius;
    int n, joint[WORLD_CHAIN]; /* from the root outwards */
} world_point;

typedef struct {
    real pos[G1_LINKS][3][WORLD_LANES]; /* root frame */
    real quat[G1_LINKS][4][WORLD_LANES];
    real axis[G1_LINKS][3][WORLD_LANES];
    real r[WORLD_POINTS][3][WORLD_LANES];
} world_pose;

/* A quantity of every point and lane. */
typedef real world_per_point[WORLD_POINTS][WORLD_LANES];
typedef real world_vectors[WORLD_POINTS][3][WORLD_LANES];
typedef real world_lanes[WS][WORLD_LANES]; /* states */

NN_FN void world_points_make(world_point points[WORLD_POINTS]);

/* s: states; only their joints are used. */
NN_FN void world_pose_of(world_pose *out, const world_point *points, const world_lanes s);

NN_FN void world_heights(world_per_point height, world_per_point rise, const world_pose *pose,
                         const world_point *points, const world_lanes s);

/* ds += for gradients of height, rise, and of the points themselves (root frame). */
NN_FN void world_points_back(world_lanes ds, const world_pose *pose, const world_point *points,
                             const world_lanes s, const world_per_point dheight, const world_per_point drise,
                             const world_vectors dr);

/* rows (n <= WORLD_LANES, WS) into lanes; the last row fills the rest. */
NN_FN void world_to_lanes(world_lanes out, const real *rows, int n);

#endif
