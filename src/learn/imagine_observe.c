#include "learn/imagine_observe.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>
#include <tgmath.h>

#include "base/rot.h"
#include "learn/world_vec.h"
#include "plan/densify.h"
#include "plan/offset.h"

NN_FN void imagine_proprio(real p[OBS_P], const real s[WS], const real action[HRC_JOINTS])
{
    for (int k = 0; k < 3; k++) {
        p[OBS_GRAVITY + k] = -s[WS_EZ + k];
        p[OBS_ANG_VEL + k] = s[WS_W + k];
    }
    for (int i = 0; i < HRC_JOINTS; i++) {
        p[OBS_Q + i] = s[WS_Q + i] - (real)G1_JOINT[i].q0;
        p[OBS_QD + i] = s[WS_QD + i];
        p[OBS_ACTION + i] = action[i];
    }
}

NN_FN void imagine_proprio_back(real ds[WS], real daction[HRC_JOINTS], const real dp[OBS_P])
{
    for (int k = 0; k < 3; k++) {
        ds[WS_EZ + k] -= dp[OBS_GRAVITY + k];
        ds[WS_W + k] += dp[OBS_ANG_VEL + k];
    }
    for (int i = 0; i < HRC_JOINTS; i++) {
        ds[WS_Q + i] += dp[OBS_Q + i];
        ds[WS_QD + i] += dp[OBS_QD + i];
        daction[i] += dp[OBS_ACTION + i];
    }
}

/* First two columns of the reference's R, as R00 R01 R10 R11 R20 R21. */
static void reference_columns(real columns[6], obs_frame frame)
{
    float six[6];
    quat_to_6df(six, frame.qpos + 3);
    for (int i = 0; i < 6; i++) columns[i] = (real)six[i];
}

NN_FN void imagine_reference(real m[OBS_M], const real s[WS], obs_frame frame)
{
    float lin[3];
    real columns[6], ey[3];
    const real *ex = s + WS_EX, *ez = s + WS_EZ;
    reference_columns(columns, frame);
    cross3(ey, ez, ex);
    quat_rotate_invf(lin, frame.qpos + 3, frame.qvel);
    for (int k = 0; k < 3; k++) {
        m[OBS_REF_LIN + k] = (real)lin[k];
        m[OBS_REF_ANG + k] = (real)frame.qvel[3 + k];
        for (int c = 0; c < 2; c++)
            m[OBS_REF_ROT + 2 * k + c] = ex[k] * columns[c] + ey[k] * columns[2 + c] + ez[k] * columns[4 + c];
    }
    for (int i = 0; i < HRC_JOINTS; i++) m[OBS_REF_Q + i] = (real)frame.qpos[7 + i];
}

NN_FN void imagine_reference_back(real ds[WS], const real turn[IMAGINE_TURN], const real s[WS],
                                  obs_frame frame)
{
    real columns[6], dey[3] = {0};
    reference_columns(columns, frame);
    for (int k = 0; k < 3; k++)
        for (int c = 0; c < 2; c++) {
            const real g = turn[2 * k + c];
            ds[WS_EX + k] += g * columns[c];
            dey[k] += g * columns[2 + c];
            ds[WS_EZ + k] += g * columns[4 + c];
        }
    add_cross3(ds + WS_EZ, 1, s + WS_EX, dey); /* ey = ez x ex */
    add_cross3(ds + WS_EX, 1, dey, s + WS_EZ);
}

/* ---- The anchored window ---- */

#define NEARLY_HALF_TURN                                                                                     \
    ((real)-0.99) /* cosine: beyond it the shortest way back is any, and has no slope                        \
                   */

/* Columns of the reference's R: r[j] is its axis j in the world. */
static void reference_axes(real r[3][3], obs_frame f)
{
    float m[9];
    quat_to_matf(m, f.qpos + 3);
    for (int j = 0; j < 3; j++)
        for (int k = 0; k < 3; k++) r[j][k] = (real)m[3 * k + j];
}

/* Rows of the robot's R: the world's axes in its frame. */
static void robot_axes(real rows[3][3], const real s[WS])
{
    memcpy(rows[0], s + WS_EX, sizeof rows[0]);
    memcpy(rows[2], s + WS_EZ, sizeof rows[2]);
    cross3(rows[1], s + WS_EZ, s + WS_EX);
}

/* E = sum_j R[.][j] r_j^T: row a is the robot's row a, turned by the reference. */
static void error_matrix(real E[3][3], const real s[WS], obs_frame reference)
{
    real rows[3][3], r[3][3];
    robot_axes(rows, s);
    reference_axes(r, reference);
    for (int a = 0; a < 3; a++)
        for (int b = 0; b < 3; b++) {
            E[a][b] = 0;
            for (int j = 0; j < 3; j++) E[a][b] += rows[a][j] * r[j][b];
        }
}

/* sin(angle) times the axis, and the cosine. */
static real axis_of(real v[3], const real E[3][3])
{
    v[0] = (E[2][1] - E[1][2]) / 2, v[1] = (E[0][2] - E[2][0]) / 2, v[2] = (E[1][0] - E[0][1]) / 2;
    return (E[0][0] + E[1][1] + E[2][2] - 1) / 2;
}

/* ---- How near to lost: plan_yield ---- */

typedef struct {
    real m, most; /* most: the largest of the three, of which m is at the most 1 */
    real joints, tilt, height, cosine;
    real up[3]; /* the world's up in the reference's frame */
} lostness;

static lostness near_lost(const real s[WS], obs_frame reference)
{
    lostness f = {0};
    real r[3][3];
    reference_axes(r, reference);
    for (int j = 0; j < 3; j++) f.up[j] = r[j][2];
    for (int i = 0; i < HRC_JOINTS; i++) {
        const real gap = s[WS_Q + i] - (real)reference.qpos[7 + i];
        f.joints += gap * gap;
    }
    f.cosine = fmin((real)1, fmax((real)-1, dot3(s + WS_EZ, f.up)));
    f.joints = sqrt(f.joints) / (real)PLAN_LOST_JOINTS;
    f.tilt = acos(f.cosine) / (real)PLAN_LOST_TILT;
    f.height = fabs(s[WS_Z] - (real)reference.qpos[2]) / (real)PLAN_LOST_HEIGHT;
    f.most = fmax(f.joints, fmax(f.tilt, f.height));
    f.m = fmin((real)1, f.most);
    return f;
}

static void near_lost_back(real ds[WS], real df, const real s[WS], obs_frame reference)
{
    const lostness f = near_lost(s, reference);
    if (f.most >= 1) return;
    if (f.most == f.height) {
        ds[WS_Z] += (s[WS_Z] > (real)reference.qpos[2] ? df : -df) / (real)PLAN_LOST_HEIGHT;
    } else if (f.most == f.tilt) {
        const real sine = sqrt(1 - f.cosine * f.cosine);
        if (sine > (real)1e-4) add3(ds + WS_EZ, -df / (sine * (real)PLAN_LOST_TILT), f.up);
    } else if (f.joints > 0) {
        const real scale = df / (f.joints * (real)PLAN_LOST_JOINTS * (real)PLAN_LOST_JOINTS);
        for (int i = 0; i < HRC_JOINTS; i++)
            ds[WS_Q + i] += scale * (s[WS_Q + i] - (real)reference.qpos[7 + i]);
    }
}

/* ---- The offset ---- */

/* All of it, as if a were 1. */
static void whole_offset(imagine_offset *a, const real s[WS], obs_frame reference)
{
    real E[3][3], v[3];
    error_matrix(E, s, reference);
    const real c = axis_of(v, (const real(*)[3])E), n = sqrt(dot3(v, v));
    if (c > NEARLY_HALF_TURN) {
        const real scale = n > (real)1e-6 ? atan2(n, c) / n : 1;
        for (int k = 0; k < 3; k++) a->turn[k] = scale * v[k];
    } else {
        double m[9], q[4], turn[3];
        for (int i = 0; i < 9; i++) m[i] = (double)E[i / 3][i % 3];
        quat_from_mat(q, m);
        quat_log(turn, q);
        for (int k = 0; k < 3; k++) a->turn[k] = (real)turn[k];
    }
    for (int i = 0; i < HRC_JOINTS; i++) a->q[i] = s[WS_Q + i] - (real)reference.qpos[7 + i];
}

static void scale_offset(imagine_offset *a, real share)
{
    for (int i = 0; i < HRC_JOINTS; i++) a->q[i] *= share;
    for (int k = 0; k < 3; k++) a->turn[k] *= share;
}

NN_FN void imagine_offset_set(imagine_offset *a, const real s[WS], obs_frame reference)
{
    whole_offset(a, s, reference);
    scale_offset(a, (real)PLAN_YIELD * near_lost(s, reference).m);
}

/* e = k v, k = angle / n, angle = atan2(n, c), n = |v|: de -> dv and dc. */
static real log_back(real dv[3], const real de[3], const real v[3], real c)
{
    const real n = sqrt(dot3(v, v)), along = dot3(v, de);
    if (!(n > (real)1e-6)) {
        memcpy(dv, de, 3 * sizeof *dv);
        return 0;
    }
    const real angle = atan2(n, c), square = n * n + c * c;
    const real dk_dn = (c / square - angle / n) / n, dk_dc = -1 / square;
    for (int k = 0; k < 3; k++) dv[k] = angle / n * de[k] + along * dk_dn * v[k] / n;
    return along * dk_dc;
}

static void whole_offset_back(real ds[WS], const imagine_offset *da, const real s[WS], obs_frame reference)
{
    real E[3][3], dE[3][3] = {{0}}, v[3], dv[3], r[3][3], drows[3][3] = {{0}};
    for (int i = 0; i < HRC_JOINTS; i++) ds[WS_Q + i] += da->q[i];
    error_matrix(E, s, reference);
    const real c = axis_of(v, (const real(*)[3])E);
    if (!(c > NEARLY_HALF_TURN)) return;
    const real dc = log_back(dv, da->turn, v, c);
    for (int i = 0; i < 3; i++) dE[i][i] = dc / 2;
    dE[2][1] += dv[0] / 2, dE[1][2] -= dv[0] / 2;
    dE[0][2] += dv[1] / 2, dE[2][0] -= dv[1] / 2;
    dE[1][0] += dv[2] / 2, dE[0][1] -= dv[2] / 2;
    reference_axes(r, reference);
    for (int a = 0; a < 3; a++)
        for (int j = 0; j < 3; j++) drows[a][j] = dot3(dE[a], r[j]);
    add3(ds + WS_EX, 1, drows[0]);
    add3(ds + WS_EZ, 1, drows[2]);
    add_cross3(ds + WS_EZ, 1, s + WS_EX, drows[1]); /* ey = ez x ex */
    add_cross3(ds + WS_EX, 1, drows[1], s + WS_EZ);
}

NN_FN void imagine_offset_back(real ds[WS], const imagine_offset *da, const real s[WS], obs_frame reference)
{
    imagine_offset whole, d = *da;
    real along = 0;
    whole_offset(&whole, s, reference);
    for (int i = 0; i < HRC_JOINTS; i++) along += da->q[i] * whole.q[i];
    near_lost_back(ds, (real)PLAN_YIELD * (along + dot3(da->turn, whole.turn)), s, reference);
    scale_offset(&d, (real)PLAN_YIELD * near_lost(s, reference).m);
    whole_offset_back(ds, &d, s, reference);
}

NN_FN real imagine_offset_left(int periods)
{
    const real t = (real)periods / PLAN_FPS, span = (real)PLAN_H / PLAN_FPS;
    return t < span ? 1 - t / span : 0;
}

/* out = exp(x) u by Rodrigues' formula, a = sin / angle and b = (1 - cos) / angle^2 */
static void turn_axis(real out[3], const real x[3], const real u[3], real a, real b)
{
    real xu[3];
    cross3(xu, x, u);
    memcpy(out, u, 3 * sizeof *out);
    add3(out, a, xu);
    add_cross3(out, b, x, xu);
}

typedef struct {
    real x[3];    /* left e */
    real a, b, d; /* sin / angle, (1 - cos) / angle^2, (angle - sin) / angle^3 */
    real r[3][3]; /* axes of the reference */
    real c[3][3]; /* axes that are shown */
} shown_turn;

static shown_turn show_turn(const imagine_offset *a, obs_frame reference, real left)
{
    shown_turn s;
    for (int k = 0; k < 3; k++) s.x[k] = left * a->turn[k];
    const real square = dot3(s.x, s.x), angle = sqrt(square);
    const bool small = angle < (real)1e-2;
    s.a = small ? 1 - square / 6 + square * square / 120 : sin(angle) / angle;
    s.b = small ? (real)0.5 - square / 24 + square * square / 720 : (1 - cos(angle)) / square;
    s.d =
        small ? 1 / (real)6 - square / 120 + square * square / 5040 : (angle - sin(angle)) / (square * angle);
    reference_axes(s.r, reference);
    for (int j = 0; j < 3; j++) turn_axis(s.c[j], s.x, s.r[j], s.a, s.b);
    return s;
}

static void world_velocity(real v[3], obs_frame f)
{
    for (int k = 0; k < 3; k++) v[k] = (real)f.qvel[k];
}

static real fading(real left)
{
    return left > 0 ? -(real)PLAN_FPS / PLAN_H : 0;
}

NN_FN void imagine_shown(real m[OBS_M], const real s[WS], const imagine_offset *a, obs_frame reference,
                         real left)
{
    const shown_turn t = show_turn(a, reference, left);
    real rows[3][3], v[3];
    robot_axes(rows, s);
    world_velocity(v, reference);
    for (int k = 0; k < 3; k++) {
        m[OBS_REF_LIN + k] = dot3(t.c[k], v);
        m[OBS_REF_ANG + k] = (real)reference.qvel[3 + k] + fading(left) * dot3(t.r[k], a->turn);
        for (int j = 0; j < 2; j++)
            m[OBS_REF_ROT + 2 * k + j] =
                rows[0][k] * t.c[j][0] + rows[1][k] * t.c[j][1] + rows[2][k] * t.c[j][2];
    }
    for (int i = 0; i < HRC_JOINTS; i++) m[OBS_REF_Q + i] = (real)reference.qpos[7 + i] + left * a->q[i];
}

/* Of the axes that are shown -> of e: for exp(x) turned on by y, dx = J^T y, J = I + b [x] + d [x]^2. */
static void shown_back(imagine_offset *da, const shown_turn *t, const real dc[3][3], real left)
{
    real y[3] = {0}, xy[3];
    for (int j = 0; j < 3; j++) add_cross3(y, 1, t->c[j], dc[j]);
    cross3(xy, t->x, y);
    add3(da->turn, left, y);
    add3(da->turn, -left * t->b, xy);
    add_cross3(da->turn, left * t->d, t->x, xy);
}

NN_FN void imagine_shown_back(real ds[WS], imagine_offset *da, const real dm[OBS_M], const real s[WS],
                              const imagine_offset *a, obs_frame reference, real left)
{
    const shown_turn t = show_turn(a, reference, left);
    real rows[3][3], drows[3][3] = {{0}}, dc[3][3] = {{0}}, v[3];
    robot_axes(rows, s);
    world_velocity(v, reference);
    for (int k = 0; k < 3; k++) {
        add3(dc[k], dm[OBS_REF_LIN + k], v);
        add3(da->turn, fading(left) * dm[OBS_REF_ANG + k], t.r[k]);
        for (int j = 0; j < 2; j++)
            for (int i = 0; i < 3; i++) {
                drows[i][k] += dm[OBS_REF_ROT + 2 * k + j] * t.c[j][i];
                dc[j][i] += dm[OBS_REF_ROT + 2 * k + j] * rows[i][k];
            }
    }
    add3(ds + WS_EX, 1, drows[0]);
    add3(ds + WS_EZ, 1, drows[2]);
    add_cross3(ds + WS_EZ, 1, s + WS_EX, drows[1]); /* ey = ez x ex */
    add_cross3(ds + WS_EX, 1, drows[1], s + WS_EZ);
    shown_back(da, &t, (const real(*)[3])dc, left);
    for (int i = 0; i < HRC_JOINTS; i++) da->q[i] += left * dm[OBS_REF_Q + i];
}
