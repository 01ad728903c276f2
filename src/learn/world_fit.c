#include "learn/world_fit.h"

#include <math.h>
#include <string.h>
#include <tgmath.h>

#define FIT_ROWS 64 /* of one piece of work */

static real fit_weight(int i)
{
    if (i < WS_XY) return 3; /* axes and height */
    if (i < WS_Q) return 1;
    return i < WS_QD ? (real)0.5 : 1;
}

NN_FN hrc_status world_fit_create(world_fit *f, const world_model *m, const nn_ops *ops, pool *threads,
                                  int batch, int horizon, hrc_error *err)
{
    *f = (world_fit){.m = m, .threads = threads, .batch = batch, .horizon = horizon};
    const size_t rows = (size_t)batch * (size_t)horizon, states = (rows + (size_t)batch) * WS;
    TRY(world_pass_create(&f->pass, m, ops, threads, (int)rows, &f->memory, err));
    f->truth = ARENA_NEW(&f->memory, real, states);
    f->s = ARENA_NEW(&f->memory, real, states);
    f->ds = ARENA_NEW(&f->memory, real, states);
    f->target = ARENA_NEW(&f->memory, real, rows * HRC_JOINTS);
    f->dtarget = ARENA_NEW(&f->memory, real, rows * HRC_JOINTS);
    f->loss = ARENA_NEW(&f->memory, double, batch / FIT_ROWS + 1);
    f->onestep = ARENA_NEW(&f->memory, double, batch / FIT_ROWS + 1);
    if (!f->truth || !f->s || !f->ds || !f->target || !f->dtarget || !f->loss || !f->onestep)
        return fail(err, HRC_ENOMEM, "world model: out of memory for %d sequences", batch);
    return HRC_OK;
}

NN_FN void world_fit_free(world_fit *f)
{
    arena_free(&f->memory);
}

/* Adds the loss's gradient to ds. */
static double state_loss(const world_fit *f, real ds[WS], const real s[WS], const real truth[WS])
{
    const real mean = 1 / (real)(f->batch * f->horizon);
    real weights = 0, sum = 0;
    for (int i = 0; i < WS; i++) weights += fit_weight(i);
    for (int i = 0; i < WS; i++) {
        const real scale = f->m->error_scale[i], e = (s[i] - truth[i]) * scale, root = sqrt(1 + e * e),
                   weight = fit_weight(i) / weights;
        sum += weight * (root - 1);
        ds[i] += mean * weight * scale * e / root;
    }
    return (double)(sum * mean);
}

static double first_residual(const world_fit *f, const real *s, const real *truth)
{
    double sum = 0;
    for (int i = WS_V; i < WS; i++) {
        const real e = (s[i] - truth[i]) * f->m->error_scale[i];
        if (i < WS_Q || i >= WS_QD) sum += (double)(e * e);
    }
    return sum / (6 + HRC_JOINTS) / f->batch;
}

static void fit_piece(void *ctx, int item, int worker)
{
    (void)worker;
    world_fit *f = ctx;
    const int first = item * FIT_ROWS, n = f->batch - first < FIT_ROWS ? f->batch - first : FIT_ROWS;
    const size_t step = (size_t)f->batch * WS, at = (size_t)first * WS, size = (size_t)n * WS * sizeof(real);
    memcpy(f->s + at, f->truth + at, size);
    for (int t = 0; t < f->horizon; t++) {
        const size_t now = (size_t)t * step + at;
        world_forward(&f->pass, f->s + now + step, f->s + now,
                      f->target + (size_t)(t * f->batch + first) * HRC_JOINTS, f->params,
                      t * f->batch + first, n);
    }
    f->loss[item] = f->onestep[item] = 0;
    for (int t = 1; t <= f->horizon; t++) {
        const size_t now = (size_t)t * step + at;
        memset(f->ds + now, 0, size);
        for (size_t r = 0; r < (size_t)n * WS; r += WS) {
            f->loss[item] += state_loss(f, f->ds + now + r, f->s + now + r, f->truth + now + r);
            if (t == 1) f->onestep[item] += first_residual(f, f->s + now + r, f->truth + now + r);
        }
    }
    memset(f->ds + at, 0, size);
    for (int t = f->horizon - 1; t >= 0; t--) {
        const size_t now = (size_t)t * step + at;
        world_backward(&f->pass, f->ds + now, f->dtarget + (size_t)(t * f->batch + first) * HRC_JOINTS,
                       f->ds + now + step, f->s + now, f->s + now + step, f->params, t * f->batch + first, n);
    }
}

NN_FN world_fit_result world_fit_gradient(world_fit *f, real *grads, const real *params)
{
    const int items = (f->batch + FIT_ROWS - 1) / FIT_ROWS;
    world_fit_result sum = {0};
    f->params = params;
    pool_items(f->threads, items, fit_piece, f);
    world_weights(&f->pass, grads);
    for (int i = 0; i < items; i++) {
        sum.loss += f->loss[i];
        sum.residual += f->onestep[i];
    }
    return sum;
}
