/* Training the tracker through a learned model of the world (docs/tracker.md). One iteration: some steps in
 * MuJoCo, some updates of the world model on what was kept, some updates of the policy on imagined rollouts
 * that start where the robot lately was. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "learn/comm.h"
#include "learn/gemm_library.h"
#include "learn/imagine.h"
#include "learn/imitate.h"
#include "learn/sampling.h"
#include "learn/tracker_method.h"
#include "learn/world_collect.h"
#include "learn/world_fit.h"
#include "learn/world_ridge.h"
#include "nn/adam.h"
#include "nn/gemm.h"
#include "nn/muon.h"

#define LEAST_LEFT 8   /* frames of the clip that a start must have before it, unless the clip is shorter */
#define FAILS_LEAST 12 /* steps from a start that is chosen for its failure to that failure */
#define FAILS_MOST 75
#define LEAP_SOON 33     /* frames from a start that is chosen for its leap, which has begun by then */
#define FIT_TRIES 12     /* draws for a sequence of a kind */
#define WARMUP_NOISE 2   /* times the usual: nothing else explores yet, unless the policy is a trained one */
#define COLLECT 2        /* steps of each world in one iteration */
#define RECENT 300       /* newest steps of a world that half of the fits and the rollouts start from */
#define ACTION_NOISE 0.3 /* largest standard deviation of random actions; every episode draws its own */
#define FIT_HORIZON 4    /* periods that the world model is fitted over, open loop */
#define FIT_RATE 1e-3
#define REC_STEPS 8         /* periods of a rollout whose window is reconstructed */
#define ACTION_WEIGHT 0.005 /* penalty on squared actions */
#define IMITATED 1024       /* rows of rehearsals in an update of the policy */
#define PUSH_RAMP 0.5       /* share of the run over which pushes grow to env.push_scale */

/* Wider limits and starts fill the buffer with states from which nothing can be learned (docs/tracker.md).
 * Near the ground the bound is that of completion too: a robot that gets up before its reference does has not
 * followed it. In flight it is tighter: a robot that stays on its toes has missed the leap. */
static const end_rules RULES = {
    .height = 0.3, .low = 0.3, .leap = 0.12, .gravity = INFINITY, .angle = 1, .effector = INFINITY};
#define START_NOISE 0.5
#define HEAVY 0.25 /* share of a run after which a robot on the ground weighs in full (world.light) */

typedef struct {
    float *params, *grads;
    adam optimiser;
    muon matrices; /* of its hidden layers */
} learner;

typedef struct {
    float (*qpos)[HRC_NQ], (*qvel)[HRC_NV];
    obs_frame *frames; /* that point to them */
} frame_store;

typedef struct {
    arena memory;
    config cfg; /* with this method's environment settings */
    const references *refs;
    pool *threads;
    nn_ops ops;
    nn_kept kept;   /* weights of an update's products: first the world model's, then the policy's */
    int kept_world; /* how many are the world model's; 0: none are kept */
    int length;     /* frames of a rollout and its last window */
    frame_store taught, shown; /* (batch, length) each: the references of imagined rollouts, and what is shown
                                  instead where the policy is not to see them */
    sampling starts;
    collector real_world;
    track_model model; /* params: those being trained */
    learner policy, world;
    world_model dynamics;
    world_fit fit;
    imagine *dream;
    imitation *copy; /* of rehearsals; NULL: none */
    rng dice;
    int64_t warm;                   /* 1: scales are measured, the warm-up is over */
    int64_t adopted;                /* 1: the policy began as a trained one, with its statistics */
    double failing_share, hardness; /* now */
    bool leaps;                     /* a motion does */
} world_trainer;

/* Settings that this method has its own value for: one that was given is refused, not passed over. */
static hrc_status check_foreign(const config *c, hrc_error *err)
{
    const config plain = config_default();
    const struct {
        const char *key, *instead;
        bool given;
    } FOREIGN[] = {
        {"env.start_noise", "half of the noise is used", c->env_start_noise != plain.env_start_noise},
        {"sampling.measure", "failures are counted",
         strcmp(c->sampling_measure, plain.sampling_measure) != 0},
    };
    for (int i = 0; i < COUNT(FOREIGN); i++)
        if (FOREIGN[i].given)
            return fail(err, HRC_EINVAL, "%s is a setting of ppo; training through a world model: %s",
                        FOREIGN[i].key, FOREIGN[i].instead);
    return HRC_OK;
}

static config environment_config(const config *cfg)
{
    config c = *cfg;
    c.env_start_noise = START_NOISE;
    snprintf(c.sampling_measure, sizeof c.sampling_measure, "failure");
    return c;
}

/* ---- Create ---- */

static hrc_status learner_create(learner *l, size_t n, bool averaged, arena *memory, hrc_error *err)
{
    l->params = l->params ? l->params : ARENA_NEW(memory, float, n);
    l->grads = ARENA_NEW(memory, float, n);
    l->optimiser.m = ARENA_NEW(memory, float, n);
    l->optimiser.v = ARENA_NEW(memory, float, n);
    l->optimiser.averaged = averaged ? ARENA_NEW(memory, float, n) : NULL;
    l->optimiser.n = n;
    l->optimiser.options = (adam_options){.beta1 = 0.9, .beta2 = 0.999, .eps = 1e-8, .clip = 1};
    if (!l->params || !l->grads || !l->optimiser.m || !l->optimiser.v || (averaged && !l->optimiser.averaged))
        return fail(err, HRC_ENOMEM, "training: out of memory for %zu parameters", n);
    return HRC_OK;
}

static hrc_status make_frames(frame_store *f, size_t n, arena *memory, hrc_error *err)
{
    f->frames = ARENA_NEW(memory, obs_frame, n);
    f->qpos = (float(*)[HRC_NQ])ARENA_NEW(memory, float, n *HRC_NQ);
    f->qvel = (float(*)[HRC_NV])ARENA_NEW(memory, float, n *HRC_NV);
    if (!f->frames || !f->qpos || !f->qvel) return fail(err, HRC_ENOMEM, "training: out of memory");
    for (size_t i = 0; i < n; i++) f->frames[i] = (obs_frame){f->qpos[i], f->qvel[i]};
    return HRC_OK;
}

static imagine_options dream_options(const config *c)
{
    return (imagine_options){.batch = c->world_batch,
                             .steps = c->world_horizon,
                             .rec_steps = c->world_horizon < REC_STEPS ? c->world_horizon : REC_STEPS,
                             .lead = OBS_LEAD,
                             .basis = action_basis_of(c->tracker_basis),
                             .action_weight = ACTION_WEIGHT,
                             .rate_weight = c->world_action_rate,
                             .rec_weight = RECONSTRUCTION_WEIGHT,
                             .knee = c->world_knee,
                             .state_clip = c->world_state_clip};
}

/* Which weights take orthogonalised steps, if any does: all but those of last layers, whose rows are
 * quantities of their own. */
static hrc_status share_out_matrices(world_trainer *t, hrc_error *err)
{
    const policy *net = &t->model.net;
    if (strcmp(t->cfg.world_steps, "orthogonal")) return HRC_OK;
    muon *own = &t->policy.matrices, *model = &t->world.matrices;
    const bool fine = muon_add(own, &net->encoder, net->encoder.layers) &&
                      muon_add(own, &net->action, net->action.layers - 1) &&
                      muon_add(own, &net->reconstruction, net->reconstruction.layers - 1) &&
                      muon_add(model, &t->dynamics.net, t->dynamics.net.layers - 1);
    if (!fine) return fail(err, HRC_EINVAL, "training: over %d layers", MUON_MOST);
    if (muon_create(own, &t->memory) && muon_create(model, &t->memory)) return HRC_OK;
    return fail(err, HRC_ENOMEM, "training: out of memory for the mean of gradients");
}

/* Of the world model: all as wide, the last one half. */
static policy_hidden world_layers(const config *c)
{
    policy_hidden h = {.n = c->world_depth};
    for (int i = 0; i < h.n; i++) h.size[i] = c->world_width / (i + 1 < h.n ? 1 : 2);
    return h;
}

static hrc_status create_networks(world_trainer *t, uint64_t seed, hrc_error *err)
{
    const config *c = &t->cfg;
    const policy_hidden hidden = world_layers(c);
    TRY(track_model_create(&t->model, c, seed, err));
    t->policy.params = t->model.params;
    TRY(learner_create(&t->policy, t->model.net.layout.count, true, &t->memory, err));
    memcpy(t->policy.optimiser.averaged, t->policy.params, sizeof(float) * t->policy.optimiser.n);
    t->policy.optimiser.options.average = c->world_average;
    t->policy.optimiser.options.warmup = c->world_rate_warmup;
    world_init(&t->dynamics, hidden.size, hidden.n);
    TRY(learner_create(&t->world, t->dynamics.layout.count, false, &t->memory, err));
    nn_layout_init(t->world.params, &t->dynamics.layout, seed + 1);
    TRY(world_fit_create(&t->fit, &t->dynamics, &t->ops, t->threads, c->world_fit_batch, FIT_HORIZON, err));
    TRY(share_out_matrices(t, err));
    const imagine_options o = dream_options(c);
    return imagine_create(&t->dream, &o, &t->model.net, &t->dynamics, &t->ops, t->threads, err);
}

/* An update multiplies by the same weights period after period. */
static hrc_status keep_weights(world_trainer *t, hrc_error *err)
{
    const policy *net = &t->model.net;
    const float *world = t->world.params, *skip = world + t->dynamics.skip, *own = t->policy.params;
    const int d = net->shape.token.dim;
    arena *a = &t->memory;
    nn_kept *k = &t->kept;
    if (t->ops.gemm != nn_gemm_bf16) return HRC_OK; /* a library's product packs for itself */
    bool fine = nn_mlp_keep(&t->dynamics.net, k, world, a) && nn_kept_add(k, skip, WO, WI, WI, GEMM_TB, a) &&
                nn_kept_add(k, skip, WI, WO, WI, 0, a);
    t->kept_world = k->count;
    fine = fine && nn_mlp_keep(&net->encoder, k, own, a) && nn_mlp_keep(&net->action, k, own, a) &&
           nn_mlp_keep(&net->reconstruction, k, own, a) &&
           nn_mlp_keep_inputs(&net->action, k, own, 0, d, a) &&
           nn_mlp_keep_inputs(&net->action, k, own, d, OBS_PROPRIO, a);
    return fine ? HRC_OK : fail(err, HRC_ENOMEM, "training: out of memory for packed weights");
}

static hrc_status create_parts(world_trainer *t, uint64_t seed, uint64_t own, hrc_error *err)
{
    env *e;
    t->length = t->cfg.world_horizon + OBS_LEAD + OBS_FRAMES;
    const size_t frames = (size_t)t->cfg.world_batch * (size_t)t->length;
    TRY(make_frames(&t->taught, frames, &t->memory, err));
    TRY(make_frames(&t->shown, frames, &t->memory, err));
    TRY(create_networks(t, seed, err));
    TRY(keep_weights(t, err));
    TRY(sampling_create(&t->starts, &t->cfg, t->refs, err));
    const env_starts starts = sampling_starts(&t->starts);
    TRY(env_create(&e, &t->cfg, &RULES, t->refs, t->cfg.world_worlds, own, &starts, t->threads, err));
    return collector_create(&t->real_world, e, &t->model.net, &t->ops, t->threads, t->cfg.world_buffer, own,
                            err);
}

static void world_free(void *self)
{
    world_trainer *t = self;
    if (!t) return;
    collector_free(&t->real_world);
    imagine_free(t->dream);
    imitation_free(t->copy);
    world_fit_free(&t->fit);
    track_model_free(&t->model);
    sampling_free(&t->starts);
    arena_free(&t->memory);
    free(t);
}

static hrc_status world_create(void **out, const train_input *in, hrc_error *err)
{
    if (strcmp(in->cfg->tracker_rotation, "body"))
        return fail(err, HRC_EINVAL, "tracker.rotation = %s: training through a world model knows only body",
                    in->cfg->tracker_rotation);
    if (quant_kind_of(in->cfg->tracker_quantizer) == QUANT_VQ && comm_size() > 1)
        return fail(err, HRC_EINVAL, "tracker.quantizer = vq: its codebook is not shared over %d ranks",
                    comm_size());
    TRY(check_foreign(in->cfg, err));
    world_trainer *t = calloc(1, sizeof *t);
    if (!t) return fail(err, HRC_ENOMEM, "training: out of memory");
    t->cfg = environment_config(in->cfg);
    t->refs = in->refs, t->threads = in->threads;
    for (int i = 0; i < t->refs->n; i++) t->leaps |= t->refs->clips[i].leaps;
    const uint64_t own =
        in->seed + 0x9e3779b97f4a7c15u * (uint64_t)comm_rank(); /* the worlds' and the draws' */
    t->dice = rng_make(own, 2);
    t->ops = training_ops(t->cfg.train_precision);
    hrc_status status = create_parts(t, in->seed, own, err);
    if (status == HRC_OK && in->demos.n)
        status =
            imitation_create(&t->copy, &in->demos, t->refs, &t->model, &t->ops, t->threads, IMITATED, err);
    if (status < 0)
        world_free(t);
    else
        *out = t;
    return status;
}

static hrc_status world_begin_with(void *self, const track_model *m, hrc_error *err)
{
    world_trainer *t = self;
    TRY(track_model_adopt(&t->model, m, err));
    memcpy(t->policy.optimiser.averaged, t->policy.params, sizeof(float) * t->policy.optimiser.n);
    t->adopted = 1;
    return HRC_OK;
}

/* ---- Updates ---- */

typedef enum { START_ANY, START_FAILING, START_LOST, START_LEAPING } start_kind;

static start_kind draw_kind(world_trainer *t)
{
    const double lost = t->hardness > 0 ? t->cfg.world_lost_share : 0,
                 leaping = t->leaps ? t->cfg.world_leap_share : 0;
    double u = rng_double(&t->dice);
    if (u < lost) return START_LOST;
    if ((u -= lost) < leaping) return START_LEAPING;
    return u - leaping < t->failing_share ? START_FAILING : START_ANY;
}

/* The push-off of a leap is learned all at once or not at all: a little of it is worse than none, since the
 * robot lands while its reference is in the air. */
static bool leaps_soon(const world_trainer *t, const replay_step *at)
{
    const ref_clip *c = &t->refs->clips[at->clip];
    return c->leaps && at->pace > 0 && ref_leaps(c, (int)at->at, (int)at->at + LEAP_SOON);
}

/* A sequence from what the policy did lately, by the shares that imagined rollouts start with: where those go
 * the model has to be right, and falls and robots on the ground are rare among all steps. */
static bool draw_lately(world_trainer *t, int horizon, int *world, int64_t *step)
{
    const replay *k = &t->real_world.kept;
    const start_kind kind = draw_kind(t);
    for (int tries = 0; tries < FIT_TRIES; tries++) {
        if (!replay_draw(k, &t->dice, horizon, RECENT, world, step)) return false;
        if (kind == START_ANY || (kind == START_LOST && replay_at(k, *world, *step)->lost) ||
            (kind == START_FAILING && replay_fails(k, *world, *step, 0, FAILS_MOST)) ||
            (kind == START_LEAPING && leaps_soon(t, replay_at(k, *world, *step))))
            break;
    }
    return true;
}

static bool fill_fit(world_trainer *t)
{
    const int B = t->fit.batch, H = t->fit.horizon;
    const replay *k = &t->real_world.kept;
    for (int b = 0; b < B; b++) {
        int world;
        int64_t step;
        if (!(b % 2 && draw_lately(t, H, &world, &step)) && !replay_draw(k, &t->dice, H, 0, &world, &step))
            return false;
        for (int h = 0; h <= H; h++) {
            const replay_step *at = replay_at(k, world, step + h);
            memcpy(t->fit.truth + (size_t)(h * B + b) * WS, at->s, sizeof at->s);
            if (h < H)
                memcpy(t->fit.target + (size_t)(h * B + b) * HRC_JOINTS, at->target, sizeof at->target);
        }
    }
    return true;
}

/* Returns the gradient's norm; what is not finite has changed nothing. */
static double descend(world_trainer *t, learner *l)
{
    t->ops.kept = NULL;
    if (comm_size() > 1) { /* each rank has its own worlds; the mean of all gradients moves them all alike */
        comm_sum(l->grads, l->optimiser.n);
        for (size_t i = 0; i < l->optimiser.n; i++) l->grads[i] /= (float)comm_size();
    }
    const double rate = adam_rate(&l->optimiser.options, l->optimiser.step + 1),
                 norm = muon_step(&l->matrices, &t->ops, t->threads, l->params, l->grads, rate);
    if (!isfinite(norm)) return norm;
    return hypot(norm, adam_step(&l->optimiser, &t->ops, t->threads, l->params, l->grads));
}

static void pack_weight(void *ctx, int item, int worker)
{
    (void)worker;
    nn_kept_pack(ctx, item);
}

/* Until descend() the first n weights stay what they are. */
static void weights_stay(world_trainer *t, int n)
{
    if (!t->kept_world) return;
    pool_items(t->threads, n, pack_weight, &t->kept);
    t->ops.kept = &t->kept;
}

static hrc_status fit_once(world_trainer *t, world_fit_result *out, hrc_error *err)
{
    if (!fill_fit(t))
        return fail(err, HRC_EINVAL, "world model: no %d steps in a row, every episode ends before",
                    t->fit.horizon);
    memset(t->world.grads, 0, sizeof(float) * t->world.optimiser.n);
    weights_stay(t, t->kept_world);
    *out = world_fit_gradient(&t->fit, t->world.grads, t->world.params);
    if (!isfinite(descend(t, &t->world)))
        return fail(err, HRC_ENONFINITE, "world model: the gradient is not finite");
    return HRC_OK;
}

/* Frames of its reference that a step has before it, its own counted. */
static int frames_left(const world_trainer *t, const replay_step *at)
{
    const double left = t->refs->clips[at->clip].n - 1 - (double)at->at;
    return at->pace > 0 && left / (double)at->pace < t->length ? (int)(left / (double)at->pace) + 1
                                                               : t->length;
}

/* A start is where a world lately was, with enough of its clip before it; a share of them where it was soon
 * to fail, but not so soon that nothing could be done about it; a share where the reference is about to leap;
 * and a share where the robot is lost. */
static bool suits(const world_trainer *t, int world, int64_t step, start_kind kind)
{
    const replay *k = &t->real_world.kept;
    const replay_step *at = replay_at(k, world, step);
    if (frames_left(t, at) <= LEAST_LEFT || (kind == START_LOST) != at->lost) return false;
    if (kind == START_LEAPING) return leaps_soon(t, at);
    return kind != START_FAILING || replay_fails(k, world, step, FAILS_LEAST, FAILS_MOST);
}

/* The n frames of a start: its reference, and what is shown instead. */
static void fill_frames(world_trainer *t, size_t first, const replay_step *at, int n)
{
    for (size_t i = 0; i < (size_t)n; i++) {
        ref_pose_between(t->taught.qpos[first + i], t->taught.qvel[first + i], &t->refs->clips[at->clip],
                         at->mirrored, (double)at->at + (double)i * (double)at->pace, (double)at->pace);
        if (at->shown_clip < 0) continue;
        float *qpos = t->shown.qpos[first + i], *qvel = t->shown.qvel[first + i];
        ref_pose_between(qpos, qvel, &t->refs->clips[at->shown_clip], at->shown_mirrored,
                         (double)at->shown_at + (double)i * (double)at->shown_pace, (double)at->shown_pace);
        ref_turn(qpos, qvel, (double)at->shown_yaw);
    }
}

static void draw_start(world_trainer *t, int which, imagine_start *out)
{
    const replay *k = &t->real_world.kept;
    const start_kind kind = draw_kind(t);
    int world = 0;
    int64_t step = k->n - 1;
    for (int tries = 0; tries < 100; tries++) {
        replay_draw(k, &t->dice, 0, RECENT, &world, &step);
        if (suits(t, world, step, kind)) break;
    }
    const replay_step *at = replay_at(k, world, step);
    const size_t first = (size_t)which * (size_t)t->length;
    out->frames = t->taught.frames + first;
    out->shown = at->shown_clip < 0 ? NULL : t->shown.frames + first;
    out->n = frames_left(t, at);
    out->frame = 0;
    out->anchored = at->anchored;
    fill_frames(t, first, at, out->n);
    memcpy(out->s, at->s, sizeof out->s);
    replay_history(k, out->history, world, step);
}

static hrc_status improve_once(world_trainer *t, imagine_result *out, double *copied, double *norm,
                               hrc_error *err)
{
    imagine_start *starts = imagine_starts(t->dream);
    for (int b = 0; b < t->cfg.world_batch; b++) draw_start(t, b, &starts[b]);
    memset(t->policy.grads, 0, sizeof(float) * t->policy.optimiser.n);
    weights_stay(t, t->kept.count);
    *out = imagine_gradient(t->dream, t->policy.grads, t->policy.params, t->model.codebook, t->world.params);
    if (t->copy)
        *copied =
            imitation_gradient(t->copy, t->policy.grads, t->policy.params, t->cfg.world_imitate, &t->dice);
    *norm = descend(t, &t->policy);
    if (!isfinite(*norm)) return fail(err, HRC_ENONFINITE, "policy: the gradient is not finite");
    const quant *q = &t->model.net.shape.token;
    if (q->kind == QUANT_VQ)
        quant_state_update(q, t->model.codebook, imagine_latents(t->dream), imagine_tokens(t->dream),
                           t->cfg.world_batch * t->cfg.world_horizon, &t->dice);
    return HRC_OK;
}

/* ---- Warm-up ---- */

static void measure_normals(world_trainer *t)
{
    collector *c = &t->real_world;
    for (int i = 0; i < c->n; i++)
        normal_update(&t->model.proprio, c->proprio + (size_t)i * OBS_PROPRIO + OBS_PROPRIO - OBS_P, 1);
    normal_update(&t->model.window, c->window, (size_t)c->n * OBS_FRAMES);
}

static void use_normals(world_trainer *t)
{
    const normal *p = &t->model.proprio, *m = &t->model.window;
    imagine_normal(t->dream, p->shift, p->scale, m->shift, m->scale);
}

static hrc_status first_model(world_trainer *t, hrc_error *err)
{
    const size_t most = (size_t)t->cfg.world_warmup;
    float *s = malloc(sizeof *s * most * WS), *next = malloc(sizeof *next * most * WS),
          *target = malloc(sizeof *target * most * HRC_JOINTS);
    hrc_status status = s && next && target ? HRC_OK : fail(err, HRC_ENOMEM, "training: out of memory");
    if (status == HRC_OK) {
        const int n = collector_pairs(&t->real_world, s, target, next, (int)most);
        status = n > WI
                     ? world_ridge(&t->dynamics, t->world.params, s, target, next, n, err)
                     : fail(err, HRC_EINVAL, "world.warmup = %d: only %d steps are of use, expected over %d",
                            t->cfg.world_warmup, n, WI);
    }
    free(s), free(next), free(target);
    return status;
}

/* What rank 0 found out becomes everyone's: the others add nothing to the sum. */
static void adopt(float *x, size_t n)
{
    if (comm_rank() > 0) memset(x, 0, sizeof *x * n);
    comm_sum(x, n);
}

static void adopt_normal(normal *s)
{
    float mean[OBS_P], variance[OBS_P], count = (float)s->count;
    for (int i = 0; i < s->n; i++) mean[i] = s->shift[i], variance[i] = normal_variance(s, i);
    adopt(&count, 1);
    adopt(mean, (size_t)s->n);
    adopt(variance, (size_t)s->n);
    normal_set(s, (double)count, mean, variance);
}

static void share_first_model(world_trainer *t)
{
    if (comm_size() == 1) return;
    adopt(t->dynamics.in_shift, WI);
    adopt(t->dynamics.in_scale, WI);
    adopt(t->dynamics.out_shift, WO);
    adopt(t->dynamics.out_scale, WO);
    adopt(t->dynamics.error_scale, WS);
    adopt(t->world.params, t->world.optimiser.n);
    adopt_normal(&t->model.proprio);
    adopt_normal(&t->model.window);
}

static hrc_status warm_up(world_trainer *t, train_report *r, hrc_error *err)
{
    collector *c = &t->real_world;
    const int steps = (t->cfg.world_warmup + c->n - 1) / c->n;
    const double noise = (t->adopted ? 1 : WARMUP_NOISE) * ACTION_NOISE;
    world_fit_result fit;
    double began = clock_s();
    collector_reset(c, noise);
    for (int i = 0; i < steps; i++) {
        if (!t->adopted) measure_normals(t);
        collector_step(c, &t->model, noise);
    }
    r->samples += (int64_t)steps * c->n;
    train_phase(r, "collect", clock_s() - began);
    began = clock_s();
    TRY(first_model(t, err));
    share_first_model(t);
    use_normals(t);
    for (int i = 0; i < t->cfg.world_prefit; i++) TRY(fit_once(t, &fit, err));
    if (t->model.net.shape.token.kind == QUANT_VQ)
        quant_state_init(&t->model.net.shape.token, t->model.codebook, c->latent, c->n, &t->dice);
    train_phase(r, "world model", clock_s() - began);
    t->warm = 1;
    return HRC_OK;
}

/* ---- One iteration ---- */

static double decayed(double rate, double final_share, double done)
{
    return rate * (final_share + (1 - final_share) * 0.5 * (1 + cos(3.14159265358979323846 * done)));
}

/* Hard episodes come in once there is something to be kept up: from a tenth of the run on, more and more
 * until three quarters of it; a trained policy has it from the start. */
static double hardness(const world_trainer *t, double done)
{
    if (!(t->cfg.env_hard_share > 0)) return 0;
    return t->adopted ? 1 : fmin(1, fmax(0, (done - 0.1) / 0.65));
}

/* The longer the run, the more updates the model is an average of. */
static double averaging(const world_trainer *t)
{
    const double span = t->cfg.world_average_share * (double)t->policy.optimiser.step;
    return fmax(t->cfg.world_average, span > 1 ? 1 - 1 / span : 0);
}

static void set_schedule(world_trainer *t, double done)
{
    const double dwell = done > 1 - t->cfg.world_settle ? 0.5 : 1;
    t->failing_share = dwell * t->cfg.world_failing_share;
    t->starts.share = dwell * t->cfg.sampling_hard_share;
    t->hardness = hardness(t, done);
    env_hardness(t->real_world.world, t->hardness);
    t->policy.optimiser.options.average = averaging(t);
    env_push_share(t->real_world.world, done < PUSH_RAMP && !t->adopted ? done / PUSH_RAMP : 1);
    env_light(t->real_world.world, done < HEAVY && !t->adopted ? t->cfg.world_light * (1 - done / HEAVY) : 0);
    t->world.optimiser.options.rate = decayed(FIT_RATE, t->cfg.world_final_rate, done);
    t->policy.optimiser.options.rate = decayed(t->cfg.world_rate, t->cfg.world_final_rate, done);
}

static hrc_status fit_and_improve(world_trainer *t, train_report *r, hrc_error *err)
{
    world_fit_result fit = {0};
    imagine_result dream = {0};
    double norm = 0, copied = 0, began = clock_s();
    for (int i = 0; i < t->cfg.world_fits; i++) TRY(fit_once(t, &fit, err));
    train_phase(r, "world model", clock_s() - began);
    began = clock_s();
    for (int i = 0; i < t->cfg.world_updates; i++) TRY(improve_once(t, &dream, &copied, &norm, err));
    train_phase(r, "policy", clock_s() - began);
    r->updates += t->cfg.world_updates;
    train_figure(r, "loss", dream.tracking);
    train_figure(r, "reconstruction", dream.reconstruction);
    train_figure(r, "action", dream.action);
    train_figure(r, "action_rate", dream.rate);
    train_figure(r, "gradient", norm);
    if (t->copy) train_figure(r, "imitation", copied);
    train_figure(r, "model_loss", fit.loss);
    train_figure(r, "model_residual", fit.residual);
    train_figure(r, "rate", t->policy.optimiser.options.rate);
    return HRC_OK;
}

/* A run that goes on from a light checkpoint has everything but what was collected. */
static void collect_anew(world_trainer *t, train_report *r)
{
    collector *c = &t->real_world;
    const int steps = (t->cfg.world_warmup + c->n - 1) / c->n;
    const double began = clock_s();
    collector_reset(c, ACTION_NOISE);
    for (int i = 0; i < steps; i++) collector_step(c, &t->model, ACTION_NOISE);
    r->samples += (int64_t)steps * c->n;
    train_phase(r, "collect", clock_s() - began);
}

static hrc_status world_iterate(void *self, double done, train_report *r, hrc_error *err)
{
    world_trainer *t = self;
    set_schedule(t, done);
    if (!t->warm) TRY(warm_up(t, r, err));
    use_normals(t); /* a resumed run has them from its checkpoint */
    if (!t->real_world.kept.n) collect_anew(t, r);
    const double began = clock_s();
    for (int i = 0; i < COLLECT; i++) collector_step(&t->real_world, &t->model, ACTION_NOISE);
    sampling_refresh(&t->starts);
    r->samples += (int64_t)COLLECT * t->real_world.n;
    train_phase(r, "collect", clock_s() - began);
    return fit_and_improve(t, r, err);
}

static void world_view(void *self, track_model *view)
{
    world_trainer *t = self;
    *view = t->model;
    view->params = t->policy.optimiser.averaged;
}

static void world_list(void *self, state_list *l)
{
    world_trainer *t = self;
    world_model *w = &t->dynamics;
    state_add(l, "", "policy.params", DT_F32, t->policy.params, t->policy.optimiser.n);
    adam_state(&t->policy.optimiser, l, "policy.");
    muon_state(&t->policy.matrices, l, "policy.");
    state_add(l, "", "codebook", DT_F32, t->model.codebook, quant_state(&t->model.net.shape.token));
    normal_state(&t->model.proprio, l, "normal.proprio.");
    normal_state(&t->model.window, l, "normal.window.");
    state_add(l, "", "world.params", DT_F32, t->world.params, t->world.optimiser.n);
    adam_state(&t->world.optimiser, l, "world.");
    muon_state(&t->world.matrices, l, "world.");
    state_add(l, "world.", "in_shift", DT_F32, w->in_shift, WI);
    state_add(l, "world.", "in_scale", DT_F32, w->in_scale, WI);
    state_add(l, "world.", "out_shift", DT_F32, w->out_shift, WO);
    state_add(l, "world.", "out_scale", DT_F32, w->out_scale, WO);
    state_add(l, "world.", "error_scale", DT_F32, w->error_scale, WS);
    state_add_dice(l, "", "dice", &t->dice);
    state_add(l, "", "warm", DT_I64, &t->warm, 1);
    state_add(l, "", "adopted", DT_I64, &t->adopted, 1);
    sampling_state(&t->starts, l, "sampling.");
    if (t->copy) imitation_state(t->copy, l, "imitation.");
    collector_state(&t->real_world, l, "real.");
}

static env *world_env(void *self)
{
    return ((world_trainer *)self)->real_world.world;
}

const tracker_method METHOD_WORLD = {.name = "world-model",
                                     .create = world_create,
                                     .begin_with = world_begin_with,
                                     .iterate = world_iterate,
                                     .model = world_view,
                                     .state = world_list,
                                     .world = world_env,
                                     .free = world_free,
                                     .ranks = true};
