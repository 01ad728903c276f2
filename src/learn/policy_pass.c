#include "learn/policy_pass.h"

#include <stdlib.h>
#include <string.h>

#define FRAMES 10 /* of the paper's mean over the window */

struct policy_pass {
    arena memory;
    const policy *p;
    const nn_ops *ops;
    pool *threads;
    mlp_pass encoder, reconstruction, action;
    policy_batch b;
    const real *codebook;
    bool reconstructed;
    real *z, *e, *scratch; /* (batch,d), (batch,d), (batch,codes) */
    int32_t *index;
    real *inputs;                /* (batch, d + proprio): of the action decoder */
    real *mean, *m;              /* (batch,actions), (batch,window) */
    real *dm, *de, *dz, *dinput; /* (batch,window), (batch,d), (batch,d), (batch, d + proprio) */
    double *loss;                /* (chunks, 2) */
    double rec_weight;           /* of the running backward pass */
    real *dproprio;
};

NN_FN hrc_status policy_pass_create(policy_pass **out, const policy *p, const nn_ops *ops, pool *threads,
                                    int batch, hrc_error *err)
{
    if (batch < 1) return fail(err, HRC_EINVAL, "policy: batch is %d, expected at least 1", batch);
    policy_pass *s = calloc(1, sizeof *s);
    if (!s) return fail(err, HRC_ENOMEM, "policy: out of memory");
    const policy_shape *h = &p->shape;
    const size_t n = (size_t)batch, d = (size_t)h->token.dim, in = d + (size_t)h->proprio;
    arena *a = &s->memory;
    s->p = p, s->ops = ops, s->threads = threads;
    hrc_status status = mlp_pass_create(&s->encoder, &p->encoder, ops, threads, batch, a, err);
    if (status == HRC_OK)
        status = mlp_pass_create(&s->reconstruction, &p->reconstruction, ops, threads, batch, a, err);
    if (status == HRC_OK) status = mlp_pass_create(&s->action, &p->action, ops, threads, batch, a, err);
    real **const arrays[] = {&s->z, &s->e,  &s->scratch, &s->inputs, &s->mean,
                             &s->m, &s->dm, &s->de,      &s->dz,     &s->dinput};
    const size_t sizes[] = {d,
                            d,
                            h->token.kind == QUANT_VQ ? (size_t)h->token.codes : 1,
                            in,
                            (size_t)h->actions,
                            (size_t)h->window,
                            (size_t)h->window,
                            d,
                            d,
                            in};
    bool fine = status == HRC_OK;
    for (int i = 0; i < COUNT(arrays); i++) fine = fine && (*arrays[i] = ARENA_NEW(a, real, n * sizes[i]));
    fine = fine && (s->index = ARENA_NEW(a, int32_t, n * d));
    fine = fine && (s->loss = ARENA_NEW(a, double, 2 * (n / MLP_CHUNK + 1)));
    if (!fine) {
        policy_pass_free(s);
        return status < 0 ? status : fail(err, HRC_ENOMEM, "policy: out of memory for a batch of %d", batch);
    }
    *out = s;
    return HRC_OK;
}

NN_FN void policy_pass_free(policy_pass *s)
{
    if (!s) return;
    arena_free(&s->memory);
    free(s);
}

static int chunk_rows(const policy_pass *s, int item)
{
    int left = s->b.n - item * MLP_CHUNK;
    return left < MLP_CHUNK ? left : MLP_CHUNK;
}

static int chunk_count(const policy_pass *s)
{
    return (s->b.n + MLP_CHUNK - 1) / MLP_CHUNK;
}

/* ---- Forward ---- */

static void token_chunk(void *ctx, int item, int worker)
{
    (void)worker;
    policy_pass *s = ctx;
    const quant *q = &s->p->shape.token;
    const int n = chunk_rows(s, item);
    const size_t first = (size_t)item * MLP_CHUNK, d = (size_t)q->dim, P = (size_t)s->p->shape.proprio;
    quant_forward(q, s->ops, s->e + first * d, s->index + first * (size_t)quant_indices(q),
                  s->scratch + (q->kind == QUANT_VQ ? first * (size_t)q->codes : 0), s->z + first * d,
                  s->codebook, n);
    for (size_t r = first; r < first + (size_t)n; r++) {
        memcpy(s->inputs + r * (d + P), s->e + r * d, d * sizeof *s->e);
        memcpy(s->inputs + r * (d + P) + d, s->b.proprio + r * P, P * sizeof *s->e);
    }
}

NN_FN policy_outputs policy_forward(policy_pass *s, const real *params, const real *codebook,
                                    const policy_batch *b, bool reconstruct)
{
    s->b = *b;
    s->codebook = codebook;
    s->reconstructed = reconstruct;
    mlp_pass_forward(&s->encoder, s->z, b->window, params, b->n);
    pool_items(s->threads, chunk_count(s), token_chunk, s);
    mlp_pass_forward(&s->action, s->mean, s->inputs, params, b->n);
    if (reconstruct) mlp_pass_forward(&s->reconstruction, s->m, s->e, params, b->n);
    return (policy_outputs){s->mean, s->z, s->e, s->index, reconstruct ? s->m : NULL};
}

/* ---- Losses and backward ---- */

static void loss_chunk(void *ctx, int item, int worker)
{
    (void)worker;
    policy_pass *s = ctx;
    const quant *q = &s->p->shape.token;
    const int n = chunk_rows(s, item), W = s->p->shape.window;
    const size_t first = (size_t)item * MLP_CHUNK, begin = first * (size_t)W;
    const double mean = 1.0 / ((double)s->b.n * FRAMES);
    const real slope = (real)(2 * s->rec_weight * mean);
    double sum = 0;
    for (size_t i = begin; s->reconstructed && i < begin + (size_t)n * (size_t)W; i++) {
        real d = s->m[i] - s->b.window[i];
        sum += (double)d * (double)d;
        s->dm[i] = slope * d;
    }
    s->loss[2 * item] = sum * mean;
    s->loss[2 * item + 1] =
        quant_loss(q, s->z + first * (size_t)q->dim, s->e + first * (size_t)q->dim, n, s->b.n);
}

NN_FN policy_losses policy_loss(policy_pass *s)
{
    policy_losses sum = {0};
    pool_items(s->threads, chunk_count(s), loss_chunk, s);
    for (int i = 0; i < chunk_count(s); i++) {
        sum.reconstruction += s->loss[2 * i];
        sum.token += s->loss[2 * i + 1];
    }
    return sum;
}

/* de holds the reconstruction's share; the action decoder's is in dinput. */
static void token_back_chunk(void *ctx, int item, int worker)
{
    (void)worker;
    policy_pass *s = ctx;
    const quant *q = &s->p->shape.token;
    const int n = chunk_rows(s, item);
    const size_t first = (size_t)item * MLP_CHUNK, d = (size_t)q->dim, P = (size_t)s->p->shape.proprio;
    const size_t stride = s->dproprio ? d + P : d;
    for (size_t r = first; r < first + (size_t)n; r++) {
        for (size_t k = 0; k < d; k++) s->de[r * d + k] += s->dinput[r * stride + k];
        if (s->dproprio) memcpy(s->dproprio + r * P, s->dinput + r * stride + d, P * sizeof *s->dproprio);
    }
    quant_backward(q, s->dz + first * d, s->de + first * d, s->z + first * d, s->e + first * d, n, s->b.n);
}

NN_FN policy_losses policy_backward(policy_pass *s, real *grads, const real *params, const real *dmean,
                                    double rec_weight, real *dproprio, real *dwindow)
{
    const policy_shape *h = &s->p->shape;
    const int n = s->b.n, d = h->token.dim;
    s->rec_weight = rec_weight;
    s->dproprio = dproprio;
    policy_losses losses = policy_loss(s);
    if (s->reconstructed && rec_weight > 0)
        mlp_pass_backward(&s->reconstruction, s->de, 0, d, grads, s->dm, s->e, params, n);
    else
        memset(s->de, 0, (size_t)n * (size_t)d * sizeof *s->de);
    mlp_pass_backward(&s->action, s->dinput, 0, dproprio ? d + h->proprio : d, grads, dmean, s->inputs,
                      params, n);
    pool_items(s->threads, chunk_count(s), token_back_chunk, s);
    mlp_pass_backward(&s->encoder, dwindow, 0, dwindow ? h->window : 0, grads, s->dz, s->b.window, params, n);
    return losses;
}
