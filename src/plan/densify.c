#include "plan/densify.h"

#include <math.h>
#include <string.h>

#include "base/rot.h"

#define STEP (PLAN_SPAN / (PLAN_K - 1)) /* s between keyframes */

/* Slopes of the C2 spline through y at equal distances: s[k-1] + 4 s[k] + s[k+1] = 3 (y[k+1] - y[k-1]) / h,
 * with one-sided differences of third order at the ends (a natural end would bend the very first frames,
 * which are the ones the tracker uses). Thomas algorithm; the factors depend on K alone. */
static void fit_channel(float s[PLAN_K], const float y[PLAN_K])
{
    enum { N = PLAN_K };
    float c[N], d[N];
    s[0] = (-11 * y[0] + 18 * y[1] - 9 * y[2] + 2 * y[3]) / (6 * STEP);
    s[N - 1] = (11 * y[N - 1] - 18 * y[N - 2] + 9 * y[N - 3] - 2 * y[N - 4]) / (6 * STEP);
    c[0] = 0, d[0] = s[0];
    for (int k = 1; k < N - 1; k++) {
        float right = 3 * (y[k + 1] - y[k - 1]) / STEP, pivot = 4 - c[k - 1];
        c[k] = 1 / pivot;
        d[k] = (right - d[k - 1]) / pivot;
    }
    for (int k = N - 2; k > 0; k--) s[k] = d[k] - c[k] * s[k + 1];
}

void plan_curve_fit(plan_curve *curve, const float (*qpos)[HRC_NQ])
{
    memcpy(curve->qpos, qpos, sizeof curve->qpos);
    memset(curve->slope, 0, sizeof curve->slope);
    memset(curve->turn, 0, sizeof curve->turn);
    for (int i = 0; i < HRC_NQ; i++) {
        if (i >= 3 && i < 7) continue; /* orientation has its own curve */
        float y[PLAN_K], s[PLAN_K];
        for (int k = 0; k < PLAN_K; k++) y[k] = qpos[k][i];
        fit_channel(s, y);
        for (int k = 0; k < PLAN_K; k++) curve->slope[k][i] = s[k];
    }
    for (int k = 0; k + 1 < PLAN_K; k++) {
        float back[4], step[4];
        quat_conjf(back, qpos[k] + 3);
        quat_mulf(step, back, qpos[k + 1] + 3);
        quat_logf(curve->turn[k], step);
    }
}

/* Hermite cubic on [0,1] with values y0, y1 and slopes (per second) s0, s1; derivative per second. */
static void hermite(float *y, float *dy, float y0, float y1, float s0, float s1, float u)
{
    float m0 = s0 * STEP, m1 = s1 * STEP;
    float a = 2 * y0 - 2 * y1 + m0 + m1, b = -3 * y0 + 3 * y1 - 2 * m0 - m1;
    *y = ((a * u + b) * u + m0) * u + y0;
    *dy = ((3 * a * u + 2 * b) * u + m0) / STEP;
}

void plan_curve_at(float qpos[HRC_NQ], float qvel[HRC_NV], const plan_curve *curve, float t)
{
    memset(qvel, 0, HRC_NV * sizeof *qvel);
    if (!(t >= 0) || t > PLAN_SPAN + 1e-5f) {
        memcpy(qpos, curve->qpos[t >= 0 ? PLAN_K - 1 : 0], HRC_NQ * sizeof *qpos);
        return;
    }
    int k = (int)(t / STEP);
    if (k > PLAN_K - 2) k = PLAN_K - 2;
    float u = t / STEP - (float)k;
    if (u > 1) u = 1;
    const float *a = curve->qpos[k], *b = curve->qpos[k + 1], *sa = curve->slope[k],
                *sb = curve->slope[k + 1];
    for (int i = 0; i < 3; i++) hermite(&qpos[i], &qvel[i], a[i], b[i], sa[i], sb[i], u);
    for (int i = 0; i < HRC_JOINTS; i++)
        hermite(&qpos[7 + i], &qvel[6 + i], a[7 + i], b[7 + i], sa[7 + i], sb[7 + i], u);
    float part[3], step[4];
    for (int i = 0; i < 3; i++) {
        part[i] = u * curve->turn[k][i];
        qvel[3 + i] = curve->turn[k][i] / STEP; /* about its own axis the frame does not matter */
    }
    quat_expf(step, part);
    quat_mulf(qpos + 3, a + 3, step);
    quat_normalizef(qpos + 3);
}

void plan_curve_beyond(float qpos[HRC_NQ], float qvel[HRC_NV], const plan_curve *curve, float t)
{
    const float over = t - PLAN_SPAN;
    plan_curve_at(qpos, qvel, curve, over > 0 ? PLAN_SPAN : t);
    if (!(over > 1e-5f)) return;
    float turn[3], step[4];
    for (int i = 0; i < 3; i++) qpos[i] += over * qvel[i], turn[i] = over * qvel[3 + i];
    quat_expf(step, turn);
    quat_mulf(qpos + 3, qpos + 3, step);
    for (int i = 0; i < HRC_JOINTS; i++) {
        float q = qpos[7 + i] + over * qvel[6 + i];
        qpos[7 + i] = fminf((float)G1_JOINT[i].hi, fmaxf((float)G1_JOINT[i].lo, q));
    }
}
