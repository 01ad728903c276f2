/* Naturalness on motions whose answer is known. */
#include "eval/natural.h"

#include <string.h>

#include "base/rng.h"
#include "eval/courses.h"
#include "test.h"

#define CORPUS_FILE "motions/cmu.safetensors"

static natural_corpus *people;
static corpus clips;

static void open_people(void)
{
    hrc_error err;
    ENSURE_OK(corpus_open(&clips, CORPUS_FILE, &err));
    ENSURE_OK(natural_corpus_create(&people, &clips, &err));
}

static void close_people(void)
{
    natural_corpus_free(people);
    corpus_close(&clips);
}

/* A rollout that does what clip i does, for 6 s at the most. */
static void imitate(rollout *r, int i)
{
    hrc_error err;
    clip motion;
    ENSURE_OK(corpus_clip(&clips, i, &motion, &err));
    ENSURE_OK(rollout_create(r, motion.n, HRC_RATE_HZ, motion.name, ROLLOUT_REF | ROLLOUT_TORQUE, 0, &err));
    r->n = motion.n < 300 ? motion.n : 300;
    memcpy(r->qpos, motion.qpos, sizeof(float) * HRC_NQ * (size_t)motion.n);
    memcpy(r->ref, motion.qpos, sizeof(float) * HRC_NQ * (size_t)motion.n);
    clip_free(&motion);
}

static natural_result measured(const rollout *r)
{
    hrc_error err;
    natural_result out;
    ENSURE_OK(natural_measure(&out, r, people, &err));
    return out;
}

static int first_of(corpus_split split, int frames)
{
    for (int i = 0; i < clips.nclips; i++)
        if (clips.clips[i].split == split && clips.clips[i].n >= frames) return i;
    test_fail(__FILE__, __LINE__, "no clip of %d frames", frames);
    return -1;
}

/* What a training clip shows is no distance away, wherever it happens; what was held out is; noise of so many
 * rad a joint adds as many; and poses of a clip in another order are no motion of people. */
static void test_distance(void)
{
    rng dice = rng_make(1, 1);
    rollout r;
    open_people();
    imitate(&r, first_of(CORPUS_TRAIN, 300));
    const double same = measured(&r).whole.nearest_rad;
    for (int i = 0; i < r.n; i++) { /* turned by 90 degrees about the vertical, and elsewhere */
        float *q = r.qpos + (size_t)i * HRC_NQ;
        const float w = q[3], x = q[4], y = q[5], z = q[6], h = 0.70710678f;
        q[3] = h * (w - z), q[4] = h * (x - y), q[5] = h * (y + x), q[6] = h * (z + w);
        q[0] += 7;
    }
    const double turned = measured(&r).whole.nearest_rad;
    for (int i = 0; i < r.n; i++)
        for (int k = 7; k < HRC_NQ; k++) r.qpos[i * HRC_NQ + k] += 0.1f * rng_normal(&dice);
    const natural_result noisy = measured(&r);
    ENSURE(same < 1e-6 && turned < 1e-3 && noisy.whole.reference_rad == same);
    ENSURE_NEAR(noisy.whole.nearest_rad, 0.1, 0.01);
    ENSURE(noisy.whole.nearest_p95_rad >= noisy.whole.nearest_rad && !noisy.recovers);
    for (int i = 0; i < r.n; i++) /* every 0.1 s another moment */
        memcpy(r.qpos + (size_t)i * HRC_NQ, r.ref + (size_t)((i / 5 * 97 + i % 5) % r.n) * HRC_NQ,
               sizeof(float) * HRC_NQ);
    ENSURE(measured(&r).whole.nearest_rad > 0.05);
    rollout_free(&r);
    imitate(&r, first_of(CORPUS_HELDOUT, 300));
    ENSURE(measured(&r).whole.nearest_rad > 0.02);
    rollout_free(&r);
    close_people();
}

/* The best of all windows: no other window of any clip is nearer. */
static void test_nearest(void)
{
    rollout r;
    open_people();
    imitate(&r, first_of(CORPUS_HELDOUT, 100));
    r.n = 26; /* one window */
    const double found = measured(&r).whole.nearest_rad;
    double best = INFINITY;
    for (int i = 0; i < clips.nclips; i++) {
        hrc_error err;
        clip c;
        if (clips.clips[i].split != CORPUS_TRAIN) continue;
        ENSURE_OK(corpus_clip(&clips, i, &c, &err));
        for (int from = 0; from + 25 < c.n; from += 5) {
            double square = 0;
            for (int t = 0; t <= 25; t += 5) {
                const float *a = r.qpos + (size_t)t * HRC_NQ, *b = clip_frame(&c, from + t);
                double up = 0;
                for (int k = 7; k < HRC_NQ; k++) square += pow((double)(a[k] - b[k]), 2);
                const double z[2][3] = {{2 * (a[4] * a[6] - a[3] * a[5]), 2 * (a[5] * a[6] + a[3] * a[4]),
                                         1 - 2 * (a[4] * a[4] + a[5] * a[5])},
                                        {2 * (b[4] * b[6] - b[3] * b[5]), 2 * (b[5] * b[6] + b[3] * b[4]),
                                         1 - 2 * (b[4] * b[4] + b[5] * b[5])}};
                for (int k = 0; k < 3; k++) up += pow(z[0][k] - z[1][k], 2);
                square += 4 * up + 4 * pow((double)(a[2] - b[2]), 2);
            }
            best = fmin(best, sqrt(square / (6 * 29)));
        }
        clip_free(&c);
    }
    ENSURE_NEAR(found, best, 1e-4);
    rollout_free(&r);
    close_people();
}

/* One joint swings, another strains; between 2 and 5 s the robot lies where its reference stands. */
static void test_joints(void)
{
    enum { N = 500, SWINGS = 3, STRAINS = 20 };
    const double amplitude = 0.5, omega = 8;
    hrc_error err;
    rollout r;
    double stance[HRC_NQ];
    open_people();
    g1_default_qpos(stance);
    ENSURE_OK(rollout_create(&r, N, HRC_RATE_HZ, "swing", ROLLOUT_REF | ROLLOUT_TORQUE, 0, &err));
    for (int i = 0; i < N; i++) {
        const bool lies = i >= 100 && i < 250;
        float *q = r.qpos + (size_t)i * HRC_NQ, *ref = r.ref + (size_t)i * HRC_NQ;
        for (int k = 0; k < HRC_NQ; k++) q[k] = ref[k] = (float)stance[k];
        if (!lies) q[7 + SWINGS] += (float)(amplitude * sin(omega * i / 50.0));
        if (lies) q[2] = 0.1f, q[3] = q[5] = 0.70710678f;
        r.torque[i * HRC_JOINTS + STRAINS] = (float)((lies ? -0.75 : 0.25) * G1_JOINT[STRAINS].effort);
    }
    const natural_result f = measured(&r);
    ENSURE(f.recovers && f.whole.torque_peak > 0.7499 && f.recovery.torque_p99 > 0.7499);
    ENSURE(f.whole.torque_p99 < 0.7501 && f.whole.torque_p99 > 0.2);
    ENSURE(f.whole.speed_p99_radps > 0.5 * amplitude * omega && f.recovery.speed_p99_radps < 1e-3);
    ENSURE(f.whole.speed_peak > amplitude * omega / G1_JOINT[SWINGS].velocity - 1e-3);
    ENSURE(f.recovery.nearest_rad > f.whole.nearest_rad && isfinite(f.recovery.reference_rad));
    r.n = 100; /* before it lies */
    const natural_result before = measured(&r);
    ENSURE(!before.recovers && isnan(before.recovery.nearest_rad) && isnan(before.recovery.torque_peak));
    ENSURE_NEAR(before.whole.jerk_rms_radps3, amplitude * pow(omega, 3) / sqrt(2 * HRC_JOINTS), 3);
    r.n = N;
    r.torque = NULL;
    ENSURE(isnan(measured(&r).whole.torque_peak));
    rollout_free(&r);
    close_people();
}

/* Means are over those that have something: a recovery only of those that recover. */
static void test_means(void)
{
    static natural_result results[4];
    static course courses[4];
    const evaluation e = {1, 4, NULL};
    naturalness mean;
    for (int i = 0; i < 4; i++) {
        courses[i].category = i < 3 ? "one" : "other";
        results[i].whole.nearest_rad = 0.1 * (i + 1);
        results[i].whole.torque_peak = i ? (double)NAN : 0.5;
        results[i].recovers = i == 2;
        results[i].recovery.nearest_rad = i == 2 ? 0.7 : (double)NAN;
    }
    ENSURE(natural_mean(&mean, results, &e, 0, courses, NULL, false) == 4);
    ENSURE_NEAR(mean.nearest_rad, 0.25, 1e-12);
    ENSURE(mean.torque_peak == 0.5);
    ENSURE(natural_mean(&mean, results, &e, 0, courses, "one", false) == 3);
    ENSURE_NEAR(mean.nearest_rad, 0.2, 1e-12);
    ENSURE(natural_mean(&mean, results, &e, 0, courses, NULL, true) == 1 && mean.nearest_rad == 0.7);
    ENSURE(natural_mean(&mean, results, &e, 0, courses, "other", true) == 0 && isnan(mean.nearest_rad));
}

TEST_TABLE({"natural.distance", test_distance}, {"natural.nearest", test_nearest},
           {"natural.joints", test_joints}, {"natural.means", test_means})
