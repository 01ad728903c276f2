#include "plan/infer.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"

/* A layer: y = x w^T + b. */
typedef struct {
    nn_packed w;
    const float *b;
} layer;

typedef struct {
    layer qkv, proj, up, down;
} block_layers;

struct infer {
    arena memory;
    field net;
    const nn_ops *ops;
    pool *threads;
    int steps;
    layer embed, cond[2], context, mod, head;
    block_layers *blocks;
    const float *position, *gain, *bias;           /* (T,C), (C), (C) */
    float *place;                                  /* (T,C) position, plus this plan's context */
    float *time;                                   /* (steps, C) embedding of each step's time */
    float *c, *hidden, *sum;                       /* (C), (C), (steps, C) */
    float *modulation;                             /* (steps, L, 6, C) */
    float *x, *y, *qkv, *heads, *prob, *up, *stat; /* (T,C) (T,C) (T,3C) (T,C) (H,T,T) (T,F) (T,2) */
};

/* ---- Create ---- */

typedef struct {
    infer *s;
    const float *params;
    nn_precision precision;
    bool failed;
    char *next; /* where the next packed weight goes: all of them lie in one block, in the order of use */
} packer;

static const float *tensor_of(const packer *p, int which, int block)
{
    const nn_layout *l = &p->s->net.layout;
    const nn_tensor *t = &l->tensors[l->n - FIELD_NTENSORS + which];
    return p->params + p->s->net.at[which] + (size_t)block * (t->count / (size_t)t->shape[0]);
}

static const float *keep(packer *p, const float *values, size_t n)
{
    float *copy = ARENA_NEW(&p->s->memory, float, n);
    if (!copy) {
        p->failed = true;
        return NULL;
    }
    memcpy(copy, values, n * sizeof *copy);
    return copy;
}

/* Weight (n,k) and bias (n). */
static layer pack_layer(packer *p, const float *w, const float *b, int n, int k)
{
    layer out = {.b = keep(p, b, (size_t)n)};
    if (p->next) out.w = nn_pack(p->next, w, n, k, k, 1, p->precision);
    if (p->next) p->next += nn_packed_bytes(n, k, p->precision);
    return out;
}

static void pack_blocks(packer *p)
{
    infer *s = p->s;
    const int C = s->net.shape.width, F = s->net.shape.ratio * C;
    for (int l = 0; l < s->net.shape.depth; l++) {
        block_layers *b = &s->blocks[l];
        b->qkv = pack_layer(p, tensor_of(p, FIELD_QKV_W, l), tensor_of(p, FIELD_QKV_B, l), 3 * C, C);
        b->proj = pack_layer(p, tensor_of(p, FIELD_PROJ_W, l), tensor_of(p, FIELD_PROJ_B, l), C, C);
        b->up = pack_layer(p, tensor_of(p, FIELD_UP_W, l), tensor_of(p, FIELD_UP_B, l), F, C);
        b->down = pack_layer(p, tensor_of(p, FIELD_DOWN_W, l), tensor_of(p, FIELD_DOWN_B, l), C, F);
    }
}

static void pack_mlp(packer *p, layer *layers, const nn_mlp *m)
{
    const float *at = p->params + m->offset;
    for (int i = 0; i < m->layers; i++) {
        size_t weights = (size_t)m->size[i] * (size_t)m->size[i + 1];
        layers[i] = pack_layer(p, at, at + weights, m->size[i + 1], m->size[i]);
        at += weights + (size_t)m->size[i + 1];
    }
}

static size_t weight_bytes(const field *net, nn_precision precision)
{
    const field_shape *h = &net->shape;
    const int C = h->width, F = h->ratio * C;
    size_t block = nn_packed_bytes(3 * C, C, precision) + nn_packed_bytes(C, C, precision) +
                   nn_packed_bytes(F, C, precision) + nn_packed_bytes(C, F, precision);
    size_t bytes = (size_t)h->depth * block + nn_packed_bytes(h->depth * 6 * C, C, precision) +
                   nn_packed_bytes(C, h->dim, precision) + nn_packed_bytes(h->dim, C, precision);
    for (int i = 0; i < net->cond.layers; i++)
        bytes += nn_packed_bytes(net->cond.size[i + 1], net->cond.size[i], precision);
    if (h->context) bytes += nn_packed_bytes(C, h->cond, precision);
    return bytes;
}

static void pack_all(packer *p)
{
    p->next = arena_alloc(&p->s->memory, weight_bytes(&p->s->net, p->precision), 1);
    if (!p->next) p->failed = true;
    infer *s = p->s;
    const field_shape *h = &s->net.shape;
    const int C = h->width, all = h->depth * 6 * C;
    s->embed = pack_layer(p, tensor_of(p, FIELD_EMBED_W, 0), tensor_of(p, FIELD_EMBED_B, 0), C, h->dim);
    s->mod = pack_layer(p, tensor_of(p, FIELD_MOD_W, 0), tensor_of(p, FIELD_MOD_B, 0), all, C);
    s->head = pack_layer(p, tensor_of(p, FIELD_HEAD_W, 0), tensor_of(p, FIELD_HEAD_B, 0), h->dim, C);
    s->position = keep(p, tensor_of(p, FIELD_POSITION, 0), (size_t)h->tokens * (size_t)C);
    s->gain = keep(p, tensor_of(p, FIELD_NORM_GAIN, 0), (size_t)C);
    s->bias = keep(p, tensor_of(p, FIELD_NORM_BIAS, 0), (size_t)C);
    pack_mlp(p, s->cond, &s->net.cond);
    pack_mlp(p, &s->context, &s->net.context);
    if (s->blocks) pack_blocks(p);
}

static bool allocate(infer *s)
{
    const field_shape *h = &s->net.shape;
    const size_t C = (size_t)h->width, T = (size_t)h->tokens, S = (size_t)s->steps;
    float **const arrays[] = {&s->time, &s->c,     &s->hidden, &s->sum, &s->modulation, &s->x,    &s->y,
                              &s->qkv,  &s->heads, &s->prob,   &s->up,  &s->stat,       &s->place};
    const size_t sizes[] = {S * C,
                            C,
                            C,
                            S * C,
                            S * (size_t)h->depth * 6 * C,
                            T * C,
                            T * C,
                            T * 3 * C,
                            T * C,
                            T * T * (size_t)h->heads,
                            T * C * (size_t)h->ratio,
                            T * 2,
                            T * C};
    bool fine = true;
    for (int i = 0; i < COUNT(arrays); i++)
        fine = (*arrays[i] = ARENA_NEW(&s->memory, float, sizes[i])) && fine;
    s->blocks = ARENA_NEW(&s->memory, block_layers, h->depth);
    return fine && s->blocks;
}

/* e (steps, C) = MLP(sinusoid(1000 t)) */
static bool embed_times(infer *s, const float *params, const float *times)
{
    const int C = s->net.shape.width, n = s->steps;
    const nn_mlp *m = &s->net.time;
    float scaled[INFER_MAX_STEPS];
    arena scratch = {0};
    float *wave = ARENA_NEW(&scratch, float, n *C);
    float *work = ARENA_NEW(&scratch, float, (size_t)n *nn_mlp_work(m));
    bool fine = wave && work;
    if (fine) {
        for (int i = 0; i < n; i++) scaled[i] = FIELD_TIME_SCALE * times[i];
        nn_sinusoid(wave, scaled, n, C);
        nn_mlp_forward(s->ops, m, s->time, work, wave, params, n, 0, n);
    }
    arena_free(&scratch);
    return fine;
}

hrc_status infer_create(infer **out, const field *net, const float *params, nn_precision precision,
                        const float *times, int steps, pool *threads, hrc_error *err)
{
    if (steps < 1 || steps > INFER_MAX_STEPS)
        return fail(err, HRC_EINVAL, "planner: %d integration steps, expected 1 to %d", steps,
                    INFER_MAX_STEPS);
    infer *s = calloc(1, sizeof *s);
    if (!s) return fail(err, HRC_ENOMEM, "planner: out of memory");
    s->net = *net;
    s->ops = nn_ops_best();
    s->threads = threads;
    s->steps = steps;
    packer p = {s, params, precision, !allocate(s), NULL};
    pack_all(&p);
    if (p.failed || !embed_times(s, params, times)) {
        infer_free(s);
        return fail(err, HRC_ENOMEM, "planner: out of memory for %zu parameters", net->layout.count);
    }
    *out = s;
    return HRC_OK;
}

void infer_free(infer *s)
{
    if (!s) return;
    arena_free(&s->memory);
    free(s);
}

/* ---- Run ---- */

typedef struct {
    float *y;
    const float *x;
    const layer *l;
    int rows;
} product;

static void product_panels(void *ctx, int begin, int end, int worker)
{
    (void)worker;
    const product *p = ctx;
    int n = p->l->w.n, first = begin * NN_PANEL, last = end * NN_PANEL < n ? end * NN_PANEL : n;
    nn_packed_mul(p->y, n, p->x, p->l->w.k, &p->l->w, p->rows, begin, end, 0);
    for (int r = 0; r < p->rows; r++)
        for (int j = first; j < last; j++) p->y[(size_t)r * (size_t)n + (size_t)j] += p->l->b[j];
}

/* y (rows,n) = x (rows,k) w^T + b, shared out by panels of columns */
static void apply(const infer *s, const layer *l, float *y, const float *x, int rows)
{
    product p = {y, x, l, rows};
    if (s->threads)
        pool_ranges(s->threads, nn_panels(l->w.n), product_panels, &p);
    else
        product_panels(&p, 0, nn_panels(l->w.n), 0);
}

void infer_begin(infer *s, const float *cond)
{
    const int C = s->net.shape.width, T = s->net.shape.tokens;
    memcpy(s->place, s->position, sizeof(float) * (size_t)(T * C));
    if (s->net.shape.context) {
        apply(s, &s->context, s->hidden, cond, 1);
        s->ops->add_rows(s->place, s->hidden, T, C);
    }
    apply(s, &s->cond[0], s->hidden, cond, 1);
    s->ops->silu(s->hidden, s->hidden, C);
    apply(s, &s->cond[1], s->c, s->hidden, 1);
    for (int i = 0; i < s->steps; i++)
        for (int j = 0; j < C; j++) s->sum[i * C + j] = s->time[i * C + j] + s->c[j];
    s->ops->silu(s->sum, s->sum, s->steps * C);
    apply(s, &s->mod, s->modulation, s->sum, s->steps);
}

static void run_block(infer *s, int l, const float *mod)
{
    const nn_ops *o = s->ops;
    const field_shape *h = &s->net.shape;
    const block_layers *b = &s->blocks[l];
    const int T = h->tokens, C = h->width;
    /* x += gate1 * proj(attention(adaln(x))) */
    o->adaln(s->y, s->stat, s->x, mod + MOD_SHIFT1 * C, mod + MOD_SCALE1 * C, 0, 1, T, C);
    apply(s, &b->qkv, s->qkv, s->y, T);
    o->attention(s->heads, s->prob, s->qkv, 1, T, C, h->heads);
    apply(s, &b->proj, s->y, s->heads, T);
    o->gate(s->x, s->x, s->y, mod + MOD_GATE1 * C, 0, 1, T, C);
    /* x += gate2 * down(gelu(up(adaln(x)))) */
    o->adaln(s->y, s->stat, s->x, mod + MOD_SHIFT2 * C, mod + MOD_SCALE2 * C, 0, 1, T, C);
    apply(s, &b->up, s->up, s->y, T);
    o->gelu(s->up, s->up, T * C * h->ratio);
    apply(s, &b->down, s->y, s->up, T);
    o->gate(s->x, s->x, s->y, mod + MOD_GATE2 * C, 0, 1, T, C);
}

void infer_step(infer *s, float *v, const float *x, int step)
{
    const field_shape *h = &s->net.shape;
    const int T = h->tokens, C = h->width;
    const float *mod = s->modulation + (size_t)step * (size_t)(h->depth * 6 * C);
    apply(s, &s->embed, s->x, x, T);
    for (int i = 0; i < T * C; i++) s->x[i] += s->place[i];
    for (int l = 0; l < h->depth; l++) run_block(s, l, mod + l * 6 * C);
    s->ops->norm(s->y, s->stat, s->x, s->gain, s->bias, T, C);
    apply(s, &s->head, v, s->y, T);
}
