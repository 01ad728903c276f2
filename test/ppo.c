/* The numbers of PPO in double: advantages against their definition, every loss against central differences,
 * alone and through the networks. */
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

static rng dice;

static void randomise(double *x, size_t n, double scale)
{
    for (size_t i = 0; i < n; i++) x[i] = scale * (double)rng_normal(&dice);
}

/* The sum over k of (gamma lambda)^k delta, up to the end of the episode. */
static void test_advantages(void)
{
    enum { T = 7, W = 3 };
    double reward[T * W], value[T * W], last[W], advantage[T * W], target[T * W];
    bool over[T * W] = {0};
    const double gamma = 0.9, lambda = 0.8;
    dice = rng_make(1, 0);
    randomise(reward, T * W, 1), randomise(value, T * W, 1), randomise(last, W, 1);
    over[2 * W + 1] = over[5 * W + 1] = over[6 * W + 2] = true;
    ppo_advantages(advantage, target, reward, value, last, over, T, W, gamma, lambda);
    for (int i = 0; i < W; i++)
        for (int t = 0; t < T; t++) {
            double sum = 0, factor = 1;
            for (int k = t; k < T; k++, factor *= gamma * lambda) {
                double next = over[k * W + i] ? 0 : k + 1 < T ? value[(k + 1) * W + i] : last[i];
                sum += factor * (reward[k * W + i] + gamma * next - value[k * W + i]);
                if (over[k * W + i]) break;
            }
            ENSURE_NEAR(advantage[t * W + i], sum, 1e-12);
            ENSURE_NEAR(target[t * W + i], sum + value[t * W + i], 1e-12);
        }
}

static void test_clipping(void)
{
    /* Ratio 1.5 and 0.5, advantages of both signs: only moves that have paid enough are cut. */
    const double old[4] = {0}, logp[4] = {log(1.5), log(1.5), log(0.5), log(0.5)}, a[4] = {1, -1, 1, -1};
    double d[4], clipped;
    ENSURE_NEAR(ppo_surrogate(d, &clipped, logp, old, a, 4, 0.2), -(1.2 - 1.5 + 0.5 - 0.8) / 4, 1e-12);
    ENSURE_NEAR(clipped, 0.5, 1e-12);
    ENSURE(d[0] == 0 && d[3] == 0);
    ENSURE_NEAR(d[1], 1.5 / 4, 1e-12);
    ENSURE_NEAR(d[2], -0.5 / 4, 1e-12);
    const double v[3] = {1, 1, 0.1}, r[3] = {2, -1, 3};
    ENSURE_NEAR(ppo_value_loss(d, v, r, 3), (1 + 4 + 2.9 * 2.9) / 3, 1e-12);
    ENSURE_NEAR(d[0], 2 * -1.0 / 3, 1e-12);
    ENSURE_NEAR(d[1], 2.0 * 2 / 3, 1e-12);
    ENSURE_NEAR(d[2], 2 * -2.9 / 3, 1e-12);
}

/* ---- Through the networks ---- */

enum { N = 6, WINDOW = 12, PROPRIO = 7, ACTIONS = 3, D = 4, CRITIC = 9 };

static struct {
    policy net;
    critic judge;
    policy_pass *pass;
    mlp_pass judge_pass;
    double *params, *judge_params, proprio[N * PROPRIO], window[N * WINDOW], seen[N * CRITIC];
    double action[N * ACTIONS], logp[N], advantage[N], value[N], target[N];
} c;

enum { ENTROPY = 1, REC = 2 }; /* weights are 0.1 times these */

static double actor_loss(void *ctx)
{
    (void)ctx;
    double d[N], logp[N];
    const double *log_std = c.params + c.net.log_std;
    policy_outputs o = policy_forward(c.pass, c.params, NULL, &(policy_batch){N, c.proprio, c.window}, true);
    gaussian_log_prob(logp, c.action, o.mean, log_std, N, ACTIONS);
    return ppo_surrogate(d, NULL, logp, c.logp, c.advantage, N, 0.2) -
           0.1 * ENTROPY * gaussian_entropy(log_std, ACTIONS) +
           0.1 * REC * policy_loss(c.pass).reconstruction;
}

static double critic_loss(void *ctx)
{
    (void)ctx;
    double d[N], v[N];
    mlp_pass_forward(&c.judge_pass, v, c.seen, c.judge_params, N);
    return ppo_value_loss(d, v, c.target, N);
}

static void make_networks(pool *threads, arena *memory)
{
    hrc_error err;
    const policy_shape shape = {.window = WINDOW,
                                .proprio = PROPRIO,
                                .actions = ACTIONS,
                                .encoder = {1, {6}},
                                .reconstruction = {1, {5}},
                                .action = {1, {8}},
                                .activation = ACT_ELU,
                                .token = {QUANT_IFSQ, D, 17, 2, true, 0}};
    ENSURE_OK(policy_init(&c.net, &shape, &err));
    critic_init(&c.judge, CRITIC, &(policy_hidden){1, {7}}, ACT_ELU);
    ENSURE_OK(policy_pass_create(&c.pass, &c.net, nn_ops_best(), threads, N, &err));
    ENSURE_OK(mlp_pass_create(&c.judge_pass, &c.judge.net, nn_ops_best(), threads, N, memory, &err));
    c.params = ARENA_NEW(memory, double, c.net.layout.count);
    c.judge_params = ARENA_NEW(memory, double, c.judge.layout.count);
    randomise(c.params, c.net.layout.count, 0.5), randomise(c.judge_params, c.judge.layout.count, 0.5);
    randomise(c.proprio, N * PROPRIO, 1), randomise(c.window, N * WINDOW, 1),
        randomise(c.seen, N * CRITIC, 1);
    randomise(c.advantage, N, 1), randomise(c.target, N, 1);
}

/* Ratios from 0.7 to 1.4 and values off by as much: some rows are clipped, none is at the edge. */
static void make_rollout(void)
{
    static const double SHIFT[N] = {0.3, -0.3, 0.05, -0.1, 0.35, 0.0};
    policy_outputs o = policy_forward(c.pass, c.params, NULL, &(policy_batch){N, c.proprio, c.window}, false);
    randomise(c.action, N * ACTIONS, 0.5);
    for (int i = 0; i < N * ACTIONS; i++) c.action[i] += o.mean[i];
    gaussian_log_prob(c.logp, c.action, o.mean, c.params + c.net.log_std, N, ACTIONS);
    mlp_pass_forward(&c.judge_pass, c.value, c.seen, c.judge_params, N);
    for (int i = 0; i < N; i++) c.logp[i] -= SHIFT[i], c.value[i] += SHIFT[i];
}

static void test_gradients(void)
{
    hrc_error err;
    pool *threads;
    arena memory = {0};
    double dlogp[N], logp[N], dmean[N * ACTIONS], v[N], dv[N];
    dice = rng_make(2, 0);
    ENSURE_OK(pool_create(&threads, 1, &err));
    make_networks(threads, &memory);
    make_rollout();
    const double *log_std = c.params + c.net.log_std;
    double *grads = ARENA_NEW(&memory, double, c.net.layout.count);
    double *judge_grads = ARENA_NEW(&memory, double, c.judge.layout.count);
    policy_outputs o = policy_forward(c.pass, c.params, NULL, &(policy_batch){N, c.proprio, c.window}, true);
    gaussian_log_prob(logp, c.action, o.mean, log_std, N, ACTIONS);
    ppo_surrogate(dlogp, NULL, logp, c.logp, c.advantage, N, 0.2);
    gaussian_log_prob_back(dmean, grads + c.net.log_std, dlogp, c.action, o.mean, log_std, N, ACTIONS);
    for (int i = 0; i < ACTIONS; i++) grads[c.net.log_std + (size_t)i] -= 0.1 * ENTROPY;
    policy_backward(c.pass, grads, c.params, dmean, 0.1 * REC, NULL, NULL);
    check_gradient("actor", grads, c.params, c.net.layout.count, actor_loss, NULL, 1e-6, 1e-2);
    mlp_pass_forward(&c.judge_pass, v, c.seen, c.judge_params, N);
    ppo_value_loss(dv, v, c.target, N);
    mlp_pass_backward(&c.judge_pass, NULL, 0, 0, judge_grads, dv, c.seen, c.judge_params, N);
    check_gradient("critic", judge_grads, c.judge_params, c.judge.layout.count, critic_loss, NULL, 1e-6,
                   1e-2);
    policy_pass_free(c.pass);
    pool_free(threads);
    arena_free(&memory);
}

TEST_TABLE({"ppo.advantages", test_advantages}, {"ppo.clipping", test_clipping},
           {"ppo.gradients", test_gradients})
