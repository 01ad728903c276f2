#include "nn/muon.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#define BETA ((real)0.95)
#define ROUNDS 5
#define SIZE ((real)0.2)

static const real A = (real)3.4445, B = (real)-4.7750, C = (real)2.0315;

NN_FN hrc_status muon_create(muon *m, const nn_layout *l, arena *memory, hrc_error *err)
{
    *m = (muon){.count = l->count, .momentum = ARENA_NEW(memory, real, l->count)};
    bool fine = m->momentum != NULL;
    for (int i = 0; i < l->n; i++) {
        const nn_tensor *t = &l->tensors[i];
        const int rows = t->shape[0], columns = t->shape[1], least = rows < columns ? rows : columns;
        if (t->ndim != 2 || least < MUON_LEAST || t->init == INIT_ZERO) continue;
        muon_matrix *k = &m->matrices[m->n++];
        *k = (muon_matrix){.offset = t->offset, .rows = rows, .columns = columns};
        k->x = ARENA_NEW(memory, real, t->count);
        k->next = ARENA_NEW(memory, real, t->count);
        k->square = ARENA_NEW(memory, real, (size_t)least * (size_t)least);
        k->other = ARENA_NEW(memory, real, (size_t)least * (size_t)least);
        fine = fine && k->x && k->next && k->square && k->other;
    }
    return fine ? HRC_OK : fail(err, HRC_ENOMEM, "muon: out of memory for %zu parameters", l->count);
}

static double norm_of(const real *x, size_t n)
{
    double sum = 0;
#pragma omp simd reduction(+ : sum)
    for (size_t i = 0; i < n; i++) sum += (double)x[i] * (double)x[i];
    return sqrt(sum);
}

/* x becomes its nearest orthogonal matrix, roughly. Products on the shorter side. */
static void orthogonalise(muon_matrix *k, const nn_ops *o)
{
    const int rows = k->rows, columns = k->columns, least = rows < columns ? rows : columns;
    const size_t n = (size_t)rows * (size_t)columns, squares = (size_t)least * (size_t)least;
    const bool wide = rows <= columns;
    for (int round = 0; round < ROUNDS; round++) {
        if (wide)
            o->gemm(k->square, k->x, k->x, least, least, columns, least, columns, columns, GEMM_TB);
        else
            o->gemm(k->square, k->x, k->x, least, least, rows, least, columns, columns, GEMM_TA);
        o->gemm(k->other, k->square, k->square, least, least, least, least, least, least, 0);
#pragma omp simd
        for (size_t i = 0; i < squares; i++) k->other[i] = B * k->square[i] + C * k->other[i];
#pragma omp simd
        for (size_t i = 0; i < n; i++) k->next[i] = A * k->x[i];
        if (wide)
            o->gemm(k->next, k->other, k->x, rows, columns, least, columns, least, columns, GEMM_ADD);
        else
            o->gemm(k->next, k->x, k->other, rows, columns, least, columns, columns, least, GEMM_ADD);
        real *keep = k->x;
        k->x = k->next, k->next = keep;
    }
}

typedef struct {
    muon *m;
    const nn_ops *ops;
    real *params, *grads;
    real scale, rate;
} job;

static void step_matrix(void *ctx, int item, int worker)
{
    (void)worker;
    const job *j = ctx;
    muon_matrix *k = &j->m->matrices[item];
    const size_t n = (size_t)k->rows * (size_t)k->columns;
    real *g = j->grads + k->offset, *m = j->m->momentum + k->offset, *w = j->params + k->offset;
    for (size_t i = 0; i < n; i++) {
        m[i] = BETA * m[i] + j->scale * g[i];
        k->x[i] = j->scale * g[i] + BETA * m[i];
    }
    memset(g, 0, sizeof *g * n);
    const double norm = norm_of(k->x, n);
    if (!(norm > 0)) return;
    for (size_t i = 0; i < n; i++) k->x[i] /= (real)norm;
    orthogonalise(k, j->ops);
    const real step = j->rate * SIZE * (real)sqrt((double)(k->rows > k->columns ? k->rows : k->columns));
    for (size_t i = 0; i < n; i++) w[i] -= step * k->x[i];
}

NN_FN double muon_step(muon *m, const nn_ops *ops, pool *threads, real *params, real *grads, double rate,
                       double clip)
{
    double sum = 0;
    for (int i = 0; i < m->n; i++) {
        const muon_matrix *k = &m->matrices[i];
        const double norm = norm_of(grads + k->offset, (size_t)k->rows * (size_t)k->columns);
        sum += norm * norm;
    }
    const double norm = sqrt(sum);
    if (!isfinite(norm)) return norm;
    job j = {m, ops, params, grads, (real)(clip > 0 && norm > clip ? clip / norm : 1), (real)rate};
    pool_items(threads, m->n, step_matrix, &j);
    return norm;
}

#ifndef NN_DOUBLE
void muon_state(muon *m, state_list *l, const char *prefix)
{
    state_add(l, prefix, "momentum", DT_F32, m->momentum, m->n ? m->count : 0);
}
#endif
