/* Trials of a tracker: figures against a plain rollout, failures, threads, starts. */
#include "learn/trial.h"

#include <string.h>

#include "synthetic.h"
#include "test.h"

enum { FRAMES = 200 };

typedef struct {
    config cfg;
    clip motions[2];
    references refs;
    pool *threads;
    trials *t;
    track_model model;
} bed;

static void bed_make(bed *b, int threads)
{
    hrc_error err;
    b->cfg = config_default();
    strcpy(b->cfg.tracker_basis, "reference");
    b->cfg.tracker_encoder_width = b->cfg.tracker_action_width = 16;
    synthetic_turn(&b->motions[0], FRAMES, 50);
    synthetic_turn(&b->motions[1], 40, 50);
    ENSURE_OK(pool_create(&b->threads, threads, &err));
    ENSURE_OK(references_build(&b->refs, b->motions, 2, false, b->threads, &err));
    ENSURE_OK(trials_create(&b->t, &b->cfg, &b->refs, b->threads, &err));
    ENSURE_OK(track_model_create(&b->model, &b->cfg, 5, &err));
}

static void bed_free(bed *b)
{
    track_model_free(&b->model);
    trials_free(b->t);
    references_free(&b->refs);
    pool_free(b->threads);
    for (int i = 0; i < 2; i++) clip_free(&b->motions[i]);
}

static void test_starts(void)
{
    static bed b;
    bed_make(&b, 1);
    trial_start s[16];
    trial_starts_spread(s, &b.refs, 0, 8);
    for (int i = 0; i < 8; i++) ENSURE(s[i].clip == 0 && s[i].frame == i * (FRAMES - 1) / 8);
    /* 200 frames: 0, 50, 100, 150 (49 left); 40 frames: 0 alone */
    ENSURE(trial_starts_every(NULL, &b.refs, 1) == 5);
    ENSURE(trial_starts_every(s, &b.refs, 1) == 5);
    ENSURE(s[3].clip == 0 && s[3].frame == 150 && s[4].clip == 1 && s[4].frame == 0);
    ENSURE(trial_starts_every(NULL, &b.refs, 100) == 2);
    bed_free(&b);
}

static void run(bed *b, const trial_options *o, trial out[5], int64_t *use)
{
    hrc_error err;
    trial_start s[5];
    ENSURE(trial_starts_every(s, &b->refs, 1) == 5);
    ENSURE_OK(trials_run(b->t, &b->model, s, 5, o, out, use, &err));
}

/* An untrained policy on the reference's own targets holds for a while, then falls. */
static void test_run(void)
{
    static bed b, two;
    static int64_t use[64 * 257], again[64 * 257];
    trial a[5], c[5];
    bed_make(&b, 1);
    bed_make(&two, 2);
    run(&b, &TRIAL_DEFAULT, a, use);
    run(&two, &TRIAL_DEFAULT, c, again);
    int64_t frames = 0, counted = 0;
    for (int i = 0; i < 5; i++) {
        ENSURE(memcmp(&a[i].joint, &c[i].joint, 3 * sizeof(double)) == 0 && a[i].good == c[i].good);
        ENSURE_NEAR(a[i].progress, (double)a[i].good / a[i].frames, 1e-12);
        ENSURE(a[i].success == (a[i].good == a[i].frames) && a[i].joint > 0.01 && a[i].joint < 3);
        frames += a[i].success ? a[i].frames : a[i].good + 1; /* the failing frame was run too */
    }
    ENSURE(a[0].frames == FRAMES - 1 && a[3].frames == FRAMES - 1 - 150 && a[4].frames == 39);
    ENSURE(memcmp(use, again, sizeof use) == 0);
    for (int i = 0; i < b.cfg.tracker_token * b.cfg.tracker_levels; i++) counted += use[i];
    ENSURE(counted == frames * b.cfg.tracker_token);
    bed_free(&b);
    bed_free(&two);
}

static void test_failure(void)
{
    static bed b;
    trial stop[5], on[5];
    bed_make(&b, 2);
    trial_options strict = {.tilt = 0.05, .height = 0.3}, lasting = strict;
    lasting.go_on = true;
    run(&b, &strict, stop, NULL);
    run(&b, &lasting, on, NULL);
    ENSURE(!stop[0].success && stop[0].good < stop[0].frames);
    for (int i = 0; i < 5; i++) {
        ENSURE(stop[i].good == on[i].good);
        ENSURE_NEAR(stop[i].completion, stop[i].progress, 1e-12);
        ENSURE(on[i].completion >= on[i].progress);
    }
    trial_summary all = trial_summarise(stop, 5, NULL, 0);
    trial_summary second = trial_summarise(stop, 5, (const int[]){0, 7}, 7);
    ENSURE(all.n == 5 && second.n == 1);
    ENSURE_NEAR(second.tilt, stop[4].tilt, 1e-12);
    trial_options brief = {.longest_s = 0.2, .tilt = 3, .height = 3};
    run(&b, &brief, stop, NULL);
    for (int i = 0; i < 5; i++) ENSURE(stop[i].success && stop[i].frames == 10);
    bed_free(&b);
}

/* What fails is what is not done to the end. */
static void test_failing(void)
{
    static bed b;
    hrc_error err;
    trial results[2];
    bool fails[2];
    const trial_start starts[2] = {{0, 0}, {1, 0}};
    trial_options o = TRIAL_DEFAULT;
    o.longest_s = 0, o.height = FAILING_HEIGHT_M;
    bed_make(&b, 2);
    ENSURE_OK(trials_run(b.t, &b.model, starts, 2, &o, results, NULL, &err));
    ENSURE_OK(failing_clips(fails, b.motions, 2, &b.model, &b.cfg, b.threads, &err));
    for (int i = 0; i < 2; i++) ENSURE(fails[i] == !results[i].success);
    bed_free(&b);
}

TEST_TABLE({"trial.failing", test_failing}, {"trial.starts", test_starts}, {"trial.run", test_run},
           {"trial.failure", test_failure})
