/* The tracker's observations: layout against hand-computed values, frames, history, invariance. */
#include "track/observe.h"

#include <string.h>

#include "base/rng.h"
#include "base/rot.h"
#include "test.h"

static rng dice;

static void random_state(double qpos[HRC_NQ], double qvel[HRC_NV])
{
    for (int i = 0; i < 3; i++) qpos[i] = (double)rng_uniform(&dice, -2, 2);
    for (int i = 3; i < 7; i++) qpos[i] = (double)rng_normal(&dice);
    quat_normalize(qpos + 3);
    for (int i = 0; i < HRC_JOINTS; i++) qpos[7 + i] = (double)rng_uniform(&dice, -1, 1);
    for (int i = 0; i < HRC_NV; i++) qvel[i] = (double)rng_uniform(&dice, -3, 3);
}

static void to_float(float *out, const double *in, int n)
{
    for (int i = 0; i < n; i++) out[i] = (float)in[i];
}

static void test_proprio(void)
{
    /* Lying on the back: the body's x axis points up, so down is -x in the root frame. */
    double qpos[HRC_NQ] = {1, 2, 0.3}, qvel[HRC_NV] = {0}, q0[HRC_JOINTS];
    float action[HRC_JOINTS], p[OBS_P];
    quat_exp(qpos + 3, (double[3]){0, -1.5707963267948966, 0});
    qvel[3] = 0.1, qvel[4] = -0.2, qvel[5] = 0.3;
    for (int i = 0; i < HRC_JOINTS; i++) {
        qpos[7 + i] = 0.01 * i, q0[i] = 0.5, qvel[6 + i] = -i, action[i] = (float)(100 + i);
    }
    g1_state s;
    g1_state_read(&s, qpos, qvel);
    obs_proprio(p, &s, q0, action);
    ENSURE(OBS_P == 93 && OBS_PROPRIO == 930);
    ENSURE_NEAR(p[0], -1, 1e-6);
    ENSURE_NEAR(p[1], 0, 1e-6);
    ENSURE_NEAR(p[2], 0, 1e-6);
    ENSURE_NEAR(p[3], 0.1, 1e-7);
    ENSURE_NEAR(p[4], -0.2, 1e-7);
    ENSURE_NEAR(p[5], 0.3, 1e-7);
    for (int i = 0; i < HRC_JOINTS; i++) {
        ENSURE_NEAR(p[6 + i], 0.01 * i - 0.5, 1e-6);
        ENSURE_NEAR(p[35 + i], -i, 0);
        ENSURE_NEAR(p[64 + i], 100 + i, 0);
    }
}

static void test_history(void)
{
    obs_history h;
    float p[OBS_P];
    for (int i = 0; i < OBS_P; i++) p[i] = -1;
    obs_history_fill(&h, p);
    for (int i = 0; i < OBS_HISTORY; i++) ENSURE(memcmp(h.p[i], p, sizeof p) == 0);
    for (int step = 1; step <= 12; step++) {
        for (int i = 0; i < OBS_P; i++) p[i] = (float)step;
        obs_history_push(&h, p);
        for (int i = 0; i < OBS_HISTORY; i++) { /* row 9 is the newest */
            int expected = step - (OBS_HISTORY - 1 - i);
            ENSURE_NEAR(h.p[i][50], expected < 1 ? -1 : expected, 0);
        }
    }
}

static void test_reference(void)
{
    float qpos[HRC_NQ] = {5, 6, 0.7f}, qvel[HRC_NV] = {0}, m[OBS_M];
    double robot[4], heading[4];
    /* The reference faces +y and moves along +y at 2 m/s: forwards. The robot faces +x. */
    quat_from_yaw(heading, 1.5707963267948966);
    to_float(qpos + 3, heading, 4);
    qvel[1] = 2, qvel[5] = 0.4f;
    for (int i = 0; i < HRC_JOINTS; i++) qpos[7 + i] = (float)i;
    quat_from_yaw(robot, 0);
    ENSURE(OBS_M == 41 && OBS_WINDOW == 410);
    const double columns[6] = {0, -1, 1, 0, 0, 0}; /* of a quarter turn about z */
    for (int mode = OBS_BODY; mode <= OBS_WORLD; mode++) {
        obs_reference(m, (obs_frame){qpos, qvel}, robot, (obs_rotation)mode);
        ENSURE_NEAR(m[0], 2, 1e-6);
        ENSURE_NEAR(m[1], 0, 1e-6);
        ENSURE_NEAR(m[5], 0.4, 1e-6);
        for (int k = 0; k < 6; k++) ENSURE_NEAR(m[6 + k], columns[k], 1e-6);
        for (int i = 0; i < HRC_JOINTS; i++) ENSURE_NEAR(m[12 + i], i, 0);
    }
    ENSURE(obs_rotation_mode("world") == OBS_WORLD && obs_rotation_mode("body") == OBS_BODY);
}

/* Turn and shift a state: everything the policy sees stays. The paper's orientation error does not. */
static void turn_state(double qpos[HRC_NQ], double qvel[HRC_NV], const double yaw[4])
{
    quat_rotate(qpos, yaw, qpos);
    quat_rotate(qvel, yaw, qvel);
    quat_mul(qpos + 3, yaw, qpos + 3);
    qpos[0] += 3, qpos[1] -= 7;
}

static void observe(float critic[OBS_CRITIC], const double *qpos, const double *qvel, const double *ref_qpos,
                    const double *ref_qvel, obs_rotation mode)
{
    float fpos[HRC_NQ], fvel[HRC_NV], p[OBS_P], window[OBS_WINDOW], action[HRC_JOINTS] = {0};
    double q0[HRC_JOINTS] = {0};
    obs_frame frames[OBS_FRAMES];
    g1_state s;
    fk_pose pose;
    to_float(fpos, ref_qpos, HRC_NQ);
    to_float(fvel, ref_qvel, HRC_NV);
    for (int i = 0; i < OBS_FRAMES; i++) frames[i] = (obs_frame){fpos, fvel};
    g1_state_read(&s, qpos, qvel);
    fk(&pose, qpos);
    obs_proprio(p, &s, q0, action);
    obs_window(window, frames, s.quat, mode);
    obs_critic(critic, p, window, &s, &pose, frames[0]);
}

static void test_heading(void)
{
    dice = rng_make(7, 0);
    double worst = 0, paper = 0;
    for (int n = 0; n < 50; n++) {
        double qpos[HRC_NQ], qvel[HRC_NV], ref_qpos[HRC_NQ], ref_qvel[HRC_NV], yaw[4];
        float before[2][OBS_CRITIC], after[2][OBS_CRITIC];
        random_state(qpos, qvel);
        random_state(ref_qpos, ref_qvel);
        for (int mode = 0; mode < 2; mode++)
            observe(before[mode], qpos, qvel, ref_qpos, ref_qvel, (obs_rotation)mode);
        quat_from_yaw(yaw, (double)rng_uniform(&dice, -3, 3));
        turn_state(qpos, qvel, yaw);
        turn_state(ref_qpos, ref_qvel, yaw);
        for (int mode = 0; mode < 2; mode++)
            observe(after[mode], qpos, qvel, ref_qpos, ref_qvel, (obs_rotation)mode);
        for (int i = 0; i < OBS_CRITIC; i++) {
            worst = fmax(worst, fabs((double)before[0][i] - (double)after[0][i]));
            paper = fmax(paper, fabs((double)before[1][i] - (double)after[1][i]));
        }
    }
    ENSURE_NEAR(worst, 0, 2e-5);
    ENSURE(paper > 0.5);
}

static void test_critic(void)
{
    double qpos[HRC_NQ], qvel[HRC_NV] = {0}, ref[HRC_NQ], ref_vel[HRC_NV] = {0};
    float c[OBS_CRITIC];
    g1_default_qpos(qpos);
    memcpy(ref, qpos, sizeof ref);
    quat_from_yaw(qpos + 3, 1.5707963267948966); /* faces +y */
    ref[0] += 0.3, ref[2] += 0.05;               /* the reference stands to the robot's right, and higher */
    qvel[1] = 1.5;
    observe(c, qpos, qvel, ref, ref_vel, OBS_BODY);
    ENSURE(OBS_CRITIC == 628);
    ENSURE_NEAR(c[503], 0, 1e-6);
    ENSURE_NEAR(c[504], -0.3, 1e-6);
    ENSURE_NEAR(c[505], 0.05, 1e-6);
    ENSURE_NEAR(c[506], 1.5, 1e-6); /* forwards */
    ENSURE_NEAR(c[509], qpos[2], 1e-6);
    ENSURE_NEAR(c[510], ref[2], 1e-6);
    fk_pose pose;
    quat_from_yaw(qpos + 3, 0);
    fk(&pose, qpos);
    for (int b = 1; b < G1_TRACKED; b++)
        for (int k = 0; k < 3; k++)
            ENSURE_NEAR(c[511 + 3 * (b - 1) + k], pose.pos[G1_TRACKED_LINK[b]][k] - pose.pos[0][k], 1e-6);
}

TEST_TABLE({"observe.proprio", test_proprio}, {"observe.history", test_history},
           {"observe.reference", test_reference}, {"observe.heading", test_heading},
           {"observe.critic", test_critic})
