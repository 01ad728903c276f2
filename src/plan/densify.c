#include "plan/densify.h"

#include <math.h>
#include <string.h>

#include "base/rot.h"

#define ROUNDING 2e-6f /* m, rad: of poses that were written in a heading frame and back */

/* Slopes of the C2 spline through y at equal distances: s[k-1] + 4 s[k] + s[k+1] = 3 (y[k+1] - y[k-1]) / h,
 * with one-sided differences of third order at the ends (a natural end would bend the very first frames,
 * which are the ones the tracker uses). Thomas algorithm; the factors depend on K alone. */
static void fit_channel(float s[PLAN_K], const float y[PLAN_K], float step)
{
    enum { N = PLAN_K };
    float c[N], d[N];
    s[0] = (-11 * y[0] + 18 * y[1] - 9 * y[2] + 2 * y[3]) / (6 * step);
    s[N - 1] = (11 * y[N - 1] - 18 * y[N - 2] + 9 * y[N - 3] - 2 * y[N - 4]) / (6 * step);
    c[0] = 0, d[0] = s[0];
    for (int k = 1; k < N - 1; k++) {
        float right = 3 * (y[k + 1] - y[k - 1]) / step, pivot = 4 - c[k - 1];
        c[k] = 1 / pivot;
        d[k] = (right - d[k - 1]) / pivot;
    }
    for (int k = N - 2; k > 0; k--) s[k] = d[k] - c[k] * s[k + 1];
}

void plan_curve_fit(plan_curve *curve, const float (*qpos)[HRC_NQ], float span)
{
    curve->step = span / (PLAN_K - 1);
    memcpy(curve->qpos, qpos, sizeof curve->qpos);
    memset(curve->slope, 0, sizeof curve->slope);
    memset(curve->turn, 0, sizeof curve->turn);
    for (int i = 0; i < HRC_NQ; i++) {
        if (i >= 3 && i < 7) continue; /* orientation has its own curve */
        float y[PLAN_K], s[PLAN_K];
        for (int k = 0; k < PLAN_K; k++) y[k] = qpos[k][i];
        fit_channel(s, y, curve->step);
        for (int k = 0; k < PLAN_K; k++) curve->slope[k][i] = s[k];
    }
    for (int k = 0; k + 1 < PLAN_K; k++) {
        float step[4];
        quat_localf(step, qpos[k] + 3, qpos[k + 1] + 3);
        quat_logf(curve->turn[k], step);
    }
}

/* Hermite cubic on [0,1] with values y0, y1 and slopes (per second) s0, s1; derivative per second. */
static void hermite(float *y, float *dy, float y0, float y1, float s0, float s1, float u, float step)
{
    float m0 = s0 * step, m1 = s1 * step;
    float a = 2 * y0 - 2 * y1 + m0 + m1, b = -3 * y0 + 3 * y1 - 2 * m0 - m1;
    *y = ((a * u + b) * u + m0) * u + y0;
    *dy = ((3 * a * u + 2 * b) * u + m0) / step;
}

void plan_curve_at(float qpos[HRC_NQ], float qvel[HRC_NV], const plan_curve *curve, float t)
{
    memset(qvel, 0, HRC_NV * sizeof *qvel);
    const float step = curve->step;
    if (!(t >= 0) || t > plan_curve_span(curve) + 1e-5f) {
        memcpy(qpos, curve->qpos[t >= 0 ? PLAN_K - 1 : 0], HRC_NQ * sizeof *qpos);
        return;
    }
    int k = (int)(t / step);
    if (k > PLAN_K - 2) k = PLAN_K - 2;
    float u = t / step - (float)k;
    if (u > 1) u = 1;
    const float *a = curve->qpos[k], *b = curve->qpos[k + 1], *sa = curve->slope[k],
                *sb = curve->slope[k + 1];
    for (int i = 0; i < 3; i++) hermite(&qpos[i], &qvel[i], a[i], b[i], sa[i], sb[i], u, step);
    for (int i = 0; i < HRC_JOINTS; i++)
        hermite(&qpos[7 + i], &qvel[6 + i], a[7 + i], b[7 + i], sa[7 + i], sb[7 + i], u, step);
    float part[3], turn[4];
    for (int i = 0; i < 3; i++) {
        part[i] = u * curve->turn[k][i];
        qvel[3 + i] = curve->turn[k][i] / step; /* about its own axis the frame does not matter */
    }
    quat_expf(turn, part);
    quat_mulf(qpos + 3, a + 3, turn);
    quat_normalizef(qpos + 3);
}

static void go_on(float qpos[HRC_NQ], float qvel[HRC_NV], const plan_curve *curve, float t)
{
    const float span = plan_curve_span(curve), over = t - span;
    plan_curve_at(qpos, qvel, curve, over > 0 ? span : t);
    if (!(over > 1e-5f)) return;
    float turn[3], step[4];
    for (int i = 0; i < 3; i++) qpos[i] += over * qvel[i], turn[i] = over * qvel[3 + i];
    quat_expf(step, turn);
    quat_mulf(qpos + 3, qpos + 3, step);
    for (int i = 0; i < HRC_JOINTS; i++) qpos[7 + i] += over * qvel[6 + i];
}

static void clamp_joints(float qpos[HRC_NQ])
{
    for (int i = 0; i < HRC_JOINTS; i++)
        qpos[7 + i] = fminf((float)G1_JOINT[i].hi, fmaxf((float)G1_JOINT[i].lo, qpos[7 + i]));
}

void plan_curve_beyond(float qpos[HRC_NQ], float qvel[HRC_NV], const plan_curve *curve, float t)
{
    go_on(qpos, qvel, curve, t);
    if (t > plan_curve_span(curve) + 1e-5f) clamp_joints(qpos);
}

/* ---- The difference from a reference ---- */

void plan_window_at(float out[HRC_NQ], const float (*reference)[HRC_NQ], float frame, int horizon)
{
    int whole = (int)frame;
    if (whole >= horizon) whole = horizon - 1;
    const float u = frame - (float)whole, *a = reference[whole], *b = reference[whole + 1];
    for (int i = 0; i < HRC_NQ; i++) out[i] = a[i] + u * (b[i] - a[i]);
    quat_slerpf(out + 3, a + 3, b + 3, u);
}

/* What is smaller than the rounding of a plan's poses is no difference. */
static void subtract(float out[HRC_NQ], const float plan[HRC_NQ], const float reference[HRC_NQ])
{
    for (int i = 0; i < HRC_NQ; i++) {
        out[i] = plan[i] - reference[i];
        if (fabsf(out[i]) < ROUNDING) out[i] = 0;
    }
    quat_turnf(out + 3, reference + 3, plan + 3);
    if (vec_normf(out + 4) < ROUNDING) quat_from_yawf(out + 3, 0);
}

static void extrapolate_first(float diff[PLAN_K][HRC_NQ])
{
    float turn[4];
    for (int i = 0; i < HRC_NQ; i++) diff[0][i] = 2 * diff[1][i] - diff[2][i];
    quat_turnf(turn, diff[2] + 3, diff[1] + 3);
    quat_mulf(diff[0] + 3, turn, diff[1] + 3);
}

void plan_difference_fit(plan_curve *curve, const float (*keyframes)[HRC_NQ],
                         const float (*reference)[HRC_NQ], int horizon)
{
    float diff[PLAN_K][HRC_NQ], pose[HRC_NQ];
    for (int k = 1; k < PLAN_K; k++) {
        plan_window_at(pose, reference, (float)(k * horizon) / (PLAN_K - 1), horizon);
        subtract(diff[k], keyframes[k], pose);
    }
    extrapolate_first(diff);
    plan_curve_fit(curve, (const float(*)[HRC_NQ])diff, (float)horizon / PLAN_FPS);
}

void plan_difference_add(hrc_frame *frame, const plan_curve *curve, float t)
{
    float diff[HRC_NQ], speed[HRC_NV], turning[3], *qpos = frame->qpos, *qvel = frame->qvel;
    go_on(diff, speed, curve, t);
    for (int i = 0; i < 3; i++) qpos[i] += diff[i], qvel[i] += speed[i];
    for (int i = 0; i < HRC_JOINTS; i++) qpos[7 + i] += diff[7 + i], qvel[6 + i] += speed[6 + i];
    quat_rotate_invf(turning, qpos + 3, speed + 3); /* of D R in its own frame: w_R + R^-1 w_D */
    for (int i = 0; i < 3; i++) qvel[3 + i] += turning[i];
    quat_mulf(qpos + 3, diff + 3, qpos + 3);
    clamp_joints(qpos);
}
