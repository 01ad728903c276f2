/* On the ground the robot does what it knows, in step with a reference that is like it. */
#include "track/known.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/rot.h"
#include "eval/mastered.h"
#include "learn/grounds.h"
#include "motion/corpus.h"
#include "motion/edit.h"
#include "robot/posture.h"
#include "small.h"
#include "test.h"

typedef struct {
    arena memory;
    motion_store store;
    known k;
} school;

static void corpus_get(clip *out, const char *name)
{
    corpus c;
    hrc_error err;
    ENSURE_OK(corpus_open(&c, "motions/cmu.safetensors", &err));
    ENSURE_OK(corpus_clip(&c, corpus_find(&c, name), out, &err));
    corpus_close(&c);
}

/* Two ways up from the ground, one face down, one on the back; a walk has nothing to give. */
static void school_make(school *s)
{
    const char *const NAMES[] = {"140_02", "91_01", "140_09"};
    clip all[COUNT(NAMES)];
    const clip *clips[COUNT(NAMES)];
    hrc_error err;
    *s = (school){0};
    for (int i = 0; i < COUNT(NAMES); i++) {
        corpus_get(&all[i], NAMES[i]);
        clips[i] = &all[i];
    }
    ENSURE_OK(grounds_find(&s->store, clips, COUNT(NAMES), &s->memory, &err));
    for (int i = 0; i < COUNT(NAMES); i++) clip_free(&all[i]);
    ENSURE_OK(known_create(&s->k, &s->store, &err));
}

static void school_free(school *s)
{
    known_free(&s->k);
    arena_free(&s->memory);
}

static void test_grounds(void)
{
    static school s;
    school_make(&s);
    ENSURE(s.store.n == 2 && s.store.length[0] + s.store.length[1] == s.store.frames);
    for (int m = 0, at = 0; m < 2; at += s.store.length[m++]) {
        const int n = s.store.length[m];
        ENSURE(n > 200 && s.store.qpos[at][2] < 0.4f && s.store.qpos[at + n - 1][2] > 0.6f);
        int up = 0;
        while (s.store.qpos[at + n - 1 - up][2] >= POSTURE_DOWN_M) up++;
        ENSURE(up == 50); /* a second after it */
    }
    school_free(&s);
}

/* A reference with its velocities. */
typedef struct {
    clip motion;
    float *qvel;
    follower f;
} lesson;

static void lesson_begin(lesson *l)
{
    l->qvel = malloc(sizeof(float) * HRC_NV * (size_t)l->motion.n);
    ENSURE(l->qvel);
    clip_velocities(l->qvel, &l->motion);
    const hrc_motion m = {l->motion.n, l->motion.qpos, l->qvel};
    follow_begin(&l->f, &m, 0, 0);
}

static void lesson_free(lesson *l)
{
    clip_free(&l->motion);
    free(l->qvel);
}

/* Motion 140_09 as the store has it, at another pace and turned. */
static void lesson_slower(lesson *l, const school *s, float pace)
{
    hrc_error err;
    clip own;
    float turn[4];
    ENSURE_OK(clip_create(&own, s->store.length[1], 50.0 * (double)pace, "own", &err));
    memcpy(own.qpos, s->store.qpos[s->store.length[0]], sizeof(float) * HRC_NQ * (size_t)own.n);
    ENSURE_OK(clip_resample(&l->motion, &own, 50, &err));
    quat_from_yawf(turn, 1.3f);
    for (int i = 0; i < l->motion.n; i++) {
        float *frame = clip_frame(&l->motion, i);
        quat_mulf(frame + 3, turn, frame + 3);
        quat_rotatef(frame, turn, frame);
    }
    clip_free(&own);
    lesson_begin(l);
}

static const float *pose(const lesson *l, int frame)
{
    return clip_frame(&l->motion, frame);
}

/* In step with its own recording that is slower, and where the robot is. */
static void test_in_step(void)
{
    static school s;
    lesson l = {0};
    const float pace = 0.8f;
    int begun = 0;
    school_make(&s);
    lesson_slower(&l, &s, pace);
    for (int i = 0; i < l.motion.n - 60; i++) {
        known_look(&s.k, &l.f);
        begun += known_step(&s.k, &l.f, pose(&l, i));
        if (i >= 8) ENSURE(s.k.active && s.k.which == 1);
        if (s.k.active && i >= 30) {
            hrc_frame at;
            ENSURE_NEAR((double)s.k.phase, (double)pace * i, 4);
            ENSURE_NEAR((double)s.k.pace, (double)pace, 0.25);
            known_frame(&s.k, 0, &at);
            ENSURE(quat_anglef(at.qpos + 3, pose(&l, i) + 3) < 0.25f);
            for (int j = 7; j < HRC_NQ; j++) ENSURE_NEAR((double)at.qpos[j], (double)pose(&l, i)[j], 0.3);
        }
        if (s.k.active) known_advance(&s.k);
        follow_advance(&l.f);
    }
    ENSURE(begun == 1);
    lesson_free(&l);
    school_free(&s);
}

/* Poses that are held for half a second: what is known goes on smoothly. */
static void test_held(void)
{
    static school s;
    lesson l = {0};
    school_make(&s);
    lesson_slower(&l, &s, 1);
    clip_hold(&l.motion, 0.5);
    float before = 0;
    for (int i = 0; i < l.motion.n - 60; i++) {
        known_look(&s.k, &l.f);
        ENSURE(!known_step(&s.k, &l.f, pose(&l, i)) || i < 10);
        if (s.k.active && i >= 30) {
            ENSURE(s.k.phase - before >= 0 && s.k.phase - before < 2.5f);
            ENSURE_NEAR((double)s.k.phase, i, 25);
        }
        before = s.k.phase;
        if (s.k.active) known_advance(&s.k);
        follow_advance(&l.f);
    }
    ENSURE(s.k.active);
    lesson_free(&l);
    school_free(&s);
}

/* A walk is left alone. */
static void test_walk(void)
{
    static school s;
    lesson l = {0};
    school_make(&s);
    corpus_get(&l.motion, "91_01");
    lesson_begin(&l);
    for (int i = 0; i < l.motion.n; i++, follow_advance(&l.f)) {
        known_look(&s.k, &l.f);
        ENSURE(!known_step(&s.k, &l.f, pose(&l, i)) && !s.k.active);
    }
    lesson_free(&l);
    school_free(&s);
}

/* Who stands does as the reference does again: of a clip that gets up and goes on. */
static void test_left(void)
{
    static school s;
    lesson l = {0};
    int begun = 0, left = 0;
    school_make(&s);
    corpus_get(&l.motion, "140_09");
    lesson_begin(&l);
    for (int i = 0; i < l.motion.n + 100; i++, follow_advance(&l.f)) {
        known_look(&s.k, &l.f);
        if (known_step(&s.k, &l.f, pose(&l, l.f.frame))) *(s.k.active ? &begun : &left) += 1;
        if (left) ENSURE(pose(&l, l.f.frame)[2] > 0.6f);
        if (s.k.active) known_advance(&s.k);
    }
    ENSURE(begun == 1 && left == 1);
    lesson_free(&l);
    school_free(&s);
}

/* Who did not look for two seconds begins anew, without looking at what is over. */
static void test_late(void)
{
    static school s;
    lesson l = {0};
    school_make(&s);
    lesson_slower(&l, &s, 1);
    for (int i = 0; i < 3; i++) known_look(&s.k, &l.f), follow_advance(&l.f);
    ENSURE(s.k.first == 0 && s.k.seen == 24);
    for (int i = 0; i < 120; i++) follow_advance(&l.f);
    known_look(&s.k, &l.f);
    ENSURE(s.k.first == 123 && s.k.seen == 8);
    for (int i = 0; i < 10; i++) known_look(&s.k, &l.f);
    ENSURE(known_step(&s.k, &l.f, pose(&l, 123)) && s.k.active && s.k.which == 1);
    ENSURE_NEAR((double)s.k.phase, 123, 4);
    lesson_free(&l);
    school_free(&s);
}

/* ---- The path against a plain search ---- */

enum { STEPS = 60 };

/* m/s over the floor, within a second around the frame. */
static double plain_speed(const float *qpos, int n, int frame)
{
    const int a = frame < 25 ? 0 : frame - 25, b = frame + 25 > n - 1 ? n - 1 : frame + 25;
    const double x = (double)(qpos[b * HRC_NQ] - qpos[a * HRC_NQ]),
                 y = (double)(qpos[b * HRC_NQ + 1] - qpos[a * HRC_NQ + 1]);
    return sqrt(x * x + y * y) * 50 / (b - a);
}

static double plain_distance(const school *s, int moment, const lesson *l, int frame)
{
    const known *k = &s->k;
    if (k->frame[moment] < 0) return INFINITY; /* before the motion */
    const float *motion = s->store.qpos[k->motion[moment] ? s->store.length[0] : 0];
    const posture here = posture_of(motion + k->frame[moment] * HRC_NQ), there = posture_of(pose(l, frame));
    const double faster = plain_speed(motion, s->store.length[k->motion[moment]], k->frame[moment]) -
                          plain_speed(l->motion.qpos, l->motion.n, frame);
    return (double)posture_distance(&here, &there) + faster * faster / 0.49;
}

/* As known.c counts, but in double, without padding or lag, and with a table of all costs. */
static int plain_path(int *path, const school *s, const lesson *l)
{
    const known *k = &s->k;
    static const double ON[] = {1, 0, 0.5, 2};
    const int n = k->n + 1;
    double *cost = malloc(sizeof *cost * (size_t)n * STEPS);
    int *from = malloc(sizeof *from * (size_t)n * STEPS);
    ENSURE(cost && from);
    for (int t = 0; t < STEPS; t++) {
        const double height = (double)pose(l, t * KNOWN_EVERY)[2];
        const double low = 1 - fmin(fmax((height - 0.35) / 0.15, 0), 1), change = 20 + 40 * low;
        for (int i = 0; i < n; i++) {
            double least = INFINITY, *here = &cost[t * n + i];
            int back = -1;
            for (int j = 0; t && j < n; j++) {
                const bool own = i < k->n && j < k->n && k->motion[i] == k->motion[j] && j <= i && i - j <= 3;
                const double step = own                          ? ON[i - j]
                                    : i == j                     ? 0
                                    : (i == k->n) != (j == k->n) ? change
                                                                 : INFINITY;
                const double by = cost[(t - 1) * n + j] + step;
                if (by < least) least = by, back = j;
            }
            const double unlike = i < k->n ? plain_distance(s, i, l, t * KNOWN_EVERY) : 5 * low;
            *here = (t ? least : 0) + unlike;
            from[t * n + i] = back;
        }
    }
    int best = 0;
    for (int i = 1; i < n; i++)
        if (cost[(STEPS - 1) * n + i] < cost[(STEPS - 1) * n + best]) best = i;
    for (int t = STEPS - 1; t >= 0; best = from[t * n + best], t--) path[t] = best;
    free(cost);
    free(from);
    return n - 1;
}

/* The other clip of the same person that gets up from the back, cut to STEPS moments: all is seen at once. */
static void test_cheapest(void)
{
    static school s;
    lesson l = {0};
    clip whole;
    hrc_error err;
    int path[STEPS];
    school_make(&s);
    corpus_get(&whole, "140_08");
    ENSURE_OK(clip_cut(&l.motion, &whole, 160, 160 + STEPS * KNOWN_EVERY - 1, &err));
    clip_free(&whole);
    lesson_begin(&l);
    const int itself = plain_path(path, &s, &l);
    for (int i = 0; i < STEPS; i++) known_look(&s.k, &l.f); /* the reference waits: all of it is looked at */
    ENSURE(s.k.known == STEPS && itself == s.k.n);
    int motions = 0;
    for (int t = 0; t < STEPS; t++) {
        ENSURE(s.k.path[t] == path[t]);
        motions += path[t] != itself;
    }
    printf("(%d of %d moments in a known motion) ", motions, STEPS);
    ENSURE(motions > 30);
    lesson_free(&l);
    school_free(&s);
}

/* ---- In the closed loop ---- */

/* The shipped models along a held-out clip, the robot where its reference is: how often the tracker was given
 * something else. Nothing is asked for after create. */
static int times_known(const lesson *l, int on)
{
    hrc_error err;
    hrc_model *body, *mind;
    hrc_controller *c;
    hrc_options o = hrc_defaults();
    o.known = on;
    ENSURE_OK(hrc_model_load(&body, "models/tracker.safetensors", &err));
    ENSURE_OK(hrc_model_load(&mind, "models/planner.safetensors", &err));
    ENSURE_OK(hrc_controller_create(&c, body, mind, &o, &err));
    ENSURE_OK(hrc_follow(c, &l->f.motion, 0, 0, &err));
    const long before = allocations();
    int times = 0;
    for (int i = 0; i < l->motion.n; i++) {
        hrc_state now = {0};
        hrc_target target;
        for (int k = 0; k < HRC_NQ; k++) now.qpos[k] = (double)pose(l, i)[k];
        ENSURE_OK(hrc_control(c, &now, &target, &err));
        const hrc_report *r = hrc_controller_report(c);
        times += r->known;
        ENSURE(r->known ? r->rewrite_rad > 0 : r->planned || r->recovering || r->rewrite_rad == 0);
    }
    ENSURE(allocations() == before);
    hrc_controller_free(c);
    hrc_model_free(body);
    hrc_model_free(mind);
    return times;
}

static void test_loop(void)
{
    lesson l = {0};
    corpus_get(&l.motion, "140_08");
    lesson_begin(&l);
    ENSURE(times_known(&l, 1) > l.motion.n / 2 && times_known(&l, 0) == 0);
    lesson_free(&l);
}

/* ---- Which are kept ---- */

/* A tracker follows the recording, but not the same one done upside down in the air. */
static void test_mastered(void)
{
    static school s;
    hrc_error err;
    hrc_model *model;
    pool *threads;
    const config cfg = config_default();
    const mastered_options options = {0};
    school_make(&s);
    for (int i = 0; i < s.store.length[0]; i++) s.store.qpos[i][2] += 0.8f;
    const int kept = s.store.length[1];
    const float marked = s.store.qpos[s.store.length[0] + 7][9];
    ENSURE_OK(hrc_model_load(&model, "models/tracker.safetensors", &err));
    ENSURE_OK(pool_create(&threads, 2, &err));
    ENSURE_OK(mastered_keep(&s.store, model, &cfg, threads, &options, &err));
    ENSURE(s.store.n == 1 && s.store.frames == kept && s.store.length[0] == kept);
    ENSURE(s.store.qpos[7][9] == marked);
    hrc_model_free(model);
    pool_free(threads);
    school_free(&s);
}

/* Through a file, and what a file may not say. */
static void test_file(void)
{
    static school s;
    hrc_error err;
    motion_store back;
    tensorfile file;
    tensor tensors[STORE_TENSORS];
    school_make(&s);
    for (int bad = 0; bad < 4; bad++) {
        if (bad == 1) s.store.length[0]++;
        if (bad == 2) s.store.length[0]--, s.store.qpos[3][9] = NAN;
        if (bad == 3) s.store.length[1] += s.store.length[0] - 1, s.store.length[0] = 1;
        ENSURE_OK(tensorfile_write(test_path("store"), tensors,
                                   store_tensors(tensors, &s.store, "known.length", "known.qpos"), NULL, 0,
                                   &err));
        ENSURE_OK(tensorfile_open(&file, test_path("store"), &err));
        const hrc_status status = store_read(&back, &file, "known.length", "known.qpos", &s.memory, &err);
        if (!bad) ENSURE(status == HRC_OK && back.n == 2 && back.frames == s.store.frames);
        if (bad == 1) ENSURE(status == HRC_EFORMAT && strstr(err.text, "known.length sums to"));
        if (bad == 2) ENSURE(status == HRC_ENONFINITE && strstr(err.text, "known.qpos, frame 3"));
        if (bad == 3) ENSURE(status == HRC_EFORMAT && strstr(err.text, "known.length[0] is 1"));
        tensorfile_close(&file);
    }
    school_free(&s);
}

TEST_TABLE({"known.grounds", test_grounds}, {"known.in_step", test_in_step}, {"known.held", test_held},
           {"known.walk", test_walk}, {"known.left", test_left}, {"known.late", test_late},
           {"known.cheapest", test_cheapest}, {"known.loop", test_loop}, {"known.mastered", test_mastered},
           {"known.file", test_file})
