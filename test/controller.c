/* The closed loop through the public header: which frames the tracker is given, holding, placing, waiting,
 * replanning; refusals; no memory asked for while it runs; the example. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "base/rot.h"
#include "motion/clip.h"
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

/* Every second step a new plan; between them the window runs on along the same curve. */
static void test_plans(void)
{
    scene s;
    hrc_error err;
    hrc_target target;
    hrc_options o = hrc_defaults();
    o.when_lost = 0;
    scene_open(&s, true, &o);
    const hrc_report *r = hrc_controller_report(s.c);
    ENSURE_OK(hrc_follow(s.c, &s.m, 0, 0, &err));
    for (int step = 0; step < 20; step++) {
        hrc_state state = at_frame(&s, step);
        ENSURE_OK(hrc_control(s.c, &state, &target, &err));
        ENSURE(r->verdict == HRC_FINE && r->planned && r->replanned == (step % 2 == 0));
        ENSURE(r->plans == step / 2 + 1 && r->verdicts[HRC_FINE] == r->plans);
        if (r->replanned)
            for (int k = 0; k < HRC_NQ; k++) ENSURE(r->plan.qpos[0][k] == (float)state.qpos[k]);
        for (int i = 0; i < HRC_WINDOW; i++) {
            hrc_frame f;
            hrc_sample(&r->plan, (double)(step % 2 + 1 + i + hrc_defaults().ahead) / HRC_RATE_HZ, &f);
            ENSURE(!memcmp(&f, &r->window[i], sizeof f));
        }
    }
    hrc_controller_use_planner(s.c, 0);
    hrc_state state = at_frame(&s, 20);
    ENSURE_OK(hrc_control(s.c, &state, &target, &err));
    ENSURE(!r->planned && r->plans == 10);
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
    o.apart = 1, o.when_lost = 0;
    scene_open(&s, true, &o);
    ENSURE_OK(hrc_planner_create(&planner, s.planner, NULL, &err));
    const hrc_report *r = hrc_controller_report(s.c);
    ENSURE_OK(hrc_follow(s.c, &s.m, 0, 0, &err));
    for (int step = 0; step < 20; step++) {
        hrc_state state = at_frame(&s, step);
        ENSURE_OK(hrc_control(s.c, &state, &target, &err));
        ENSURE(r->planned == (step > 0) && r->plans == (step + 1) / 2);
        ENSURE(hrc_plan_wanted(s.c, &request) == (step % 2 == 0));
        ENSURE(!hrc_plan_wanted(s.c, &request));
        if (step % 2 == 0) {
            ENSURE(request.step == step && !memcmp(&request.now, &state, sizeof state));
            ENSURE_OK(hrc_plan(planner, &request.now, request.target, &plan, NULL, &err));
            hrc_plan_give(s.c, request.step, &plan);
        }
        for (int i = 0; i < HRC_WINDOW && step > 0; i++) {
            hrc_frame f;
            hrc_sample(&r->plan, (double)((step + 1) % 2 + 1 + 1 + i + hrc_defaults().ahead) / HRC_RATE_HZ,
                       &f);
            if (step % 2) ENSURE(!memcmp(&f, &r->window[i], sizeof f));
        }
    }
    hrc_plan_give(s.c, 0, NULL);
    hrc_state state = at_frame(&s, 20);
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
    hrc_sample(&k, HRC_PLAN_S, &end);
    hrc_sample(&k, HRC_PLAN_S + 0.02, &after);
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
            ENSURE(r->waiting == waits && (waits ? r->frame == 0 : r->frame > 0 || !r->waiting));
        }
    }
    hrc_controller_use_planner(s.c, 0); /* nobody would bring the robot there */
    ENSURE_OK(hrc_follow(s.c, &s.m, 0, HRC_WAIT, &err));
    ENSURE_OK(hrc_control(s.c, &away, &target, &err));
    ENSURE(!r->waiting);
    scene_close(&s);
}

/* With when_lost the reference passes through until the robot is far off, and again once it is back. */
static void test_when_lost(void)
{
    scene s;
    hrc_error err;
    hrc_target target;
    hrc_options o = hrc_defaults();
    o.when_lost = HRC_WHEN_LOST;
    scene_open(&s, true, &o);
    const hrc_report *r = hrc_controller_report(s.c);
    const double lower[] = {0, 0.15, 0.3, 0.15, 0.05, 0.15}; /* m below the reference */
    const int plans[] = {0, 0, 1, 1, 0, 0};
    ENSURE_OK(hrc_follow(s.c, &s.m, 0, 0, &err));
    for (int step = 0; step < 12; step++) {
        hrc_state state = at_frame(&s, step);
        state.qpos[2] -= lower[step / 2];
        ENSURE_OK(hrc_control(s.c, &state, &target, &err));
        ENSURE(r->planned == plans[step / 2]);
    }
    ENSURE(r->plans == 2);
    scene_close(&s);
    o.when_lost = HRC_WHEN_FALLEN; /* far off is not enough for that */
    scene_open(&s, true, &o);
    r = hrc_controller_report(s.c);
    ENSURE_OK(hrc_follow(s.c, &s.m, 0, 0, &err));
    for (int step = 0; step < 6; step++) {
        hrc_state state = at_frame(&s, step);
        state.qpos[2] -= 0.3;
        ENSURE_OK(hrc_control(s.c, &state, &target, &err));
        ENSURE(!r->planned && r->plans == 0);
    }
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
    if (allocations() < 0) SKIP("the sanitizer's malloc is not counted");
    scene_open(&s, true, NULL);
    hrc_state state = at_frame(&s, 0);
    rng r = rng_make(1, 0);
    long before = allocations();
    void *volatile block = malloc(7); /* volatile: a compiler may leave out what nobody uses */
    free(block);
    ENSURE(allocations() == before + 1); /* it does count */
    before = allocations();
    for (int i = 0; i < 10000; i++) {
        if (i % N == 0) ENSURE_OK(hrc_follow(s.c, &s.m, 0, i % 3, &err));
        if (i % 1000 == 0) hrc_controller_use_planner(s.c, i / 1000 % 4 != 3);
        if (i % 2500 == 0) hrc_controller_reset(s.c);
        state.qpos[9] = 0.3 * (double)rng_normal(&r);
        ENSURE_OK(hrc_control(s.c, &state, &target, &err));
    }
    ENSURE(allocations() == before);
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
    ENSURE(shell("$T/embed assets/g1.xml $T/t.safetensors $T/p.safetensors") == 0 && says(" plans") &&
           !says(" 0 plans"));
    ENSURE(shell("$T/embed assets/g1.xml $T/t.safetensors") == 0 && says("0 plans"));
    ENSURE(shell("$T/embed assets/g1.xml $T/p.safetensors") == 1 && says("is a planner, expected a tracker"));
}

TEST_TABLE({"controller.passes_through", test_passes_through}, {"controller.placing", test_placing},
           {"controller.plans", test_plans}, {"controller.apart", test_apart},
           {"controller.beyond_the_plan", test_beyond_the_plan}, {"controller.waits", test_waits},
           {"controller.when_lost", test_when_lost}, {"controller.refusals", test_refusals},
           {"controller.no_allocation", test_no_allocation}, {"controller.example", test_example})
