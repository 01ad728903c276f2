/* Motions through the public header: from files and poses of any rate, and frames appended while the robot
 * runs. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "motion/clip.h"
#include "shell.h"
#include "small.h"
#include "synthetic.h"

enum { N = 120, BEGUN = 20, LEAD = 13 };

typedef struct {
    hrc_model *tracker;
    hrc_controller *whole, *fed;
    clip motion;
    float qvel[N * HRC_NV];
} scene;

static void scene_open(scene *s, int stream)
{
    hrc_error err;
    hrc_options o = hrc_defaults();
    *s = (scene){0};
    o.stream = stream;
    small_tracker("t.safetensors", "default");
    ENSURE_OK(hrc_model_load(&s->tracker, test_path("t.safetensors"), &err));
    ENSURE_OK(hrc_controller_create(&s->whole, s->tracker, NULL, NULL, &err));
    ENSURE_OK(hrc_controller_create(&s->fed, s->tracker, NULL, &o, &err));
    synthetic_turn(&s->motion, N, 50);
    hrc_velocities(s->qvel, s->motion.qpos, N);
    ENSURE_OK(hrc_follow(s->whole, &(hrc_motion){N, s->motion.qpos, s->qvel}, 0, 0, &err));
    ENSURE_OK(hrc_follow(s->fed, &(hrc_motion){BEGUN, s->motion.qpos, s->qvel}, 0, 0, &err));
}

static void scene_close(scene *s)
{
    hrc_controller_free(s->whole);
    hrc_controller_free(s->fed);
    hrc_model_free(s->tracker);
    clip_free(&s->motion);
}

static hrc_state at_frame(const scene *s, int i)
{
    hrc_state state = {0};
    for (int k = 0; k < HRC_NQ; k++) state.qpos[k] = (double)clip_frame(&s->motion, i < N ? i : N - 1)[k];
    return state;
}

static void both_step(scene *s, int i)
{
    hrc_error err;
    hrc_target a, b;
    const hrc_state state = at_frame(s, i);
    ENSURE_OK(hrc_control(s->whole, &state, &a, &err));
    ENSURE_OK(hrc_control(s->fed, &state, &b, &err));
    const hrc_report *p = hrc_controller_report(s->whole), *q = hrc_controller_report(s->fed);
    ENSURE(p->frame == q->frame);
    ENSURE(!memcmp(p->window, q->window, sizeof p->window) && !memcmp(&a, &b, sizeof a));
}

/* A motion that comes frame by frame is the motion that was there as a whole, bit for bit, also where the
 * ring of frames has gone round; and nothing is allocated. */
static void test_frames(void)
{
    scene s;
    hrc_error err;
    scene_open(&s, LEAD + 2);
    const long before = allocations();
    for (int i = 0; i < N - 1; i++) {
        const int wanted = i + LEAD < N ? i + LEAD : N - 1;
        while (i + hrc_ahead(s.fed) < wanted) {
            const int room = hrc_room(s.fed);
            ENSURE_OK(hrc_append(s.fed, clip_frame(&s.motion, i + hrc_ahead(s.fed) + 1), 1, 50, &err));
            ENSURE(hrc_room(s.fed) == room - 1);
        }
        both_step(&s, i);
    }
    ENSURE(allocations() == before);
    ENSURE(hrc_controller_report(s.fed)->frames == N);
    scene_close(&s);
}

/* Run dry: the last frame is held at rest, and what comes next goes on from there. */
static void test_dry(void)
{
    scene s;
    hrc_error err;
    hrc_target target;
    scene_open(&s, 50);
    const hrc_report *r = hrc_controller_report(s.fed);
    for (int i = 0; i < BEGUN + 30; i++) { /* the robot does as it is told, and stops */
        const hrc_state state = at_frame(&s, i < BEGUN ? i : BEGUN - 1);
        ENSURE_OK(hrc_control(s.fed, &state, &target, &err));
    }
    ENSURE(r->frame == BEGUN - 1 && hrc_ahead(s.fed) == 0);
    for (int i = 0; i < HRC_WINDOW; i++) {
        ENSURE(!memcmp(r->window[i].qpos, clip_frame(&s.motion, BEGUN - 1), sizeof r->window[i].qpos));
        for (int k = 0; k < HRC_NV; k++) ENSURE(r->window[i].qvel[k] == 0);
    }
    ENSURE_OK(hrc_append(s.fed, clip_frame(&s.motion, BEGUN), 12, 50, &err));
    const hrc_state state = at_frame(&s, BEGUN);
    for (int i = 0; i < 2; i++) ENSURE_OK(hrc_control(s.fed, &state, &target, &err));
    ENSURE(r->frame == BEGUN && r->frames == BEGUN + 12);
    ENSURE(!memcmp(r->reference.qpos, clip_frame(&s.motion, BEGUN), sizeof r->reference.qpos));
    ENSURE(hrc_follow(s.fed, &(hrc_motion){BEGUN, s.motion.qpos, s.qvel}, 0, 0, &err) == HRC_OK);
    ENSURE(hrc_ahead(s.fed) == BEGUN - 1 && hrc_room(s.fed) == 50); /* what was appended is forgotten */
    scene_close(&s);
}

/* Poses of other rates, one at a time, become the frames that resampling all of them at once makes. */
static void test_rates(void)
{
    static const double RATES[] = {30, 60, 120, 24, 50, 49.5};
    scene s;
    hrc_error err;
    hrc_target target;
    scene_open(&s, 400);
    for (int k = 0; k < COUNT(RATES); k++) {
        hrc_motion all;
        const double fps = RATES[k];
        ENSURE_OK(hrc_motion_resample(&all, s.motion.qpos, N, fps, &err));
        ENSURE(all.n == (int)((N - 1) * (50 / fps) + 1e-6) + 1);
        ENSURE_OK(hrc_follow(s.fed, &(hrc_motion){1, s.motion.qpos, s.qvel}, 0, 0, &err));
        for (int i = 1; i < N; i++) {
            const hrc_status status = hrc_append(s.fed, clip_frame(&s.motion, i), 1, fps, &err);
            if (status < 0) test_fail(__FILE__, __LINE__, "%g fps, pose %d: %s", fps, i, err.text);
        }
        ENSURE(hrc_ahead(s.fed) == all.n - 1);
        for (int i = 0; i < all.n; i++) {
            const hrc_state state = at_frame(&s, 0);
            ENSURE_OK(hrc_control(s.fed, &state, &target, &err));
            const hrc_frame *f = &hrc_controller_report(s.fed)->reference;
            for (int j = 2; j < HRC_NQ; j++)
                ENSURE_NEAR((double)f->qpos[j], (double)all.qpos[i * HRC_NQ + j],
                            j < 3 || j > 6 ? 2e-6 : 1.5);
            for (int j = 6; j < HRC_NV && i > 0 && i < all.n - 1; j++)
                ENSURE_NEAR((double)f->qvel[j], (double)all.qvel[i * HRC_NV + j], 1e-3);
        }
        hrc_motion_free(&all);
        ENSURE(all.n == 0 && !all.qpos);
    }
    scene_close(&s);
}

static void test_refusals(void)
{
    scene s;
    hrc_error err;
    hrc_controller *fresh;
    float bad[2][HRC_NQ];
    scene_open(&s, 5);
    const float *next = clip_frame(&s.motion, BEGUN);
    ENSURE_OK(hrc_controller_create(&fresh, s.tracker, NULL, NULL, &err));
    ENSURE(hrc_append(fresh, next, 1, 50, &err) == HRC_EINVAL && strstr(err.text, "hrc_follow"));
    ENSURE(hrc_ahead(fresh) == 0);
    hrc_controller_free(fresh);
    ENSURE(hrc_append(s.fed, next, 1, 0, &err) == HRC_EINVAL && strstr(err.text, "0 fps"));
    ENSURE(hrc_append(s.fed, next, 1, (double)NAN, &err) == HRC_EINVAL);
    ENSURE(hrc_append(s.fed, next, -1, 50, &err) == HRC_EINVAL);
    ENSURE(hrc_append(s.fed, NULL, 1, 50, &err) == HRC_EINVAL &&
           hrc_append(NULL, next, 1, 50, &err) == HRC_EINVAL);
    ENSURE(hrc_append(s.fed, next, 6, 50, &err) == HRC_EFULL && strstr(err.text, "pose 5"));
    ENSURE(hrc_room(s.fed) == 5 && hrc_ahead(s.fed) == BEGUN - 1); /* all or nothing */
    memcpy(bad[0], next, sizeof bad[0]);
    memcpy(bad[1], next, sizeof bad[1]);
    bad[1][7 + 3] += 1; /* a knee that jumps 57 degrees in 20 ms */
    ENSURE(hrc_append(s.fed, bad[0], 2, 50, &err) == HRC_EINVAL && strstr(err.text, "knee") &&
           strstr(err.text, "in frame 1"));
    bad[1][7 + 3] = NAN;
    ENSURE(hrc_append(s.fed, bad[0], 2, 120, &err) == HRC_ENONFINITE);
    ENSURE(hrc_room(s.fed) == 5);
    ENSURE_OK(hrc_append(s.fed, next, 5, 50, &err));
    for (int i = 0; i + 2 + HRC_WINDOW < BEGUN + 5; i++) both_step(&s, i);
    scene_close(&s);
}

/* ---- Files ---- */

static void test_load(void)
{
    clip c;
    hrc_error err;
    hrc_motion m = {0}, same;
    hrc_motion_source source;
    synthetic_turn(&c, 61, 60);
    ENSURE_OK(clip_save(&c, test_path("a.safetensors"), &err));
    ENSURE_OK(hrc_motion_load(&m, test_path("a.safetensors"), 0, &source, &err));
    ENSURE(m.n == 51 && source.frames == 61 && source.fps == 60);
    ENSURE(!strcmp(source.format, "safetensors clip") && strstr(source.rate, "from the file"));
    ENSURE_OK(hrc_motion_resample(&same, c.qpos, c.n, 60, &err));
    ENSURE(same.n == m.n && !memcmp(same.qpos, m.qpos, sizeof(float) * HRC_NQ * (size_t)m.n) &&
           !memcmp(same.qvel, m.qvel, sizeof(float) * HRC_NV * (size_t)m.n));
    hrc_motion_free(&same);
    hrc_motion_free(&m);
    ENSURE_OK(clip_save(&c, test_path("a.csv"), &err));
    ENSURE_OK(hrc_motion_load(&m, test_path("a.csv"), 60, NULL, &err));
    ENSURE(m.n == 51);
    hrc_motion_free(&m);
    hrc_motion_free(&m);
    hrc_motion_free(NULL);
    ENSURE_OK(clip_save(&c, test_path("a.npz"), &err));
    ENSURE(hrc_motion_load(&m, test_path("a.npz"), 0, NULL, &err) == HRC_EFORMAT &&
           strstr(err.text, "neither a CSV nor a safetensors clip") && m.n == 0);
    ENSURE(hrc_motion_load(&m, test_path("a.csv"), -3, NULL, &err) == HRC_EINVAL);
    ENSURE(hrc_motion_load(&m, test_path("absent.csv"), 0, NULL, &err) == HRC_EFILE);
    ENSURE(hrc_motion_load(NULL, test_path("a.csv"), 0, NULL, &err) == HRC_EINVAL);
    ENSURE(hrc_motion_load(&m, "motions/cmu.safetensors", 0, NULL, &err) == HRC_EFORMAT);
    ENSURE(hrc_motion_resample(&same, c.qpos, 0, 60, &err) == HRC_EINVAL);
    ENSURE(hrc_motion_resample(&same, c.qpos, 5, 0, &err) == HRC_EINVAL);
    c.qpos[4] = NAN;
    ENSURE(hrc_motion_resample(&same, c.qpos, 5, 60, &err) == HRC_ENONFINITE);
    clip_free(&c);
}

/* ---- Examples ---- */

static void skip_when_sanitized(void)
{
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    SKIP("a sanitizer build is not one to link with");
#endif
}

static void build_example(const char *name)
{
    char command[400];
    snprintf(command, sizeof command,
             "b=$(dirname $HERACLES); cc -std=c11 -Wall -Wextra -Werror -Iinclude examples/%s.c -o $T/%s "
             "-L$b -l:libheracles.a -lmujoco -lm -pthread",
             name, name);
    if (shell(command)) test_fail(__FILE__, __LINE__, "%s", shell_output);
}

static void test_example_stream(void)
{
    skip_when_sanitized();
    small_tracker("t.safetensors", "default");
    small_planner("p.safetensors", 38);
    build_example("stream");
    ENSURE(shell("$T/stream assets/g1.xml $T/t.safetensors $T/p.safetensors") == 0);
    ENSURE(says("poses sent") && !says(" 0 steps dry"));
    ENSURE(shell("$T/stream assets/g1.xml $T/p.safetensors") == 1 && says("expected a tracker"));
}

/* The example and the program agree on the shipped tracker. */
static void test_example_evaluate(void)
{
    skip_when_sanitized();
    double cr, joints, height;
    build_example("evaluate");
    ENSURE(shell("$T/evaluate assets/g1.xml models/tracker.safetensors motions/wave.safetensors") == 0);
    ENSURE(sscanf(shell_output, "completion %lf, joints %lf rad, height %lf", &cr, &joints, &height) == 3);
    ENSURE(cr == 1 && joints < 1 && height < 0.05);
}

TEST_TABLE({"stream.frames", test_frames}, {"stream.dry", test_dry}, {"stream.rates", test_rates},
           {"stream.refusals", test_refusals}, {"stream.load", test_load},
           {"stream.example_stream", test_example_stream}, {"stream.example_evaluate", test_example_evaluate})
