/* The planner's state vector, dense curves and guard. */
#include <string.h>

#include "base/rng.h"
#include "base/rot.h"
#include "plan/densify.h"
#include "plan/guard.h"
#include "plan/state.h"
#include "test.h"

static void random_pose(float qpos[HRC_NQ], rng *r)
{
    for (int i = 0; i < 3; i++) qpos[i] = rng_uniform(r, -3, 3);
    for (int i = 3; i < 7; i++) qpos[i] = rng_normal(r);
    quat_normalizef(qpos + 3);
    for (int i = 0; i < HRC_JOINTS; i++)
        qpos[7 + i] = rng_uniform(r, (float)G1_JOINT[i].lo, (float)G1_JOINT[i].hi);
}

static void test_state_round_trip(void)
{
    rng r = rng_make(1, 0);
    for (int n = 0; n < 200; n++) {
        float state[HRC_NQ], pose[HRC_NQ], coded[PLAN_D_MAX], back[HRC_NQ];
        random_pose(state, &r);
        random_pose(pose, &r);
        plan_frame frame = plan_frame_of(state);
        for (int D = PLAN_D_BLIND; D <= PLAN_D_MAX; D += PLAN_D_MAX - PLAN_D_BLIND) {
            plan_encode(coded, D, &frame, pose);
            memcpy(back, pose, 3 * sizeof *back); /* D = 35 leaves the position to the caller */
            plan_decode(back, D, &frame, coded);
            for (int i = 0; i < 3; i++) ENSURE_NEAR(back[i], pose[i], 1e-5);
            for (int i = 7; i < HRC_NQ; i++) ENSURE(back[i] == pose[i]);
            ENSURE_NEAR(quat_anglef(back + 3, pose + 3), 0, 2e-3);
        }
    }
}

/* Moving and turning the whole scene changes nothing of what the planner sees. */
static void test_state_is_invariant(void)
{
    rng r = rng_make(2, 0);
    for (int n = 0; n < 200; n++) {
        float pose[2][HRC_NQ], moved[2][HRC_NQ], a[PLAN_D_MAX], b[PLAN_D_MAX], turn[4];
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
        plan_encode(a, PLAN_D_MAX, &here, pose[1]);
        plan_encode(b, PLAN_D_MAX, &there, moved[1]);
        for (int i = 0; i < PLAN_D_MAX; i++) ENSURE_NEAR(a[i], b[i], 5e-5);
        plan_encode(a, PLAN_D_MAX, &here, pose[0]); /* the state itself: over the origin */
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
    plan_curve_fit(&curve, (const float(*)[HRC_NQ])keys);
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
    plan_curve_fit(&curve, (const float(*)[HRC_NQ])keys);
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

static void good_plan(float keys[PLAN_K][HRC_NQ])
{
    for (int k = 0; k < PLAN_K; k++) {
        smooth_pose(keys[k], PLAN_SPAN * (float)k / (PLAN_K - 1));
        for (int i = 0; i < HRC_JOINTS; i++) keys[k][7 + i] = (float)G1_JOINT[i].q0 + 0.01f * (float)k;
    }
}

static void test_guard(void)
{
    float keys[PLAN_K][HRC_NQ], state[HRC_NQ];
    good_plan(keys);
    memcpy(state, keys[0], sizeof state);
    ENSURE(plan_guard(keys, state, 1) == PLAN_FINE);
    keys[5][20] = NAN;
    ENSURE(plan_guard(keys, state, 1) == PLAN_NONFINITE);
    good_plan(keys);
    keys[3][7 + 3] = 3.5f; /* a knee bends to 2.88 */
    ENSURE(plan_guard(keys, state, 1) == PLAN_LIMITS);
    good_plan(keys);
    state[7] += 0.1f;
    ENSURE(plan_guard(keys, state, 1) == PLAN_DISCONTINUOUS);
    state[7] -= 0.1f;
    state[0] += 0.5f;
    ENSURE(plan_guard(keys, state, 1) == PLAN_DISCONTINUOUS);
    ENSURE(plan_guard(keys, state, 0) == PLAN_FINE); /* without position nobody knows where the robot is */
    state[0] -= 0.5f;
    good_plan(keys);
    for (int k = 4; k < PLAN_K; k++) keys[k][0] += 1;
    ENSURE(plan_guard(keys, state, 1) == PLAN_TOO_FAST);
    good_plan(keys);
    keys[2][7 + 3] = (float)G1_JOINT[3].lo - 0.05f;
    keys[1][7 + 3] = keys[3][7 + 3] = 0.3f;
    ENSURE(plan_guard(keys, state, 1) == PLAN_FINE && keys[2][7 + 3] == (float)G1_JOINT[3].lo);
    ENSURE(!strcmp(plan_verdict_name(PLAN_TOO_FAST), "too fast"));
}

TEST_TABLE({"plan.state_round_trip", test_state_round_trip},
           {"plan.state_is_invariant", test_state_is_invariant},
           {"plan.densify_follows_a_smooth_motion", test_densify_follows_a_smooth_motion},
           {"plan.densify_is_consistent", test_densify_is_consistent}, {"plan.guard", test_guard})
