/* The policy file and its runner: round trip, refusals that name the entry, the packed network against the
 * training pass, threads. */
#include "track/tracker.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "learn/policy_pass.h"
#include "shell.h"
#include "small.h"
#include "test.h"

static void small_model(track_model *m, const char *quantizer)
{
    hrc_error err;
    config cfg = config_default();
    rng r = rng_make(3, 0);
    cfg.tracker_encoder_width = cfg.tracker_action_width = 96;
    cfg.tracker_codes = 32, cfg.tracker_token = 16;
    ENSURE_OK(config_set(&cfg, "tracker", "quantizer", quantizer, "test", &err));
    ENSURE_OK(track_model_create(m, &cfg, 5, &err));
    policy_fresh(m->params, &m->net, 5, 1, TRACK_STD); /* with actions of some size */
    static float rows[64 * OBS_P];
    for (int i = 0; i < COUNT(rows); i++) rows[i] = 0.3f + 2 * rng_normal(&r);
    normal_update(&m->proprio, rows, 64);
    normal_update(&m->window, rows, 64);
    if (m->codebook)
        for (size_t i = 0; i < quant_state(&m->net.shape.token); i++) m->codebook[i] = rng_normal(&r);
}

static void test_round_trip(void)
{
    static const char *const KINDS[] = {"ifsq", "fsq", "vq", "none"};
    for (int kind = 0; kind < COUNT(KINDS); kind++)
        for (int bf16 = 0; bf16 < 2; bf16++) {
            hrc_error err;
            static track_model m, back;
            small_model(&m, KINDS[kind]);
            ENSURE_OK(tracker_save(&m, bf16, test_path("t.safetensors"), &err));
            ENSURE_OK(tracker_load(&back, test_path("t.safetensors"), &err));
            ENSURE(memcmp(back.params, m.params, m.net.layout.count * sizeof(float)) == 0);
            ENSURE(back.lead == m.lead && back.basis == m.basis && back.rotation == m.rotation);
            ENSURE(strcmp(back.config, m.config) == 0);
            for (int i = 0; i < OBS_P; i++) ENSURE_NEAR(back.proprio.scale[i], m.proprio.scale[i], 1e-6);
            track_model_free(&m);
            track_model_free(&back);
        }
}

/* The first place of `from` in the file replaced by `to`, of the same length: the load must say `said`. */
static void expect_refusal(const char *from, const char *to, const char *said)
{
    hrc_error err;
    char path[512];
    static track_model m;
    snprintf(path, sizeof path, "%s", test_path("t.safetensors"));
    tampered(path, test_path("bad.safetensors"), from, to);
    if (tracker_load(&m, test_path("bad.safetensors"), &err) >= 0)
        test_fail(__FILE__, __LINE__, "a file with %s was taken", to);
    if (!strstr(err.text, said)) test_fail(__FILE__, __LINE__, "%s: expected %s", err.text, said);
}

static void test_refusals(void)
{
    hrc_error err;
    static track_model m;
    small_model(&m, "ifsq");
    ENSURE_OK(tracker_save(&m, false, test_path("t.safetensors"), &err));
    expect_refusal("heracles-tracker", "heracles-planner", "format");
    expect_refusal("left_knee_joint", "left_kmee_joint", "left_kmee_joint");
    expect_refusal("gravity 3", "gravity 4", "observation");
    expect_refusal("\"basis\":\"ahead\"", "\"basis\":\"ahaed\"", "basis");
    /* a gain that differs, and a weight: by their bytes */
    double kp = G1_JOINT[1].kp, other = 123.456;
    char from[9] = {0}, to[9] = {0};
    memcpy(from, &kp, 8), memcpy(to, &other, 8);
    if (strlen(from) == 8 && strlen(to) == 8) expect_refusal(from, to, "kp of left_hip_roll_joint");
    /* weights that were changed after saving no longer give the recorded action */
    track_pairs *pairs = malloc(sizeof *pairs);
    ENSURE_OK(track_model_pairs(pairs, test_path("t.safetensors"), &err));
    ENSURE(pairs->n == TRACK_PAIRS);
    for (size_t i = 0; i < m.net.layout.count; i++) m.params[i] *= 1.1f;
    ENSURE_OK(track_model_save(&m, pairs, false, test_path("t.safetensors"), &err));
    track_model_free(&m);
    ENSURE(tracker_load(&m, test_path("t.safetensors"), &err) < 0 && strstr(err.text, "recorded"));
    free(pairs);
}

static void test_runner(void)
{
    enum { N = 150 };
    hrc_error err;
    static track_model m;
    static float proprio[N * OBS_PROPRIO], window[N * OBS_WINDOW], raw_p[N * OBS_PROPRIO],
        raw_w[N * OBS_WINDOW], dmean[N * HRC_JOINTS];
    rng r = rng_make(8, 0);
    small_model(&m, "ifsq");
    for (int i = 0; i < N * OBS_PROPRIO; i++) raw_p[i] = rng_normal(&r);
    for (int i = 0; i < N * OBS_WINDOW; i++) raw_w[i] = rng_normal(&r);
    for (int i = 0; i < N * HRC_JOINTS; i++) dmean[i] = rng_normal(&r);
    normal_apply(&m.proprio, proprio, raw_p, N * OBS_HISTORY);
    normal_apply(&m.window, window, raw_w, N * OBS_FRAMES);
    float *grads[2], first[N * HRC_JOINTS];
    const policy_batch batch = {N, proprio, window};
    for (int run = 0; run < 2; run++) { /* one thread, three threads: the same bits */
        pool *threads;
        policy_pass *pass;
        ENSURE_OK(pool_create(&threads, run ? 3 : 1, &err));
        ENSURE_OK(policy_pass_create(&pass, &m.net, nn_ops_best(), threads, N, &err));
        grads[run] = calloc(m.net.layout.count, sizeof(float));
        policy_outputs out = policy_forward(pass, m.params, NULL, &batch, true);
        policy_backward(pass, grads[run], m.params, dmean, 0.01, NULL, NULL);
        if (run) ENSURE(memcmp(first, out.mean, sizeof first) == 0);
        memcpy(first, out.mean, sizeof first);
        policy_pass_free(pass);
        pool_free(threads);
    }
    ENSURE(memcmp(grads[0], grads[1], m.net.layout.count * sizeof(float)) == 0);
    free(grads[0]), free(grads[1]);
    tracker *t;
    ENSURE_OK(tracker_create(&t, &m, NN_FLOAT, &err));
    int off = 0;
    for (int i = 0; i < N; i++) { /* a token may fall on the other side of a rounding, rarely */
        float action[HRC_JOINTS], worst = 0;
        tracker_infer(t, action, raw_p + i * OBS_PROPRIO, raw_w + i * OBS_WINDOW);
        for (int k = 0; k < HRC_JOINTS; k++)
            worst = fmaxf(worst, fabsf(action[k] - first[i * HRC_JOINTS + k]));
        off += worst > 1e-4f;
    }
    ENSURE(off <= 1);
    /* A step: history filled at first, the action remembered, targets on the chosen basis. */
    double qpos[HRC_NQ], qvel[HRC_NV] = {0}, target[HRC_JOINTS];
    float fpos[HRC_NQ], fvel[HRC_NV] = {0};
    g1_state s;
    obs_frame frames[OBS_FRAMES];
    g1_default_qpos(qpos);
    g1_state_read(&s, qpos, qvel);
    for (int i = 0; i < HRC_NQ; i++) fpos[i] = (float)qpos[i] + 0.125f * (float)(i == 10);
    for (int i = 0; i < OBS_FRAMES; i++) frames[i] = (obs_frame){fpos, fvel};
    m.basis = BASIS_DEFAULT;
    tracker_step(t, target, &s, frames);
    for (int i = 0; i < HRC_JOINTS; i++)
        ENSURE_NEAR(target[i], G1_JOINT[i].q0 + G1_JOINT[i].action_scale * (double)tracker_action(t)[i],
                    1e-12);
    m.basis = BASIS_REFERENCE;
    tracker_reset(t);
    double other[HRC_JOINTS];
    tracker_step(t, other, &s, frames);
    for (int i = 0; i < HRC_JOINTS; i++) ENSURE_NEAR(other[i] - target[i], i == 3 ? 0.125 : 0, 1e-6);
    tracker_free(t);
    track_model_free(&m);
}

static void test_normal(void)
{
    hrc_error err;
    arena memory = {0};
    normal s;
    const float x[8] = {1, 10, 2, 10, 3, 10, 6, 10};
    float y[2];
    ENSURE_OK(normal_create(&s, 2, &memory, &err));
    normal_update(&s, x, 1); /* in pieces: the same as at once */
    normal_update(&s, x + 2, 3);
    ENSURE_NEAR(s.mean[0], 3, 1e-12);
    ENSURE_NEAR(normal_variance(&s, 0), 14.0 / 4, 1e-6);
    normal_apply(&s, y, x, 1);
    ENSURE_NEAR(y[0], (1 - 3) / (sqrt(3.5) + 0.01), 1e-6);
    ENSURE_NEAR(y[1], 0, 1e-6);
    arena_free(&memory);
}

/* heracles average: each weight is the mean, to bfloat16; what has no mean is refused, and nothing is
 * written. */
static void test_average(void)
{
    static track_model a, b, mean;
    hrc_error err;
    rng r = rng_make(7, 0);
    small_model(&a, "ifsq");
    small_model(&b, "ifsq");
    for (size_t i = 0; i < b.net.layout.count; i++) b.params[i] += 0.1f * rng_normal(&r);
    ENSURE_OK(tracker_save(&a, false, test_path("a"), &err));
    ENSURE_OK(tracker_save(&b, false, test_path("b"), &err));
    ENSURE(shell("$HERACLES average $T/a $T/b $T/b -o $T/mean") == 0 && says("the mean of 3 trackers"));
    ENSURE_OK(tracker_load(&mean, test_path("mean"), &err));
    ENSURE(strstr(mean.trained, "mean of 3 trackers"));
    for (size_t i = 0; i < a.net.layout.count; i++) {
        const double want = ((double)a.params[i] + 2 * (double)b.params[i]) / 3;
        ENSURE_NEAR((double)mean.params[i], want, 0.004 * fabs(want) + 1e-6);
    }
    ENSURE(shell("$HERACLES average $T/a $T/b -o $T/mean") == 1 && says("mean: is there already"));
    ENSURE(shell("$HERACLES average $T/a -o $T/one") == 2);
    normal_update(&b.window, b.params, 8); /* scaled otherwise */
    ENSURE_OK(tracker_save(&b, false, test_path("c"), &err));
    small_tracker("d", "default");
    ENSURE(shell("$HERACLES average $T/a $T/c -o $T/no") == 1 && says("c: its observations are scaled"));
    ENSURE(shell("$HERACLES average $T/a $T/d -o $T/no") == 1 && says("d: ") && says("has another shape"));
    ENSURE(shell("test ! -e $T/no") == 0);
    track_model_free(&a), track_model_free(&b), track_model_free(&mean);
}

TEST_TABLE({"tracker.average", test_average}, {"tracker.round_trip", test_round_trip},
           {"tracker.refusals", test_refusals}, {"tracker.runner", test_runner},
           {"tracker.normal", test_normal})
