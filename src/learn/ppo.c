/* Proximal policy optimisation of the tracker (paper 3.3): rollouts of T steps in n worlds, generalised
 * advantages, a few passes over them in minibatches. One backward pass takes the clipped surrogate, the
 * entropy, the reconstruction and the tokenizer's own loss; the critic is a network with a rate of its own.
 * The actor's rate follows the divergence from the policy that acted. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "learn/comm.h"
#include "learn/gemm_library.h"
#include "learn/ppo_loss.h"
#include "learn/ppo_parts.h"

/* Behind the gradients: what else is summed over ranks in the same call. */
enum { EXTRA_KL, EXTRA_SURROGATE, EXTRA_CLIPPED, EXTRA_VALUE, EXTRA_RECONSTRUCTION, EXTRA_TOKEN, PPO_EXTRA };

#define RATE_FACTOR 1.5 /* of one correction of the actor's rate */
#define RATE_MIN 1e-6   /* lowest rate of the actor (peers: 1e-5) */
#define STD_MIN 0.05f   /* lowest standard deviation of the actions */
#define GRADIENT_CLIP 1.0
#define CRITIC_RATE 1e-3
#define CHUNK 64 /* rows that one item copies */

/* Of a trained actor that goes on. */
#define CRITIC_FIRST 30  /* rollouts from which the critic learns alone: until then advantages are noise */
#define ADOPTED_STD 0.2f /* highest standard deviation of its actions at first */

/* ---- Create ---- */

typedef struct {
    float **at;
    size_t count;
} room;

static hrc_status make_rooms(ppo *p, const room *rooms, int count, hrc_error *err)
{
    for (int i = 0; i < count; i++) {
        *rooms[i].at = ARENA_NEW(&p->memory, float, rooms[i].count);
        if (!*rooms[i].at)
            return fail(err, HRC_ENOMEM, "ppo: out of memory for %d worlds of %d steps", p->n, p->T);
    }
    return HRC_OK;
}

static hrc_status allocate_arrays(ppo *p, hrc_error *err)
{
    const size_t n = (size_t)p->n, rows = (size_t)p->rows, batch = (size_t)p->batch, J = HRC_JOINTS;
    ppo_seen *s = &p->seen;
    ppo_rollout *r = &p->r;
    ppo_batch *b = &p->b;
    const room rooms[] = {
        {&s->proprio, n * OBS_PROPRIO},
        {&s->window, n * OBS_WINDOW},
        {&s->critic, n * OBS_CRITIC},
        {&s->last_critic, n * OBS_CRITIC},
        {&s->reward, n},
        {&r->proprio, rows * OBS_PROPRIO},
        {&r->window, rows * OBS_WINDOW},
        {&r->critic, rows * OBS_CRITIC},
        {&r->action, rows * J},
        {&r->mean, rows * J},
        {&r->logp, rows},
        {&r->reward, rows},
        {&r->value, rows},
        {&r->advantage, rows},
        {&r->target, rows},
        {&b->proprio, batch * OBS_PROPRIO},
        {&b->window, batch * OBS_WINDOW},
        {&b->critic, batch * OBS_CRITIC},
        {&b->action, batch * J},
        {&b->mean, batch * J},
        {&b->logp, batch},
        {&b->value, batch},
        {&b->advantage, batch},
        {&b->target, batch},
        {&p->last, n},
        {&p->judge_in, n * OBS_CRITIC},
        {&p->new_logp, batch},
        {&p->dlogp, batch},
        {&p->dmean, batch * J},
        {&p->new_value, batch},
        {&p->dvalue, batch},
    };
    s->end = ARENA_NEW(&p->memory, uint8_t, n);
    r->over = ARENA_NEW(&p->memory, bool, rows);
    p->order = ARENA_NEW(&p->memory, int, rows);
    if (!s->end || !r->over || !p->order) return fail(err, HRC_ENOMEM, "ppo: out of memory");
    return make_rooms(p, rooms, COUNT(rooms), err);
}

static adam optimiser(size_t n, double rate)
{
    return (adam){.options = {.rate = rate, .beta1 = 0.9, .beta2 = 0.999, .eps = 1e-8, .clip = GRADIENT_CLIP},
                  .n = n};
}

static hrc_status make_networks(ppo *p, const train_input *in, hrc_error *err)
{
    TRY(track_model_create(&p->model, in->cfg, in->seed, err));
    critic_from_config(&p->judge, in->cfg);
    TRY(normal_create(&p->judge_normal, OBS_CRITIC, &p->memory, err));
    const size_t policy_n = p->model.net.layout.count, judge_n = p->judge.layout.count;
    p->actor = optimiser(p->model.net.log_std, in->cfg->ppo_rate);
    p->actor.options.average = in->cfg->ppo_average;
    p->spread = optimiser(HRC_JOINTS, in->cfg->ppo_std_rate);
    p->judge_adam = optimiser(judge_n, CRITIC_RATE);
    const room rooms[] = {{&p->judge_params, judge_n},   {&p->grads, policy_n + judge_n + PPO_EXTRA},
                          {&p->actor.m, p->actor.n},     {&p->actor.v, p->actor.n},
                          {&p->spread.m, HRC_JOINTS},    {&p->spread.v, HRC_JOINTS},
                          {&p->judge_adam.m, judge_n},   {&p->judge_adam.v, judge_n},
                          {&p->actor.averaged, policy_n}};
    TRY(make_rooms(p, rooms, COUNT(rooms), err));
    memcpy(p->actor.averaged, p->model.params, sizeof(float) * policy_n);
    nn_layout_init(p->judge_params, &p->judge.layout, in->seed + 1);
    const int most = p->batch > p->n ? p->batch : p->n;
    TRY(policy_pass_create(&p->pass, &p->model.net, &p->ops, p->threads, most, err));
    return mlp_pass_create(&p->judge_pass, &p->judge.net, &p->ops, p->threads, most, &p->memory, err);
}

/* First codes of a VQ tokenizer: encodings of the first observations. */
static void first_codes(ppo *p)
{
    ppo_rollout *r = &p->r;
    if (!p->model.codebook) return;
    normal_apply(&p->model.proprio, r->proprio, p->seen.proprio, (size_t)p->n * OBS_HISTORY);
    normal_apply(&p->model.window, r->window, p->seen.window, (size_t)p->n * OBS_FRAMES);
    policy_outputs o = policy_forward(p->pass, p->model.params, p->model.codebook,
                                      &(policy_batch){p->n, r->proprio, r->window}, false);
    quant_state_init(&p->model.net.shape.token, p->model.codebook, o.latent, p->n, &p->dice);
}

static hrc_status set_up(ppo *p, const train_input *in, hrc_error *err)
{
    /* Every rank has worlds and noise of its own, and the same networks. */
    const uint64_t own = in->seed + 0x9e3779b97f4a7c15u * (uint64_t)comm_rank();
    static const int SIZES[] = {OBS_P, OBS_M, OBS_CRITIC};
    if (quant_kind_of(in->cfg->tracker_quantizer) == QUANT_VQ && comm_size() > 1)
        return fail(err, HRC_EINVAL, "ppo: tracker.quantizer = vq on %d processes, expected one",
                    comm_size());
    if (p->rows < in->cfg->ppo_minibatches)
        return fail(err, HRC_EINVAL, "ppo.minibatches = %d of a rollout of %d samples",
                    in->cfg->ppo_minibatches, p->rows);
    for (int i = 0; i < COUNT(SIZES); i++)
        if (!(p->sums[i] = ARENA_NEW(&p->memory, double, NORMAL_SUMS(SIZES[i]))))
            return fail(err, HRC_ENOMEM, "ppo: out of memory");
    TRY(allocate_arrays(p, err));
    TRY(make_networks(p, in, err));
    TRY(sampling_create(&p->starts, in->cfg, in->refs, err));
    env_starts starts = sampling_starts(&p->starts);
    TRY(env_create(&p->e, in->cfg, &END_RULES, in->refs, p->n, own, &starts, in->threads, err));
    p->dice = rng_make(own, UINT64_MAX);
    ppo_first_statistics(p);
    first_codes(p);
    return HRC_OK;
}

static void ppo_free(void *self)
{
    ppo *p = self;
    if (!p) return;
    env_free(p->e);
    sampling_free(&p->starts);
    policy_pass_free(p->pass);
    track_model_free(&p->model);
    arena_free(&p->memory);
    free(p);
}

static hrc_status ppo_create(void **out, const train_input *in, hrc_error *err)
{
    ppo *p = calloc(1, sizeof *p);
    if (!p) return fail(err, HRC_ENOMEM, "ppo: out of memory");
    p->cfg = in->cfg, p->threads = in->threads;
    p->n = in->cfg->ppo_worlds, p->T = in->cfg->ppo_horizon, p->rows = p->n * p->T;
    p->batch = p->rows / in->cfg->ppo_minibatches + 1;
    p->ops = training_ops(in->cfg->train_precision);
    hrc_status status = set_up(p, in, err);
    if (status < 0) {
        ppo_free(p);
        return status;
    }
    *out = p;
    return HRC_OK;
}

/* ---- Update ---- */

typedef struct {
    ppo *p;
    const int *rows;
    int n;
} pick;

static void pick_chunk(void *ctx, int item, int worker)
{
    (void)worker;
    const pick *k = ctx;
    const ppo_rollout *r = &k->p->r;
    const ppo_batch *b = &k->p->b;
    const struct {
        float *to;
        const float *from;
        size_t width;
    } columns[] = {{b->proprio, r->proprio, OBS_PROPRIO},
                   {b->window, r->window, OBS_WINDOW},
                   {b->critic, r->critic, OBS_CRITIC},
                   {b->action, r->action, HRC_JOINTS},
                   {b->mean, r->mean, HRC_JOINTS},
                   {b->logp, r->logp, 1},
                   {b->value, r->value, 1},
                   {b->advantage, r->advantage, 1},
                   {b->target, r->target, 1}};
    for (int i = item * CHUNK; i < k->n && i < (item + 1) * CHUNK; i++)
        for (int c = 0; c < COUNT(columns); c++) {
            const size_t w = columns[c].width;
            memcpy(columns[c].to + w * (size_t)i, columns[c].from + w * (size_t)k->rows[i],
                   w * sizeof(float));
        }
}

/* Surrogate, entropy, reconstruction and token loss of n rows of the batch into grads. */
static void actor_gradient(ppo *p, int n, float *extra)
{
    const config *c = p->cfg;
    const policy *net = &p->model.net;
    const float *log_std = p->model.params + net->log_std;
    float *dlog_std = p->grads + net->log_std;
    double clipped;
    policy_outputs o = policy_forward(p->pass, p->model.params, p->model.codebook,
                                      &(policy_batch){n, p->b.proprio, p->b.window}, true);
    extra[EXTRA_KL] = (float)gaussian_kl(p->b.mean, p->r.log_std, o.mean, log_std, n, HRC_JOINTS);
    gaussian_log_prob(p->new_logp, p->b.action, o.mean, log_std, n, HRC_JOINTS);
    extra[EXTRA_SURROGATE] =
        (float)ppo_surrogate(p->dlogp, &clipped, p->new_logp, p->b.logp, p->b.advantage, n, c->ppo_clip);
    extra[EXTRA_CLIPPED] = (float)clipped;
    gaussian_log_prob_back(p->dmean, dlog_std, p->dlogp, p->b.action, o.mean, log_std, n, HRC_JOINTS);
    for (int i = 0; i < HRC_JOINTS; i++) dlog_std[i] -= (float)c->ppo_entropy;
    policy_losses l =
        policy_backward(p->pass, p->grads, p->model.params, p->dmean, RECONSTRUCTION_WEIGHT, NULL, NULL);
    extra[EXTRA_RECONSTRUCTION] = (float)l.reconstruction;
    extra[EXTRA_TOKEN] = (float)l.token;
    if (p->model.codebook)
        quant_state_update(&net->shape.token, p->model.codebook, o.latent, o.index, n, &p->dice);
}

static void critic_gradient(ppo *p, int n, float *extra)
{
    mlp_pass_forward(&p->judge_pass, p->new_value, p->b.critic, p->judge_params, n);
    extra[EXTRA_VALUE] = (float)ppo_value_loss(p->dvalue, p->new_value, p->b.target, n);
    mlp_pass_backward(&p->judge_pass, NULL, 0, 0, p->grads + p->model.net.layout.count, p->dvalue,
                      p->b.critic, p->judge_params, n);
}

static void steer_rate(ppo *p, double kl)
{
    const config *c = p->cfg;
    double *rate = &p->actor.options.rate;
    if (!(c->ppo_kl > 0)) return;
    if (kl > 2 * c->ppo_kl) *rate = fmax(RATE_MIN, *rate / RATE_FACTOR);
    if (kl < c->ppo_kl / 2 && kl > 0) *rate = fmin(c->ppo_rate_max, *rate * RATE_FACTOR);
}

static bool critic_alone(const ppo *p)
{
    return p->adopted &&
           p->judge_adam.step < (int64_t)CRITIC_FIRST * p->cfg->ppo_epochs * p->cfg->ppo_minibatches;
}

static double step_actor(ppo *p, double norms[2])
{
    float *log_std = p->model.params + p->model.net.log_std;
    if (!(p->cfg->ppo_std_rate > 0)) p->spread.options.rate = p->actor.options.rate;
    norms[0] += adam_step(&p->actor, &p->ops, p->threads, p->model.params, p->grads);
    const double spread =
        adam_step(&p->spread, &p->ops, p->threads, log_std, p->grads + p->model.net.log_std);
    for (int i = 0; i < HRC_JOINTS; i++) log_std[i] = fmaxf(log_std[i], logf(STD_MIN));
    return spread;
}

static hrc_status apply(ppo *p, double norms[2], hrc_error *err)
{
    const double spread = critic_alone(p) ? 0 : step_actor(p, norms);
    norms[1] +=
        adam_step(&p->judge_adam, &p->ops, p->threads, p->judge_params, p->grads + p->model.net.layout.count);
    if (isfinite(norms[0]) && isfinite(norms[1]) && isfinite(spread)) return HRC_OK;
    return fail(err, HRC_ENONFINITE, "ppo: the gradient of update %lld is not finite",
                (long long)p->judge_adam.step + 1);
}

/* One minibatch: rows of the rollout. */
static hrc_status update(ppo *p, const int *rows, int n, double sums[PPO_EXTRA], double norms[2],
                         hrc_error *err)
{
    const size_t count = p->model.net.layout.count + p->judge.layout.count;
    float *extra = p->grads + count;
    pool_items(p->threads, (n + CHUNK - 1) / CHUNK, pick_chunk, &(pick){p, rows, n});
    memset(p->grads, 0, (count + PPO_EXTRA) * sizeof *p->grads);
    actor_gradient(p, n, extra);
    critic_gradient(p, n, extra);
    if (comm_size() > 1) {
        comm_sum(p->grads, count + PPO_EXTRA);
        for (size_t i = 0; i < count + PPO_EXTRA; i++) p->grads[i] /= (float)comm_size();
    }
    for (int k = 0; k < PPO_EXTRA; k++) sums[k] += (double)extra[k];
    steer_rate(p, (double)extra[EXTRA_KL]);
    return apply(p, norms, err);
}

static void shuffle(int *order, int n, rng *r)
{
    for (int i = 0; i < n; i++) order[i] = i;
    for (int i = n - 1; i > 0; i--) {
        int k = (int)rng_below(r, (uint32_t)i + 1), keep = order[i];
        order[i] = order[k], order[k] = keep;
    }
}

static void tell(const ppo *p, const double sums[PPO_EXTRA], const double norms[2], int updates,
                 train_report *r)
{
    static const char *const NAMES[PPO_EXTRA] = {"kl",         "surrogate",      "clipped",
                                                 "value_loss", "reconstruction", "token_loss"};
    const float *log_std = p->model.params + p->model.net.log_std;
    double std = 0, explained = 0, spread = 0, mean = 0;
    for (int k = 0; k < PPO_EXTRA; k++) train_figure(r, NAMES[k], sums[k] / updates);
    for (int i = 0; i < HRC_JOINTS; i++) std += exp((double)log_std[i]) / HRC_JOINTS;
    for (int i = 0; i < p->rows; i++) mean += (double)p->r.target[i] / p->rows;
    for (int i = 0; i < p->rows; i++) {
        explained += pow((double)(p->r.target[i] - p->r.value[i]), 2);
        spread += pow((double)p->r.target[i] - mean, 2);
    }
    train_figure(r, "std", std);
    train_figure(r, "rate", p->actor.options.rate);
    train_figure(r, "actor_grad", norms[0] / updates);
    train_figure(r, "critic_grad", norms[1] / updates);
    train_figure(r, "value", mean);
    train_figure(r, "value_explained", spread > 0 ? 1 - explained / spread : 0);
    train_figure(r, "sampling_entropy", sampling_entropy(&p->starts));
    r->updates += updates;
}

/* Floating-point operations of one row's update: forward, weights and inputs 2 each for every weight, less
 * what has no gradient: windows, proprioception and the critic's observation. */
static double flop_of_row(const ppo *p)
{
    const policy *net = &p->model.net;
    const double all = (double)(net->layout.count + p->judge.layout.count);
    const double first = (double)net->encoder.size[0] * net->encoder.size[1] +
                         (double)OBS_PROPRIO * net->action.size[1] +
                         (double)p->judge.net.size[0] * p->judge.net.size[1];
    return 6 * all - 2 * first;
}

static hrc_status ppo_iterate(void *self, double done, train_report *r, hrc_error *err)
{
    (void)done; /* the divergence steers the rate, not a schedule */
    ppo *p = self;
    const int parts = p->cfg->ppo_minibatches;
    double sums[PPO_EXTRA] = {0}, norms[2] = {0};
    ppo_collect(p, r);
    const double start = clock_s();
    for (int epoch = 0; epoch < p->cfg->ppo_epochs; epoch++) {
        shuffle(p->order, p->rows, &p->dice);
        for (int64_t k = 0; k < parts; k++) {
            int begin = (int)(k * p->rows / parts), end = (int)((k + 1) * p->rows / parts);
            TRY(update(p, p->order + begin, end - begin, sums, norms, err));
        }
    }
    ppo_merge_statistics(p);
    tell(p, sums, norms, p->cfg->ppo_epochs * parts, r);
    train_phase(r, "update", clock_s() - start);
    r->flop += flop_of_row(p) * p->rows * p->cfg->ppo_epochs;
    return HRC_OK;
}

/* ---- The rest of the interface ---- */

static hrc_status ppo_begin_with(void *self, const track_model *m, hrc_error *err)
{
    ppo *p = self;
    TRY(track_model_adopt(&p->model, m, err));
    float *log_std = p->model.params + p->model.net.log_std;
    for (int i = 0; i < HRC_JOINTS; i++) log_std[i] = fminf(log_std[i], logf(ADOPTED_STD));
    p->adopted = 1;
    memcpy(p->actor.averaged, p->model.params, sizeof(float) * p->model.net.layout.count);
    return HRC_OK;
}

static void ppo_model(void *self, track_model *view)
{
    const ppo *p = self;
    const size_t std = p->model.net.log_std; /* the last of the parameters; it is not averaged */
    *view = p->model;
    if (!(p->actor.options.average > 0)) return;
    memcpy(p->actor.averaged + std, p->model.params + std, sizeof(float) * HRC_JOINTS);
    view->params = p->actor.averaged;
}

static env *ppo_world(void *self)
{
    return ((ppo *)self)->e;
}

static void ppo_state(void *self, state_list *l)
{
    ppo *p = self;
    const size_t n = (size_t)p->n;
    state_add(l, "ppo.", "policy", DT_F32, p->model.params, p->model.net.layout.count);
    state_add(l, "ppo.", "codebook", DT_F32, p->model.codebook, quant_state(&p->model.net.shape.token));
    state_add(l, "ppo.", "critic", DT_F32, p->judge_params, p->judge.layout.count);
    adam_state(&p->actor, l, "ppo.actor.");
    adam_state(&p->spread, l, "ppo.std.");
    adam_state(&p->judge_adam, l, "ppo.judge.");
    state_add(l, "ppo.", "adopted", DT_I64, &p->adopted, 1);
    state_add(l, "ppo.", "rate", DT_F64, &p->actor.options.rate, 1);
    normal_state(&p->model.proprio, l, "ppo.normal.proprio.");
    normal_state(&p->model.window, l, "ppo.normal.window.");
    normal_state(&p->judge_normal, l, "ppo.normal.critic.");
    state_add(l, "ppo.", "seen.proprio", DT_F32, p->seen.proprio, n * OBS_PROPRIO);
    state_bulky(l);
    state_add(l, "ppo.", "seen.window", DT_F32, p->seen.window, n * OBS_WINDOW);
    state_bulky(l);
    state_add(l, "ppo.", "seen.critic", DT_F32, p->seen.critic, n * OBS_CRITIC);
    state_bulky(l);
    state_add_dice(l, "ppo.", "dice", &p->dice);
    sampling_state(&p->starts, l, "ppo.sampling.");
    env_state(p->e, l, "ppo.env.");
}

const tracker_method METHOD_PPO = {.name = "ppo",
                                   .create = ppo_create,
                                   .begin_with = ppo_begin_with,
                                   .iterate = ppo_iterate,
                                   .model = ppo_model,
                                   .state = ppo_state,
                                   .world = ppo_world,
                                   .free = ppo_free,
                                   .ranks = true};
