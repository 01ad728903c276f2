/* Training of the planner: it learns, and it resumes exactly. */
#include "learn/planner_train.h"

#include <stdlib.h>
#include <string.h>

#include "base/rot.h"
#include "test.h"

enum { FRAMES = 400 };

typedef struct {
    config cfg;
    pool *threads;
    tuple_set *train, *heldout;
} bench;

static void make_motion(float *qpos, float phase)
{
    for (int i = 0; i < FRAMES; i++) {
        float t = (float)i / PLAN_FPS, turn[3] = {0, 0.05f * sinf(4 * t), 0.3f * t};
        float *q = qpos + i * HRC_NQ;
        q[0] = 0.5f * t, q[1] = 0, q[2] = 0.74f + 0.02f * sinf(6 * t + phase);
        quat_expf(q + 3, turn);
        for (int j = 0; j < HRC_JOINTS; j++)
            q[7 + j] = (float)G1_JOINT[j].q0 + 0.3f * sinf(3 * t + 0.3f * (float)j + phase);
    }
}

static bench bench_make(int threads)
{
    static float motion[2][FRAMES * HRC_NQ];
    hrc_error err;
    bench b = {.cfg = config_default()};
    static const char *const SETTINGS[] = {"planner.width=32",    "planner.depth=2",      "planner.batch=32",
                                           "planner.steps=250",   "planner.warmup=5",     "planner.rate=4e-3",
                                           "planner.average=0.9", "train.precision=float"};
    for (int i = 0; i < COUNT(SETTINGS); i++) ENSURE_OK(config_override(&b.cfg, SETTINGS[i], &err));
    make_motion(motion[0], 0);
    make_motion(motion[1], 0.7f);
    tuple_options o = planner_tuple_options(&b.cfg);
    ENSURE_OK(pool_create(&b.threads, threads, &err));
    ENSURE_OK(tuples_create(&b.train, &(tuple_clip){motion[0], FRAMES}, 1, NULL, &o, b.threads, &err));
    ENSURE_OK(tuples_create(&b.heldout, &(tuple_clip){motion[1], FRAMES}, 1, NULL, &o, b.threads, &err));
    return b;
}

static void bench_free(bench *b)
{
    tuples_free(b->train);
    tuples_free(b->heldout);
    pool_free(b->threads);
}

static planner_trainer *trainer_make(const bench *b, uint64_t seed)
{
    hrc_error err;
    planner_trainer *t;
    ENSURE_OK(planner_trainer_create(&t, &b->cfg, b->train, b->heldout, seed, b->threads, &err));
    return t;
}

static void test_learns(void)
{
    bench b = bench_make(2);
    planner_trainer *t = trainer_make(&b, 1);
    double first = planner_trainer_heldout(t);
    for (int i = 0; i < 250; i++) {
        planner_update u = planner_trainer_step(t);
        ENSURE(isfinite(u.loss) && isfinite(u.grad_norm));
    }
    double last = planner_trainer_heldout(t);
    planner_trainer_free(t);
    bench_free(&b);
    printf("(%.3f -> %.3f) ", first, last);
    ENSURE(last < 0.75 * first);
}

/* Ten steps, and five, a checkpoint and five more, with other numbers of threads. */
static void test_resume_is_exact(void)
{
    hrc_error err;
    bench one = bench_make(1), three = bench_make(3);
    planner_trainer *whole = trainer_make(&one, 7), *half = trainer_make(&three, 7),
                    *rest = trainer_make(&one, 7);
    const char *path = test_path("planner.ckpt");
    for (int i = 0; i < 10; i++) planner_trainer_step(whole);
    for (int i = 0; i < 5; i++) planner_trainer_step(half);
    ENSURE_OK(planner_checkpoint_save(half, path, &err));
    ENSURE_OK(planner_checkpoint_load(rest, path, &err));
    ENSURE(planner_trainer_steps(rest) == 5);
    for (int i = 0; i < 5; i++) planner_trainer_step(rest);
    size_t bytes = sizeof(float) * planner_trainer_parameters(whole);
    bool same = !memcmp(planner_trainer_averaged(whole), planner_trainer_averaged(rest), bytes);
    double a = planner_trainer_heldout(whole), c = planner_trainer_heldout(rest);

    planner_trainer *other = trainer_make(&one, 8);
    hrc_status refused = planner_checkpoint_load(other, path, &err);
    planner_trainer_free(whole);
    planner_trainer_free(half);
    planner_trainer_free(rest);
    planner_trainer_free(other);
    bench_free(&one);
    bench_free(&three);
    ENSURE(same && a == c);
    ENSURE(refused < 0 && strstr(err.text, "seed is 7, this run has 8"));
}

static void test_parameter_count(void)
{
    field f;
    hrc_error err;
    ENSURE_OK(field_init(&f, field_paper(PLAN_D), &err));
    ENSURE(f.layout.count == 22932006);
    ENSURE_OK(field_init(&f, field_paper(PLAN_D_BLIND), &err));
    ENSURE(f.layout.count == 22925859);
}

TEST_TABLE({"planner_train.learns", test_learns}, {"planner_train.resume_is_exact", test_resume_is_exact},
           {"planner_train.parameter_count", test_parameter_count})
