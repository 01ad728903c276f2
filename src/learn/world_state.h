/* The robot as the world model sees it: 73 numbers, and how they move over one control period.
 *
 *   ex, ez  the world's x and z axis seen in the root frame; ey = ez x ex. They are the rows of R, so that
 *           R^T u = ex u_x + ey u_y + ez u_z, and -ez is the gravity that the policy sees.
 *   z, xy   root height and place, m
 *   v, w    root velocities in the root frame, m/s and rad/s
 *   q, qd   joints, rad and rad/s
 *
 * The model predicts 70 numbers: the increments of (v, w, qd) over the period h, and by how much the mean
 * velocity within the period differs from that at its start (the joints are stiff and overdamped, so that
 * q' is not q + h qd'):
 *
 *   v' = v + o_v ...          vbar = v + o_vbar ...
 *   z' = z + h ez.vbar        x' = x + h ex.vbar    y' = y + h ey.vbar
 *   e' = normalise(e + h e x wbar)                  q' = q + h qbar */
#ifndef HRC_LEARN_WORLD_STATE_H
#define HRC_LEARN_WORLD_STATE_H

#include "nn/real.h"
#include "robot/g1.h"

enum {
    WS_EX = 0,
    WS_EZ = 3,
    WS_Z = 6,
    WS_XY = 7,
    WS_V = 9,
    WS_W = 12,
    WS_Q = 15,
    WS_QD = WS_Q + HRC_JOINTS,
    WS = WS_QD + HRC_JOINTS, /* 73 */

    WO_V = 0, /* increments */
    WO_W = 3,
    WO_QD = 6,
    WO_VBAR = WO_QD + HRC_JOINTS, /* mean velocities less those at the start */
    WO_WBAR = WO_VBAR + 3,
    WO_QBAR = WO_WBAR + 3,
    WO = WO_QBAR + HRC_JOINTS, /* 70 */
};

#define WORLD_PERIOD ((real)0.02) /* s */

/* MuJoCo's qpos (HRC_NQ) and qvel (HRC_NV). */
NN_FN void world_state_of(real s[WS], const double *qpos, const double *qvel);
NN_FN void world_state_ref(real s[WS], const float *qpos, const float *qvel); /* likewise, in float */

/* What the model should have said of the step from s to next: the inverse of world_advance up to the
 * rotation's curvature. */
NN_FN void world_outputs_of(real o[WO], const real s[WS], const real next[WS]);

NN_FN void world_advance(real next[WS], const real s[WS], const real o[WO]);

/* dnext -> ds += and d_o set. */
NN_FN void world_advance_back(real ds[WS], real d_o[WO], const real dnext[WS], const real s[WS],
                              const real next[WS], const real o[WO]);

#endif
