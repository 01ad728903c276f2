/* Adaptive sampling: the distribution follows its formulas. */
#include "learn/sampling.h"

#include <stdlib.h>
#include <string.h>

#include "synthetic.h"
#include "test.h"

typedef struct {
    clip clips[2];
    references refs;
    pool *threads;
    sampling s;
} bed;

static void bed_make(bed *b, config *cfg)
{
    hrc_error err;
    synthetic_turn(&b->clips[0], 201, 50); /* 200 starts: 4 bins */
    synthetic_turn(&b->clips[1], 121, 50); /* 120 starts: 3 bins, the last of 20 */
    ENSURE_OK(pool_create(&b->threads, 1, &err));
    ENSURE_OK(references_build(&b->refs, b->clips, 2, false, b->threads, &err));
    ENSURE_OK(sampling_create(&b->s, cfg, &b->refs, &err));
}

static void bed_free(bed *b)
{
    sampling_free(&b->s);
    references_free(&b->refs);
    pool_free(b->threads);
    clip_free(&b->clips[0]);
    clip_free(&b->clips[1]);
}

static void test_formulas(void)
{
    static bed b;
    config cfg = config_default();
    cfg.sampling_warmup = 2, cfg.sampling_cap = 3;
    bed_make(&b, &cfg);
    sampling *s = &b.s;
    ENSURE(s->n == 7 && s->bins[6].n == 20 && s->bins[6].first == 100 && s->bins[4].clip == 1);
    for (int i = 0; i < 7; i++) ENSURE_NEAR(s->probability[i], s->bins[i].n / 320.0, 1e-12); /* uniform */
    for (int i = 0; i < 7; i++) s->difficulty[i] = 0.1;
    /* 50 steps at score 0.6 and a failure: d = 1 - 30 / 100, for bins 1 and 2 */
    sampling_ended(s, &(env_episode){0, 60, 110, 50, 0.6, END_HEIGHT});
    ENSURE_NEAR(s->difficulty[1], 0.1 * 0.7 + 0.9 * 0.1, 1e-12);
    ENSURE_NEAR(s->difficulty[2], s->difficulty[1], 0);
    ENSURE(s->difficulty[0] == 0.1 && s->difficulty[3] == 0.1);
    /* a time-out is no failure: d = 1 - 0.6 */
    sampling_ended(s, &(env_episode){1, 100, 120, 20, 0.6, END_CLIP});
    ENSURE_NEAR(s->difficulty[6], 0.1 * 0.4 + 0.9 * 0.1, 1e-12);
    s->difficulty[2] = 20; /* over the cap */
    sampling_refresh(s);
    double F[7], mean = 0, total = 0, sum = 0, tilde[7];
    memcpy(F, s->difficulty, sizeof F);
    for (int i = 0; i < 7; i++) mean += F[i] / 7;
    for (int i = 0; i < 7; i++) F[i] = fmin(F[i], cfg.sampling_cap * mean);
    for (int i = 0; i < 7; i++) {
        const int last = i <= 3 ? 3 : 6; /* not over the end of a clip */
        tilde[i] = 0;
        for (int k = 0; k < 4; k++) tilde[i] += pow(0.8, k) * F[i + k < last ? i + k : last] / 2.952;
        total += tilde[i];
    }
    for (int i = 0; i < 7; i++) {
        ENSURE_NEAR(s->probability[i], 0.9 * tilde[i] / total + 0.1 / 7, 1e-12);
        sum += s->probability[i];
    }
    ENSURE_NEAR(sum, 1, 1e-12);
    /* The hard bin raises those before it, the nearer the more, and not the one after it. */
    ENSURE(s->probability[1] > s->probability[0] && s->probability[0] > 2 * s->probability[3]);
    ENSURE(sampling_entropy(s) < 0.99 && sampling_entropy(s) > 0.3);
    bed_free(&b);
}

/* By failures: the bin of the failure counts 1, those before it 0. */
static void test_failures(void)
{
    static bed b;
    config cfg = config_default();
    strcpy(cfg.sampling_measure, "failure");
    bed_make(&b, &cfg);
    sampling *s = &b.s;
    for (int i = 0; i < 7; i++) s->difficulty[i] = 0.5;
    sampling_ended(s, &(env_episode){0, 10, 110, 100, 0.6, END_HEIGHT});
    sampling_ended(s, &(env_episode){1, 100, 120, 20, 0.6, END_CLIP});
    const double want[7] = {0.45, 0.45, 0.55, 0.5, 0.5, 0.5, 0.45};
    for (int i = 0; i < 7; i++) ENSURE_NEAR(s->difficulty[i], want[i], 1e-12);
    bed_free(&b);
}

static void test_draws(void)
{
    static bed b;
    config cfg = config_default();
    cfg.sampling_warmup = 0;
    bed_make(&b, &cfg);
    enum { N = 70000 };
    int hits[7] = {0};
    rng r = rng_make(2, 0);
    b.s.difficulty[5] = 2;
    sampling_refresh(&b.s);
    for (int i = 0; i < N; i++) {
        int which, frame;
        sampling_draw(&b.s, &r, &which, &frame);
        ENSURE(frame >= 0 && frame < b.clips[which].n - 1);
        hits[b.s.first_bin[which] + frame / 50]++;
    }
    for (int i = 0; i < 7; i++) ENSURE_NEAR((double)hits[i] / N, b.s.probability[i], 0.01);
    bed_free(&b);
}

/* A second clip that runs at 2.5 m/s: it has 120 frames, the other 200, so its bins weigh (200 / 120)^0.5. */
static void test_even(void)
{
    static bed b;
    hrc_error err;
    sampling s;
    config cfg = config_default();
    bed_make(&b, &cfg);
    for (int i = 0; i < b.clips[0].n; i++) clip_frame(&b.clips[0], i)[0] = clip_frame(&b.clips[0], i)[1] = 0;
    for (int i = 0; i < b.clips[1].n; i++)
        clip_frame(&b.clips[1], i)[0] = 0.05f * (float)i, clip_frame(&b.clips[1], i)[1] = 0;
    references_free(&b.refs);
    ENSURE_OK(references_build(&b.refs, b.clips, 2, false, b.threads, &err));
    cfg.sampling_even = 0.5;
    ENSURE_OK(sampling_create(&s, &cfg, &b.refs, &err));
    for (int i = 0; i < s.n; i++) ENSURE_NEAR(s.weight[i], s.bins[i].clip ? sqrt(200.0 / 120) : 1, 1e-12);
    sampling_free(&s);
    cfg.sampling_even = 0;
    ENSURE_OK(sampling_create(&s, &cfg, &b.refs, &err));
    for (int i = 0; i < s.n; i++) ENSURE(s.weight[i] == 1);
    sampling_free(&s);
    bed_free(&b);
}

/* The second clip is lifted off the floor for 10 of its frames, 60 to 69: the bin they are in and the one
 * whose end is less than half a second before are a kind of their own, of 100 of 320 frames. */
static void test_leaps(void)
{
    static bed b;
    hrc_error err;
    sampling s;
    config cfg = config_default();
    bed_make(&b, &cfg);
    for (int c = 0; c < 2; c++)
        for (int i = 0; i < b.clips[c].n; i++) {
            float *f = clip_frame(&b.clips[c], i);
            f[0] = f[1] = 0, f[2] = c == 1 && i >= 60 && i < 70 ? 3 : 0.7f;
        }
    references_free(&b.refs);
    ENSURE_OK(references_build(&b.refs, b.clips, 2, false, b.threads, &err));
    ENSURE(b.refs.clips[1].leaps && !b.refs.clips[0].leaps);
    ENSURE(ref_leaps(&b.refs.clips[1], 30, 68) && ref_leaps(&b.refs.clips[1], 62, 100));
    ENSURE(!ref_leaps(&b.refs.clips[1], 30, 67) && !ref_leaps(&b.refs.clips[1], 63, 100));
    cfg.sampling_even = 0.5;
    ENSURE_OK(sampling_create(&s, &cfg, &b.refs, &err));
    for (int i = 0; i < s.n; i++) ENSURE_NEAR(s.weight[i], i == 4 || i == 5 ? sqrt(220.0 / 100) : 1, 1e-12);
    sampling_free(&s);
    bed_free(&b);
}

TEST_TABLE({"sampling.leaps", test_leaps}, {"sampling.even", test_even}, {"sampling.formulas", test_formulas},
           {"sampling.failures", test_failures}, {"sampling.draws", test_draws})
