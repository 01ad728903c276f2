#include "nn/adam.h"

#include <math.h>

#define PIECE 65536 /* numbers of one piece of work */
#define PIECES_AT_ONCE 256

NN_FN double adam_rate(const adam_options *o, int64_t step)
{
    if (step <= o->warmup) return o->rate * (double)step / (double)o->warmup;
    if (o->steps <= o->warmup) return o->rate;
    double done = (double)(step - o->warmup) / (double)(o->steps - o->warmup);
    double wave = 0.5 * (1 + cos(3.14159265358979323846 * (done < 1 ? done : 1)));
    return o->rate * (o->final_rate + (1 - o->final_rate) * wave);
}

typedef struct {
    adam *a;
    const nn_ops *ops;
    real *params;
    const real *grads;
    size_t begin; /* of the current group of pieces */
    double rate, scale, m_fix, v_fix, keep;
    double sums[PIECES_AT_ONCE];
} job;

static size_t piece_of(const job *j, int item, size_t *n)
{
    size_t begin = j->begin + (size_t)item * PIECE;
    *n = j->a->n - begin < PIECE ? j->a->n - begin : PIECE;
    return begin;
}

static void sum_piece(void *ctx, int item, int worker)
{
    (void)worker;
    job *j = ctx;
    size_t n, begin = piece_of(j, item, &n);
    const real *g = j->grads + begin;
    double sum = 0;
#pragma omp simd reduction(+ : sum)
    for (size_t i = 0; i < n; i++) sum += (double)g[i] * (double)g[i];
    j->sums[item] = sum;
}

static void step_piece(void *ctx, int item, int worker)
{
    (void)worker;
    job *j = ctx;
    adam *a = j->a;
    const adam_options *o = &a->options;
    size_t n, begin = piece_of(j, item, &n);
    real *p = j->params + begin;
    j->ops->adamw(p, a->m + begin, a->v + begin, j->grads + begin, (real)j->scale, (real)j->rate,
                  (real)o->beta1, (real)o->beta2, (real)o->eps, (real)o->decay, (real)j->m_fix,
                  (real)j->v_fix, (int)n);
    if (!a->averaged) return;
    real *average = a->averaged + begin, keep = (real)j->keep;
#pragma omp simd
    for (size_t i = 0; i < n; i++) average[i] = keep * average[i] + (1 - keep) * p[i];
}

static double over_pieces(job *j, pool *p, void (*work)(void *, int, int))
{
    double sum = 0;
    for (j->begin = 0; j->begin < j->a->n; j->begin += (size_t)PIECES_AT_ONCE * PIECE) {
        size_t left = (j->a->n - j->begin + PIECE - 1) / PIECE;
        int pieces = left < PIECES_AT_ONCE ? (int)left : PIECES_AT_ONCE;
        pool_items(p, pieces, work, j);
        for (int i = 0; i < pieces; i++) sum += j->sums[i];
    }
    return sum;
}

NN_FN double adam_step(adam *a, const nn_ops *ops, pool *p, real *params, const real *grads)
{
    const adam_options *o = &a->options;
    job j = {.a = a, .ops = ops, .params = params, .grads = grads};
    double norm = sqrt(over_pieces(&j, p, sum_piece));
    if (!isfinite(norm)) return norm;
    a->step++;
    double t = (double)a->step, warm = (1 + t) / (10 + t);
    j.rate = adam_rate(o, a->step);
    j.scale = o->clip > 0 && norm > o->clip ? o->clip / norm : 1;
    j.m_fix = 1 / (1 - pow(o->beta1, t));
    j.v_fix = 1 / (1 - pow(o->beta2, t));
    j.keep = o->average < warm ? o->average : warm; /* early weights are soon forgotten */
    over_pieces(&j, p, step_piece);
    return norm;
}

#ifndef NN_DOUBLE
void adam_state(adam *a, state_list *l, const char *prefix)
{
    state_add(l, prefix, "moment1", DT_F32, a->m, a->n);
    state_bulky(l); /* an average of the last ten gradients: soon made anew */
    state_add(l, prefix, "moment2", DT_F32, a->v, a->n);
    state_add(l, prefix, "averaged", DT_F32, a->averaged, a->averaged ? a->n : 0);
    state_add(l, prefix, "step", DT_I64, &a->step, 1);
}
#endif
