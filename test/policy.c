/* The policy in double: every gradient of the training pass against central differences. */
#define NN_DOUBLE
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "differences.h"

#include "learn/mlp_pass.c"
#include "learn/policy_pass.c"
#include "learn/ppo_loss.c"
#include "nn/mlp.c"
#include "nn/ops.c"
#include "nn/params.c"
#include "track/policy.c"
#include "track/quantize.c"

enum { N = 5, WINDOW = 12, PROPRIO = 7, ACTIONS = 3, D = 4, CODES = 6 };

static rng dice;

static void randomise(double *x, size_t n, double scale)
{
    for (size_t i = 0; i < n; i++) x[i] = scale * (double)rng_normal(&dice);
}

typedef struct {
    policy_pass *pass;
    policy_batch batch;
    double *params, *codebook, proprio[N * PROPRIO], window[N * WINDOW], r[N * ACTIONS], target[N * WINDOW];
} bench;

/* r . mu + 0.7 L_rec + token loss; the reconstruction's target is held fixed, as the gradient takes it. */
static double value(void *ctx)
{
    const bench *c = ctx;
    policy_outputs out = policy_forward(c->pass, c->params, c->codebook, &c->batch, true);
    policy_losses losses = policy_loss(c->pass);
    double sum = losses.token;
    for (int i = 0; i < N * ACTIONS; i++) sum += c->r[i] * out.mean[i];
    for (int i = 0; i < N * WINDOW; i++) sum += 0.7 * pow(out.reconstructed[i] - c->target[i], 2) / (10 * N);
    return sum;
}

static void check_kind(quant_kind kind, nn_activation activation)
{
    hrc_error err;
    static policy p;
    static bench c;
    pool *threads;
    const policy_shape shape = {.window = WINDOW,
                                .proprio = PROPRIO,
                                .actions = ACTIONS,
                                .encoder = {2, {6, 5}},
                                .reconstruction = {1, {5}},
                                .action = {2, {8, 6}},
                                .activation = activation,
                                .token = {kind, D, 17, CODES, true, 0.3}};
    dice = rng_make(9, kind);
    ENSURE_OK(pool_create(&threads, 1, &err));
    ENSURE_OK(policy_init(&p, &shape, &err));
    ENSURE_OK(policy_pass_create(&c.pass, &p, nn_ops_best(), threads, N, &err));
    double *grads = calloc(p.layout.count, sizeof *grads), dproprio[N * PROPRIO], dwindow[N * WINDOW];
    double codebook[CODES * (2 * D + 1)];
    c.params = malloc(p.layout.count * sizeof *c.params), c.codebook = codebook;
    randomise(c.params, p.layout.count, 0.5), randomise(codebook, COUNT(codebook), 1);
    randomise(c.proprio, N * PROPRIO, 1), randomise(c.window, N * WINDOW, 1), randomise(c.r, N * ACTIONS, 1);
    memcpy(c.target, c.window, sizeof c.target);
    c.batch = (policy_batch){N, c.proprio, c.window};
    policy_forward(c.pass, c.params, codebook, &c.batch, true);
    policy_backward(c.pass, grads, c.params, c.r, 0.7, dproprio, dwindow);
    check_gradient("params", grads, c.params, p.layout.count, value, &c, 1e-5, 1e-3);
    check_gradient("proprio", dproprio, c.proprio, N * PROPRIO, value, &c, 1e-5, 1e-3);
    check_gradient("window", dwindow, c.window, N * WINDOW, value, &c, 1e-5, 1e-3);
    /* Without the inputs' gradients the parameters' are the same, and they accumulate. */
    double *again = calloc(p.layout.count, sizeof *again);
    policy_forward(c.pass, c.params, codebook, &c.batch, true);
    policy_backward(c.pass, again, c.params, c.r, 0.7, NULL, NULL);
    for (size_t i = 0; i < p.layout.count; i++) ENSURE_NEAR(again[i], grads[i], 1e-12);
    free(grads), free(again), free(c.params);
    policy_pass_free(c.pass);
    pool_free(threads);
}

static void test_gradients(void)
{
    check_kind(QUANT_IFSQ, ACT_ELU);
    check_kind(QUANT_FSQ, ACT_SILU);
    check_kind(QUANT_VQ, ACT_GELU);
    check_kind(QUANT_NONE, ACT_ELU);
}

static void test_gaussian(void)
{
    double action[N * 2], mean[N * 2], log_std[2] = {-0.3, 0.4}, dlogp[N], dmean[N * 2], dstd[2] = {0}, lp[N];
    dice = rng_make(4, 0);
    randomise(action, N * 2, 1), randomise(mean, N * 2, 1), randomise(dlogp, N, 1);
    gaussian_log_prob_back(dmean, dstd, dlogp, action, mean, log_std, N, 2);
    for (int i = 0; i < N * 2 + 2; i++) {
        double *x = i < N * 2 ? &mean[i] : &log_std[i - N * 2], keep = *x, side[2] = {0};
        for (int s = 0; s < 2; s++) {
            *x = keep + (s ? 1e-6 : -1e-6);
            gaussian_log_prob(lp, action, mean, log_std, N, 2);
            for (int r = 0; r < N; r++) side[s] += dlogp[r] * lp[r];
        }
        *x = keep;
        ENSURE_NEAR(i < N * 2 ? dmean[i] : dstd[i - N * 2], (side[1] - side[0]) / 2e-6, 1e-7);
    }
    double zero = 0, one = 1, at;
    gaussian_log_prob(&at, &one, &zero, &zero, 1, 1);
    ENSURE_NEAR(at, -0.5 - 0.5 * log(2 * 3.14159265358979323846), 1e-12);
    ENSURE_NEAR(gaussian_entropy(&zero, 1), 0.5 + 0.5 * log(2 * 3.14159265358979323846), 1e-12);
    ENSURE_NEAR(gaussian_kl(&zero, &zero, &one, &zero, 1, 1), 0.5, 1e-12);
    ENSURE_NEAR(gaussian_kl(mean, log_std, mean, log_std, N, 2), 0, 1e-12);
}

TEST_TABLE({"policy.gradients", test_gradients}, {"policy.gaussian", test_gaussian})
