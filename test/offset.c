/* The anchored window against its formula in double, and against its own curve. */
#include <string.h>

#include "base/rng.h"
#include "base/rot.h"
#include "plan/densify.h"
#include "plan/offset.h"
#include "test.h"

static void random_pose(float qpos[HRC_NQ], rng *r)
{
    for (int i = 0; i < 3; i++) qpos[i] = rng_uniform(r, -3, 3);
    for (int i = 3; i < 7; i++) qpos[i] = rng_normal(r);
    quat_normalizef(qpos + 3);
    for (int i = 7; i < HRC_NQ; i++) qpos[i] = rng_uniform(r, -2, 2);
}

/* Not lost: off in joints, tilt or height alone, or in all of them. */
static void near_pose(float out[HRC_NQ], const float from[HRC_NQ], rng *r, int which)
{
    float axis[3], turn[4];
    memcpy(out, from, HRC_NQ * sizeof *out);
    for (int i = 7; which != 3 && which != 5 && i < HRC_NQ; i++) out[i] += 0.2f * rng_normal(r);
    for (int k = 0; k < 3; k++) axis[k] = which == 1 || which == 5 ? 0 : 0.2f * rng_normal(r);
    quat_expf(turn, axis);
    quat_mulf(out + 3, turn, out + 3);
    if (which != 1 && which != 3) out[2] += rng_uniform(r, -0.25f, 0.25f);
}

/* Shown orientation by slerp: exp((1-u) log(p r^-1)) r_t is the way from r_t to p r^-1 r_t, backwards. */
static void plain_turn(double out[4], const float *state, const float *reference, const float *now,
                       double left)
{
    double p[4], r[4], t[4], back[4], all[4];
    for (int k = 0; k < 4; k++) p[k] = state[3 + k], r[k] = reference[3 + k], t[k] = now[3 + k];
    quat_conj(back, r);
    quat_mul(all, p, back);
    quat_mul(all, all, t);
    quat_slerp(out, t, all, left);
}

/* The largest of three, each in the unit of a robot that is lost. */
static double plain_off(const float *state, const float *reference)
{
    double joints = 0, p[4], r[4], x[3], y[3];
    const double up[3] = {0, 0, 1};
    for (int i = 7; i < HRC_NQ; i++) joints += pow((double)state[i] - (double)reference[i], 2);
    for (int k = 0; k < 4; k++) p[k] = state[3 + k], r[k] = reference[3 + k];
    quat_rotate_inv(x, p, up);
    quat_rotate_inv(y, r, up);
    const double tilt = acos(fmax(-1, fmin(1, vec_dot(x, y))));
    return fmin(1, fmax(sqrt(joints) / 8, fmax(tilt / 1.2, fabs((double)(state[2] - reference[2])) / 0.35)));
}

static void test_formula(void)
{
    rng r = rng_make(1, 0);
    for (int n = 0; n < 500; n++) {
        float state[HRC_NQ], reference[HRC_NQ], now[HRC_NQ], zero[HRC_NV] = {0}, qpos[HRC_NQ], qvel[HRC_NV];
        const float t = rng_uniform(&r, 0, 0.3f);
        double left = t < 0.2f ? 1 - (double)t / 0.2 : 0;
        plan_offset a;
        double turn[4];
        random_pose(reference, &r);
        random_pose(now, &r);
        random_pose(state, &r);
        if (n % 2) near_pose(state, reference, &r, n % 8);
        plan_offset_set(&a, state, reference);
        if (quat_anglef(state + 3, reference + 3) > 3) continue; /* half a turn has no one way back */
        plan_offset_frame(qpos, qvel, &a, now, zero, t);
        const double share = 0.5 * plain_off(state, reference);
        ENSURE_NEAR(plan_yield(state, reference, true), share, 1e-5);
        left *= share;
        plain_turn(turn, state, reference, now, left);
        for (int k = 0; k < 3; k++) ENSURE_NEAR(qpos[k], now[k] + state[k] - reference[k], 1e-5);
        double inner = 0;
        for (int k = 0; k < 4; k++) inner += turn[k] * (double)qpos[3 + k];
        ENSURE_NEAR(fabs(inner), 1, 1e-5);
        for (int i = 7; i < HRC_NQ; i++) {
            ENSURE_NEAR(qpos[i], now[i] + left * ((double)state[i] - (double)reference[i]), 1e-5);
            ENSURE_NEAR(qvel[i - 1], left > 0 ? -share * (double)(state[i] - reference[i]) / 0.2 : 0, 1e-4);
        }
    }
}

/* On the reference, and from the plan's end on, the reference's own frame is shown. */
static void test_identity(void)
{
    rng r = rng_make(2, 0);
    for (int n = 0; n < 100; n++) {
        float pose[HRC_NQ], other[HRC_NQ], now[HRC_NQ], vel[HRC_NV], qpos[HRC_NQ], qvel[HRC_NV];
        plan_offset on, off;
        random_pose(pose, &r);
        random_pose(other, &r);
        random_pose(now, &r);
        for (int i = 0; i < HRC_NV; i++) vel[i] = rng_normal(&r);
        plan_offset_set(&on, pose, pose);
        plan_offset_frame(qpos, qvel, &on, now, vel, rng_uniform(&r, 0, 0.2f));
        for (int i = 0; i < HRC_NQ; i++) ENSURE_NEAR(qpos[i], now[i], 1e-6);
        for (int i = 0; i < HRC_NV; i++) ENSURE_NEAR(qvel[i], vel[i], 2e-5);
        plan_offset_set(&off, other, pose);
        plan_offset_frame(qpos, qvel, &off, now, vel, 0.2f);
        for (int i = 3; i < HRC_NQ; i++) ENSURE_NEAR(qpos[i], now[i], 1e-6);
        ENSURE(memcmp(qvel, vel, sizeof vel) == 0);
    }
}

/* A reference that turns evenly and whose joints move evenly, t seconds on. */
static void moving(float qpos[HRC_NQ], const float at[HRC_NQ], const float vel[HRC_NV], double t)
{
    float turn[3], step[4];
    for (int k = 0; k < 3; k++) {
        qpos[k] = (float)((double)at[k] + t * (double)vel[k]);
        turn[k] = (float)(t * (double)vel[3 + k]); /* about an axis of its own frame */
    }
    quat_expf(step, turn);
    quat_mulf(qpos + 3, at + 3, step);
    for (int i = 7; i < HRC_NQ; i++) qpos[i] = (float)((double)at[i] + t * (double)vel[i - 1]);
}

/* The velocities are those of the curve that is shown, at its very beginning too. */
static void test_velocities(void)
{
    rng r = rng_make(3, 0);
    for (int n = 0; n < 300; n++) {
        const double h = 2e-3;
        float state[HRC_NQ], at[HRC_NQ], vel[HRC_NV], ref[HRC_NQ], before[HRC_NQ], after[HRC_NQ],
            qpos[HRC_NQ], qvel[HRC_NV], step[4], turned[3];
        const double t = n % 10 ? 0.005 + 0.19 * rng_double(&r) : h;
        plan_offset a;
        random_pose(state, &r);
        random_pose(at, &r);
        for (int i = 0; i < HRC_NV; i++) vel[i] = rng_normal(&r);
        plan_offset_set(&a, state, at);
        if (vec_normf(a.turn) > 1.5f) continue;
        moving(ref, at, vel, t - h);
        plan_offset_frame(before, NULL, &a, ref, NULL, (float)(t - h));
        moving(ref, at, vel, t + h);
        plan_offset_frame(after, NULL, &a, ref, NULL, (float)(t + h));
        moving(ref, at, vel, t);
        plan_offset_frame(qpos, qvel, &a, ref, vel, (float)t);
        quat_conjf(step, before + 3);
        quat_mulf(step, step, after + 3);
        quat_logf(turned, step);
        for (int k = 0; k < 3; k++) {
            ENSURE_NEAR((after[k] - before[k]) / (2 * h), qvel[k], 5e-3);
            ENSURE_NEAR(turned[k] / (2 * h), qvel[3 + k], 2e-2);
        }
        for (int i = 7; i < HRC_NQ; i++) ENSURE_NEAR((after[i] - before[i]) / (2 * h), qvel[i - 1], 5e-3);
    }
}

TEST_TABLE({"offset.formula", test_formula}, {"offset.identity", test_identity},
           {"offset.velocities", test_velocities})
