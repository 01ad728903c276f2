/* Training through a world model as a method of tracker training: exact resume on any number of threads, and
 * a model that learns the robot. */
#include <stdlib.h>
#include <string.h>

#include "learn/replay.h"
#include "learn/tracker_method.h"
#include "motion/stats.h"
#include "synthetic.h"
#include "test.h"

typedef struct {
    config cfg;
    clip motion;
    pool *threads;
    references refs;
    demonstration demo; /* of its only motion */
    float qvel[100 * HRC_NV], target[100 * HRC_JOINTS];
    void *t;
} bed;

static void bed_make(bed *b, int threads, const char *quantizer)
{
    hrc_error err;
    static const char *const SETTINGS[] = {
        "tracker.encoder_width=32", "tracker.action_width=32", "tracker.token=8",  "tracker.codes=16",
        "tracker.basis=ahead",      "world.worlds=20",         "world.warmup=600", "world.prefit=20",
        "world.fit_batch=70",       "world.width=32",          "world.batch=40",   "world.horizon=6",
        "world.buffer=64",          "sampling.warmup=5"};
    *b = (bed){.cfg = config_default()};
    for (int i = 0; i < COUNT(SETTINGS); i++) ENSURE_OK(config_override(&b->cfg, SETTINGS[i], &err));
    strcpy(b->cfg.tracker_quantizer, quantizer);
    synthetic_turn(&b->motion, 100, 50);
    ENSURE_OK(pool_create(&b->threads, threads, &err));
    ENSURE_OK(references_build(&b->refs, &b->motion, 1, true, b->threads, &err));
    clip_velocities(b->qvel, &b->motion);
    for (int i = 0; i < 100 * HRC_JOINTS; i++) b->target[i] = 0.01f * (float)(i % 37);
    b->demo = (demonstration){0, 100, b->motion.qpos, b->qvel, b->target};
    const demonstrations demos = {&b->demo, !strcmp(quantizer, "ifsq")};
    ENSURE_OK(METHOD_WORLD.create(&b->t, &(train_input){&b->cfg, &b->refs, 3, b->threads, demos}, &err));
}

static void bed_free(bed *b)
{
    METHOD_WORLD.free(b->t);
    references_free(&b->refs);
    pool_free(b->threads);
    clip_free(&b->motion);
}

static double iterate(bed *b, int n, const char *figure)
{
    hrc_error err;
    double last = 0;
    for (int i = 0; i < n; i++) {
        train_report r = {0};
        ENSURE_OK(METHOD_WORLD.iterate(b->t, 0, &r, &err));
        for (int k = 0; k < r.nfigures; k++)
            if (!strcmp(r.figures[k].name, figure)) last = r.figures[k].value;
    }
    return last;
}

static void save(bed *b, const char *name)
{
    hrc_error err;
    static state_list l;
    l.n = 0;
    METHOD_WORLD.state(b->t, &l);
    ENSURE_OK(state_save(&l, test_path(name), NULL, 0, &err));
}

static void load(bed *b, const char *name)
{
    hrc_error err;
    static state_list l;
    l.n = 0;
    METHOD_WORLD.state(b->t, &l);
    ENSURE_OK(state_load(&l, test_path(name), NULL, 0, &err));
}

/* Byte for byte, so that nothing is forgotten. */
static void same_files(const char *left, const char *right)
{
    hrc_error err;
    file_view a, b;
    ENSURE_OK(file_map(test_path(left), &a, &err));
    ENSURE_OK(file_map(test_path(right), &b, &err));
    ENSURE(a.size == b.size && !memcmp(a.data, b.data, a.size));
    file_unmap(&a);
    file_unmap(&b);
}

static void check_resume(const char *quantizer)
{
    static bed b, c;
    bed_make(&b, 1, quantizer);
    bed_make(&c, 2, quantizer);
    iterate(&b, 2, "loss");
    save(&b, "two");
    iterate(&b, 2, "loss");
    save(&b, "four");
    iterate(&c, 1, "loss"); /* what was there before must not matter */
    load(&c, "two");
    iterate(&c, 2, "loss");
    save(&c, "resumed");
    same_files("four", "resumed");
    bed_free(&b);
    bed_free(&c);
}

static void test_resume(void)
{
    check_resume("ifsq");
    check_resume("vq");
}

/* Without the worlds and what was kept of them, a run goes on: it collects anew. */
static void test_light(void)
{
    static bed b, c;
    hrc_error err;
    static state_list l;
    tensorfile file;
    bed_make(&b, 1, "ifsq");
    bed_make(&c, 2, "ifsq");
    iterate(&b, 3, "loss");
    l.n = 0;
    METHOD_WORLD.state(b.t, &l);
    state_lighten(&l);
    ENSURE_OK(state_save(&l, test_path("light"), NULL, 0, &err));
    ENSURE_OK(tensorfile_open(&file, test_path("light"), &err));
    ENSURE(!tensorfile_find(&file, "real.replay.steps") && !tensorfile_find(&file, "real.worlds"));
    ENSURE(tensorfile_find(&file, "policy.params") && tensorfile_find(&file, "world.moment2"));
    tensorfile_close(&file);
    l.n = 0;
    METHOD_WORLD.state(c.t, &l);
    state_lighten(&l);
    ENSURE_OK(state_load(&l, test_path("light"), NULL, 0, &err));
    const double residual = iterate(&c, 1, "model_residual");
    ENSURE(residual > 0 && residual < 2); /* of a world model that has learned, on what was collected anew */
    bed_free(&b);
    bed_free(&c);
}

/* Hard episodes grow in over a run from nothing; a trained policy, which has something to lose, has them from
 * the first iteration on, also after its run was resumed. */
static void test_adopted(void)
{
    static bed b, c, d;
    hrc_error err;
    track_model taught;
    bed *all[] = {&b, &c, &d};
    for (int i = 0; i < 3; i++) {
        bed_make(all[i], 1, "ifsq");
        METHOD_WORLD.free(all[i]->t);
        all[i]->cfg.env_hard_share = 1;
        ENSURE_OK(METHOD_WORLD.create(
            &all[i]->t, &(train_input){&all[i]->cfg, &all[i]->refs, 3, all[i]->threads, {0}}, &err));
    }
    METHOD_WORLD.model(b.t, &taught);
    ENSURE_OK(METHOD_WORLD.begin_with(c.t, &taught, &err));
    iterate(&b, 2, "loss");
    iterate(&c, 2, "loss");
    ENSURE(env_count(METHOD_WORLD.world(b.t)).lost == 0);
    ENSURE(env_count(METHOD_WORLD.world(c.t)).lost > 0);
    save(&c, "adopted");
    load(&d, "adopted");
    env_clear(METHOD_WORLD.world(d.t));
    iterate(&d, 20, "loss");
    ENSURE(env_count(METHOD_WORLD.world(d.t)).lost > 0);
    for (int i = 0; i < 3; i++) bed_free(all[i]);
}

/* The model explains most of what happens: an error of 1 is that of a model which says "no change". One batch
 * may hold a robot that hits the floor; the median of nine does not hang on it. */
static void test_learns(void)
{
    static bed b;
    double residual[9];
    bed_make(&b, 2, "ifsq");
    iterate(&b, 21, "model_residual");
    for (int i = 0; i < COUNT(residual); i++) residual[i] = iterate(&b, 1, "model_residual");
    numbers_sort(residual, COUNT(residual));
    if (!(residual[0] > 0 && residual[4] < 0.3))
        test_fail(__FILE__, __LINE__, "one-step residual of the world model is %.3f, expected below 0.3",
                  residual[4]);
    bed_free(&b);
}

/* History is that of the episode, its first step repeated before it. */
static void test_replay(void)
{
    hrc_error err;
    replay r;
    rng dice = rng_make(1, 0);
    float history[OBS_HISTORY][OBS_P];
    ENSURE_OK(replay_create(&r, 2, 16, &err));
    for (int t = 0; t < 40; t++) {
        for (int w = 0; w < 2; w++) {
            replay_step *s = replay_next(&r, w);
            s->p[0] = (float)(100 * w + t);
            s->age = t % 12;
            s->link = t % 12 != 11 ? LINK_WHOLE : w ? LINK_FAILED : LINK_BROKEN;
        }
        replay_advance(&r);
    }
    replay_history(&r, history, 1, 38); /* its episode began at 36 */
    for (int k = 0; k < OBS_HISTORY; k++) ENSURE_NEAR(history[k][0], 100 + (k < 7 ? 36 : 29 + k), 0);
    for (int i = 0; i < 200; i++) {
        int world;
        int64_t step;
        ENSURE(replay_draw(&r, &dice, 4, 0, &world, &step));
        ENSURE(step >= 24 && step + 4 <= 39 && step / 12 == (step + 4) / 12);
        ENSURE(replay_draw(&r, &dice, 0, 5, &world, &step));
        ENSURE(step >= 35 && step <= 39);
    }
    /* World 1 failed with step 35, world 0 only ended there. */
    ENSURE(replay_fails(&r, 1, 30, 5, 5) && replay_fails(&r, 1, 30, 0, 8) && replay_fails(&r, 1, 35, 0, 0));
    ENSURE(!replay_fails(&r, 1, 30, 6, 8) && !replay_fails(&r, 1, 30, 0, 4) &&
           !replay_fails(&r, 0, 30, 0, 8));
    ENSURE(!replay_fails(&r, 1, 36, 0, 20)); /* its end is not known yet */
    replay_free(&r);
}

/* A setting that only PPO has is refused, not passed over. */
static void test_foreign(void)
{
    hrc_error err;
    void *t = NULL;
    static const char *const GIVEN[][2] = {{"env.start_noise=2", "half of the noise is used"},
                                           {"sampling.measure=failure", "failures are counted"}};
    for (int i = 0; i < COUNT(GIVEN); i++) {
        config cfg = config_default();
        ENSURE_OK(config_override(&cfg, GIVEN[i][0], &err));
        ENSURE(METHOD_WORLD.create(&t, &(train_input){&cfg, NULL, 3, NULL, {0}}, &err) < 0 && !t);
        ENSURE(strstr(err.text, "is a setting of ppo") && strstr(err.text, GIVEN[i][1]));
    }
}

TEST_TABLE({"world_train.foreign", test_foreign}, {"world_train.resume", test_resume},
           {"world_train.light", test_light}, {"world_train.learns", test_learns},
           {"world_train.adopted", test_adopted}, {"world_train.replay", test_replay})
