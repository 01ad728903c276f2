#include "nn/muon.h"

#include <math.h>
#include <string.h>

#define MOMENTUM 0.95
#define ROUNDS 5
#define ROWS 128 /* of a product that one thread does at a time */

/* a x + b x^3 + c x^5, which takes small singular values up by 3.4 times a round. */
static const float A = 3.4445f, B = -4.7750f, C = 2.0315f;
/* Adam's steps have this root mean square when gradients are noise. */
#define STEP_RMS 0.2

bool muon_add(muon *m, const nn_mlp *net, int layers)
{
    size_t offset = net->offset;
    for (int i = 0; i < layers; i++) {
        const int rows = net->size[i + 1], columns = net->size[i];
        const size_t size = (size_t)rows * (size_t)columns;
        if (m->n == MUON_MOST) return false;
        m->matrices[m->n++] = (muon_matrix){offset, rows, columns, m->count};
        m->count += size;
        offset += size + (size_t)rows; /* its bias */
    }
    return true;
}

static int smaller(const muon_matrix *w)
{
    return w->rows < w->columns ? w->rows : w->columns;
}

bool muon_create(muon *m, arena *memory)
{
    size_t most = 0, side = 0;
    for (int i = 0; i < m->n; i++) {
        const muon_matrix *w = &m->matrices[i];
        const size_t size = (size_t)w->rows * (size_t)w->columns, s = (size_t)smaller(w);
        if (size > most) most = size;
        if (s > side) side = s;
    }
    if (!m->n) return true;
    m->momentum = ARENA_NEW(memory, float, m->count);
    m->x = ARENA_NEW(memory, float, most);
    m->next = ARENA_NEW(memory, float, most);
    m->square = ARENA_NEW(memory, float, side *side);
    m->fourth = ARENA_NEW(memory, float, side *side);
    m->step = ARENA_NEW(memory, float, side *side);
    return m->momentum && m->x && m->next && m->square && m->fourth && m->step;
}

/* ---- Products of one round, shared out by rows of the result ---- */

typedef struct {
    const nn_ops *ops;
    float *out;
    const float *left, *right;
    int m, n, k, ldl, ldr, flags;
} product;

static void product_rows(void *ctx, int item, int worker)
{
    (void)worker;
    const product *j = ctx;
    const int first = item * ROWS, rows = j->m - first < ROWS ? j->m - first : ROWS;
    const float *left = j->left + (j->flags & GEMM_TA ? (size_t)first : (size_t)first * (size_t)j->ldl);
    j->ops->gemm(j->out + (size_t)first * (size_t)j->n, left, j->right, rows, j->n, j->k, j->n, j->ldl,
                 j->ldr, j->flags);
}

static void multiply(const nn_ops *ops, pool *p, float *out, const float *left, const float *right, int m,
                     int n, int k, int ldl, int ldr, int flags)
{
    pool_items(p, (m + ROWS - 1) / ROWS, product_rows,
               &(product){ops, out, left, right, m, n, k, ldl, ldr, flags});
}

/* x (r,c) <- (a + b S + c S S) x with S = x x', or from the other side where that is smaller. */
static void one_round(muon *m, const nn_ops *ops, pool *p, int r, int c)
{
    const bool wide = r <= c;
    const int side = wide ? r : c;
    const size_t squares = (size_t)side * (size_t)side;
    float *was = m->x;
    if (wide)
        multiply(ops, p, m->square, m->x, m->x, r, r, c, c, c, GEMM_TB);
    else
        multiply(ops, p, m->square, m->x, m->x, c, c, r, c, c, GEMM_TA);
    multiply(ops, p, m->fourth, m->square, m->square, side, side, side, side, side, 0);
    for (size_t i = 0; i < squares; i++) m->step[i] = B * m->square[i] + C * m->fourth[i];
    for (int i = 0; i < side; i++) m->step[(size_t)i * (size_t)side + (size_t)i] += A;
    if (wide)
        multiply(ops, p, m->next, m->step, m->x, r, c, r, r, c, 0);
    else
        multiply(ops, p, m->next, m->x, m->step, r, c, c, c, c, 0);
    m->x = m->next, m->next = was;
}

/* x = the mean of the gradients so far and, once more, of this one, with norm 1. False: there is none. */
static bool average(muon *m, const muon_matrix *w, float *grads, double norm)
{
    const size_t size = (size_t)w->rows * (size_t)w->columns;
    float *momentum = m->momentum + w->at, *g = grads + w->offset;
    const float share = norm > 0 ? (float)((1 - MOMENTUM) / norm) : 0;
    double sum = 0;
    for (size_t i = 0; i < size; i++) {
        momentum[i] = (float)MOMENTUM * momentum[i] + share * g[i];
        m->x[i] = (float)MOMENTUM * momentum[i] + share * g[i];
        sum += (double)m->x[i] * (double)m->x[i];
    }
    memset(g, 0, sizeof *g * size);
    if (!(sum > 0)) return false;
    for (size_t i = 0; i < size; i++) m->x[i] *= (float)(1 / sqrt(sum));
    return true;
}

static double norm_of(const float *g, size_t n)
{
    double sum = 0;
#pragma omp simd reduction(+ : sum)
    for (size_t i = 0; i < n; i++) sum += (double)g[i] * (double)g[i];
    return sqrt(sum);
}

double muon_step(muon *m, const nn_ops *ops, pool *p, float *params, float *grads, double rate)
{
    double norm[MUON_MOST], whole = 0;
    for (int i = 0; i < m->n; i++) {
        const muon_matrix *w = &m->matrices[i];
        norm[i] = norm_of(grads + w->offset, (size_t)w->rows * (size_t)w->columns);
        whole = hypot(whole, norm[i]);
    }
    if (!isfinite(whole)) return whole;
    for (int i = 0; i < m->n; i++) {
        const muon_matrix *w = &m->matrices[i];
        if (!average(m, w, grads, norm[i])) continue;
        for (int k = 0; k < ROUNDS; k++) one_round(m, ops, p, w->rows, w->columns);
        const float step = (float)(rate * STEP_RMS * sqrt(w->rows > w->columns ? w->rows : w->columns));
        float *weight = params + w->offset;
        for (size_t k = 0; k < (size_t)w->rows * (size_t)w->columns; k++) weight[k] -= step * m->x[k];
    }
    return whole;
}

void muon_state(muon *m, state_list *l, const char *prefix)
{
    if (!m->n) return;
    state_add(l, prefix, "momentum", DT_F32, m->momentum, m->count);
    state_bulky(l); /* an average of the last twenty gradients */
}
