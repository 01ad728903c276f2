/* The planner's state vector, dense curves and guard. */
#include <string.h>

#include "base/rng.h"
#include "base/rot.h"
#include "plan/anchor.h"
#include "plan/densify.h"
#include "plan/guard.h"
#include "test.h"

#define PLAN_SPAN ((float)PLAN_H / PLAN_FPS) /* s */

static void random_pose(float qpos[HRC_NQ], rng *r)
{
    for (int i = 0; i < 3; i++) qpos[i] = rng_uniform(r, -3, 3);
    for (int i = 3; i < 7; i++) qpos[i] = rng_normal(r);
    quat_normalizef(qpos + 3);
    for (int i = 0; i < HRC_JOINTS; i++)
        qpos[7 + i] = rng_uniform(r, (float)G1_JOINT[i].lo, (float)G1_JOINT[i].hi);
}

/* A pose as a token and back. */
static void test_token_round_trip(void)
{
    rng r = rng_make(1, 0);
    for (int n = 0; n < 200; n++) {
        float state[HRC_NQ], pose[HRC_NQ], token[PLAN_D], back[HRC_NQ];
        random_pose(state, &r);
        random_pose(pose, &r);
        const plan_frame frame = plan_frame_of(state);
        plan_token(token, &frame, state, pose);
        plan_pose(back, &frame, state, token);
        for (int i = 0; i < 3; i++) ENSURE_NEAR(back[i], pose[i], 1e-5);
        for (int i = 7; i < HRC_NQ; i++) ENSURE(back[i] == pose[i]);
        ENSURE_NEAR(quat_anglef(back + 3, pose + 3), 0, 2e-3);
    }
}

/* Moving and turning the whole scene changes nothing of what the planner sees. */
static void test_state_is_invariant(void)
{
    rng r = rng_make(2, 0);
    for (int n = 0; n < 200; n++) {
        float pose[2][HRC_NQ], moved[2][HRC_NQ], a[PLAN_D], b[PLAN_D], turn[4];
        float shift[3] = {rng_uniform(&r, -9, 9), rng_uniform(&r, -9, 9), 0};
        quat_from_yawf(turn, rng_uniform(&r, -3, 3));
        for (int p = 0; p < 2; p++) {
            random_pose(pose[p], &r);
            memcpy(moved[p], pose[p], sizeof pose[p]);
            quat_rotatef(moved[p], turn, pose[p]);
            for (int i = 0; i < 3; i++) moved[p][i] += shift[i];
            quat_mulf(moved[p] + 3, turn, pose[p] + 3);
        }
        if (hypotf(pose[0][3], pose[0][6]) < 0.05f) continue; /* upside down there is no heading */
        plan_frame here = plan_frame_of(pose[0]), there = plan_frame_of(moved[0]);
        plan_encode(a, PLAN_D, &here, pose[1]);
        plan_encode(b, PLAN_D, &there, moved[1]);
        for (int i = 0; i < PLAN_D; i++) ENSURE_NEAR(a[i], b[i], 5e-5);
        plan_encode(a, PLAN_D, &here, pose[0]); /* the state itself: over the origin */
        ENSURE(fabsf(a[29]) < 1e-6f && fabsf(a[30]) < 1e-6f);
    }
}

static void smooth_pose(float qpos[HRC_NQ], float t)
{
    float turn[3] = {0.4f * sinf(3 * t), 0.3f * t, 0.8f * t};
    qpos[0] = 1.2f * t, qpos[1] = 0.1f * sinf(5 * t), qpos[2] = 0.7f + 0.05f * cosf(6 * t);
    quat_expf(qpos + 3, turn);
    for (int i = 0; i < HRC_JOINTS; i++) qpos[7 + i] = 0.5f * sinf(4 * t + (float)i);
}

static void test_densify_follows_a_smooth_motion(void)
{
    float keys[PLAN_K][HRC_NQ];
    plan_curve curve;
    for (int k = 0; k < PLAN_K; k++) smooth_pose(keys[k], PLAN_SPAN * (float)k / (PLAN_K - 1));
    plan_curve_fit(&curve, (const float(*)[HRC_NQ])keys, PLAN_SPAN);
    for (float t = 0; t <= PLAN_SPAN; t += 0.004f) {
        float qpos[HRC_NQ], qvel[HRC_NV], truth[HRC_NQ], ahead[HRC_NQ], behind[HRC_NQ];
        const float h = 1e-3f;
        plan_curve_at(qpos, qvel, &curve, t);
        smooth_pose(truth, t);
        smooth_pose(ahead, t + h);
        smooth_pose(behind, t - h);
        ENSURE_NEAR(quat_anglef(qpos + 3, truth + 3), 0, 2e-3);
        for (int i = 0; i < 3; i++) {
            ENSURE_NEAR(qpos[i], truth[i], 1e-4);
            ENSURE_NEAR(qvel[i], (ahead[i] - behind[i]) / (2 * h), 2e-2);
        }
        for (int i = 0; i < HRC_JOINTS; i++) {
            ENSURE_NEAR(qpos[7 + i], truth[7 + i], 1e-4);
            ENSURE_NEAR(qvel[6 + i], (ahead[7 + i] - behind[7 + i]) / (2 * h), 2e-2);
        }
    }
}

/* Knots are hit exactly; velocities are the derivative of what plan_curve_at gives, orientation too. */
static void test_densify_is_consistent(void)
{
    rng r = rng_make(3, 0);
    float keys[PLAN_K][HRC_NQ], qpos[HRC_NQ], qvel[HRC_NV], other[HRC_NQ], unused[HRC_NV];
    plan_curve curve;
    smooth_pose(keys[0], 0);
    for (int k = 1; k < PLAN_K; k++) {
        memcpy(keys[k], keys[k - 1], sizeof keys[k]);
        for (int i = 0; i < HRC_NQ; i++) keys[k][i] += 0.05f * rng_normal(&r);
        quat_normalizef(keys[k] + 3);
    }
    plan_curve_fit(&curve, (const float(*)[HRC_NQ])keys, PLAN_SPAN);
    const float step = PLAN_SPAN / (PLAN_K - 1), h = 1e-3f;
    for (int k = 0; k < PLAN_K; k++) {
        plan_curve_at(qpos, qvel, &curve, step * (float)k);
        for (int i = 0; i < HRC_NQ; i++) ENSURE_NEAR(qpos[i], keys[k][i], 2e-5);
    }
    for (int k = 0; k + 1 < PLAN_K; k++) {
        float t = step * ((float)k + 0.5f), turn[3], back[4], between[4];
        plan_curve_at(other, unused, &curve, t - h);
        plan_curve_at(qpos, qvel, &curve, t + h);
        quat_conjf(back, other + 3);
        quat_mulf(between, back, qpos + 3);
        quat_logf(turn, between);
        for (int i = 0; i < HRC_JOINTS; i++) qpos[7 + i] = (qpos[7 + i] - other[7 + i]) / (2 * h);
        plan_curve_at(other, qvel, &curve, t);
        for (int i = 0; i < 3; i++) ENSURE_NEAR(turn[i] / (2 * h), qvel[3 + i], 2e-2);
        for (int i = 0; i < HRC_JOINTS; i++) ENSURE_NEAR(qpos[7 + i], qvel[6 + i], 5e-2);
    }
    plan_curve_at(qpos, qvel, &curve, PLAN_SPAN + 1);
    ENSURE(!memcmp(qpos, keys[PLAN_K - 1], sizeof qpos) && qvel[6] == 0);
}

/* ---- The difference from a reference ---- */

static void smooth_frame(hrc_frame *out, float t)
{
    const float h = 2e-3f;
    float ahead[HRC_NQ], behind[HRC_NQ], back[4], between[4];
    smooth_pose(out->qpos, t);
    smooth_pose(ahead, t + h);
    smooth_pose(behind, t - h);
    for (int i = 0; i < 3; i++) out->qvel[i] = (ahead[i] - behind[i]) / (2 * h);
    for (int i = 0; i < HRC_JOINTS; i++) out->qvel[6 + i] = (ahead[7 + i] - behind[7 + i]) / (2 * h);
    quat_conjf(back, behind + 3);
    quat_mulf(between, back, ahead + 3);
    quat_logf(out->qvel + 3, between);
    for (int i = 3; i < 6; i++) out->qvel[i] /= 2 * h;
}

/* A plan some way off smooth_pose, differently at every keyframe. */
static void wander(float keys[PLAN_K][HRC_NQ], float reference[PLAN_MAX_H + 1][HRC_NQ], int horizon,
                   uint64_t seed)
{
    rng r = rng_make(4, seed);
    float turn[3] = {0.5f * rng_normal(&r), 0.5f * rng_normal(&r), 2 * rng_normal(&r)}, step[4];
    for (int i = 0; i <= horizon; i++) smooth_pose(reference[i], (float)i / PLAN_FPS);
    for (int k = 0; k < PLAN_K; k++) {
        plan_window_at(keys[k], (const float(*)[HRC_NQ])reference, (float)(k * horizon) / (PLAN_K - 1),
                       horizon);
        for (int i = 0; i < HRC_NQ; i++) keys[k][i] += i >= 3 && i < 7 ? 0 : 0.005f * rng_normal(&r);
        for (int i = 0; i < 3; i++) turn[i] += 0.05f * rng_normal(&r);
        quat_expf(step, turn);
        quat_mulf(keys[k] + 3, step, keys[k] + 3);
    }
}

static void planned(hrc_frame *out, const plan_curve *curve, float t)
{
    smooth_frame(out, t);
    plan_difference_add(out, curve, t);
}

/* The curve goes through all keyframes but the first, which has no say in it. */
static void test_difference_hits_keyframes(void)
{
    static const int HORIZONS[] = {7, PLAN_H, PLAN_MAX_H};
    for (int n = 0; n < 60; n++) {
        const int H = HORIZONS[n % 3];
        float keys[PLAN_K][HRC_NQ], reference[PLAN_MAX_H + 1][HRC_NQ];
        plan_curve curve, other;
        wander(keys, reference, H, (uint64_t)n);
        plan_difference_fit(&curve, (const float(*)[HRC_NQ])keys, (const float(*)[HRC_NQ])reference, H);
        for (int k = 1; k < PLAN_K; k++) {
            const float frame = (float)(k * H) / (PLAN_K - 1);
            hrc_frame f = {0};
            plan_window_at(f.qpos, (const float(*)[HRC_NQ])reference, frame, H);
            plan_difference_add(&f, &curve, frame / PLAN_FPS);
            for (int i = 0; i < 3; i++) ENSURE_NEAR(f.qpos[i], keys[k][i], 1e-5);
            for (int i = 0; i < HRC_JOINTS; i++) {
                const float lo = (float)G1_JOINT[i].lo, hi = (float)G1_JOINT[i].hi;
                ENSURE_NEAR(f.qpos[7 + i], fminf(hi, fmaxf(lo, keys[k][7 + i])), 1e-5);
            }
            ENSURE_NEAR(quat_anglef(f.qpos + 3, keys[k] + 3), 0, 2e-3);
        }
        for (int i = 0; i < HRC_NQ; i++) keys[0][i] = 77;
        plan_difference_fit(&other, (const float(*)[HRC_NQ])keys, (const float(*)[HRC_NQ])reference, H);
        ENSURE(!memcmp(&curve, &other, sizeof curve));
    }
}

/* Velocities are the derivative of the poses, of the orientation in its own frame; also beyond the plan. */
static void test_difference_velocities(void)
{
    const float h = 2e-3f, step = PLAN_SPAN / (PLAN_K - 1);
    for (int n = 0; n < 20; n++) {
        float keys[PLAN_K][HRC_NQ], reference[PLAN_MAX_H + 1][HRC_NQ];
        plan_curve curve;
        wander(keys, reference, PLAN_H, (uint64_t)n);
        plan_difference_fit(&curve, (const float(*)[HRC_NQ])keys, (const float(*)[HRC_NQ])reference, PLAN_H);
        for (int k = 0; k < PLAN_K + 4; k++) {
            const float t = step * ((float)k + 0.4f);
            hrc_frame now, ahead, behind;
            float back[4], between[4], turn[3];
            planned(&now, &curve, t);
            planned(&ahead, &curve, t + h);
            planned(&behind, &curve, t - h);
            for (int i = 0; i < 3; i++)
                ENSURE_NEAR((ahead.qpos[i] - behind.qpos[i]) / (2 * h), now.qvel[i], 1e-2);
            for (int i = 0; i < HRC_JOINTS; i++) {
                const float q = now.qpos[7 + i];
                if (q <= (float)G1_JOINT[i].lo + 0.05f || q >= (float)G1_JOINT[i].hi - 0.05f)
                    continue; /* clamped */
                ENSURE_NEAR((ahead.qpos[7 + i] - behind.qpos[7 + i]) / (2 * h), now.qvel[6 + i], 3e-2);
            }
            quat_conjf(back, behind.qpos + 3);
            quat_mulf(between, back, ahead.qpos + 3);
            quat_logf(turn, between);
            for (int i = 0; i < 3; i++) ENSURE_NEAR(turn[i] / (2 * h), now.qvel[3 + i], 1e-2);
        }
    }
}

/* A plan that is the reference changes no bit of it. */
static void test_no_difference(void)
{
    float keys[PLAN_K][HRC_NQ], reference[PLAN_MAX_H + 1][HRC_NQ];
    plan_curve curve;
    for (int i = 0; i <= PLAN_H; i++) {
        smooth_pose(reference[i], (float)i / PLAN_FPS);
        for (int j = 0; j < HRC_JOINTS; j++) reference[i][7 + j] = (float)G1_JOINT[j].q0 + 0.003f * (float)i;
    }
    for (int k = 0; k < PLAN_K; k++)
        plan_window_at(keys[k], (const float(*)[HRC_NQ])reference, (float)(k * PLAN_H) / (PLAN_K - 1),
                       PLAN_H);
    plan_difference_fit(&curve, (const float(*)[HRC_NQ])keys, (const float(*)[HRC_NQ])reference, PLAN_H);
    for (int i = 0; i < 3 * PLAN_H; i++) {
        hrc_frame own, same;
        smooth_frame(&own, (float)i / PLAN_FPS);
        for (int j = 0; j < HRC_JOINTS; j++) own.qpos[7 + j] = (float)G1_JOINT[j].q0;
        same = own;
        plan_difference_add(&same, &curve, (float)i / PLAN_FPS);
        ENSURE(!memcmp(&own, &same, sizeof own));
    }
}

static void good_plan(float keys[PLAN_K][HRC_NQ])
{
    for (int k = 0; k < PLAN_K; k++) {
        smooth_pose(keys[k], PLAN_SPAN * (float)k / (PLAN_K - 1));
        for (int i = 0; i < HRC_JOINTS; i++) keys[k][7 + i] = (float)G1_JOINT[i].q0 + 0.01f * (float)k;
    }
}

static void test_guard(void)
{
    const float step = PLAN_SPAN / (PLAN_K - 1);
    float keys[PLAN_K][HRC_NQ];
    good_plan(keys);
    ENSURE(plan_guard(keys, step) == PLAN_FINE);
    keys[5][20] = NAN;
    ENSURE(plan_guard(keys, step) == PLAN_NONFINITE);
    good_plan(keys);
    keys[0][2] = INFINITY;
    ENSURE(plan_guard(keys, step) == PLAN_NONFINITE);
    good_plan(keys);
    keys[3][7 + 3] = 3.5f; /* a knee bends to 2.88 */
    ENSURE(plan_guard(keys, step) == PLAN_LIMITS);
    good_plan(keys);
    for (int k = 4; k < PLAN_K; k++) keys[k][0] += 1;
    ENSURE(plan_guard(keys, step) == PLAN_TOO_FAST);
    ENSURE(plan_guard(keys, 4 * step) == PLAN_FINE); /* in 0.11 s: 9 m/s */
    good_plan(keys);
    for (int k = 4; k < PLAN_K; k++) keys[k][7 + 3] += 1.5f;
    ENSURE(plan_guard(keys, step) == PLAN_TOO_FAST);
    good_plan(keys);
    for (int k = 4; k < PLAN_K; k++) quat_from_yawf(keys[k] + 3, 2);
    ENSURE(plan_guard(keys, step) == PLAN_TOO_FAST);
    good_plan(keys);
    keys[2][7 + 3] = (float)G1_JOINT[3].lo - 0.05f;
    keys[1][7 + 3] = keys[3][7 + 3] = 0.3f;
    ENSURE(plan_guard(keys, step) == PLAN_FINE && keys[2][7 + 3] == (float)G1_JOINT[3].lo);
    good_plan(keys);
    keys[0][0] += 9, keys[0][7 + 3] = 7; /* the first only anchors the plan */
    ENSURE(plan_guard(keys, step) == PLAN_FINE && keys[0][7 + 3] == 7);
    ENSURE(!strcmp(plan_verdict_name(PLAN_TOO_FAST), "too fast"));
}

TEST_TABLE({"plan.token_round_trip", test_token_round_trip},
           {"plan.state_is_invariant", test_state_is_invariant},
           {"plan.densify_follows_a_smooth_motion", test_densify_follows_a_smooth_motion},
           {"plan.densify_is_consistent", test_densify_is_consistent},
           {"plan.difference_hits_keyframes", test_difference_hits_keyframes},
           {"plan.difference_velocities", test_difference_velocities},
           {"plan.no_difference", test_no_difference}, {"plan.guard", test_guard})
