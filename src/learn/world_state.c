#include "learn/world_state.h"

#include <math.h>
#include <string.h>
#include <tgmath.h>

#include "base/rot.h"
#include "learn/world_vec.h"

NN_FN void world_state_of(real s[WS], const double *qpos, const double *qvel)
{
    double m[9], v[3];
    quat_to_mat(m, qpos + 3);
    quat_rotate_inv(v, qpos + 3, qvel);
    for (int k = 0; k < 3; k++) {
        s[WS_EX + k] = (real)m[k];
        s[WS_EZ + k] = (real)m[6 + k];
        s[WS_V + k] = (real)v[k];
        s[WS_W + k] = (real)qvel[3 + k];
    }
    s[WS_Z] = (real)qpos[2];
    for (int k = 0; k < 2; k++) s[WS_XY + k] = (real)qpos[k];
    for (int i = 0; i < HRC_JOINTS; i++) {
        s[WS_Q + i] = (real)qpos[7 + i];
        s[WS_QD + i] = (real)qvel[6 + i];
    }
}

NN_FN void world_state_ref(real s[WS], const float *qpos, const float *qvel)
{
    double p[HRC_NQ], v[HRC_NV];
    for (int i = 0; i < HRC_NQ; i++) p[i] = (double)qpos[i];
    for (int i = 0; i < HRC_NV; i++) v[i] = (double)qvel[i];
    world_state_of(s, p, v);
}

/* e' = e + h e x wbar to first order, for both axes: wbar = sum over axes of (e' - e) x e / h is right for
 * the parts across e; two axes give the three parts, the one along ey twice. */
static void mean_turn(real wbar[3], const real s[WS], const real next[WS])
{
    real ey[3], after[3], sum[3] = {0};
    cross3(ey, s + WS_EZ, s + WS_EX);
    cross3(after, next + WS_EZ, next + WS_EX);
    const real *const from[3] = {s + WS_EX, ey, s + WS_EZ}, *const to[3] = {next + WS_EX, after,
                                                                            next + WS_EZ};
    for (int i = 0; i < 3; i++) add_cross3(sum, 1 / (2 * WORLD_PERIOD), to[i], from[i]);
    memcpy(wbar, sum, sizeof sum);
}

NN_FN void world_outputs_of(real o[WO], const real s[WS], const real next[WS])
{
    const real rate = 1 / WORLD_PERIOD;
    const real moved[3] = {(next[WS_XY] - s[WS_XY]) * rate, (next[WS_XY + 1] - s[WS_XY + 1]) * rate,
                           (next[WS_Z] - s[WS_Z]) * rate};
    real ey[3], wbar[3];
    cross3(ey, s + WS_EZ, s + WS_EX);
    mean_turn(wbar, s, next);
    for (int k = 0; k < 3; k++) {
        o[WO_V + k] = next[WS_V + k] - s[WS_V + k];
        o[WO_W + k] = next[WS_W + k] - s[WS_W + k];
        o[WO_VBAR + k] = s[WS_EX + k] * moved[0] + ey[k] * moved[1] + s[WS_EZ + k] * moved[2] - s[WS_V + k];
        o[WO_WBAR + k] = wbar[k] - s[WS_W + k];
    }
    for (int i = 0; i < HRC_JOINTS; i++) {
        o[WO_QD + i] = next[WS_QD + i] - s[WS_QD + i];
        o[WO_QBAR + i] = (next[WS_Q + i] - s[WS_Q + i]) * rate - s[WS_QD + i];
    }
}

/* e + h e x w, and its length */
static real turned(real out[3], const real e[3], const real w[3])
{
    memcpy(out, e, 3 * sizeof *out);
    add_cross3(out, WORLD_PERIOD, e, w);
    return sqrt(dot3(out, out));
}

static void mean_velocities(real vbar[3], real wbar[3], const real s[WS], const real o[WO])
{
    for (int k = 0; k < 3; k++) {
        vbar[k] = s[WS_V + k] + o[WO_VBAR + k];
        wbar[k] = s[WS_W + k] + o[WO_WBAR + k];
    }
}

NN_FN void world_advance(real next[WS], const real s[WS], const real o[WO])
{
    const real h = WORLD_PERIOD, *ex = s + WS_EX, *ez = s + WS_EZ;
    real vbar[3], wbar[3], ey[3];
    mean_velocities(vbar, wbar, s, o);
    cross3(ey, ez, ex);
    for (int axis = WS_EX; axis <= WS_EZ; axis += WS_EZ) {
        real length = turned(next + axis, s + axis, wbar);
        for (int k = 0; k < 3; k++) next[axis + k] /= length;
    }
    next[WS_Z] = s[WS_Z] + h * dot3(ez, vbar);
    next[WS_XY] = s[WS_XY] + h * dot3(ex, vbar);
    next[WS_XY + 1] = s[WS_XY + 1] + h * dot3(ey, vbar);
    for (int k = 0; k < 3; k++) {
        next[WS_V + k] = s[WS_V + k] + o[WO_V + k];
        next[WS_W + k] = s[WS_W + k] + o[WO_W + k];
    }
    for (int i = 0; i < HRC_JOINTS; i++) {
        next[WS_Q + i] = s[WS_Q + i] + h * (s[WS_QD + i] + o[WO_QBAR + i]);
        next[WS_QD + i] = s[WS_QD + i] + o[WO_QD + i];
    }
}

/* e' = n / |n|, n = e + h e x w: de += dn + h w x dn, dw += h dn x e, dn = (de' - e' (e'.de')) / |n| */
static void turn_back(real de[3], real dw[3], const real dnext[3], const real e[3], const real next[3],
                      const real w[3])
{
    real n[3], dn[3];
    const real length = turned(n, e, w), along = dot3(next, dnext);
    for (int k = 0; k < 3; k++) dn[k] = (dnext[k] - next[k] * along) / length;
    add3(de, 1, dn);
    add_cross3(de, WORLD_PERIOD, w, dn);
    add_cross3(dw, WORLD_PERIOD, dn, e);
}

NN_FN void world_advance_back(real ds[WS], real d_o[WO], const real dnext[WS], const real s[WS],
                              const real next[WS], const real o[WO])
{
    const real h = WORLD_PERIOD, *ex = s + WS_EX, *ez = s + WS_EZ;
    const real gz = h * dnext[WS_Z], gx = h * dnext[WS_XY], gy = h * dnext[WS_XY + 1];
    real vbar[3], wbar[3], ey[3], dey[3] = {0}, dvbar[3] = {0}, dwbar[3] = {0};
    mean_velocities(vbar, wbar, s, o);
    cross3(ey, ez, ex);
    for (int axis = WS_EX; axis <= WS_EZ; axis += WS_EZ)
        turn_back(ds + axis, dwbar, dnext + axis, s + axis, next + axis, wbar);
    add3(ds + WS_EZ, gz, vbar);
    add3(ds + WS_EX, gx, vbar);
    add3(dey, gy, vbar);
    add_cross3(ds + WS_EZ, 1, ex, dey); /* ey = ez x ex */
    add_cross3(ds + WS_EX, 1, dey, ez);
    add3(dvbar, gz, ez);
    add3(dvbar, gx, ex);
    add3(dvbar, gy, ey);
    for (int k = WS_Z; k < WS_V; k++) ds[k] += dnext[k]; /* z, x, y */
    for (int k = 0; k < 3; k++) {
        ds[WS_V + k] += dnext[WS_V + k] + dvbar[k];
        ds[WS_W + k] += dnext[WS_W + k] + dwbar[k];
        d_o[WO_V + k] = dnext[WS_V + k];
        d_o[WO_W + k] = dnext[WS_W + k];
        d_o[WO_VBAR + k] = dvbar[k];
        d_o[WO_WBAR + k] = dwbar[k];
    }
    for (int i = 0; i < HRC_JOINTS; i++) {
        const real dq = dnext[WS_Q + i], dqd = dnext[WS_QD + i];
        ds[WS_Q + i] += dq;
        ds[WS_QD + i] += dqd + h * dq;
        d_o[WO_QBAR + i] = h * dq;
        d_o[WO_QD + i] = dqd;
    }
}
