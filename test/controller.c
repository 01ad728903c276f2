/* The closed loop through the public header: which frames the tracker is given, holding, placing, waiting,
 * replanning; refusals; no memory asked for while it runs; the example. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "base/rot.h"
#include "control/follow.h"
#include "motion/clip.h"
#include "plan/densify.h"
#include "robot/posture.h"
#include "shell.h"
#include "small.h"
#include "synthetic.h"

enum { N = 60 };

typedef struct {
    hrc_model *tracker, *planner;
    hrc_controller *c;
    clip motion;
    float qvel[N * HRC_NV];
    hrc_motion m;
} scene;

static void scene_open(scene *s, bool planner, const hrc_options *options)
{
    hrc_error err;
    *s = (scene){0};
    small_tracker("t.safetensors", "default");
    ENSURE_OK(hrc_model_load(&s->tracker, test_path("t.safetensors"), &err));
    if (planner) {
        small_planner("p.safetensors", 38);
        ENSURE_OK(hrc_model_load(&s->planner, test_path("p.safetensors"), &err));
    }
    ENSURE_OK(hrc_controller_create(&s->c, s->tracker, s->planner, options, &err));
    synthetic_turn(&s->motion, N, 50);
    hrc_velocities(s->qvel, s->motion.qpos, N);
    s->m = (hrc_motion){N, s->motion.qpos, s->qvel};
}

static void scene_close(scene *s)
{
    hrc_controller_free(s->c);
    hrc_model_free(s->tracker);
    hrc_model_free(s->planner);
    clip_free(&s->motion);
}

static hrc_state at_frame(const scene *s, int i)
{
    hrc_state state = {0};
    for (int k = 0; k < HRC_NQ; k++) state.qpos[k] = (double)clip_frame(&s->motion, i < N ? i : N - 1)[k];
    return state;
}

/* Without a planner the window is the motion's own frames, bit for bit, and the end is held at rest. */
static void test_passes_through(void)
{
    scene s;
    hrc_error err;
    hrc_target target;
    scene_open(&s, false, NULL);
    const hrc_report *r = hrc_controller_report(s.c);
    ENSURE_OK(hrc_follow(s.c, &s.m, 3, 0, &err));
    for (int step = 0; step < N + 20; step++) {
        int now = 3 + step < N - 1 ? 3 + step : N - 1;
        hrc_state state = at_frame(&s, now);
        ENSURE_OK(hrc_control(s.c, &state, &target, &err));
        ENSURE(r->frame == now && !r->planned && r->frames == N && r->step == step + 1);
        ENSURE(!memcmp(r->reference.qpos, clip_frame(&s.motion, now), sizeof r->reference.qpos));
        for (int i = 0; i < HRC_WINDOW; i++) {
            int f = now + 1 + i < N ? now + 1 + i : N - 1;
            ENSURE(!memcmp(r->window[i].qpos, clip_frame(&s.motion, f), sizeof r->window[i].qpos));
            if (now < N - 1)
                ENSURE(!memcmp(r->window[i].qvel, s.qvel + f * HRC_NV, sizeof r->window[i].qvel));
            else
                for (int k = 0; k < HRC_NV; k++) ENSURE(r->window[i].qvel[k] == 0);
        }
        ENSURE_NEAR(r->gap_rad, 0, 1e-6);
        ENSURE(r->rewrite_rad == 0);
        ENSURE(target.kp[3] == hrc_robot_joints()[3].kp && target.kd[3] == hrc_robot_joints()[3].kd);
    }
    scene_close(&s);
}

/* A robot elsewhere, facing elsewhere: a placed motion begins there, and its velocities turn with it. */
static void test_placing(void)
{
    scene s;
    hrc_error err;
    hrc_target target;
    scene_open(&s, false, NULL);
    const hrc_report *r = hrc_controller_report(s.c);
    hrc_state state = at_frame(&s, 0);
    double turn[4];
    quat_from_yaw(turn, 2.0);
    quat_mul(state.qpos + 3, turn, state.qpos + 3);
    state.qpos[0] += 4, state.qpos[1] -= 7;
    ENSURE_OK(hrc_follow(s.c, &s.m, 0, HRC_PLACE, &err));
    ENSURE_OK(hrc_control(s.c, &state, &target, &err));
    for (int k = 0; k < HRC_NQ; k++) ENSURE_NEAR((double)r->reference.qpos[k], state.qpos[k], 1e-5);
    double velocity[3], turned[3];
    for (int k = 0; k < 3; k++) velocity[k] = (double)s.qvel[HRC_NV + k];
    quat_rotate(turned, turn, velocity);
    for (int k = 0; k < 3; k++) ENSURE_NEAR((double)r->window[0].qvel[k], turned[k], 1e-5);
    for (int k = 3; k < HRC_NV; k++) ENSURE(r->window[0].qvel[k] == s.qvel[HRC_NV + k]);
    /* and is brought along on the leash, in x and y alone */
    state.qpos[0] += 3;
    ENSURE_OK(hrc_control(s.c, &state, &target, &err));
    double x = (double)r->reference.qpos[0] - state.qpos[0], y = (double)r->reference.qpos[1] - state.qpos[1];
    ENSURE_NEAR(sqrt(x * x + y * y), 0.5, 1e-4);
    ENSURE(r->reference.qpos[2] == clip_frame(&s.motion, 1)[2]);
    scene_close(&s);
}

/* The robot at a frame of the motion, some way off it. */
static hrc_state off_frame(const scene *s, int i)
{
    hrc_state state = at_frame(s, i);
    for (int k = 7; k < HRC_NQ; k++) state.qpos[k] += 0.1 * sin(k + i);
    state.qpos[2] -= 0.1;
    return state;
}

/* On the reference every plan is the reference, and the window its frames, bit for bit. */
static void test_anchored(void)
{
    scene s;
    hrc_error err;
    hrc_target target, alone;
    hrc_controller *tracker_only;
    scene_open(&s, true, NULL);
    ENSURE_OK(hrc_controller_create(&tracker_only, s.tracker, NULL, NULL, &err));
    const hrc_report *r = hrc_controller_report(s.c);
    for (int i = 0; i < N; i++) quat_normalizef(clip_frame(&s.motion, i) + 3);
    ENSURE_OK(hrc_follow(s.c, &s.m, 0, 0, &err));
    ENSURE_OK(hrc_follow(tracker_only, &s.m, 0, 0, &err));
    for (int now = 0; now < N + 10; now++) {
        hrc_state state = at_frame(&s, now);
        for (int k = 0; k < HRC_NV; k++) state.qvel[k] = 0.3 * cos(now + k);
        ENSURE_OK(hrc_control(s.c, &state, &target, &err));
        ENSURE_OK(hrc_control(tracker_only, &state, &alone, &err));
        ENSURE(r->planned && r->off == 0 && r->rewrite_rad == 0 && r->replanned == (now % 2 == 0));
        for (int i = 0; i < HRC_WINDOW; i++) {
            const int f = now + 1 + i < N ? now + 1 + i : N - 1;
            ENSURE(!memcmp(r->window[i].qpos, clip_frame(&s.motion, f), sizeof r->window[i].qpos));
            if (now < N - 1)
                ENSURE(!memcmp(r->window[i].qvel, s.qvel + f * HRC_NV, sizeof r->window[i].qvel));
        }
        ENSURE(!memcmp(&target, &alone, sizeof target));
    }
    hrc_controller_free(tracker_only);
    scene_close(&s);
}

/* The window that a plan `age` steps old gives at frame `now` of the motion. */
static void expect_window(const scene *s, const hrc_report *r, int planned_at, int now)
{
    float reference[PLAN_H + 1][HRC_NQ];
    plan_curve curve;
    for (int i = 0; i <= PLAN_H; i++)
        memcpy(reference[i], clip_frame(&s->motion, planned_at + i), sizeof reference[i]);
    plan_difference_fit(&curve, r->plan.qpos, (const float(*)[HRC_NQ])reference, PLAN_H);
    for (int i = 0; i < HRC_WINDOW; i++) {
        hrc_frame f;
        memcpy(f.qpos, clip_frame(&s->motion, now + 1 + i), sizeof f.qpos);
        memcpy(f.qvel, s->qvel + (now + 1 + i) * HRC_NV, sizeof f.qvel);
        plan_difference_add(&f, &curve, (float)(now - planned_at + 1 + i) / HRC_RATE_HZ);
        ENSURE(!memcmp(&f, &r->window[i], sizeof f));
    }
}

/* Every second step a new plan from where the robot is; between them the window runs on along the same curve.
 */
static void test_plans(void)
{
    scene s;
    hrc_error err;
    hrc_target target;
    scene_open(&s, true, NULL);
    const hrc_report *r = hrc_controller_report(s.c);
    ENSURE_OK(hrc_follow(s.c, &s.m, 0, 0, &err));
    for (int step = 0; step < 20; step++) {
        hrc_state state = off_frame(&s, step);
        ENSURE_OK(hrc_control(s.c, &state, &target, &err));
        ENSURE(r->verdict == HRC_FINE && r->planned && r->replanned == (step % 2 == 0));
        ENSURE(r->plans == step / 2 + 1 && r->verdicts[HRC_FINE] == r->plans);
        ENSURE(r->off > 0.1 && r->off <= 1 && r->rewrite_rad > 0.01);
        ENSURE_NEAR(r->plan_age_s, 0.02 * (step % 2), 1e-9);
        if (r->replanned)
            for (int k = 0; k < 3; k++) ENSURE_NEAR(r->plan.qpos[0][k], state.qpos[k], 1e-6);
        expect_window(&s, r, step - step % 2, step);
    }
    hrc_controller_use_planner(s.c, 0);
    hrc_state state = off_frame(&s, 20);
    ENSURE_OK(hrc_control(s.c, &state, &target, &err));
    ENSURE(!r->planned && r->plans == 10 && r->rewrite_rad == 0);
    hrc_controller_use_planner(s.c, 1);
    ENSURE_OK(hrc_control(s.c, &state, &target, &err));
    ENSURE(r->planned && r->replanned && r->plans == 11);
    scene_close(&s);
}

/* Plans made elsewhere: asked for every second step, used as old as they are when they come, and the last one
 * goes on while none comes. */
static void test_apart(void)
{
    scene s;
    hrc_error err;
    hrc_target target;
    hrc_planner *planner;
    hrc_plan_request request;
    hrc_keyframes plan;
    hrc_options o = hrc_defaults();
    o.apart = 1;
    scene_open(&s, true, &o);
    ENSURE_OK(hrc_planner_create(&planner, s.planner, NULL, &err));
    const hrc_report *r = hrc_controller_report(s.c);
    ENSURE_OK(hrc_follow(s.c, &s.m, 0, 0, &err));
    for (int step = 0; step < 20; step++) {
        hrc_state state = off_frame(&s, step);
        ENSURE_OK(hrc_control(s.c, &state, &target, &err));
        ENSURE(r->planned == (step > 0) && r->plans == (step + 1) / 2);
        if (step > 0) expect_window(&s, r, step % 2 ? step - 1 : step - 2, step);
        ENSURE(hrc_plan_wanted(s.c, &request) == (step % 2 == 0));
        ENSURE(!hrc_plan_wanted(s.c, &request));
        if (step % 2 == 0) {
            ENSURE(request.step == step && !memcmp(&request.now, &state, sizeof state));
            for (int i = 0; i <= PLAN_H; i++)
                ENSURE(!memcmp(request.reference[i], clip_frame(&s.motion, step + i),
                               sizeof request.reference[i]));
            ENSURE(step == 0 || memcmp(request.under_way, request.reference[0], sizeof request.under_way));
            ENSURE_OK(hrc_plan(planner, &request, &plan, NULL, &err));
            hrc_plan_give(s.c, request.step, &plan);
        }
    }
    const hrc_state state = off_frame(&s, 20);
    ENSURE_OK(hrc_control(s.c, &state, &target, &err));
    ENSURE(r->planned && hrc_plan_wanted(s.c, &request));
    hrc_plan_give(s.c, request.step - 2, &plan); /* of the request before */
    ENSURE_OK(hrc_control(s.c, &state, &target, &err));
    ENSURE(!r->planned && r->rewrite_rad == 0);
    hrc_plan_give(s.c, request.step, &plan);
    ENSURE_OK(hrc_control(s.c, &state, &target, &err));
    ENSURE(r->planned && hrc_plan_wanted(s.c, &request));
    hrc_plan_give(s.c, request.step, NULL);
    ENSURE_OK(hrc_control(s.c, &state, &target, &err));
    ENSURE(!r->planned && r->rewrite_rad == 0);
    hrc_planner_free(planner);
    scene_close(&s);
}

/* A window that reaches beyond the plan goes straight on: no jump, no stop. */
static void test_beyond_the_plan(void)
{
    hrc_keyframes k;
    clip c;
    synthetic_turn(&c, 8, 35);
    memcpy(k.qpos, c.qpos, sizeof k.qpos);
    clip_free(&c);
    hrc_frame end, after;
    k.span_s = 0.2;
    hrc_sample(&k, k.span_s, &end);
    hrc_sample(&k, k.span_s + 0.02, &after);
    ENSURE(!memcmp(end.qvel, after.qvel, sizeof end.qvel));
    for (int i = 0; i < HRC_JOINTS; i++)
        ENSURE_NEAR(after.qpos[7 + i], end.qpos[7 + i] + 0.02f * end.qvel[6 + i], 1e-6);
    for (int i = 0; i < 3; i++) ENSURE_NEAR(after.qpos[i], end.qpos[i] + 0.02f * end.qvel[i], 1e-6);
    float turn[3], back[4], step[4];
    quat_conjf(back, end.qpos + 3);
    quat_mulf(step, back, after.qpos + 3);
    quat_logf(turn, step);
    for (int i = 0; i < 3; i++) ENSURE_NEAR(turn[i], 0.02f * end.qvel[3 + i], 1e-5);
}

/* Held at its first frame until the robot is there, or too long. */
static void test_waits(void)
{
    scene s;
    hrc_error err;
    hrc_target target;
    hrc_options o = hrc_defaults();
    o.wait_s = 0.2;
    scene_open(&s, true, &o);
    const hrc_report *r = hrc_controller_report(s.c);
    hrc_state there = at_frame(&s, 0), away = there;
    away.qpos[2] -= 0.3;
    for (int late = 0; late < 2; late++) {
        ENSURE_OK(hrc_follow(s.c, &s.m, 0, HRC_WAIT, &err));
        for (int step = 0; step < 15; step++) {
            bool waits = late ? step < 10 : step < 4;
            ENSURE_OK(hrc_control(s.c, late || step < 4 ? &away : &there, &target, &err));
            ENSURE(r->waiting == waits && r->frame == (waits ? 0 : step - (late ? 10 : 4)));
        }
    }
    hrc_controller_use_planner(s.c, 0); /* no plan brings the robot there */
    ENSURE_OK(hrc_follow(s.c, &s.m, 0, HRC_WAIT, &err));
    ENSURE_OK(hrc_control(s.c, &away, &target, &err));
    ENSURE(!r->waiting);
    scene_close(&s);
}

/* ---- The leash ---- */

static follower follow_walk(const scene *s, rng *r)
{
    follower f;
    float somewhere[HRC_NQ];
    follow_begin(&f, &s->m, (int)rng_below(r, N), 0);
    memcpy(somewhere, clip_frame(&s->motion, 0), sizeof somewhere);
    for (int i = 0; i < 2; i++) somewhere[i] = rng_uniform(r, -9, 9);
    quat_from_yawf(somewhere + 3, rng_uniform(r, -3, 3));
    if (rng_below(r, 2)) follow_place(&f, somewhere);
    return f;
}

/* A reference is brought along just as far as the leash allows and no farther: turned about where its present
 * frame is, moved without turning. */
static void test_leash(void)
{
    scene s;
    rng r = rng_make(21, 0);
    int turned = 0, moved = 0, left = 0;
    scene_open(&s, false, NULL);
    for (int n = 0; n < 500; n++) {
        follower f = follow_walk(&s, &r);
        hrc_frame before[2], after[2];
        float robot[HRC_NQ], turn[4];
        const int ahead = 10;
        follow_frame(&f, 0, &before[0]);
        follow_frame(&f, ahead, &before[1]);
        memcpy(robot, before[0].qpos, sizeof robot);
        quat_from_yawf(turn, rng_uniform(&r, -3, 3));
        quat_mulf(robot + 3, turn, robot + 3);
        for (int i = 0; i < 2; i++) robot[i] += rng_uniform(&r, -0.6f, 0.6f);
        const float heads = heading_between(before[0].qpos + 3, robot + 3);
        const float away = hypotf(robot[0] - before[0].qpos[0], robot[1] - before[0].qpos[1]);
        follow_leash(&f, robot, 0.5f, 0.7f);
        follow_frame(&f, 0, &after[0]);
        follow_frame(&f, ahead, &after[1]);
        const float heads_now = heading_between(after[0].qpos + 3, robot + 3);
        const float away_now = hypotf(robot[0] - after[0].qpos[0], robot[1] - after[0].qpos[1]);
        ENSURE_NEAR(heads_now, fabsf(heads) > 0.7f ? copysignf(0.7f, heads) : heads, 2e-3);
        ENSURE_NEAR(away_now, fminf(away, 0.5f), 1e-4);
        if (away <= 0.5f)
            for (int i = 0; i < 3; i++) ENSURE_NEAR(after[0].qpos[i], before[0].qpos[i], 1e-5);
        if (away <= 0.5f && fabsf(heads) <= 0.7f) ENSURE(!memcmp(before, after, sizeof before));
        for (int k = 7; k < HRC_NQ; k++) ENSURE(after[1].qpos[k] == before[1].qpos[k]);
        ENSURE(after[1].qpos[2] == before[1].qpos[2]);
        /* and all of it as one: how far it goes from here, and how fast, only turns */
        float way[2][2];
        for (int i = 0; i < 2; i++) {
            way[0][i] = before[1].qpos[i] - before[0].qpos[i];
            way[1][i] = after[1].qpos[i] - after[0].qpos[i];
        }
        ENSURE_NEAR(hypotf(way[0][0], way[0][1]), hypotf(way[1][0], way[1][1]), 1e-4);
        ENSURE_NEAR(hypotf(before[1].qvel[0], before[1].qvel[1]), hypotf(after[1].qvel[0], after[1].qvel[1]),
                    1e-4);
        if (fabsf(heads) <= 0.7f) ENSURE_NEAR(hypotf(way[0][0] - way[1][0], way[0][1] - way[1][1]), 0, 1e-4);
        turned += fabsf(heads) > 0.7f, moved += away > 0.5f, left += fabsf(heads) <= 0.7f && away <= 0.5f;
    }
    ENSURE(turned > 100 && moved > 50 && left > 20);
    follower f = follow_walk(&s, &r);
    const follower same = f;
    float far[HRC_NQ] = {50, 50, 0.7f, 0, 0, 0, 1};
    follow_leash(&f, far, 0, 0); /* never */
    ENSURE(!memcmp(&f, &same, sizeof f));
    scene_close(&s);
}

static void test_refusals(void)
{
    scene s;
    hrc_error err;
    hrc_target target;
    hrc_controller *none = NULL;
    hrc_tracker *t;
    hrc_planner *p;
    scene_open(&s, true, NULL);
    hrc_state state = at_frame(&s, 0);
    ENSURE(hrc_control(s.c, &state, &target, &err) == HRC_EINVAL && strstr(err.text, "no motion to follow"));
    ENSURE_OK(hrc_follow(s.c, &s.m, 0, 0, &err));
    ENSURE_OK(hrc_control(s.c, &state, &target, &err));
    double held = target.q[5];
    state.qvel[8] = NAN;
    ENSURE(hrc_control(s.c, &state, &target, &err) == HRC_ENONFINITE && strstr(err.text, "qvel[8]"));
    ENSURE(target.kp[5] == 0 && target.kd[5] > 0 && target.q[5] == held);
    ENSURE(hrc_controller_report(s.c)->frame == 0 && hrc_controller_report(s.c)->step == 1);
    state = at_frame(&s, 1);
    state.qpos[3] = 3;
    ENSURE(hrc_control(s.c, &state, &target, NULL) == HRC_EINVAL);
    ENSURE(hrc_follow(s.c, &s.m, N, 0, &err) == HRC_EINVAL && strstr(err.text, "expected 0 to 59"));
    ENSURE(hrc_follow(s.c, &(hrc_motion){0}, 0, 0, &err) == HRC_EINVAL);
    float bad[HRC_NQ] = {0}, still[HRC_NV] = {0};
    bad[9] = INFINITY;
    ENSURE(hrc_follow(s.c, &(hrc_motion){1, bad, still}, 0, 0, &err) == HRC_ENONFINITE);
    ENSURE(hrc_controller_create(&none, s.planner, NULL, NULL, &err) == HRC_EINVAL &&
           strstr(err.text, "is a planner, expected a tracker"));
    ENSURE(hrc_planner_create(&p, s.tracker, NULL, &err) == HRC_EINVAL);
    ENSURE(hrc_tracker_create(&t, s.planner, &err) == HRC_EINVAL && !none);
    hrc_options o = hrc_defaults();
    o.replan = 0;
    ENSURE(hrc_controller_create(&none, s.tracker, NULL, &o, &err) == HRC_EINVAL);
    hrc_model *m;
    ENSURE(hrc_model_load(&m, "motions/wave.safetensors", &err) == HRC_EFORMAT &&
           strstr(err.text, "format is"));
    ENSURE(hrc_model_load(&m, test_path("absent"), &err) < 0);
    scene_close(&s);
}

static void test_no_allocation(void)
{
    scene s;
    hrc_error err;
    hrc_target target;
    hrc_options o = hrc_defaults();
    o.replan = 1; /* a plan at every turn */
    if (allocations() < 0) SKIP("the sanitizer's malloc is not counted");
    scene_open(&s, true, &o);
    int plans = 0, planned = 0, lost = 0;
    hrc_state state = at_frame(&s, 0);
    rng r = rng_make(1, 0);
    long before = allocations();
    void *volatile block = malloc(7); /* volatile: a compiler may leave out what is not used */
    free(block);
    ENSURE(allocations() == before + 1); /* it does count */
    before = allocations();
    for (int i = 0; i < 10000; i++) {
        if (i % N == 0) ENSURE_OK(hrc_follow(s.c, &s.m, 0, i % 3, &err));
        if (i % 1000 == 0) hrc_controller_use_planner(s.c, i / 1000 % 4 != 3);
        if (i % 2500 == 0) hrc_controller_reset(s.c);
        state = at_frame(&s, 0);
        state.qpos[9] = 0.3 * (double)rng_normal(&r);
        if (i / 500 % 2) { /* fallen on its back, far from where it should be */
            state.qpos[0] += 2, state.qpos[2] = 0.12;
            quat_exp(state.qpos + 3, (const double[3]){0, -1.5, 0});
        }
        ENSURE_OK(hrc_control(s.c, &state, &target, &err));
        const hrc_report *report = hrc_controller_report(s.c);
        plans += report->replanned, planned += report->planned, lost += report->planned && report->off == 1;
    }
    ENSURE(allocations() == before);
    ENSURE(plans == 8000 && planned == plans); /* but for two times a thousand steps without the planner */
    ENSURE(lost > 3900);                       /* half of them */
    scene_close(&s);
}

static void test_example(void)
{
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    SKIP("a sanitizer build is not one to link with");
#endif
    small_tracker("t.safetensors", "default");
    small_planner("p.safetensors", 38);
    ENSURE(shell("test $(wc -l < examples/embed.c) -lt 80") == 0);
    ENSURE(shell("b=$(dirname $HERACLES)\n"
                 "cc -std=c11 -Wall -Wextra -Werror -Iinclude examples/embed.c -o $T/embed "
                 "-L$b -l:libheracles.a -lmujoco -lm -pthread") == 0);
    ENSURE(shell("$T/embed assets/g1.xml $T/t.safetensors motions/wave.safetensors $T/p.safetensors") == 0 &&
           says(" plans") && !says(" 0 plans"));
    ENSURE(shell("$T/embed assets/g1.xml $T/t.safetensors motions/wave.safetensors") == 0 && says("0 plans"));
    ENSURE(shell("$T/embed assets/g1.xml $T/p.safetensors motions/wave.safetensors") == 1 &&
           says("is a planner, expected a tracker"));
}

/* A held reference turns by 3 rad and back every 40 ms while the plan stays: what the two make together
 * is too fast for the tracker's bounds, so that the reference is shown and the robot is not damped. */
static void test_leaps(void)
{
    static float qpos[N * HRC_NQ], still[N * HRC_NV];
    static const float TURNED[4] = {0.0707372f, 0, 0, 0.9974950f}; /* 3 rad about z */
    scene s;
    hrc_error err;
    hrc_target target;
    hrc_plan_request request;
    hrc_keyframes plan;
    hrc_options o = hrc_defaults();
    o.apart = 1, o.leash_rad = 0;
    scene_open(&s, true, &o);
    const hrc_state state = at_frame(&s, 0);
    for (int i = 0; i < N; i++) {
        memcpy(qpos + i * HRC_NQ, clip_frame(&s.motion, 0), HRC_NQ * sizeof *qpos);
        memcpy(qpos + i * HRC_NQ + 3, i / 2 % 2 ? TURNED : (const float[4]){1, 0, 0, 0}, sizeof TURNED);
    }
    for (int k = 0; k < PLAN_K; k++) memcpy(plan.qpos[k], qpos, sizeof plan.qpos[k]);
    const hrc_motion leaps = {N, qpos, still};
    const hrc_report *r = hrc_controller_report(s.c);
    ENSURE_OK(hrc_follow(s.c, &leaps, 0, 0, &err));
    ENSURE_OK(hrc_control(s.c, &state, &target, &err));
    ENSURE(hrc_plan_wanted(s.c, &request));
    hrc_plan_give(s.c, request.step, &plan);
    ENSURE(r->verdict == HRC_FINE);
    ENSURE_OK(hrc_control(s.c, &state, &target, &err));
    ENSURE(!r->planned && !memcmp(r->window[0].qpos, qpos + 2 * HRC_NQ, sizeof r->window[0].qpos));
    scene_close(&s);
}

TEST_TABLE({"controller.passes_through", test_passes_through}, {"controller.placing", test_placing},
           {"controller.anchored", test_anchored}, {"controller.plans", test_plans},
           {"controller.apart", test_apart}, {"controller.beyond_the_plan", test_beyond_the_plan},
           {"controller.waits", test_waits}, {"controller.leash", test_leash},
           {"controller.leaps", test_leaps}, {"controller.refusals", test_refusals},
           {"controller.no_allocation", test_no_allocation}, {"controller.example", test_example})
