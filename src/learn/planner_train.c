#include "learn/planner_train.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "learn/comm.h"
#include "learn/field_train.h"
#include "learn/gemm_library.h"
#include "nn/adam.h"
#include "plan/flow.h"
#include "plan/model.h"

#define HELDOUT_BATCHES 8
#define HELDOUT_SEED 0x48454c44u /* the same questions at every step of every run */

struct planner_trainer {
    arena memory;
    int batch;       /* of all processes */
    int first, rows; /* this process's part of it */
    uint64_t seed;
    const tuple_set *train, *heldout;
    pool *threads;
    plan_layout layout;
    field net;
    nn_ops ops;
    field_pass *pass;
    adam optimiser;
    float *params, *grads;
    plan_scales scales;
    float *x, *t, *cond, *target, *weight; /* one batch: (B,K,D), (B), (B,C), (B,K,D), (B,K,D) */
};

#define STRIDE 2        /* frames between the starts of segments */
#define MAX_SEGMENT 100 /* frames: how far ahead a command may lie (the paper's l_max) */
#define LOW_REPEAT 3    /* a start near the ground counts so often: get-ups are rare */
#define MLP_RATIO 2     /* hidden width of a block's MLP, in widths */
#define FINAL_RATE 0.01 /* share of the rate left at the last step */
#define GRADIENT_CLIP 1.0

/* Largest standard deviations of the noise on a start; a tuple draws its share. */
#define NOISE_JOINT 0.1f /* rad */
#define NOISE_POS 0.04f  /* m */
#define NOISE_ROT 0.08f  /* rad */

static bool has(const config *cfg, const char *part)
{
    return strcmp(cfg->planner_without, part) != 0;
}

static plan_layout layout_of(const config *cfg)
{
    return (plan_layout){.form = strcmp(cfg->planner_form, "paper") ? PLAN_ANCHORED : PLAN_PAPER,
                         .horizon = cfg->planner_horizon,
                         .position = cfg->planner_dims == PLAN_D,
                         .velocities = has(cfg, "velocities"),
                         .under_way = has(cfg, "under_way")};
}

tuple_options planner_tuple_options(const config *cfg)
{
    return (tuple_options){
        .layout = layout_of(cfg),
        .stride = STRIDE,
        .max_segment = MAX_SEGMENT,
        .noise = has(cfg, "noise"),
        .weighted = has(cfg, "weights"),
        .low_repeat = LOW_REPEAT,
        .noise_joint = NOISE_JOINT,
        .noise_pos = NOISE_POS,
        .noise_rot = NOISE_ROT,
        .practice = (float)cfg->planner_practice,
    };
}

static adam_options optimiser_options(const config *cfg)
{
    return (adam_options){
        .rate = cfg->planner_rate,
        .final_rate = FINAL_RATE,
        .warmup = cfg->planner_warmup,
        .steps = cfg->planner_steps,
        .beta1 = 0.9,
        .beta2 = 0.999,
        .eps = 1e-8,
        .decay = cfg->planner_decay,
        .clip = GRADIENT_CLIP,
        .average = cfg->planner_average,
    };
}

/* ---- Create ---- */

static hrc_status allocate(planner_trainer *t, hrc_error *err)
{
    const size_t n = t->net.layout.count, B = (size_t)t->rows, KD = PLAN_K * (size_t)t->net.shape.dim;
    float **const blocks[] = {
        &t->params, &t->grads,  &t->optimiser.m, &t->optimiser.v, &t->optimiser.averaged,
        &t->x,      &t->target, &t->weight,      &t->t,           &t->cond};
    const size_t sizes[] = {n, n, n, n, n, B * KD, B * KD, B * KD, B, B * (size_t)t->net.shape.cond};
    for (int i = 0; i < COUNT(blocks); i++) {
        *blocks[i] = ARENA_NEW(&t->memory, float, sizes[i]);
        if (!*blocks[i])
            return fail(err, HRC_ENOMEM, "planner training: out of memory for %zu parameters", n);
    }
    return HRC_OK;
}

static hrc_status setup(planner_trainer *t, const config *cfg, hrc_error *err)
{
    if (t->rows < 1)
        return fail(err, HRC_EINVAL, "planner.batch = %d, expected at least one for each of %d processes",
                    t->batch, comm_size());
    if (cfg->planner_dims != PLAN_D && cfg->planner_dims != PLAN_D_BLIND)
        return fail(err, HRC_EINVAL, "planner.dims = %d, expected 38 or 35", cfg->planner_dims);
    const field_shape shape = {.depth = cfg->planner_depth,
                               .heads = cfg->planner_heads,
                               .width = cfg->planner_width,
                               .ratio = MLP_RATIO};
    t->layout = layout_of(cfg);
    TRY(field_init(&t->net, plan_shape(shape, &t->layout), err));
    t->ops = training_ops(cfg->train_precision);
    TRY(allocate(t, err));
    TRY(field_pass_create(&t->pass, &t->net, &t->ops, t->threads, t->rows, err));
    t->optimiser.options = optimiser_options(cfg);
    t->optimiser.n = t->net.layout.count;
    nn_layout_init(t->params, &t->net.layout, t->seed);
    memcpy(t->optimiser.averaged, t->params, sizeof(float) * t->net.layout.count);
    tuples_measure(t->train, t->seed, &t->scales);
    return HRC_OK;
}

hrc_status planner_trainer_create(planner_trainer **out, const config *cfg, const tuple_set *train,
                                  const tuple_set *heldout, uint64_t seed, pool *threads, hrc_error *err)
{
    planner_trainer *t = calloc(1, sizeof *t);
    if (!t) return fail(err, HRC_ENOMEM, "planner training: out of memory");
    t->batch = cfg->planner_batch;
    t->first = t->batch * comm_rank() / comm_size();
    t->rows = t->batch * (comm_rank() + 1) / comm_size() - t->first;
    t->seed = seed;
    t->train = train;
    t->heldout = heldout;
    t->threads = threads;
    hrc_status status = setup(t, cfg, err);
    if (status < 0) {
        planner_trainer_free(t);
        return status;
    }
    *out = t;
    return HRC_OK;
}

void planner_trainer_free(planner_trainer *t)
{
    if (!t) return;
    field_pass_free(t->pass);
    arena_free(&t->memory);
    free(t);
}

/* ---- Batches ---- */

typedef struct {
    planner_trainer *t;
    const tuple_set *set;
    uint64_t seed, first_stream;
} batch_job;

static void make_sample(planner_trainer *t, const tuple_set *set, int row, rng *r)
{
    const int D = t->net.shape.dim, KD = PLAN_K * D, C = t->net.shape.cond;
    float *x = t->x + (size_t)row * KD, *target = t->target + (size_t)row * KD;
    float *weight = t->weight + (size_t)row * KD, *cond = t->cond + (size_t)row * (size_t)C;
    tuple_draw(set, r, cond, x, weight);
    for (int c = 0; c < C; c++) cond[c] = (cond[c] - t->scales.cond_mean[c]) / t->scales.cond_std[c];
    float time = t->t[row] = rng_uniform(r, 0, 1), skip = flow_skip(time), gain = flow_gain(time);
    for (int i = 0; i < KD; i++) {
        float data = x[i] / t->scales.residual_std[i], noise = rng_normal(r);
        x[i] = (1 - time) * data + time * noise;
        target[i] = (noise - data - skip * x[i]) / gain; /* |v - (x_1 - x_0)|^2 = gain^2 |F - this|^2 */
        weight[i] *= gain * gain;
    }
    /* Keyframe 0 is pinned to the state while sampling and its velocity never used: nothing to learn. */
    memset(weight, 0, sizeof(float) * (size_t)D);
}

static void make_rows(void *ctx, int begin, int end, int worker)
{
    (void)worker;
    const batch_job *job = ctx;
    for (int row = begin; row < end; row++) {
        rng r = rng_make(job->seed, job->first_stream + (uint64_t)row);
        make_sample(job->t, job->set, row, &r);
    }
}

static field_batch make_batch(planner_trainer *t, const tuple_set *set, uint64_t seed, uint64_t number)
{
    uint64_t stream = number * (uint64_t)t->batch + (uint64_t)t->first;
    pool_ranges(t->threads, t->rows, make_rows, &(batch_job){t, set, seed, stream});
    return (field_batch){t->rows, t->x, t->t, t->cond, t->target, t->weight};
}

/* ---- Steps ---- */

/* From means over this process's rows to means over the batch. */
static void join(planner_trainer *t, double *loss, float *grads)
{
    if (comm_size() == 1) return;
    const double share = (double)t->rows / t->batch;
    for (size_t i = 0; grads && i < t->net.layout.count; i++) grads[i] *= (float)share;
    if (grads) comm_sum(grads, t->net.layout.count);
    *loss *= share;
    comm_sum_doubles(loss, 1);
}

planner_update planner_trainer_step(planner_trainer *t)
{
    field_batch b = make_batch(t, t->train, t->seed, (uint64_t)t->optimiser.step + 1);
    planner_update u = {.rate = adam_rate(&t->optimiser.options, t->optimiser.step + 1)};
    memset(t->grads, 0, sizeof(float) * t->net.layout.count);
    u.loss = field_gradient(t->pass, t->grads, t->params, &b);
    join(t, &u.loss, t->grads);
    u.grad_norm = adam_step(&t->optimiser, &t->ops, t->threads, t->params, t->grads);
    return u;
}

double planner_trainer_heldout(planner_trainer *t)
{
    if (!t->heldout) return NAN;
    double sum = 0;
    for (int i = 0; i < HELDOUT_BATCHES; i++) {
        field_batch b = make_batch(t, t->heldout, HELDOUT_SEED, (uint64_t)i);
        sum += field_loss(t->pass, planner_trainer_averaged(t), &b);
    }
    join(t, &sum, NULL);
    return sum / HELDOUT_BATCHES;
}

int64_t planner_trainer_steps(const planner_trainer *t)
{
    return t->optimiser.step;
}

size_t planner_trainer_parameters(const planner_trainer *t)
{
    return t->net.layout.count;
}

const field *planner_trainer_field(const planner_trainer *t)
{
    return &t->net;
}

const plan_layout *planner_trainer_layout(const planner_trainer *t)
{
    return &t->layout;
}

const plan_scales *planner_trainer_scales(const planner_trainer *t)
{
    return &t->scales;
}

hrc_status planner_trainer_from(planner_trainer *t, const plan_model *m, hrc_error *err)
{
    const field_shape *is = &m->net.shape, *wanted = &t->net.shape;
    if (memcmp(is, wanted, sizeof *is) != 0)
        return fail(err, HRC_EINVAL,
                    "%s: %d blocks of width %d, %d heads, %d numbers a token, %d of condition; the settings "
                    "have %d, %d, %d, %d, %d",
                    m->path, is->depth, is->width, is->heads, is->dim, is->cond, wanted->depth, wanted->width,
                    wanted->heads, wanted->dim, wanted->cond);
    memcpy(t->params, m->params, sizeof(float) * t->net.layout.count);
    memcpy(t->optimiser.averaged, m->params, sizeof(float) * t->net.layout.count);
    return HRC_OK;
}

const float *planner_trainer_averaged(const planner_trainer *t)
{
    return t->optimiser.options.average > 0 ? t->optimiser.averaged : t->params;
}

/* ---- Checkpoints ---- */

/* What must be equal for a resumed run to be the same run, as text. */
typedef struct {
    char seed[24], data[24], count[24], batch[16];
    tensor_meta meta[5];
} identity;

static void identify(identity *id, const planner_trainer *t)
{
    snprintf(id->seed, sizeof id->seed, "%" PRIu64, t->seed);
    snprintf(id->data, sizeof id->data, "%016" PRIx64, tuples_digest(t->train));
    snprintf(id->count, sizeof id->count, "%zu", t->net.layout.count);
    snprintf(id->batch, sizeof id->batch, "%d", t->batch);
    const tensor_meta meta[] = {{"format", "heracles-planner-checkpoint"},
                                {"seed", id->seed},
                                {"data", id->data},
                                {"parameters", id->count},
                                {"batch", id->batch}};
    memcpy(id->meta, meta, sizeof meta);
}

static void list_state(planner_trainer *t, state_list *l)
{
    l->n = 0;
    state_add(l, "", "params", DT_F32, t->params, t->net.layout.count);
    adam_state(&t->optimiser, l, "");
}

hrc_status planner_checkpoint_save(planner_trainer *t, const char *path, hrc_error *err)
{
    state_list l;
    identity id;
    list_state(t, &l);
    identify(&id, t);
    return state_save(&l, path, id.meta, COUNT(id.meta), err);
}

hrc_status planner_checkpoint_load(planner_trainer *t, const char *path, hrc_error *err)
{
    state_list l;
    identity id;
    list_state(t, &l);
    identify(&id, t);
    TRY(state_same(
        path, (tensor_meta){"data", id.data},
        "the motions or lessons of practice are others than this training's; give the same ones, or "
        "begin a new one with --overwrite (and --from MODEL for its weights)",
        err));
    return state_load(&l, path, id.meta, COUNT(id.meta), err);
}
