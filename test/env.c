/* The tracking environment: rewards and terminations against hand-computed values, episodes, randomness,
 * threads, diagnosis. */
#include "sim/env.h"

#include <stdlib.h>
#include <string.h>

#include "base/rot.h"
#include "base/tensorfile.h"
#include "plan/offset.h"
#include "robot/posture.h"
#include "synthetic.h"
#include "test.h"

enum { WORLDS = 6, FRAMES = 120 };

typedef struct {
    config cfg;
    clip motion;
    references refs;
    pool *threads;
    env *e;
    float proprio[WORLDS * OBS_PROPRIO], window[WORLDS * OBS_WINDOW], critic[WORLDS * OBS_CRITIC];
    float last[WORLDS * OBS_CRITIC], reward[WORLDS], terms[WORLDS * REWARD_TERMS];
    uint8_t end[WORLDS];
} bed;

static config quiet_config(void)
{
    config cfg = config_default();
    cfg.env_push_scale = 0, strcpy(cfg.env_randomise, "off"), strcpy(cfg.env_perturb, "off");
    strcpy(cfg.env_mirror, "off"), strcpy(cfg.tracker_basis, "reference");
    cfg.env_start_noise = 0;
    return cfg;
}

static env_arrays arrays(bed *b)
{
    return (env_arrays){b->proprio, b->window, b->critic, b->reward, b->terms, b->end, b->last};
}

static void bed_make(bed *b, config cfg, int threads, const env_starts *starts)
{
    hrc_error err;
    b->cfg = cfg;
    synthetic_turn(&b->motion, FRAMES, 50);
    ENSURE_OK(pool_create(&b->threads, threads, &err));
    ENSURE_OK(references_build(&b->refs, &b->motion, 1, strcmp(cfg.env_mirror, "on") == 0, b->threads, &err));
    ENSURE_OK(env_create(&b->e, &b->cfg, &END_RULES, &b->refs, WORLDS, 3, starts, b->threads, &err));
}

static void bed_free(bed *b)
{
    env_free(b->e);
    references_free(&b->refs);
    pool_free(b->threads);
    clip_free(&b->motion);
}

/* ---- Rewards ---- */

static void state_of(double qpos[HRC_NQ], double qvel[HRC_NV], const ref_frame *f)
{
    for (int i = 0; i < HRC_NQ; i++) qpos[i] = (double)f->qpos[i];
    for (int i = 0; i < HRC_NV; i++) qvel[i] = (double)f->qvel[i];
}

static void test_rewards(void)
{
    static bed b;
    bed_make(&b, quiet_config(), 1, NULL);
    const reward_weights w = reward_from_config(&b.cfg);
    const ref_frame *f = &b.refs.clips[0].frames[40];
    double qpos[HRC_NQ], qvel[HRC_NV], terms[REWARD_TERMS], contact[G1_LINKS] = {0};
    float zero[HRC_JOINTS] = {0}, action[HRC_JOINTS] = {0};
    robot_view v;
    state_of(qpos, qvel, f);
    for (int i = 0; i < HRC_JOINTS; i++)
        ENSURE(qpos[7 + i] > G1_JOINT[i].soft_lo && qpos[7 + i] < G1_JOINT[i].soft_hi);
    robot_look(&v, qpos, qvel);
    double sum = reward_terms(terms, &w, &v, f, zero, zero, contact);
    ENSURE_NEAR(sum, 6.6, 1e-5); /* perfect: every term at its highest */
    for (int i = 0; i < REWARD_NTRACKING; i++) ENSURE_NEAR(terms[i], w.weight[i], 1e-5);
    ENSURE_NEAR(reward_score(&w, terms), 1, 1e-6);

    qpos[0] += 0.3, qpos[1] += 0.4; /* half a metre aside: only the root's position feels it */
    robot_look(&v, qpos, qvel);
    reward_terms(terms, &w, &v, f, zero, zero, contact);
    ENSURE_NEAR(terms[REWARD_root_pos], 0.1 * exp(-0.25 / 0.09), 1e-6);
    ENSURE_NEAR(terms[REWARD_body_pos], 1, 1e-5);
    ENSURE_NEAR(terms[REWARD_root_lin], 1, 1e-5);

    state_of(qpos, qvel, f); /* 0.1 m higher: relative targets keep the reference's height */
    qpos[2] += 0.1;
    robot_look(&v, qpos, qvel);
    reward_terms(terms, &w, &v, f, zero, zero, contact);
    ENSURE_NEAR(terms[REWARD_root_pos], 0.1 * exp(-0.01 / 0.09), 1e-6);
    ENSURE_NEAR(terms[REWARD_body_pos], exp(-0.01 / 0.09), 1e-5);

    state_of(qpos, qvel, f); /* turned by 0.2 rad, velocities turned with it */
    double yaw[4];
    quat_from_yaw(yaw, 0.2);
    quat_mul(qpos + 3, yaw, qpos + 3);
    quat_rotate(qvel, yaw, qvel);
    robot_look(&v, qpos, qvel);
    reward_terms(terms, &w, &v, f, zero, zero, contact);
    ENSURE_NEAR(terms[REWARD_root_rot], 0.5 * exp(-0.04 / 0.16), 1e-5);
    ENSURE_NEAR(terms[REWARD_body_pos], 1, 1e-5);
    ENSURE_NEAR(terms[REWARD_body_rot], 1, 1e-5);
    ENSURE_NEAR(terms[REWARD_root_lin], 1, 1e-5);

    state_of(qpos, qvel, f); /* 0.5 m/s faster upwards: the root and all links alike */
    qvel[2] += 0.5;
    robot_look(&v, qpos, qvel);
    reward_terms(terms, &w, &v, f, zero, zero, contact);
    ENSURE_NEAR(terms[REWARD_root_lin], exp(-0.25 / 0.25), 1e-5);
    ENSURE_NEAR(terms[REWARD_body_lin], exp(-0.25), 1e-5);

    state_of(qpos, qvel, f); /* turning 1 rad/s faster about the robot's own x */
    qvel[3] += 1;
    robot_look(&v, qpos, qvel);
    reward_terms(terms, &w, &v, f, zero, zero, contact);
    ENSURE_NEAR(terms[REWARD_root_ang], exp(-1), 1e-5);
    ENSURE_NEAR(terms[REWARD_body_ang], exp(-1 / 3.14159265358979), 1e-5);

    state_of(qpos, qvel, f); /* penalties */
    qpos[7 + 3] = G1_JOINT[3].soft_hi + 0.02, qpos[7 + 9] = G1_JOINT[9].soft_lo - 0.03;
    action[0] = 2, action[5] = -1;
    contact[G1_TORSO] = 5, contact[3] = 1.5, contact[4] = 0.9, contact[G1_LEFT_ANKLE] = 300;
    robot_look(&v, qpos, qvel);
    reward_terms(terms, &w, &v, f, action, zero, contact);
    ENSURE_NEAR(terms[REWARD_action_rate], -0.02 * 5, 1e-9);
    ENSURE_NEAR(terms[REWARD_joint_limit], -10 * 0.05, 1e-9);
    ENSURE_NEAR(terms[REWARD_contact], -0.1 * 2, 1e-9);
    bed_free(&b);
}

static void test_terminations(void)
{
    static bed b;
    bed_make(&b, quiet_config(), 1, NULL);
    end_rules rules = END_RULES;
    static ref_frame f;
    f = b.refs.clips[0].frames[10];
    double qpos[HRC_NQ], qvel[HRC_NV];
    robot_view v;
#define CHECK(expected)                                                                                      \
    robot_look(&v, qpos, qvel);                                                                              \
    ENSURE(end_check(&rules, &v, &f) == (expected))
    state_of(qpos, qvel, &f);
    CHECK(END_NONE);
    qpos[2] += 0.24;
    CHECK(END_NONE);
    qpos[2] += 0.02;
    CHECK(END_HEIGHT);
    f.qpos[2] = 0.4f; /* a low posture: the looser rule; robot and reference 0.6 apart */
    qpos[2] = 1.0;
    for (int i = 0; i < G1_TRACKED; i++) f.pos[i][2] += 0.4f - (float)b.motion.qpos[2];
    CHECK(END_NONE);
    qpos[2] = 1.16;
    CHECK(END_HEIGHT);
    rules.low = 0.3; /* as training through a world model has it */
    qpos[2] = 0.72;
    CHECK(END_HEIGHT);
    qpos[2] = 0.68;
    CHECK(END_NONE);
    f = b.refs.clips[0].frames[10]; /* the reference flies: a robot that is not with it has missed the leap */
    state_of(qpos, qvel, &f);
    f.qpos[2] += 0.2f;
    rules.leap = 0.12;
    CHECK(END_NONE);
    for (int i = 0; i < G1_TRACKED; i++) f.pos[i][2] += 0.2f;
    CHECK(END_HEIGHT);
    qpos[2] += 0.1;
    CHECK(END_NONE);
    f = b.refs.clips[0].frames[10];
    state_of(qpos, qvel, &f);
    double roll[4]; /* lying on the side: the vertical part of gravity goes from -1 to 0 */
    quat_exp(roll, (double[3]){1.5, 0, 0});
    quat_mul(qpos + 3, qpos + 3, roll);
    CHECK(END_ORIENTATION);
    state_of(qpos, qvel, &f);
    qpos[7 + 15] += 1.6; /* the left arm swings: the hand is far from its height, root and feet are not */
    CHECK(END_EFFECTOR);
    state_of(qpos, qvel, &f);
    double yaw[4];
    quat_from_yaw(yaw, 1.2);
    quat_mul(qpos + 3, yaw, qpos + 3);
    CHECK(END_NONE); /* heading is no reason by itself */
    rules.angle = 1;
    CHECK(END_ORIENTATION);
#undef CHECK
    bed_free(&b);
}

/* ---- Episodes ---- */

static int start_frame;
static env_episode seen[64];
static int nseen;

static void draw_fixed(const void *ctx, rng *r, int *which, int *frame)
{
    (void)ctx, (void)r;
    *which = 0;
    *frame = start_frame;
}

static void note_end(void *ctx, const env_episode *e)
{
    (void)ctx;
    if (nseen < COUNT(seen)) seen[nseen++] = *e;
}

static const env_starts FIXED = {NULL, draw_fixed, note_end};

static void test_time_out(void)
{
    static bed b;
    float actions[WORLDS * HRC_JOINTS] = {0};
    start_frame = FRAMES - 6, nseen = 0;
    bed_make(&b, quiet_config(), 1, &FIXED);
    env_arrays out = arrays(&b);
    env_reset(b.e, &out);
    for (int step = 1; step <= 5; step++) {
        for (int i = 0; i < WORLDS; i++) b.last[i * OBS_CRITIC] = -7;
        env_step(b.e, actions, &out);
        for (int i = 0; i < WORLDS; i++) {
            ENSURE(b.end[i] == (step < 5 ? END_NONE : END_CLIP));
            ENSURE((b.last[i * OBS_CRITIC] == -7) == (step < 5));
            ENSURE(b.reward[i] > 0.5f * 6.6f * 0.02f && b.reward[i] <= 6.6f * 0.02f);
        }
    }
    ENSURE(!end_is_failure(END_CLIP) && !end_is_failure(END_EPISODE) && end_is_failure(END_DIVERGED));
    ENSURE(nseen == WORLDS && seen[0].steps == 5 && seen[0].last == FRAMES - 1 &&
           seen[0].first == FRAMES - 6);
    ENSURE(seen[0].score > 0.5 && seen[0].score <= 1);
    env_counts c = env_count(b.e);
    ENSURE(c.steps == 5 * WORLDS && c.episodes == WORLDS && c.ends[END_CLIP] == WORLDS);
    /* the new episode's history holds its first observation ten times */
    for (int k = 0; k < OBS_P; k++) ENSURE(b.proprio[k] == b.proprio[9 * OBS_P + k]);
    bed_free(&b);

    config cfg = quiet_config(); /* the longest episode: three steps */
    cfg.env_episode_s = 0.06;
    start_frame = 0;
    bed_make(&b, cfg, 1, &FIXED);
    out = arrays(&b);
    env_reset(b.e, &out);
    for (int step = 1; step <= 3; step++) env_step(b.e, actions, &out);
    ENSURE(b.end[0] == END_EPISODE);
    bed_free(&b);
}

static void test_observations(void)
{
    static bed b;
    float actions[WORLDS * HRC_JOINTS] = {0};
    start_frame = 20, nseen = 0;
    bed_make(&b, quiet_config(), 1, &FIXED);
    env_arrays out = arrays(&b);
    env_reset(b.e, &out);
    /* Started exactly on the reference; the window begins one frame ahead. */
    const ref_frame *f = b.refs.clips[0].frames;
    for (int k = 0; k < OBS_FRAMES; k++)
        for (int i = 0; i < HRC_JOINTS; i++)
            ENSURE(b.window[k * OBS_M + OBS_REF_Q + i] == f[21 + k].qpos[7 + i]);
    for (int i = 0; i < HRC_JOINTS; i++) {
        ENSURE_NEAR(b.proprio[OBS_Q + i], (double)f[20].qpos[7 + i] - G1_JOINT[i].q0, 1e-6);
        ENSURE_NEAR(b.proprio[OBS_QD + i], f[20].qvel[6 + i], 1e-6);
    }
    for (int k = 0; k < 3; k++) ENSURE_NEAR(b.critic[OBS_CRITIC_POS + k], 0, 1e-6);
    actions[3] = 0.25f;
    env_step(b.e, actions, &out);
    ENSURE(b.proprio[9 * OBS_P + OBS_ACTION + 3] == 0.25f && b.proprio[8 * OBS_P + OBS_ACTION + 3] == 0);
    const env_after *after = env_last(b.e, 0);
    ENSURE(after->at == 20 && after->clip == 0);
    ENSURE_NEAR(after->target[3], (double)f[21].qpos[10] + 0.25 * G1_JOINT[3].action_scale, 1e-6);
    ENSURE(memcmp(after->qpos, env_world(b.e, 0)->qpos, sizeof after->qpos) == 0);
    bed_free(&b);
}

/* Steps all worlds and says what an anchored policy is to be shown: by plan/offset.h, planned every other
 * step from the state that the robot had then. */
static void test_anchored(void)
{
    static bed b;
    static float actions[WORLDS * HRC_JOINTS];
    config cfg = quiet_config();
    rng r = rng_make(5, 0);
    plan_offset plans[WORLDS];
    cfg.env_anchored = 1;
    strcpy(cfg.tracker_basis, "ahead");
    start_frame = 20, nseen = 0;
    bed_make(&b, cfg, 1, &FIXED);
    env_arrays out = arrays(&b);
    env_reset(b.e, &out);
    const ref_frame *f = b.refs.clips[0].frames;
    for (int step = 0; step < 7; step++) {
        for (int i = 0; i < COUNT(actions); i++) actions[i] = 0.5f * rng_normal(&r);
        for (int w = 0; w < WORLDS; w++) {
            const double *robot = env_world(b.e, w)->qpos;
            float state[HRC_NQ];
            for (int i = 0; i < HRC_NQ; i++) state[i] = (float)robot[i];
            if (step % 2 == 0) plan_offset_set(&plans[w], state, f[20 + step].qpos);
            for (int k = 0; k < OBS_FRAMES; k++) {
                float qpos[HRC_NQ], qvel[HRC_NV], m[OBS_M];
                const ref_frame *at = &f[21 + step + k];
                plan_offset_frame(qpos, qvel, &plans[w], at->qpos, at->qvel, (float)(step % 2 + 1 + k) / 50);
                obs_reference(m, (obs_frame){qpos, qvel}, robot + 3, OBS_BODY);
                for (int i = 0; i < OBS_M; i++)
                    ENSURE_NEAR(b.window[(w * OBS_FRAMES + k) * OBS_M + i], m[i], 1e-5);
            }
        }
        env_step(b.e, actions, &out);
        for (int w = 0; w < WORLDS; w++) {
            float qpos[HRC_NQ];
            plan_offset_frame(qpos, NULL, &plans[w], f[24 + step].qpos, NULL, (float)(step % 2 + 4) / 50);
            ENSURE(b.end[w] == END_NONE && env_last(b.e, w)->anchored);
            for (int i = 0; i < HRC_JOINTS; i++)
                ENSURE_NEAR(env_last(b.e, w)->target[i],
                            (double)qpos[7 + i] +
                                G1_JOINT[i].action_scale * (double)actions[w * HRC_JOINTS + i],
                            1e-5);
        }
    }
    ENSURE(vec_normf(plans[0].turn) > 1e-4f); /* there was something to anchor */
    bed_free(&b);
}

/* A reference at another pace is where that pace brings it, with velocities to match. */
static void test_paces(void)
{
    static bed b;
    static float actions[WORLDS * HRC_JOINTS];
    config cfg = quiet_config();
    cfg.env_paced = 1;
    start_frame = 20, nseen = 0;
    bed_make(&b, cfg, 1, &FIXED);
    const ref_clip *c = &b.refs.clips[0];
    ENSURE(!c->leaps && c->fastest > 1.5);
    env_arrays out = arrays(&b);
    env_reset(b.e, &out);
    double slow = 0, fast = 0;
    for (int step = 0; step < 3; step++) env_step(b.e, actions, &out);
    for (int w = 0; w < WORLDS; w++) {
        const env_after *after = env_last(b.e, w);
        float qpos[HRC_NQ], qvel[HRC_NV];
        ENSURE(after->pace >= 1 / 1.5 && after->pace <= 1.5);
        ENSURE_NEAR(after->at, 20 + 2 * after->pace, 1e-9);
        slow = fmax(slow, 1 - after->pace), fast = fmax(fast, after->pace - 1);
        const double at = after->at + 2 * after->pace; /* the window's first frame, after the third step */
        ref_pose_between(qpos, qvel, c, false, at, after->pace);
        const int i = (int)at;
        for (int j = 0; j < HRC_JOINTS; j++) {
            const double a = (double)c->frames[i].qpos[7 + j], d = (double)c->frames[i + 1].qpos[7 + j];
            ENSURE_NEAR(b.window[w * OBS_WINDOW + OBS_REF_Q + j], a + (at - i) * (d - a), 1e-5);
            ENSURE_NEAR(qvel[6 + j], after->pace * (double)c->frames[i].qvel[6 + j], 0.2);
        }
    }
    ENSURE(slow > 0.05 && fast > 0.05);
    bed_free(&b);
}

static int pieces, failed_pieces;

static void count_pieces(void *ctx, const env_episode *e)
{
    (void)ctx;
    pieces++, failed_pieces += end_is_failure(e->end);
}

/* Robots that do nothing fall. Of hard episodes that is told once, and they go on until the robot lies on the
 * ground; others end where they leave the bounds. */
static void test_hard(void)
{
    for (int hard = 0; hard < 2; hard++) {
        static bed b;
        static float actions[WORLDS * HRC_JOINTS];
        config cfg = quiet_config();
        cfg.env_hard_share = hard, cfg.env_give_up = 0;
        strcpy(cfg.tracker_basis, "default");
        cfg.env_start_noise = 1;
        start_frame = 0, pieces = failed_pieces = 0;
        env_starts starts = FIXED;
        starts.ended = count_pieces;
        bed_make(&b, cfg, 1, &starts);
        env_arrays out = arrays(&b);
        env_reset(b.e, &out);
        int lost = 0, ended = 0;
        for (int step = 0; step < 110; step++) {
            env_step(b.e, actions, &out);
            for (int w = 0; w < WORLDS; w++) {
                const env_after *after = env_last(b.e, w);
                ENSURE(!hard || b.end[w] == END_NONE || after->qpos[2] < POSTURE_DOWN_TOUCH_M);
                ended += b.end[w] != END_NONE;
                lost += after->lost;
            }
        }
        ENSURE(failed_pieces > 0 && pieces == failed_pieces);
        ENSURE(hard ? ended > 0 && failed_pieces >= ended && lost > ended : lost == 0);
        ENSURE(env_count(b.e).lost == lost);
        bed_free(&b);
    }
}

/* After a failure: on the same motion some time before it. */
static void test_restarts(void)
{
    static bed b;
    static float actions[WORLDS * HRC_JOINTS];
    config cfg = quiet_config();
    int begun = 0, before[WORLDS] = {0};
    double failed_at[WORLDS];
    cfg.env_fallen_share = 0, cfg.env_restart_share = 1;
    strcpy(cfg.tracker_basis, "default");
    start_frame = 95;
    bed_make(&b, cfg, 1, &FIXED);
    env_arrays out = arrays(&b);
    env_reset(b.e, &out);
    for (int i = 0; i < COUNT(actions); i++) actions[i] = i % 2 ? 4 : -4; /* no robot stands so */
    for (int step = 0; step < 150 && begun < 40; step++) {
        env_step(b.e, actions, &out);
        for (int w = 0; w < WORLDS; w++) {
            const env_after *after = env_last(b.e, w);
            if (before[w]) {
                ENSURE(after->at >= floor(fmax(0, failed_at[w] - 75)) &&
                       after->at <= fmax(0, failed_at[w] - 25));
                begun++;
            }
            before[w] = end_is_failure((end_kind)b.end[w]);
            failed_at[w] = after->at + after->pace;
        }
    }
    ENSURE(begun > WORLDS / 2);
    bed_free(&b);
}

/* Everything on: pushes, randomisation, noise, mirror. */
static void roll(bed *b, int threads, uint64_t *hash)
{
    config cfg = config_default();
    static float actions[WORLDS * HRC_JOINTS];
    rng r = rng_make(1, 1);
    cfg.env_sensor_noise = 1;
    bed_make(b, cfg, threads, NULL);
    env_arrays out = arrays(b);
    env_reset(b->e, &out);
    *hash = 1469598103934665603u;
    for (int step = 0; step < 80; step++) { /* a push comes after 50 at the least */
        for (int i = 0; i < COUNT(actions); i++) actions[i] = 0.5f * rng_normal(&r);
        env_step(b->e, actions, &out);
        const struct {
            const void *data;
            size_t size;
        } parts[] = {{b->proprio, sizeof b->proprio}, {b->window, sizeof b->window},
                     {b->critic, sizeof b->critic},   {b->reward, sizeof b->reward},
                     {b->terms, sizeof b->terms},     {b->end, sizeof b->end}};
        for (int p = 0; p < COUNT(parts); p++)
            for (size_t i = 0; i < parts[p].size; i++)
                *hash = (*hash ^ ((const uint8_t *)parts[p].data)[i]) * 1099511628211u;
    }
}

static void test_threads(void)
{
    static bed one, three;
    uint64_t a, b;
    roll(&one, 1, &a);
    roll(&three, 3, &b);
    ENSURE(a == b);
    env_counts x = env_count(one.e), y = env_count(three.e);
    ENSURE(memcmp(&x, &y, sizeof x) == 0 && x.episodes > 0);
    /* randomised: worlds differ, within their ranges */
    bool differ = false;
    for (int i = 0; i < WORLDS; i++) {
        const sim_params *p = &env_world(one.e, i)->params;
        ENSURE(p->friction >= 0.3 && p->friction <= 1.2 && fabs(p->torso_com[0]) <= 0.025);
        ENSURE(fabs(p->torso_com[1]) <= 0.05);
        differ |= p->friction != env_world(one.e, 0)->params.friction;
    }
    ENSURE(differ);
    bed_free(&one);
    bed_free(&three);
}

static void test_mirror(void)
{
    static bed b;
    config cfg = quiet_config();
    strcpy(cfg.env_mirror, "on");
    start_frame = 10;
    bed_make(&b, cfg, 1, &FIXED);
    const ref_clip *c = &b.refs.clips[0];
    ENSURE_NEAR(c->mirrored[30].qpos[1], -c->frames[30].qpos[1], 1e-6);
    for (int k = 0; k < G1_TRACKED; k++) { /* left and right links exchange */
        double sum = 0, other = 0;
        for (int l = 0; l < G1_TRACKED; l++)
            sum += (double)c->frames[30].pos[l][1], other += (double)c->mirrored[30].pos[l][1];
        ENSURE_NEAR(sum, -other, 1e-4);
    }
    int mirrored = 0, n = 0;
    env_arrays out = arrays(&b);
    float actions[WORLDS * HRC_JOINTS] = {0};
    for (int round = 0; round < 20; round++) {
        env_reset(b.e, &out);
        env_step(b.e, actions, &out);
        for (int i = 0; i < WORLDS; i++) mirrored += env_last(b.e, i)->mirrored, n++;
    }
    ENSURE(mirrored > n / 4 && mirrored < 3 * n / 4);
    bed_free(&b);
}

static void test_diagnosis(void)
{
    static bed b;
    hrc_error err;
    float actions[WORLDS * HRC_JOINTS] = {0};
    start_frame = 5, nseen = 0;
    bed_make(&b, quiet_config(), 2, &FIXED);
    env_arrays out = arrays(&b);
    env_reset(b.e, &out);
    ENSURE(env_dump(b.e, test_path("dump.safetensors"), &err) < 0);
    env_step(b.e, actions, &out);
    env_step(b.e, actions, &out);
    actions[2 * HRC_JOINTS + 7] = NAN; /* world 2 only */
    env_step(b.e, actions, &out);
    ENSURE(b.end[2] == END_DIVERGED && b.end[1] == END_NONE);
    for (int i = 0; i < OBS_PROPRIO; i++) ENSURE(isfinite(b.proprio[2 * OBS_PROPRIO + i]));
    for (int i = 0; i < OBS_CRITIC; i++) ENSURE(isfinite(b.last[2 * OBS_CRITIC + i]));
    ENSURE(b.reward[2] == 0 && isfinite(env_count(b.e).terms[REWARD_action_rate]));
    ENSURE(env_count(b.e).ends[END_DIVERGED] == 1);
    ENSURE_OK(env_dump(b.e, test_path("dump.safetensors"), &err));
    tensorfile file;
    const tensor *t;
    ENSURE_OK(tensorfile_open(&file, test_path("dump.safetensors"), &err));
    ENSURE_OK(tensorfile_need(&file, "target", DT_F64, 2, (int64_t[]){3, HRC_JOINTS}, &t, &err));
    ENSURE(isnan(((const double *)t->data)[2 * HRC_JOINTS + 7]));
    tensorfile_close(&file);
    text said = {0};
    env_diagnose(b.e, &said);
    ENSURE(strstr(said.data, "physics diverged") && strstr(said.data, "turn: 1 of 1 episodes fail"));
    text_free(&said);
    env_clear(b.e);
    ENSURE(env_count(b.e).steps == 0);
    bed_free(&b);
}

static void test_bench(void)
{
    char said[2000];
    ENSURE(test_shell(
               said, sizeof said,
               "$HERACLES bench env motions/wave.safetensors --seconds 0.2 --worlds 4 --json --quiet") == 0);
    ENSURE(strstr(said, "mj_step_share") && strstr(said, "steps_per_s"));
    ENSURE(test_shell(said, sizeof said, "$HERACLES bench env nothing.safetensors") == 1);
    ENSURE(strstr(said, "nothing.safetensors"));
}

/* ---- Checkpoints ---- */

static void wander(bed *b, rng *r, int steps)
{
    float actions[WORLDS * HRC_JOINTS];
    env_arrays out = arrays(b);
    for (int s = 0; s < steps; s++) {
        for (int i = 0; i < COUNT(actions); i++) actions[i] = 2 * rng_normal(r);
        env_step(b->e, actions, &out);
    }
}

/* Another environment, given the state of the first, goes on as the first does. */
static void test_checkpoint(void)
{
    static bed b, c;
    static state_list l;
    hrc_error err;
    config cfg = config_default();
    bed_make(&b, cfg, 2, NULL);
    bed_make(&c, cfg, 1, NULL);
    env_arrays out = arrays(&b), other = arrays(&c);
    rng r = rng_make(8, 0);
    env_reset(b.e, &out);
    wander(&b, &r, 60);
    env_state(b.e, &l, "env.");
    ENSURE_OK(state_save(&l, test_path("env.checkpoint"), NULL, 0, &err));
    rng later = r;
    wander(&b, &r, 60);
    env_reset(c.e, &other);
    l.n = 0;
    env_state(c.e, &l, "env.");
    ENSURE_OK(state_load(&l, test_path("env.checkpoint"), NULL, 0, &err));
    wander(&c, &later, 60);
    ENSURE(env_count(b.e).episodes > 2 * WORLDS);
    ENSURE(memcmp(b.proprio, c.proprio, sizeof b.proprio) == 0);
    ENSURE(memcmp(b.window, c.window, sizeof b.window) == 0);
    ENSURE(memcmp(b.critic, c.critic, sizeof b.critic) == 0);
    ENSURE(env_count(b.e).episodes == env_count(c.e).episodes &&
           env_count(b.e).score == env_count(c.e).score);
    bed_free(&b);
    bed_free(&c);
}

TEST_TABLE({"env.checkpoint", test_checkpoint}, {"env.bench", test_bench}, {"env.rewards", test_rewards},
           {"env.terminations", test_terminations}, {"env.time_out", test_time_out},
           {"env.observations", test_observations}, {"env.anchored", test_anchored},
           {"env.paces", test_paces}, {"env.hard", test_hard}, {"env.restarts", test_restarts},
           {"env.threads", test_threads}, {"env.mirror", test_mirror}, {"env.diagnosis", test_diagnosis})
