#include "learn/field_train.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define MOD_COLUMNS 512 /* columns of the modulation that one item computes */
#define DMOD_COLUMNS 128
#define WEIGHT_ROWS 256 /* rows of a weight's gradient that one item computes */

/* X(name, numbers of one sample): everything a pass keeps. R = T rows of a sample; C, F, D, H, L, T as in
 * plan/field.h. Arrays with a factor L hold one block after the other, each over the whole batch. */
#define WORK_ARRAYS(X)                                                                                       \
    X(time, 1)              /* t * FIELD_TIME_SCALE */                                                       \
    X(wave, C)              /* sinusoids of t */                                                             \
    X(time_work, time_work) /* hidden layers of the time MLP */                                              \
    X(cond_work, cond_work) /* ... of the condition's */                                                     \
    X(c, C)                 /* sum of both */                                                                \
    X(context, C)           /* what the condition adds to every token */                                     \
    X(silu_c, C)                                                                                             \
    X(mod, L * 6 * C)     /* (n,L,6,C) */                                                                    \
    X(x, (L + 1) * T * C) /* input of each block, and of the head */                                         \
    X(stat1, L *T * 2)                                                                                       \
    X(in1, L *T *C) /* modulated, into the attention */                                                      \
    X(qkv, L *T * 3 * C)                                                                                     \
    X(prob, L *H *T *T)                                                                                      \
    X(heads, L *T *C) /* out of the attention */                                                             \
    X(out1, L *T *C)  /* after its projection */                                                             \
    X(mid, L *T *C)   /* x after the attention */                                                            \
    X(stat2, L *T * 2)                                                                                       \
    X(in2, L *T *C) /* modulated, into the MLP */                                                            \
    X(up, L *T *F)                                                                                           \
    X(active, L *T *F) /* gelu(up) */                                                                        \
    X(out2, L *T *C)                                                                                         \
    X(stat, T * 2)                                                                                           \
    X(normed, T *C)                                                                                          \
    X(v, T *D)                                                                                               \
    X(dv, T *D)                                                                                              \
    X(dnormed, T *C)                                                                                         \
    X(dx, T *C) /* gradient of the residual stream, moving down */                                           \
    X(dout2, L *T *C)                                                                                        \
    X(dup, L *T *F)                                                                                          \
    X(din, T *C)                                                                                             \
    X(dout1, L *T *C)                                                                                        \
    X(dheads, T *C)                                                                                          \
    X(dqkv, L *T * 3 * C)                                                                                    \
    X(dmod, L * 6 * C)                                                                                       \
    X(dcontext, C)                                                                                           \
    X(dc, C)

/* Part of a weight's gradient: rows first .. first+n-1 of w (nout,nin), from dy (rows,nout) and x (rows,nin).
 */
typedef struct {
    size_t w, b; /* offsets in the block */
    const real *dy, *x;
    int per_sample, nin, nout, first, n;
} weight_item;

struct field_pass {
    arena memory;
    const field *f;
    const nn_ops *ops;
    pool *p;
    int batch, chunks, nitems;
    weight_item *items;
    double *loss; /* (chunks) */
    real *dnorm;  /* (chunks,2,C): gradients of the last gain and bias */
    const real *params;
    real *grads; /* NULL: no gradient wanted */
    field_batch b;
#define X(name, numbers) real *name;
    WORK_ARRAYS(X)
#undef X
};

static const real *weight(const field_pass *s, int which, int block)
{
    const nn_layout *l = &s->f->layout;
    const nn_tensor *t = &l->tensors[l->n - FIELD_NTENSORS + which];
    return s->params + s->f->at[which] + (size_t)block * (t->count / (size_t)t->shape[0]);
}

/* Sample b of block l in an array of `numbers` per sample and block. */
static size_t at(const field_pass *s, int block, int sample, int numbers)
{
    return ((size_t)block * (size_t)s->b.n + (size_t)sample) * (size_t)numbers;
}

/* ---- Forward ---- */

typedef struct {
    int first, n;
} range;

static range chunk_of(const field_pass *s, int item)
{
    int first = item * FIELD_CHUNK;
    return (range){first, s->b.n - first < FIELD_CHUNK ? s->b.n - first : FIELD_CHUNK};
}

static void condition_chunk(void *ctx, int item, int worker)
{
    (void)worker;
    field_pass *s = ctx;
    const field *f = s->f;
    int C = f->shape.width, n = s->b.n;
    range r = chunk_of(s, item);
    size_t skip = (size_t)r.first * (size_t)C;
    for (int i = r.first; i < r.first + r.n; i++) s->time[i] = FIELD_TIME_SCALE * s->b.t[i];
    nn_sinusoid(s->wave + skip, s->time + r.first, r.n, C);
    if (f->shape.context)
        nn_mlp_forward(s->ops, &f->context, s->context, NULL, s->b.cond, s->params, n, r.first, r.n);
    nn_mlp_forward(s->ops, &f->cond, s->silu_c, s->cond_work, s->b.cond, s->params, n, r.first, r.n);
    nn_mlp_forward(s->ops, &f->time, s->c, s->time_work, s->wave, s->params, n, r.first, r.n);
    for (size_t i = skip; i < skip + (size_t)r.n * (size_t)C; i++) s->c[i] += s->silu_c[i];
    s->ops->silu(s->silu_c + skip, s->c + skip, r.n * C);
}

static void modulation_columns(void *ctx, int item, int worker)
{
    (void)worker;
    field_pass *s = ctx;
    int C = s->f->shape.width, all = s->f->shape.depth * 6 * C, first = item * MOD_COLUMNS;
    int n = all - first < MOD_COLUMNS ? all - first : MOD_COLUMNS;
    const real *w = weight(s, FIELD_MOD_W, 0) + (size_t)first * (size_t)C;
    const real *b = weight(s, FIELD_MOD_B, 0) + first;
    s->ops->gemm(s->mod + first, s->silu_c, w, s->b.n, n, C, all, C, C, GEMM_TB);
    for (int i = 0; i < s->b.n; i++)
        for (int j = 0; j < n; j++) s->mod[(size_t)i * (size_t)all + (size_t)(first + j)] += b[j];
}

/* The six rows of one block's modulation, of sample b on; `stride` from one sample to the next. */
static size_t mod_at(const field_pass *s, int block, int sample, int row)
{
    int C = s->f->shape.width, L = s->f->shape.depth;
    return ((size_t)(sample * L + block) * 6 + (size_t)row) * (size_t)C;
}

static void block_forward(field_pass *s, int l, range r)
{
    const nn_ops *o = s->ops;
    const field_shape *h = &s->f->shape;
    int T = h->tokens, C = h->width, F = h->ratio * C, rows = r.n * T, stride = h->depth * 6 * C, b = r.first;
    size_t tc = at(s, l, b, T * C), tf = at(s, l, b, T * F), qkv = at(s, l, b, T * 3 * C);
    const real *mod = s->mod + mod_at(s, l, b, 0);
    o->adaln(s->in1 + tc, s->stat1 + at(s, l, b, T * 2), s->x + tc, mod + MOD_SHIFT1 * C,
             mod + MOD_SCALE1 * C, stride, r.n, T, C);
    nn_linear(o, s->qkv + qkv, s->in1 + tc, weight(s, FIELD_QKV_W, l), weight(s, FIELD_QKV_B, l), rows, C,
              3 * C);
    o->attention(s->heads + tc, s->prob + at(s, l, b, h->heads * T * T), s->qkv + qkv, r.n, T, C, h->heads);
    nn_linear(o, s->out1 + tc, s->heads + tc, weight(s, FIELD_PROJ_W, l), weight(s, FIELD_PROJ_B, l), rows, C,
              C);
    o->gate(s->mid + tc, s->x + tc, s->out1 + tc, mod + MOD_GATE1 * C, stride, r.n, T, C);
    o->adaln(s->in2 + tc, s->stat2 + at(s, l, b, T * 2), s->mid + tc, mod + MOD_SHIFT2 * C,
             mod + MOD_SCALE2 * C, stride, r.n, T, C);
    nn_linear(o, s->up + tf, s->in2 + tc, weight(s, FIELD_UP_W, l), weight(s, FIELD_UP_B, l), rows, C, F);
    o->gelu(s->active + tf, s->up + tf, rows * F);
    nn_linear(o, s->out2 + tc, s->active + tf, weight(s, FIELD_DOWN_W, l), weight(s, FIELD_DOWN_B, l), rows,
              F, C);
    o->gate(s->x + at(s, l + 1, b, T * C), s->mid + tc, s->out2 + tc, mod + MOD_GATE2 * C, stride, r.n, T, C);
}

static void tokens_forward(field_pass *s, range r)
{
    const field_shape *h = &s->f->shape;
    int T = h->tokens, C = h->width, D = h->dim, rows = r.n * T;
    real *x = s->x + at(s, 0, r.first, T * C);
    nn_linear(s->ops, x, s->b.x + at(s, 0, r.first, T * D), weight(s, FIELD_EMBED_W, 0),
              weight(s, FIELD_EMBED_B, 0), rows, D, C);
    s->ops->add_rows(x, weight(s, FIELD_POSITION, 0), r.n, T * C);
    for (int i = 0; i < r.n && h->context; i++)
        s->ops->add_rows(x + (size_t)(i * T * C), s->context + (size_t)(r.first + i) * (size_t)C, T, C);
    for (int l = 0; l < h->depth; l++) block_forward(s, l, r);
    real *normed = s->normed + at(s, 0, r.first, T * C);
    s->ops->norm(normed, s->stat + at(s, 0, r.first, T * 2), s->x + at(s, h->depth, r.first, T * C),
                 weight(s, FIELD_NORM_GAIN, 0), weight(s, FIELD_NORM_BIAS, 0), rows, C);
    nn_linear(s->ops, s->v + at(s, 0, r.first, T * D), normed, weight(s, FIELD_HEAD_W, 0),
              weight(s, FIELD_HEAD_B, 0), rows, C, D);
}

/* ---- Loss and backward ---- */

static double chunk_loss(field_pass *s, range r)
{
    int numbers = s->f->shape.tokens * s->f->shape.dim;
    size_t begin = at(s, 0, r.first, numbers), end = at(s, 0, r.first + r.n, numbers);
    double sum = 0, mean = 1.0 / ((double)s->b.n * numbers);
    for (size_t i = begin; i < end; i++) {
        real w = s->b.weight ? s->b.weight[i] : 1, d = s->v[i] - s->b.target[i];
        sum += (double)w * (double)d * (double)d;
        s->dv[i] = (real)(2 * mean) * w * d;
    }
    return sum * mean;
}

static void block_backward(field_pass *s, int l, range r)
{
    const nn_ops *o = s->ops;
    const field_shape *h = &s->f->shape;
    int T = h->tokens, C = h->width, F = h->ratio * C, rows = r.n * T, stride = h->depth * 6 * C, b = r.first;
    size_t tc = at(s, l, b, T * C), tf = at(s, l, b, T * F), qkv = at(s, l, b, T * 3 * C);
    const real *mod = s->mod + mod_at(s, l, b, 0);
    real *dmod = s->dmod + mod_at(s, l, b, 0);
    real *dx = s->dx + at(s, 0, b, T * C), *din = s->din + at(s, 0, b, T * C);
    real *dheads = s->dheads + at(s, 0, b, T * C);
    /* the MLP */
    o->gate_back(s->dout2 + tc, dmod + MOD_GATE2 * C, dx, s->out2 + tc, mod + MOD_GATE2 * C, stride, r.n, T,
                 C);
    nn_linear_back_x(o, s->dup + tf, s->dout2 + tc, weight(s, FIELD_DOWN_W, l), rows, F, C, 0);
    o->gelu_back(s->dup + tf, s->dup + tf, s->up + tf, rows * F);
    nn_linear_back_x(o, din, s->dup + tf, weight(s, FIELD_UP_W, l), rows, C, F, 0);
    o->adaln_back(dx, dmod + MOD_SHIFT2 * C, dmod + MOD_SCALE2 * C, din, s->mid + tc,
                  s->stat2 + at(s, l, b, T * 2), mod + MOD_SCALE2 * C, stride, r.n, T, C);
    /* the attention */
    o->gate_back(s->dout1 + tc, dmod + MOD_GATE1 * C, dx, s->out1 + tc, mod + MOD_GATE1 * C, stride, r.n, T,
                 C);
    nn_linear_back_x(o, dheads, s->dout1 + tc, weight(s, FIELD_PROJ_W, l), rows, C, C, 0);
    o->attention_back(s->dqkv + qkv, dheads, s->qkv + qkv, s->prob + at(s, l, b, h->heads * T * T), r.n, T, C,
                      h->heads);
    nn_linear_back_x(o, din, s->dqkv + qkv, weight(s, FIELD_QKV_W, l), rows, C, 3 * C, 0);
    o->adaln_back(dx, dmod + MOD_SHIFT1 * C, dmod + MOD_SCALE1 * C, din, s->x + tc,
                  s->stat1 + at(s, l, b, T * 2), mod + MOD_SCALE1 * C, stride, r.n, T, C);
}

static void tokens_backward(field_pass *s, range r, int chunk)
{
    const field_shape *h = &s->f->shape;
    int T = h->tokens, C = h->width, D = h->dim, rows = r.n * T, mods = h->depth * 6 * C;
    real *dx = s->dx + at(s, 0, r.first, T * C), *dnormed = s->dnormed + at(s, 0, r.first, T * C);
    real *dgain = s->dnorm + (size_t)chunk * 2 * (size_t)C;
    memset(dx, 0, (size_t)rows * (size_t)C * sizeof *dx);
    memset(dgain, 0, 2 * (size_t)C * sizeof *dgain);
    memset(s->dmod + at(s, 0, r.first, mods), 0, (size_t)r.n * (size_t)mods * sizeof *s->dmod);
    nn_linear_back_x(s->ops, dnormed, s->dv + at(s, 0, r.first, T * D), weight(s, FIELD_HEAD_W, 0), rows, C,
                     D, 0);
    s->ops->norm_back(dx, dgain, dgain + C, dnormed, s->x + at(s, h->depth, r.first, T * C),
                      s->stat + at(s, 0, r.first, T * 2), weight(s, FIELD_NORM_GAIN, 0), rows, C);
    for (int l = h->depth - 1; l >= 0; l--) block_backward(s, l, r);
    real *dcontext = s->dcontext + (size_t)r.first * (size_t)C;
    memset(dcontext, 0, (size_t)r.n * (size_t)C * sizeof *dcontext);
    for (int i = 0; i < r.n && h->context; i++)
        s->ops->sum_rows(dcontext + (size_t)(i * C), dx + (size_t)(i * T * C), T, C);
}

static void tokens_chunk(void *ctx, int item, int worker)
{
    (void)worker;
    field_pass *s = ctx;
    range r = chunk_of(s, item);
    tokens_forward(s, r);
    if (!s->b.target) return;
    s->loss[item] = chunk_loss(s, r);
    if (s->grads) tokens_backward(s, r, item);
}

/* d silu(c) (n,C) = dmod (n,6LC) W, some of its columns */
static void condition_gradient(void *ctx, int item, int worker)
{
    (void)worker;
    field_pass *s = ctx;
    int C = s->f->shape.width, all = s->f->shape.depth * 6 * C, first = item * DMOD_COLUMNS;
    int n = C - first < DMOD_COLUMNS ? C - first : DMOD_COLUMNS;
    s->ops->gemm(s->dc + first, s->dmod, weight(s, FIELD_MOD_W, 0) + first, s->b.n, n, all, C, all, C, 0);
}

static void condition_back_chunk(void *ctx, int item, int worker)
{
    (void)worker;
    field_pass *s = ctx;
    const field *f = s->f;
    range r = chunk_of(s, item);
    size_t skip = (size_t)r.first * (size_t)f->shape.width;
    s->ops->silu_back(s->dc + skip, s->dc + skip, s->c + skip, r.n * f->shape.width);
    nn_mlp_back(s->ops, &f->time, NULL, s->time_work, s->dc, s->params, s->b.n, r.first, r.n);
    nn_mlp_back(s->ops, &f->cond, NULL, s->cond_work, s->dc, s->params, s->b.n, r.first, r.n);
}

/* ---- Gradients of the weights ---- */

static void weight_gradient(void *ctx, int item, int worker)
{
    (void)worker;
    field_pass *s = ctx;
    const weight_item *i = &s->items[item];
    nn_linear_back_w(s->ops, s->grads + i->w, s->grads + i->b, i->dy, i->x, s->b.n * i->per_sample, i->nin,
                     i->nout, i->first, i->n);
}

/* What is too small to share out: the MLPs of the condition, positions, the last norm. */
static void small_gradients(void *ctx, int item, int worker)
{
    (void)worker;
    field_pass *s = ctx;
    const field *f = s->f;
    int C = f->shape.width, T = f->shape.tokens;
    if (item < 2) {
        nn_mlp_back_w(s->ops, &f->time, s->grads, s->time_work, s->dc, s->wave, s->b.n, item, 0, C);
    } else if (item < 4) {
        nn_mlp_back_w(s->ops, &f->cond, s->grads, s->cond_work, s->dc, s->b.cond, s->b.n, item - 2, 0, C);
    } else if (item == 5) {
        if (f->shape.context)
            nn_mlp_back_w(s->ops, &f->context, s->grads, NULL, s->dcontext, s->b.cond, s->b.n, 0, 0, C);
    } else {
        s->ops->sum_rows(s->grads + f->at[FIELD_POSITION], s->dx, s->b.n, T * C);
        int chunks = (s->b.n + FIELD_CHUNK - 1) / FIELD_CHUNK;
        s->ops->sum_rows(s->grads + f->at[FIELD_NORM_GAIN], s->dnorm, chunks, 2 * C);
    }
}

/* The list of items for a batch of n: arrays of block l begin l * n samples in, so n matters. */
static void list_weight(field_pass *s, int w, int block, const real *dy, const real *x, int per_sample,
                        int nin, int nout)
{
    for (int first = 0; first < nout; first += WEIGHT_ROWS)
        s->items[s->nitems++] = (weight_item){.w = (size_t)(weight(s, w, block) - s->params),
                                              .b = (size_t)(weight(s, w + 1, block) - s->params),
                                              .dy = dy,
                                              .x = x,
                                              .per_sample = per_sample,
                                              .nin = nin,
                                              .nout = nout,
                                              .first = first,
                                              .n = nout - first < WEIGHT_ROWS ? nout - first : WEIGHT_ROWS};
}

static void list_weights(field_pass *s)
{
    const field_shape *h = &s->f->shape;
    int L = h->depth, T = h->tokens, C = h->width, F = h->ratio * C;
    s->nitems = 0;
    for (int l = 0; l < L; l++) {
        size_t tc = at(s, l, 0, T * C), tf = at(s, l, 0, T * F), qkv = at(s, l, 0, T * 3 * C);
        list_weight(s, FIELD_QKV_W, l, s->dqkv + qkv, s->in1 + tc, T, C, 3 * C);
        list_weight(s, FIELD_PROJ_W, l, s->dout1 + tc, s->heads + tc, T, C, C);
        list_weight(s, FIELD_UP_W, l, s->dup + tf, s->in2 + tc, T, C, F);
        list_weight(s, FIELD_DOWN_W, l, s->dout2 + tc, s->active + tf, T, F, C);
    }
    list_weight(s, FIELD_MOD_W, 0, s->dmod, s->silu_c, 1, C, L * 6 * C);
    list_weight(s, FIELD_HEAD_W, 0, s->dv, s->normed, T, C, h->dim);
    list_weight(s, FIELD_EMBED_W, 0, s->dx, s->b.x, T, h->dim, C);
}

/* ---- The whole pass ---- */

static double run(field_pass *s, real *grads, const real *params, const field_batch *b)
{
    int C = s->f->shape.width, mods = s->f->shape.depth * 6 * C, n = b->n;
    int chunks = (n + FIELD_CHUNK - 1) / FIELD_CHUNK;
    s->b = *b, s->params = params, s->grads = grads;
    pool_items(s->p, chunks, condition_chunk, s);
    pool_items(s->p, (mods + MOD_COLUMNS - 1) / MOD_COLUMNS, modulation_columns, s);
    pool_items(s->p, chunks, tokens_chunk, s);
    double loss = 0;
    for (int i = 0; i < chunks && b->target; i++) loss += s->loss[i];
    if (!grads) return loss;
    pool_items(s->p, (C + DMOD_COLUMNS - 1) / DMOD_COLUMNS, condition_gradient, s);
    pool_items(s->p, chunks, condition_back_chunk, s);
    list_weights(s);
    pool_items(s->p, s->nitems, weight_gradient, s);
    pool_items(s->p, 6, small_gradients, s);
    return loss;
}

NN_FN const real *field_forward(field_pass *s, const real *params, const field_batch *b)
{
    field_batch inputs = *b;
    inputs.target = NULL;
    run(s, NULL, params, &inputs);
    return s->v;
}

NN_FN double field_gradient(field_pass *s, real *grads, const real *params, const field_batch *b)
{
    return run(s, grads, params, b);
}

NN_FN double field_loss(field_pass *s, const real *params, const field_batch *b)
{
    return run(s, NULL, params, b);
}

NN_FN hrc_status field_pass_create(field_pass **out, const field *f, const nn_ops *ops, pool *p, int batch,
                                   hrc_error *err)
{
    const field_shape *h = &f->shape;
    size_t L = (size_t)h->depth, T = (size_t)h->tokens, C = (size_t)h->width, F = (size_t)h->ratio * C;
    size_t D = (size_t)h->dim, H = (size_t)h->heads, n = (size_t)batch;
    size_t time_work = nn_mlp_work(&f->time), cond_work = nn_mlp_work(&f->cond);
    if (batch < 1) return fail(err, HRC_EINVAL, "velocity field: batch is %d, expected at least 1", batch);
    field_pass *s = calloc(1, sizeof *s);
    if (!s) return fail(err, HRC_ENOMEM, "velocity field: out of memory");
    *s = (field_pass){
        .f = f, .ops = ops, .p = p, .batch = batch, .chunks = (batch + FIELD_CHUNK - 1) / FIELD_CHUNK};
    size_t items =
        L * ((3 * C + C + F + C) / WEIGHT_ROWS + 4 + 6 * C / WEIGHT_ROWS + 1) + (C + D) / WEIGHT_ROWS + 2;
    bool ok = (s->items = ARENA_NEW(&s->memory, weight_item, items)) != NULL;
    ok = ok && (s->loss = ARENA_NEW(&s->memory, double, s->chunks)) != NULL;
    ok = ok && (s->dnorm = ARENA_NEW(&s->memory, real, (size_t)s->chunks * 2 * C)) != NULL;
#define X(name, numbers) ok = ok && (s->name = ARENA_NEW(&s->memory, real, n * (size_t)(numbers))) != NULL;
    WORK_ARRAYS(X)
#undef X
    if (!ok) {
        field_pass_free(s);
        return fail(err, HRC_ENOMEM, "velocity field: out of memory for a batch of %d", batch);
    }
    *out = s;
    return HRC_OK;
}

NN_FN void field_pass_free(field_pass *s)
{
    if (!s) return;
    arena_free(&s->memory);
    free(s);
}
