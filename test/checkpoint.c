/* Checkpoints that are whole, with a digest that fits, but not of any run: every number that would become an
 * index, a flag, a count or a weight is looked at before anything is taken. */
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/tensorfile.h"
#include "learn/replay.h"
#include "learn/tracker_method.h"
#include "sim/env_world.h"
#include "synthetic.h"
#include "test.h"

typedef struct {
    const tracker_method *method;
    config cfg;
    clip motion;
    pool *threads;
    references refs;
    void *t;
} bed;

static void bed_make(bed *b, const tracker_method *method, const char *quantizer)
{
    hrc_error err;
    static const char *const SETTINGS[] = {"tracker.encoder_width=32",
                                           "tracker.action_width=32",
                                           "tracker.critic_width=32",
                                           "tracker.token=8",
                                           "tracker.codes=16",
                                           "ppo.worlds=4",
                                           "ppo.horizon=3",
                                           "ppo.minibatches=2",
                                           "train.precision=float",
                                           "world.worlds=4",
                                           "world.warmup=400",
                                           "world.prefit=2",
                                           "world.fit_batch=20",
                                           "world.width=32",
                                           "world.batch=8",
                                           "world.horizon=4",
                                           "world.buffer=64",
                                           "sampling.warmup=5"};
    *b = (bed){.method = method, .cfg = config_default()};
    for (int i = 0; i < COUNT(SETTINGS); i++) ENSURE_OK(config_override(&b->cfg, SETTINGS[i], &err));
    strcpy(b->cfg.tracker_quantizer, quantizer);
    synthetic_turn(&b->motion, 100, 50);
    ENSURE_OK(pool_create(&b->threads, 1, &err));
    ENSURE_OK(references_build(&b->refs, &b->motion, 1, true, b->threads, &err));
    ENSURE_OK(method->create(&b->t, &(train_input){&b->cfg, &b->refs, 3, b->threads, {0}}, &err));
}

static void bed_free(bed *b)
{
    b->method->free(b->t);
    references_free(&b->refs);
    pool_free(b->threads);
    clip_free(&b->motion);
}

static hrc_status iterate(bed *b, hrc_error *err)
{
    train_report r = {0};
    return b->method->iterate(b->t, 0, &r, err);
}

static void save(bed *b, const char *path)
{
    hrc_error err;
    static state_list l;
    l.n = 0;
    b->method->state(b->t, &l);
    ENSURE_OK(state_save(&l, path, NULL, 0, &err));
}

static hrc_status load(bed *b, const char *path, hrc_error *err)
{
    static state_list l;
    l.n = 0;
    b->method->state(b->t, &l);
    return state_load(&l, path, NULL, 0, err);
}

/* `size` bytes at `offset` of a block, in a checkpoint that is sealed anew. */
static void spoil(const char *from, const char *to, const char *name, size_t offset, const void *bytes,
                  size_t size)
{
    hrc_error err;
    tensorfile file;
    ENSURE_OK(tensorfile_open(&file, from, &err));
    tensor *t = (tensor *)tensorfile_find(&file, name);
    if (!t) test_fail(__FILE__, __LINE__, "there is no block %s", name);
    const size_t all = (size_t)t->count * dtype_size(t->type);
    ENSURE(offset + size <= all);
    char *copy = malloc(all);
    ENSURE(copy);
    memcpy(copy, t->data, all);
    memcpy(copy + offset, bytes, size);
    t->data = copy;
    ENSURE_OK(seal_write(to, file.tensors, file.ntensors, NULL, 0, &err));
    tensorfile_close(&file);
    free(copy);
}

typedef struct {
    const char *block;
    size_t offset;
    int kind; /* of the value: 4 int32, 8 int64, 1 byte, 'f' float, 'd' double */
    double value;
} damage;

static void check_damages(const tracker_method *method, const char *quantizer, const damage *list, int n)
{
    static bed b;
    hrc_error err;
    char good[512], bad[512], after[512];
    snprintf(good, sizeof good, "%s", test_path("good"));
    snprintf(bad, sizeof bad, "%s", test_path("bad"));
    snprintf(after, sizeof after, "%s", test_path("after"));
    bed_make(&b, method, quantizer);
    ENSURE_OK(iterate(&b, &err));
    save(&b, good);
    for (int i = 0; i < n; i++) {
        const damage *d = &list[i];
        const int32_t number =
            isfinite(d->value) ? (int32_t)fmin(fmax(d->value, -2147483648.0), 2147483647) : 0;
        const int64_t large = isfinite(d->value) ? (int64_t)d->value : 0;
        const unsigned char byte = (unsigned char)number;
        const float single = (float)d->value;
        const void *bytes = d->kind == 'f'   ? &single
                            : d->kind == 'd' ? (const void *)&d->value
                            : d->kind == 8   ? (const void *)&large
                            : d->kind == 4   ? (const void *)&number
                                             : &byte;
        const size_t size = d->kind == 'f' ? 4 : d->kind == 'd' ? 8 : (size_t)d->kind;
        spoil(good, bad, d->block, d->offset, bytes, size);
        if (load(&b, bad, &err) >= 0)
            test_fail(__FILE__, __LINE__, "%s: %g at byte %zu was taken", d->block, d->value, d->offset);
        ENSURE(strstr(err.text, d->block));
    }
    save(&b, after); /* nothing has changed */
    file_view x, y;
    ENSURE_OK(file_map(good, &x, &err));
    ENSURE_OK(file_map(after, &y, &err));
    ENSURE(x.size == y.size && !memcmp(x.data, y.data, x.size));
    file_unmap(&x), file_unmap(&y);
    ENSURE_OK(load(&b, good, &err));
    ENSURE_OK(iterate(&b, &err));
    bed_free(&b);
}

#define W(member) sizeof(env_one) + offsetof(env_one, member) /* of the second world */
#define LEFT offsetof(rng, left)

static void test_ppo(void)
{
    static const damage LIST[] = {
        {"ppo.policy", 40, 'f', INFINITY},
        {"ppo.policy", 44, 'f', NAN},
        {"ppo.critic", 0, 'f', NAN},
        {"ppo.actor.step", 0, 8, -1},
        {"ppo.actor.step", 0, 8, 9e18},
        {"ppo.rate", 0, 'd', NAN},
        {"ppo.normal.window.m2", 8, 'd', INFINITY},
        {"ppo.dice", LEFT, 4, 5},
        {"ppo.sampling.cumulative", 0, 'd', NAN},
        {"ppo.sampling.episodes", 0, 8, -5},
        {"ppo.env.clip_episodes", 0, 8, -1},
        {"ppo.env.worlds", W(clip), 4, 1},
        {"ppo.env.worlds", W(clip), 4, -1},
        {"ppo.env.worlds", W(at), 'd', 100},
        {"ppo.env.worlds", W(at), 'd', -1},
        {"ppo.env.worlds", W(first), 4, -1},
        {"ppo.env.worlds", W(steps), 4, -1},
        {"ppo.env.worlds", W(mirrored), 1, 2},
        {"ppo.env.worlds", W(trail_n), 8, -1},
        {"ppo.env.worlds", W(dice) + LEFT, 4, 1e9},
        {"ppo.env.worlds", W(sim.punch.link), 4, 30},
        {"ppo.env.worlds", W(sim.punch.link), 4, -2},
        {"ppo.env.worlds", W(sim.diverged), 1, 7},
        {"ppo.env.worlds", W(sim.qpos[9]), 'd', NAN},
        {"ppo.env.worlds", W(sim.params.friction), 'd', INFINITY},
        {"ppo.env.worlds", W(action[3]), 'f', NAN},
        {"ppo.env.worlds", W(history), 'f', INFINITY},
        {"ppo.env.worlds", W(after.clip), 4, 8},
        {"ppo.env.worlds", W(ended.end), 4, END_KINDS},
        {"ppo.env.worlds", W(ended.clip), 4, 3},
        {"ppo.env.worlds", W(ended.last), 4, 1e6},
    };
    check_damages(&METHOD_PPO, "ifsq", LIST, COUNT(LIST));
}

#define R(member) 3 * sizeof(replay_step) + offsetof(replay_step, member)

static void test_world(void)
{
    static const damage LIST[] = {
        {"policy.params", 4, 'f', INFINITY},
        {"world.params", 0, 'f', NAN},
        {"codebook", 8, 'f', NAN},
        {"warm", 0, 8, -1},
        {"dice", LEFT, 4, 77},
        {"real.dice", LEFT, 4, -1},
        {"real.age", 4, 4, -3},
        {"real.replay.n", 0, 8, -1},
        {"real.replay.steps", R(clip), 4, 1},
        {"real.replay.steps", R(at), 'f', 100},
        {"real.replay.steps", R(at), 'f', -1},
        {"real.replay.steps", R(age), 4, -1},
        {"real.replay.steps", R(link), 4, 3},
        {"real.replay.steps", R(mirrored), 4, 2},
        {"real.replay.steps", R(s), 'f', NAN},
        {"real.replay.steps", R(target), 'f', INFINITY},
    };
    check_damages(&METHOD_WORLD, "vq", LIST, COUNT(LIST));
}

/* Any four bytes of the worlds but their trails, of any value: refused, or a run that goes on or says why
 * not. */
static void test_random_worlds(void)
{
    static bed b;
    hrc_error err;
    char good[512], bad[512];
    rng r = rng_make(7, 0);
    int taken = 0;
    snprintf(good, sizeof good, "%s", test_path("good"));
    snprintf(bad, sizeof bad, "%s", test_path("bad"));
    bed_make(&b, &METHOD_PPO, "ifsq");
    ENSURE_OK(iterate(&b, &err));
    save(&b, good);
    for (int i = 0; i < 40; i++) {
        const uint32_t value = rng_below(&r, 2) ? rng_u32(&r) : rng_below(&r, 200);
        const size_t at = rng_below(&r, 4) * sizeof(env_one) + rng_below(&r, offsetof(env_one, trail) - 3);
        spoil(good, bad, "ppo.env.worlds", at, &value, 4);
        if (load(&b, bad, &err) < 0) continue;
        taken++;
        iterate(&b, &err);
        ENSURE_OK(load(&b, good, &err));
    }
    ENSURE(taken > 5); /* most bytes are of doubles, whose values a run survives */
    bed_free(&b);
}

TEST_TABLE({"checkpoint.ppo", test_ppo}, {"checkpoint.world", test_world},
           {"checkpoint.random_worlds", test_random_worlds})
