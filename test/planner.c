/* The planner as a whole: model files, determinism, what holds for every plan. */
#include "plan/planner.h"
#include "robot/capsules.h"

#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "base/rot.h"
#include "plan/flow.h"
#include "small.h"
#include "test.h"

static const plan_layout LAYOUTS[] = {
    {PLAN_ANCHORED, PLAN_H, true, true, true},   {PLAN_ANCHORED, PLAN_H, false, true, true},
    {PLAN_ANCHORED, PLAN_H, true, false, false}, {PLAN_ANCHORED, PLAN_MAX_H, true, true, true},
    {PLAN_PAPER, PLAN_H, true, false, false},    {PLAN_PAPER, PLAN_H, false, false, false},
};

static planner *make_planner(const plan_model *m, float noise)
{
    hrc_error err;
    planner *p;
    planner_options o = planner_defaults();
    o.noise = noise;
    ENSURE_OK(planner_create(&p, m, &o, &err));
    return p;
}

/* Somebody who walks a curve with swinging joints, and a robot on that. */
static void walk(plan_question *q, float phase)
{
    memset(q, 0, sizeof *q);
    for (int i = 0; i <= PLAN_MAX_H; i++) {
        const float t = (float)i / PLAN_FPS + phase,
                    turn[3] = {0.2f * sinf(2 * t), 0.1f * cosf(3 * t), 2 + 0.8f * t};
        float *pose = q->reference[i];
        pose[0] = 3 + 0.8f * t, pose[1] = -2 + 0.3f * sinf(2 * t), pose[2] = 0.74f + 0.03f * sinf(6 * t);
        quat_expf(pose + 3, turn);
        for (int j = 0; j < HRC_JOINTS; j++)
            pose[7 + j] = (float)G1_JOINT[j].q0 + 0.1f * sinf(5 * t + (float)j);
    }
    memcpy(q->state, q->reference[0], sizeof q->state);
    memcpy(q->under_way, q->reference[0], sizeof q->under_way);
}

/* Off by so much in every way. */
static void stray(plan_question *q, float size, rng *r)
{
    float turn[3], step[4];
    for (int i = 0; i < 3; i++)
        q->state[i] += 0.1f * size * rng_normal(r), turn[i] = 0.3f * size * rng_normal(r);
    quat_expf(step, turn);
    quat_mulf(q->state + 3, step, q->state + 3);
    for (int i = 7; i < HRC_NQ; i++) q->state[i] += 0.2f * size * rng_normal(r);
    for (int i = 0; i < HRC_NV; i++) q->qvel[i] = 0.5f * size * rng_normal(r);
}

/* It lies beside its reference: lost. */
static void knock_over(plan_question *q)
{
    static const float TURN[3] = {1.6f, 0, 0};
    float step[4];
    quat_expf(step, TURN);
    quat_mulf(q->state + 3, step, q->reference[0] + 3);
    q->state[2] = 0.15f;
}

/* The same scene somewhere else on the floor. */
static void bring(float pose[HRC_NQ], const float turn[4], const float shift[3])
{
    quat_rotatef(pose, turn, pose);
    for (int i = 0; i < 3; i++) pose[i] += shift[i];
    quat_mulf(pose + 3, turn, pose + 3);
}

static void test_plans(void)
{
    for (int i = 0; i < COUNT(LAYOUTS); i++) {
        plan_model m;
        plan_question q, other, moved;
        rng r = rng_make(8, (uint64_t)i);
        float a[PLAN_K][HRC_NQ], b[PLAN_K][HRC_NQ], there[PLAN_K][HRC_NQ], turn[4];
        small_plan_model(&m, &LAYOUTS[i], 0.1f);
        planner *p = make_planner(&m, 0.1f);
        walk(&q, 0);
        stray(&q, 3, &r);
        knock_over(&q);
        walk(&other, 4);
        planner_plan(p, &q, a);
        planner_plan(p, &other, b);
        ENSURE(memcmp(a, b, sizeof a));
        planner_plan(p, &q, b); /* what was planned before leaves no trace */
        ENSURE(!memcmp(a, b, sizeof a));
        ENSURE(plan_guard(b, (float)LAYOUTS[i].horizon / PLAN_FPS / (PLAN_K - 1)) != PLAN_NONFINITE);
        for (int k = 0; k < 3; k++) ENSURE_NEAR(a[0][k], q.state[k], 1e-6); /* it begins where the robot is */
        planner_seed(p, 1);
        planner_plan(p, &q, b);
        ENSURE(memcmp(a, b, sizeof a));
        planner_seed(p, 0);
        const float shift[3] = {5, -3, 0};
        quat_from_yawf(turn, 1.3f);
        moved = q;
        bring(moved.state, turn, shift);
        bring(moved.under_way, turn, shift);
        quat_rotatef(moved.qvel, turn, q.qvel);
        for (int f = 0; f <= PLAN_MAX_H; f++) bring(moved.reference[f], turn, shift);
        planner_plan(p, &moved, there);
        for (int k = 0; k < PLAN_K; k++) {
            bring(a[k], turn, shift);
            for (int j = 0; j < 3; j++) ENSURE_NEAR(there[k][j], a[k][j], 1e-4);
            for (int j = 7; j < HRC_NQ; j++) ENSURE_NEAR(there[k][j], a[k][j], 1e-4);
            ENSURE_NEAR(quat_anglef(there[k] + 3, a[k] + 3), 0, 2e-3);
        }
        planner_free(p);
        plan_model_free(&m);
    }
}

static float rotation_between(const float a[4], const float b[4])
{
    float back[4], between[4], turn[3];
    quat_conjf(back, b);
    quat_mulf(between, a, back);
    quat_logf(turn, between);
    return vec_normf(turn);
}

/* On its reference the robot is given the reference, whatever the network says. */
static void test_anchor_is_exact(void)
{
    for (int i = 0; i < COUNT(LAYOUTS); i++) {
        plan_model m;
        plan_question q;
        float keyframes[PLAN_K][HRC_NQ], pose[HRC_NQ];
        const int H = LAYOUTS[i].horizon;
        if (LAYOUTS[i].form == PLAN_PAPER) continue;
        small_plan_model(&m, &LAYOUTS[i], 0.5f);
        for (size_t k = 0; k < m.net.layout.count; k++) m.params[k] *= 5;
        planner *p = make_planner(&m, 1);
        for (int n = 0; n < 50; n++) {
            walk(&q, 0.7f * (float)n);
            rng r = rng_make(9, (uint64_t)n);
            for (int k = 0; k < HRC_NV; k++) q.qvel[k] = rng_normal(&r); /* however it moves */
            planner_seed(p, (uint64_t)n);
            planner_plan(p, &q, keyframes);
            for (int k = 0; k < PLAN_K; k++) {
                plan_window_at(pose, (const float(*)[HRC_NQ])q.reference, (float)(k * H) / (PLAN_K - 1), H);
                for (int j = 7; j < HRC_NQ; j++) ENSURE_NEAR(keyframes[k][j], pose[j], 1e-6);
                for (int j = 0; j < 3; j++) ENSURE_NEAR(keyframes[k][j], pose[j], 2e-6); /* of up to 30 m */
                ENSURE_NEAR(rotation_between(keyframes[k] + 3, pose + 3), 0, 1e-6);
            }
        }
        planner_free(p);
        plan_model_free(&m);
    }
}

/* A network that says the same to everything: v = F in every channel. */
static void make_constant(plan_model *m, float F)
{
    memset(m->params, 0, sizeof(float) * m->net.layout.count);
    for (int i = 0; i < m->net.layout.n; i++) {
        const nn_tensor *t = &m->net.layout.tensors[i];
        if (strcmp(t->name, "head.bias") != 0) continue;
        for (size_t k = 0; k < t->count; k++) m->params[t->offset + k] = F;
        return;
    }
    test_fail(__FILE__, __LINE__, "the field has no head.bias");
}

/* x after the flow, of keyframes after the first: Euler by hand, from no noise. */
static float constant_x(float F)
{
    const planner_options o = planner_defaults();
    const float dt = o.t_start / (float)o.steps;
    float x = 0;
    for (int i = 0; i < o.steps; i++) {
        const float t = o.t_start - dt * (float)i;
        x -= dt * (flow_skip(t) * x + flow_gain(t) * F);
    }
    return x;
}

static float tilt_of(const float a[4], const float b[4])
{
    float m[2][9];
    quat_to_matf(m[0], a);
    quat_to_matf(m[1], b);
    float across[3];
    vec_crossf(across, m[0] + 6, m[1] + 6); /* the world's up in both */
    return atan2f(vec_normf(across), vec_dotf(m[0] + 6, m[1] + 6));
}

static float height_in(const float qpos[HRC_NQ], bool seen)
{
    double pose[HRC_NQ];
    for (int i = 0; i < HRC_NQ; i++) pose[i] = (double)qpos[i];
    return seen ? qpos[2] : (float)(pose[2] - pose_lowest(pose));
}

/* By joints, tilt and height, which is that over the lowest point where it is not seen. */
static float off_by(const plan_question *q, bool seen, float joints, float tilt, float height)
{
    float square = 0;
    for (int j = 7; j < HRC_NQ; j++) square += powf(q->state[j] - q->reference[0][j], 2);
    const float up = fabsf(height_in(q->state, seen) - height_in(q->reference[0], seen));
    return fmaxf(up / height,
                 fmaxf(sqrtf(square) / joints, tilt_of(q->state + 3, q->reference[0] + 3) / tilt));
}

static float upright(const float quat[4])
{
    float m[9];
    quat_to_matf(m, quat);
    return m[8];
}

/* How lost a robot is: not at all for a while, then ever more. */
static void test_lost(void)
{
    int not_lost = 0, wholly = 0, between = 0;
    for (int n = 0; n < 300; n++) {
        plan_question q;
        rng r = rng_make(12, (uint64_t)n);
        walk(&q, (float)n);
        stray(&q, 0.012f * (float)n, &r);
        for (int seen = 0; seen < 2; seen++) {
            const float l = plan_lost(q.state, q.reference[0], seen), off = off_by(&q, seen, 8, 1.2f, 0.35f);
            const bool above = height_in(q.state, seen) > height_in(q.reference[0], seen) - 0.1f &&
                               upright(q.state + 3) > upright(q.reference[0] + 3) - 0.2f;
            ENSURE_NEAR(l, above ? 0 : fminf(1, fmaxf(0, (off - 0.7f) / 0.3f)), 2e-5);
            not_lost += l == 0, wholly += l == 1, between += l > 0 && l < 1;
        }
    }
    ENSURE(not_lost > 30 && wholly > 30 && between > 30);
}

/* A robot that is not lost gets the base, one that is as much of w + sigma x as it is lost; how far off it is
 * goes by joints, tilt and, where it is seen, height. */
static void test_scale(void)
{
    const float sigma = 0.03f, F = -1.7f, x = constant_x(F);
    int not_lost = 0, wholly = 0;
    ENSURE(fabsf(x) > 0.5f);
    for (int i = 0; i < COUNT(LAYOUTS); i++) {
        plan_model m;
        plan_question q;
        float written[PLAN_K][HRC_NQ], base[PLAN_K][HRC_NQ];
        if (LAYOUTS[i].form == PLAN_PAPER) continue; /* has no s, and starts on a line */
        small_plan_model(&m, &LAYOUTS[i], sigma);
        make_constant(&m, F);
        planner *p = make_planner(&m, 0);
        for (int n = 0; n < 20; n++) {
            rng r = rng_make(10, (uint64_t)n);
            for (int grow = 0; grow < 16; grow++) {
                rng same = r;
                walk(&q, (float)n);
                stray(&q, 0.3f * (float)(grow + 1), &same);
                for (int j = 7; j < HRC_NQ; j++) q.under_way[j] = 0.3f * q.state[j] + 0.01f * (float)j;
                const float s = fminf(1, off_by(&q, LAYOUTS[i].position, 2.5f, 0.8f, 0.3f));
                ENSURE_NEAR(plan_off(q.state, q.reference[0], LAYOUTS[i].position), s, 1e-5);
                planner_vary(p, 0, 0, 1);
                planner_plan(p, &q, written);
                planner_vary(p, 0, 0, 0);
                planner_plan(p, &q, base);
                const float lost = plan_lost(q.state, q.reference[0], LAYOUTS[i].position);
                not_lost += lost == 0, wholly += lost == 1;
                for (int k = 0; k < PLAN_K; k++)
                    for (int j = 7; j < HRC_NQ; j++) {
                        const float from = LAYOUTS[i].under_way ? q.under_way[j] - base[k][j] : 0;
                        ENSURE_NEAR(written[k][j] - base[k][j], lost * (from + (k ? sigma * x : 0)),
                                    2e-3 * sigma);
                        if (lost == 0) ENSURE(written[k][j] == base[k][j]);
                    }
            }
        }
        planner_free(p);
        plan_model_free(&m);
    }
    ENSURE(not_lost > 100 && wholly > 100);
}

/* With nothing written: the reference, and half of what the robot is off fading into it, by how near to
 * lost it is. Where it is on the floor and how high is kept. */
static void test_base(void)
{
    plan_model m;
    plan_question q;
    float base[PLAN_K][HRC_NQ], pose[HRC_NQ];
    small_plan_model(&m, &LAYOUTS[0], 0.1f);
    planner *p = make_planner(&m, 1);
    planner_vary(p, 0, 1, 0);
    for (int n = 0; n < 100; n++) {
        rng r = rng_make(11, (uint64_t)n);
        walk(&q, (float)n);
        stray(&q, 0.03f * (float)n, &r);
        const float share = 0.5f * fminf(1, off_by(&q, true, 8, 1.2f, 0.35f));
        planner_plan(p, &q, base);
        for (int k = 0; k < PLAN_K; k++) {
            const float u = (float)k / (PLAN_K - 1);
            plan_window_at(pose, (const float(*)[HRC_NQ])q.reference, u * PLAN_H, PLAN_H);
            for (int j = 7; j < HRC_NQ; j++)
                ENSURE_NEAR(base[k][j], pose[j] + share * (1 - u) * (q.state[j] - q.reference[0][j]), 1e-5);
            for (int j = 0; j < 3; j++)
                ENSURE_NEAR(base[k][j], q.state[j] + pose[j] - q.reference[0][j], 1e-5);
        }
        ENSURE_NEAR(rotation_between(base[PLAN_K - 1] + 3, pose + 3), 0, 1e-5);
    }
    planner_free(p);
    plan_model_free(&m);
}

#define KICK 0.1f /* rad/s; a curve through the robot's own pose would have 0.2 rad in 1/35 s: 7 */

/* A reference at rest, and a robot 0.2 rad off in one joint: nothing that the tracker is shown moves fast. */
static void test_no_kick(void)
{
    float worst = 0;
    for (int i = 0; i < 2; i++) {
        plan_model m;
        plan_question q;
        plan_curve curve;
        float keyframes[PLAN_K][HRC_NQ];
        small_plan_model(&m, &LAYOUTS[i], 0.1f);
        planner *p = make_planner(&m, 0.1f);
        for (int joint = 0; joint < 2 * HRC_JOINTS; joint++) {
            walk(&q, 0);
            for (int f = 1; f <= PLAN_MAX_H; f++)
                memcpy(q.reference[f], q.reference[0], sizeof q.reference[0]);
            q.state[7 + joint / 2] += joint % 2 ? 0.2f : -0.2f;
            planner_plan(p, &q, keyframes);
            ENSURE(plan_guard(keyframes, 1.0f / 35) == PLAN_FINE);
            plan_difference_fit(&curve, (const float(*)[HRC_NQ])keyframes,
                                (const float(*)[HRC_NQ])q.reference, PLAN_H);
            for (int f = 1; f <= PLAN_H + 2; f++) {
                hrc_frame frame = {0};
                memcpy(frame.qpos, q.reference[0], sizeof frame.qpos);
                plan_difference_add(&frame, &curve, (float)f / PLAN_FPS);
                for (int k = 6; k < HRC_NV; k++) worst = fmaxf(worst, fabsf(frame.qvel[k]));
            }
        }
        planner_free(p);
        plan_model_free(&m);
    }
    printf("(%.2f rad/s) ", (double)worst);
    ENSURE(worst < KICK);
}

static void test_file_proves_itself(void)
{
    char path[512];
    snprintf(path, sizeof path, "%s", test_path("planner.safetensors"));
    for (int i = 0; i < 2 * COUNT(LAYOUTS); i++) {
        hrc_error err;
        plan_model m, back;
        const bool bf16 = i % 2;
        small_plan_model(&m, &LAYOUTS[i / 2], 0.1f);
        if (bf16) plan_model_round(&m);
        ENSURE_OK(planner_record(m.examples, &m, &err));
        ENSURE_OK(plan_model_save(&m, bf16, path, &err));
        ENSURE_OK(plan_model_load(&back, path, &err));
        ENSURE(!memcmp(m.params, back.params, sizeof(float) * m.net.layout.count));
        ENSURE(!memcmp(&m.scales, &back.scales, sizeof m.scales));
        ENSURE(!memcmp(m.examples, back.examples, sizeof m.examples));
        const plan_layout *a = &m.layout, *b = &back.layout;
        ENSURE(a->form == b->form && a->horizon == b->horizon && a->position == b->position &&
               a->velocities == b->velocities && a->under_way == b->under_way);
        ENSURE_OK(planner_verify(&back, &err));
        for (size_t k = 0; k < back.net.layout.count; k += 7) back.params[k] *= 4;
        ENSURE(planner_verify(&back, &err) < 0 && strstr(err.text, "a recorded plan comes out"));
        plan_model_free(&back);
        plan_model_free(&m);
    }
}

static void test_file_refuses(void)
{
    static const struct {
        const char *from, *to, *words;
    } CASES[] = {
        {"left_knee_joint", "left_knie_joint",
         "joint 3 is \"left_knie_joint\", expected \"left_knee_joint\""},
        {"heracles-planner", "heracles-pianner", "format is"},
        {"\"form\"", "\"farm\"",
         "form is \"(missing)\", expected \"anchored\" or \"paper\" (planners before"},
        {"\"anchored\"", "\"ancored!\"", "form is \"ancored!\""},
        {"\"horizon\":\"10\"", "\"horizon\":\"41\"", "horizon is 41 frames, expected 7 to 40"},
        {"\"horizon\":\"10\"", "\"horizon\":\"06\"", "horizon is 6 frames, expected 7 to 40"},
        {"\"velocities\":\"on\"", "\"velocities\":\"no\"",
         "velocities is \"no\", expected \"on\" or \"off\""},
        {"\"under_way\":\"on\"", "\"over_ways\":\"on\"", "under_way is \"(missing)\""},
        {"\"width\":\"32\"", "\"width\":\"-2\"", "width is \"-2\", expected a number"},
    };
    hrc_error err;
    plan_model back;
    char whole[512], other[512];
    small_planner("planner.safetensors", 38);
    snprintf(whole, sizeof whole, "%s", test_path("planner.safetensors"));
    snprintf(other, sizeof other, "%s", test_path("other.safetensors"));
    for (int i = 0; i < COUNT(CASES); i++) {
        tampered(whole, other, CASES[i].from, CASES[i].to);
        if (plan_model_load(&back, other, &err) >= 0 || !strstr(err.text, CASES[i].words))
            test_fail(__FILE__, __LINE__, "%s: %s", CASES[i].to, err.text);
    }
    ENSURE(plan_model_load(&back, test_path("missing.safetensors"), &err) < 0);
}

static void test_options(void)
{
    hrc_error err;
    plan_model m;
    planner *p;
    plan_question q;
    rng r = rng_make(12, 0);
    float warm[PLAN_K][HRC_NQ], cold[PLAN_K][HRC_NQ];
    small_plan_model(&m, &LAYOUTS[0], 0.1f);
    walk(&q, 0);
    stray(&q, 3, &r);
    knock_over(&q);
    p = make_planner(&m, 0.1f);
    planner_plan(p, &q, warm);
    planner_free(p);
    planner_options o = planner_defaults();
    o.warm_start = false;
    ENSURE_OK(planner_create(&p, &m, &o, &err));
    planner_plan(p, &q, cold);
    planner_free(p);
    ENSURE(memcmp(warm, cold, sizeof warm));
    o.t_start = 1.5f;
    ENSURE(planner_create(&p, &m, &o, &err) < 0 && strstr(err.text, "t_start is 1.5"));
    o = planner_defaults();
    o.steps = 99;
    ENSURE(planner_create(&p, &m, &o, &err) < 0);
    plan_model_free(&m);
}

TEST_TABLE({"planner.plans", test_plans}, {"planner.anchor_is_exact", test_anchor_is_exact},
           {"planner.lost", test_lost}, {"planner.scale", test_scale}, {"planner.base", test_base},
           {"planner.no_kick", test_no_kick}, {"planner.file_proves_itself", test_file_proves_itself},
           {"planner.file_refuses", test_file_refuses}, {"planner.options", test_options})
