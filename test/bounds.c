/* The library's edge: whatever is read, followed, planned or computed, a call answers with an error that
 * leaves everything as it was, or with targets that a motor can be given. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "control/library.h"
#include "deploy/brain.h"
#include "motion/clip.h"
#include "robot/bounds.h"
#include "small.h"
#include "synthetic.h"
#include "test.h"

enum { N = 60, FIELDS = HRC_NQ + HRC_NV };

static const double BAD[] = {NAN, INFINITY, -INFINITY, 1e39, -1e39, 1e10};

typedef struct {
    hrc_model *tracker, *planner;
    hrc_controller *c, *untouched;
    clip motion;
    float qvel[N * HRC_NV];
    hrc_motion m;
} scene;

static void scene_open(scene *s)
{
    hrc_error err;
    *s = (scene){0};
    small_tracker("t.safetensors", "default");
    small_planner("p.safetensors", 38);
    ENSURE_OK(hrc_model_load(&s->tracker, test_path("t.safetensors"), &err));
    ENSURE_OK(hrc_model_load(&s->planner, test_path("p.safetensors"), &err));
    ENSURE_OK(hrc_controller_create(&s->c, s->tracker, s->planner, NULL, &err));
    ENSURE_OK(hrc_controller_create(&s->untouched, s->tracker, s->planner, NULL, &err));
    synthetic_turn(&s->motion, N, 50);
    hrc_velocities(s->qvel, s->motion.qpos, N);
    s->m = (hrc_motion){N, s->motion.qpos, s->qvel};
    ENSURE_OK(hrc_follow(s->c, &s->m, 0, HRC_PLACE, &err));
    ENSURE_OK(hrc_follow(s->untouched, &s->m, 0, HRC_PLACE, &err));
}

static void scene_close(scene *s)
{
    hrc_controller_free(s->c);
    hrc_controller_free(s->untouched);
    hrc_model_free(s->tracker);
    hrc_model_free(s->planner);
    clip_free(&s->motion);
}

static hrc_state at_frame(const scene *s, int i)
{
    hrc_state state = {0};
    const int f = i % N;
    for (int k = 0; k < HRC_NQ; k++) state.qpos[k] = (double)clip_frame(&s->motion, f)[k];
    for (int k = 0; k < HRC_NV; k++) state.qvel[k] = (double)s->qvel[f * HRC_NV + k];
    return state;
}

static double *field_of(hrc_state *s, int i)
{
    return i < HRC_NQ ? &s->qpos[i] : &s->qvel[i - HRC_NQ];
}

static bool damped(const hrc_target *t)
{
    for (int i = 0; i < HRC_JOINTS; i++)
        if (!isfinite(t->q[i]) || t->kp[i] != 0 || !(t->kd[i] > 0)) return false;
    return true;
}

/* Every field of a reading, made impossible: refused by name, and afterwards the controller does bit for bit
 * what one does that never saw it. */
static void test_readings(void)
{
    scene s;
    hrc_error err;
    hrc_target target, expected;
    hrc_report before;
    int frame = 0;
    scene_open(&s);
    for (int i = 0; i < FIELDS; i++)
        for (int b = 0; b < COUNT(BAD); b++, frame++) {
            hrc_state good = at_frame(&s, frame), bad = good;
            char name[24];
            snprintf(name, sizeof name, "%s[%d]", i < HRC_NQ ? "qpos" : "qvel", i < HRC_NQ ? i : i - HRC_NQ);
            before = *hrc_controller_report(s.c);
            *field_of(&bad, i) = BAD[b];
            ENSURE(hrc_control(s.c, &bad, &target, &err) == (isfinite(BAD[b]) ? HRC_EINVAL : HRC_ENONFINITE));
            ENSURE(strstr(err.text, name) && damped(&target));
            ENSURE(!memcmp(&before, hrc_controller_report(s.c), sizeof before));
            ENSURE_OK(hrc_control(s.c, &good, &target, &err));
            ENSURE_OK(hrc_control(s.untouched, &good, &expected, &err));
            ENSURE(!memcmp(&target, &expected, sizeof target));
            if (frame % N == N - 1) {
                ENSURE_OK(hrc_follow(s.c, &s.m, 0, HRC_PLACE, &err));
                ENSURE_OK(hrc_follow(s.untouched, &s.m, 0, HRC_PLACE, &err));
            }
        }
    ENSURE(hrc_controller_report(s.c)->plans == frame / 2);
    scene_close(&s);
}

/* The same for the parts by themselves, and for what they are asked. */
static void test_parts(void)
{
    scene s;
    hrc_error err;
    hrc_tracker *t, *u;
    hrc_planner *p;
    hrc_frame window[HRC_WINDOW];
    hrc_target target, expected;
    hrc_keyframes plan;
    hrc_plan_request asked;
    scene_open(&s);
    ENSURE_OK(hrc_tracker_create(&t, s.tracker, &err));
    ENSURE_OK(hrc_tracker_create(&u, s.tracker, &err));
    ENSURE_OK(hrc_planner_create(&p, s.planner, NULL, &err));
    for (int i = 0; i < HRC_WINDOW; i++) {
        memcpy(window[i].qpos, clip_frame(&s.motion, i), sizeof window[i].qpos);
        memcpy(window[i].qvel, s.qvel + i * HRC_NV, sizeof window[i].qvel);
    }
    const hrc_state good = at_frame(&s, 0);
    asked = (hrc_plan_request){.now = good};
    for (int i = 0; i <= HRC_PLAN_FRAMES; i++)
        memcpy(asked.reference[i], clip_frame(&s.motion, i), sizeof asked.reference[i]);
    memcpy(asked.under_way, asked.reference[0], sizeof asked.under_way);
    for (int i = 0; i < FIELDS; i++)
        for (int b = 0; b < COUNT(BAD); b++) {
            hrc_state bad = good;
            hrc_plan_request wrong = asked;
            hrc_frame seen[HRC_WINDOW];
            *field_of(&bad, i) = BAD[b];
            memcpy(seen, window, sizeof seen);
            float *at = i < HRC_NQ ? &seen[7].qpos[i] : &seen[7].qvel[i - HRC_NQ];
            *at = (float)BAD[b];
            ENSURE(hrc_step(t, &bad, window, &target, &err) < 0 && damped(&target));
            ENSURE(hrc_step(t, &good, seen, &target, &err) < 0 && damped(&target));
            ENSURE(strstr(err.text, "in frame 7"));
            wrong.now = bad;
            ENSURE(hrc_plan(p, &wrong, &plan, NULL, &err) < 0);
            for (int part = 0; part < 3 && i < HRC_NQ; part++) {
                wrong = asked;
                *(part == 2 ? &wrong.under_way[i] : &wrong.reference[10 * part][i]) = (float)BAD[b];
                ENSURE(hrc_plan(p, &wrong, &plan, NULL, &err) < 0 && strstr(err.text, "the plan's target"));
            }
            wrong = asked;
            wrong.reference[11][i % HRC_NQ] = (float)BAD[b]; /* beyond its span: not looked at */
            ENSURE_OK(hrc_plan(p, &wrong, &plan, NULL, &err));
            ENSURE_OK(hrc_step(t, &good, window, &target, &err));
            ENSURE_OK(hrc_step(u, &good, window, &expected, &err));
            ENSURE(!memcmp(&target, &expected, sizeof target));
        }
    hrc_tracker_free(t);
    hrc_tracker_free(u);
    hrc_planner_free(p);
    scene_close(&s);
}

/* A network that overflows: an error, and nothing of it stays. One that asks for too much: bounded. */
static void test_broken_network(void)
{
    scene s;
    hrc_error err;
    hrc_target target;
    hrc_controller *c;
    scene_open(&s);
    track_model *m = &s.tracker->track;
    float *bias = m->params + m->net.log_std - HRC_JOINTS; /* of the last action layer, which ends there */
    const float was = bias[4];
    const hrc_state good = at_frame(&s, 0);
    const float wild[] = {INFINITY, NAN, 3e38f, 5e3f, 500};
    for (int i = 0; i < COUNT(wild); i++) {
        bias[4] = wild[i];
        ENSURE_OK(hrc_controller_create(&c, s.tracker, s.planner, NULL, &err));
        bias[4] = was;
        ENSURE_OK(hrc_follow(c, &s.m, 0, HRC_PLACE, &err));
        for (int step = 0; step < 3; step++)
            if (wild[i] < 1e3f) {
                const hrc_joint *j = &hrc_robot_joints()[4];
                ENSURE_OK(hrc_control(c, &good, &target, &err));
                ENSURE(target.q[4] == j->hi + 2 * j->effort / j->kp);
            } else {
                const hrc_report before = *hrc_controller_report(c);
                ENSURE(hrc_control(c, &good, &target, &err) == HRC_ENONFINITE && damped(&target));
                ENSURE(strstr(err.text, "t.safetensors: the tracker's action"));
                ENSURE(!memcmp(&before, hrc_controller_report(c), sizeof before));
            }
        hrc_controller_free(c);
    }
    scene_close(&s);
}

/* Motions that no motor can follow, and one that just can; the old one goes on after a refusal. */
static void test_motions(void)
{
    scene s;
    hrc_error err;
    hrc_target target, expected;
    static const hrc_joint *j;
    float qvel[N * HRC_NV];
    clip copy;
    scene_open(&s);
    j = hrc_robot_joints();
    ENSURE_OK(clip_cut(&copy, &s.motion, 0, N - 1, &err));
    memcpy(qvel, s.qvel, sizeof qvel);
    const hrc_motion m = {N, copy.qpos, qvel};
    struct {
        float *at;
        double bad, good;
        const char *words;
    } cases[] = {
        {&clip_frame(&copy, 31)[7 + 3], j[3].hi + 0.11, j[3].hi + 0.09, "(left_knee_joint) in frame 31"},
        {&clip_frame(&copy, 31)[7 + 3], j[3].lo - 0.11, j[3].lo - 0.09, "(left_knee_joint) in frame 31"},
        {&qvel[5 * HRC_NV + 6], 1.6 * j[0].velocity, -1.4 * j[0].velocity, "qvel[6] (left_hip_pitch_joint)"},
        {&qvel[5 * HRC_NV + 1], -13, 11, "qvel[1] (root) in frame 5"},
        {&qvel[5 * HRC_NV + 4], 51, 49, "qvel[4] (root)"},
        {&clip_frame(&copy, 2)[1], 1.1e4, 9e3, "qpos[1] (root)"},
        {&clip_frame(&copy, 2)[1], NAN, 0, "not finite"},
        {&qvel[0], (double)-INFINITY, 0, "not finite"},
        {&clip_frame(&copy, 9)[5], 0.9, (double)clip_frame(&copy, 9)[5], "quaternion in frame 9 has length"},
    };
    for (int i = 0; i < COUNT(cases); i++) {
        const hrc_state now = at_frame(&s, i);
        const float was = *cases[i].at;
        *cases[i].at = (float)cases[i].bad;
        ENSURE(hrc_follow(s.c, &m, 0, 0, &err) < 0 && strstr(err.text, cases[i].words));
        ENSURE_OK(hrc_control(s.c, &now, &target, &err));
        ENSURE_OK(hrc_control(s.untouched, &now, &expected, &err));
        ENSURE(!memcmp(&target, &expected, sizeof target));
        *cases[i].at = (float)cases[i].good;
        ENSURE_OK(bounds_motion(&m, &err));
        *cases[i].at = was;
    }
    clip_free(&copy);
    scene_close(&s);
}

/* deploy loads its motion by the same bounds. */
static void test_deployed_motion(void)
{
    hrc_error err;
    hrc_model *model;
    brain *b = NULL;
    clip c;
    char tracker_path[512], motion[512];
    config cfg = config_default();
    small_tracker("t.safetensors", "default");
    snprintf(tracker_path, sizeof tracker_path, "%s", test_path("t.safetensors"));
    snprintf(motion, sizeof motion, "%s", test_path("bad.safetensors"));
    ENSURE_OK(hrc_model_load(&model, tracker_path, &err));
    synthetic_turn(&c, N, 50);
    for (int i = 0; i < N; i++) clip_frame(&c, i)[7 + 18] = 5;
    ENSURE_OK(clip_save(&c, motion, &err));
    const brain_setup setup = {.tracker = model, .tracker_path = tracker_path, .motion = motion, .cfg = &cfg};
    ENSURE(brain_create(&b, &setup, &err) == HRC_EINVAL && !b);
    ENSURE(strstr(err.text, "bad.safetensors: the motion's qpos[25] (left_elbow_joint) in frame 0 is 5"));
    clip_free(&c);
    hrc_model_free(model);
}

/* Plans that come from elsewhere are looked at like our own. */
static void test_given_plans(void)
{
    scene s;
    hrc_error err;
    hrc_target target;
    hrc_controller *c;
    hrc_options o = hrc_defaults();
    o.apart = 1;
    scene_open(&s);
    ENSURE_OK(hrc_controller_create(&c, s.tracker, s.planner, &o, &err));
    ENSURE_OK(hrc_follow(c, &s.m, 0, 0, &err));
    const hrc_report *r = hrc_controller_report(c);
    const hrc_state now = at_frame(&s, 0);
    hrc_keyframes good = {.span_s = 0.2}, bad;
    hrc_plan_request request;
    for (int k = 0; k < HRC_KEYFRAMES; k++)
        memcpy(good.qpos[k], clip_frame(&s.motion, k), sizeof good.qpos[k]);
    ENSURE_OK(hrc_control(c, &now, &target, &err));
    const float wild[] = {NAN, INFINITY, 1e30f, 7};
    for (int i = 0; i < COUNT(wild); i++)
        for (int k = 0; k < HRC_KEYFRAMES; k++) {
            const bool only_anchors = k == 0 && isfinite(wild[i]); /* keyframe 0 leads no robot */
            bad = good;
            bad.qpos[k][7 + 11] = wild[i];
            ENSURE_OK(hrc_follow(c, &s.m, 0, 0, &err)); /* asks at once */
            ENSURE_OK(hrc_control(c, &now, &target, &err));
            ENSURE(hrc_plan_wanted(c, &request));
            hrc_plan_give(c, request.step, &bad);
            ENSURE_OK(hrc_control(c, &now, &target, &err));
            ENSURE(r->planned == only_anchors && (r->verdict == HRC_FINE) == only_anchors);
            for (int f = 0; f < HRC_WINDOW; f++) ENSURE(fabsf(r->window[f].qpos[7 + 11]) < 1);
        }
    for (int i = 0; i < 6; i++) {
        ENSURE_OK(hrc_follow(c, &s.m, 0, 0, &err));
        ENSURE_OK(hrc_control(c, &now, &target, &err));
        ENSURE(hrc_plan_wanted(c, &request));
        const int64_t steps[] = {
            -1, INT64_MIN, INT64_MAX, request.step + 1, request.step - 1, request.step - 21};
        hrc_plan_give(c, steps[i], &good); /* of another request */
        ENSURE_OK(hrc_control(c, &now, &target, &err));
        ENSURE(!r->planned && r->rewrite_rad == 0);
    }
    ENSURE_OK(hrc_follow(c, &s.m, 0, 0, &err));
    ENSURE_OK(hrc_control(c, &now, &target, &err));
    ENSURE(hrc_plan_wanted(c, &request));
    hrc_plan_give(c, request.step, &good);
    for (int i = 1; i < 30; i++) { /* led on for 0.4 s, then left */
        ENSURE_OK(hrc_control(c, &now, &target, &err));
        ENSURE(r->planned == (i <= 20));
    }
    hrc_controller_free(c);
    scene_close(&s);
}

static void test_null(void)
{
    scene s;
    hrc_error err;
    hrc_target target;
    hrc_frame window[HRC_WINDOW] = {0};
    hrc_model *m = NULL;
    hrc_controller *c = NULL;
    hrc_tracker *t = NULL;
    hrc_planner *p = NULL;
    hrc_keyframes k;
    const hrc_plan_request request = {0};
    scene_open(&s);
    const hrc_state now = at_frame(&s, 0);
    ENSURE(hrc_model_load(NULL, "x", &err) == HRC_EINVAL && strstr(err.text, "out is NULL"));
    ENSURE(hrc_model_load(&m, NULL, &err) == HRC_EINVAL && strstr(err.text, "path is NULL"));
    ENSURE(hrc_controller_create(&c, NULL, NULL, NULL, &err) == HRC_EINVAL);
    ENSURE(hrc_controller_create(NULL, s.tracker, NULL, NULL, &err) == HRC_EINVAL);
    ENSURE(hrc_tracker_create(&t, NULL, &err) == HRC_EINVAL && hrc_tracker_create(NULL, s.tracker, &err) < 0);
    ENSURE(hrc_planner_create(&p, NULL, NULL, &err) == HRC_EINVAL);
    ENSURE(hrc_follow(s.c, NULL, 0, 0, &err) == HRC_EINVAL && hrc_follow(NULL, &s.m, 0, 0, &err) < 0);
    ENSURE(hrc_control(s.c, NULL, &target, &err) == HRC_EINVAL && hrc_control(s.c, &now, NULL, &err) < 0);
    ENSURE(hrc_control(NULL, &now, &target, &err) == HRC_EINVAL);
    ENSURE(hrc_step(NULL, &now, window, &target, &err) == HRC_EINVAL);
    ENSURE(hrc_plan(NULL, &request, &k, NULL, &err) == HRC_EINVAL);
    ENSURE(!hrc_controller_report(NULL) && !hrc_plan_wanted(NULL, NULL));
    hrc_motion motion = {0};
    const float pose[HRC_NQ] = {0, 0, 1, 1};
    ENSURE(hrc_motion_load(&motion, NULL, 0, NULL, &err) == HRC_EINVAL);
    ENSURE(hrc_motion_load(NULL, "motions/wave.safetensors", 0, NULL, &err) == HRC_EINVAL);
    ENSURE(hrc_motion_resample(&motion, NULL, 1, 50, &err) == HRC_EINVAL);
    ENSURE(hrc_motion_resample(NULL, pose, 1, 50, &err) == HRC_EINVAL);
    ENSURE(hrc_motion_resample(&motion, pose, 1, NAN, &err) == HRC_EINVAL);
    ENSURE(hrc_append(NULL, pose, 1, 50, &err) == HRC_EINVAL && hrc_append(s.c, NULL, 1, 50, &err) < 0);
    ENSURE(hrc_append(s.c, pose, 1, NAN, &err) == HRC_EINVAL && hrc_append(s.c, pose, -1, 50, &err) < 0);
    ENSURE(hrc_follow(s.c, &(hrc_motion){.n = 3}, 0, 0, &err) == HRC_EINVAL);
    /* those without a status do nothing, or answer what is true of nothing */
    hrc_controller_reset(NULL), hrc_controller_use_planner(NULL, 1), hrc_plan_give(NULL, 0, NULL);
    hrc_tracker_reset(NULL);
    ENSURE(hrc_ahead(NULL) == 0 && hrc_room(NULL) == 0 && hrc_tracker_lead(NULL) == 0);
    ENSURE(hrc_robot_joint_index(NULL) == -1 && !*hrc_model_trained(NULL));
    hrc_controller_free(NULL), hrc_tracker_free(NULL), hrc_planner_free(NULL), hrc_model_free(NULL);
    hrc_motion_free(NULL);
    ENSURE_OK(hrc_control(s.c, &now, &target, &err)); /* nothing has changed */
    scene_close(&s);
}

/* Random readings, most of them good, with motions and plans that change: never a target that is not one.
 * SOAK_STEPS sets how many (make soak: a million). */
static void test_soak(void)
{
    scene s;
    hrc_error err;
    hrc_target target;
    const char *asked = getenv("SOAK_STEPS");
    const long steps = asked ? atol(asked) : 5000;
    rng r = rng_make(18, 0);
    long refused = 0;
    scene_open(&s);
    for (long i = 0; i < steps; i++) {
        hrc_state now = at_frame(&s, (int)(i % N));
        for (int k = 7; k < HRC_NQ; k++) now.qpos[k] += 0.1 * (double)rng_normal(&r);
        const bool bad = rng_below(&r, 10) == 0;
        if (bad) *field_of(&now, (int)rng_below(&r, FIELDS)) = BAD[rng_below(&r, COUNT(BAD))];
        if (i % N == 0) ENSURE_OK(hrc_follow(s.c, &s.m, 0, (int)rng_below(&r, 4), &err));
        if (rng_below(&r, 500) == 0) hrc_controller_use_planner(s.c, (int)rng_below(&r, 2));
        if (rng_below(&r, 5000) == 0) hrc_controller_reset(s.c);
        hrc_status status = hrc_control(s.c, &now, &target, &err);
        refused += status < 0;
        ENSURE(status < 0 ? damped(&target) : target.kp[0] > 0);
        if (bad) ENSURE(status < 0);
        for (int k = 0; k < HRC_JOINTS; k++) {
            const hrc_joint *j = &hrc_robot_joints()[k];
            ENSURE(fabs(target.q[k] - (j->lo + j->hi) / 2) <=
                   (j->hi - j->lo) / 2 + 2 * j->effort / j->kp + 1e-9);
        }
    }
    ENSURE(refused > steps / 20 && refused < steps / 5);
    scene_close(&s);
}

TEST_TABLE({"bounds.readings", test_readings}, {"bounds.parts", test_parts},
           {"bounds.broken_network", test_broken_network}, {"bounds.motions", test_motions},
           {"bounds.deployed_motion", test_deployed_motion}, {"bounds.given_plans", test_given_plans},
           {"bounds.null", test_null}, {"bounds.soak", test_soak})
