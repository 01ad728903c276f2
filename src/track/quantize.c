#include "track/quantize.h"

#include <math.h>
#include <string.h>

#define SLOPE ((real)1.6)

static const char *const NAMES[] = {"ifsq", "fsq", "vq", "none"};

NN_FN quant_kind quant_kind_of(const char *word)
{
    for (int i = 0; i < COUNT(NAMES); i++)
        if (strcmp(word, NAMES[i]) == 0) return (quant_kind)i;
    return QUANT_IFSQ;
}

NN_FN const char *quant_name(quant_kind kind)
{
    return NAMES[kind];
}

NN_FN hrc_status quant_check(const quant *q, hrc_error *err)
{
    if (q->dim < 1 || q->dim > 4096)
        return fail(err, HRC_EINVAL, "tokenizer: %d numbers in a token, expected 1 to 4096", q->dim);
    if (q->kind == QUANT_IFSQ && (q->levels < 3 || q->levels % 2 == 0))
        return fail(err, HRC_EINVAL, "tokenizer: ifsq with %d levels, expected an odd number from 3",
                    q->levels);
    if (q->kind == QUANT_FSQ && q->levels < 2)
        return fail(err, HRC_EINVAL, "tokenizer: fsq with %d levels, expected at least 2", q->levels);
    if (q->kind == QUANT_VQ && q->codes < 2)
        return fail(err, HRC_EINVAL, "tokenizer: vq with %d codes, expected at least 2", q->codes);
    return HRC_OK;
}

NN_FN int quant_indices(const quant *q)
{
    return q->kind == QUANT_NONE ? 0 : q->kind == QUANT_VQ ? 1 : q->dim;
}

NN_FN int quant_values(const quant *q)
{
    return q->kind == QUANT_NONE ? 0 : q->kind == QUANT_VQ ? q->codes : q->levels;
}

NN_FN size_t quant_state(const quant *q)
{
    return q->kind == QUANT_VQ ? (size_t)q->codes * (size_t)(2 * q->dim + 1) : 0;
}

/* ---- Scalar quantizers. Both bound z to b, round b to a whole number, and scale that to -1 .. 1. ---- */

typedef struct {
    real half, offset, shift; /* of tanh(z + shift) * half - offset */
    real scale;               /* whole numbers to the token */
    int lowest;               /* whole number of index 0 */
} scalar;

static scalar scalar_of(const quant *q)
{
    real L = (real)q->levels;
    if (q->kind == QUANT_IFSQ)
        return (scalar){.half = (L - 1) / 2, .scale = 2 / (L - 1), .lowest = -(q->levels - 1) / 2};
    /* A little more than the levels' span, so that the last ones can be reached; an even number of levels
     * lies from -L/2 to L/2 - 1. */
    real half = (L - 1) * (real)1.001 / 2, offset = q->levels % 2 ? 0 : (real)0.5;
    return (scalar){half, offset, (real)atanh((double)(offset / half)), 1 / (real)(q->levels / 2),
                    -(q->levels / 2)};
}

static real sigmoid(real x)
{
    return 1 / (1 + (real)exp((double)-x));
}

/* b and, when slope is not NULL, db/dz */
static real bound(const quant *q, const scalar *s, real z, real *slope)
{
    if (q->kind == QUANT_IFSQ) {
        real g = sigmoid(SLOPE * z);
        if (slope) *slope = 2 * SLOPE * g * (1 - g) * s->half;
        return (2 * g - 1) * s->half;
    }
    real t = (real)tanh((double)(z + s->shift));
    if (slope) *slope = s->half * (1 - t * t);
    return t * s->half - s->offset;
}

static void scalar_forward(const quant *q, real *e, int32_t *index, const real *z, int n)
{
    const scalar s = scalar_of(q);
    for (int i = 0; i < n * q->dim; i++) {
        real b = bound(q, &s, z[i], NULL), whole = (real)rint((double)b);
        const real last = (real)(s.lowest + q->levels - 1);
        e[i] = (q->smooth ? b : whole) * s.scale;
        /* NaN stays in e, where a loss shows it; of it no index is made */
        index[i] = !(whole > (real)s.lowest) ? 0 : (int32_t)(whole < last ? whole : last) - s.lowest;
    }
}

/* ---- VQ ---- */

static real square_norm(const real *x, int n)
{
    real sum = 0;
    for (int i = 0; i < n; i++) sum += x[i] * x[i];
    return sum;
}

/* scratch (n, codes) = |code|^2 - 2 z . code: the squared distance but for |z|^2 */
static void distances(const quant *q, const nn_ops *o, real *scratch, const real *z, const real *codes, int n)
{
    o->gemm(scratch, z, codes, n, q->codes, q->dim, q->codes, q->dim, q->dim, GEMM_TB);
    for (int c = 0; c < q->codes; c++) {
        real norm = square_norm(codes + (size_t)c * (size_t)q->dim, q->dim);
        for (int r = 0; r < n; r++) {
            real *d = &scratch[(size_t)r * (size_t)q->codes + (size_t)c];
            *d = norm - 2 * *d;
        }
    }
}

static void nearest(const quant *q, const nn_ops *o, real *e, int32_t *index, real *scratch, const real *z,
                    const real *codes, int n)
{
    distances(q, o, scratch, z, codes, n);
    for (int r = 0; r < n; r++) {
        const real *d = scratch + (size_t)r * (size_t)q->codes;
        int best = 0;
        for (int c = 1; c < q->codes; c++)
            if (d[c] < d[best]) best = c;
        index[r] = best;
        const real *from = q->smooth ? z + (size_t)r * (size_t)q->dim : codes + (size_t)best * (size_t)q->dim;
        memcpy(e + (size_t)r * (size_t)q->dim, from, (size_t)q->dim * sizeof *e);
    }
}

/* ---- Interface ---- */

NN_FN void quant_forward(const quant *q, const nn_ops *o, real *e, int32_t *index, real *scratch,
                         const real *z, const real *state, int n)
{
    switch (q->kind) {
    case QUANT_VQ: nearest(q, o, e, index, scratch, z, state, n); break;
    case QUANT_NONE: memcpy(e, z, (size_t)n * (size_t)q->dim * sizeof *e); break;
    default: scalar_forward(q, e, index, z, n);
    }
}

NN_FN void quant_backward(const quant *q, real *dz, const real *de, const real *z, const real *e, int n,
                          int rows)
{
    const int count = n * q->dim;
    if (q->kind == QUANT_NONE || q->kind == QUANT_VQ) {
        real pull = q->kind == QUANT_VQ ? 2 * q->commitment / ((real)rows * (real)q->dim) : 0;
        for (int i = 0; i < count; i++) dz[i] = de[i] + pull * (z[i] - e[i]);
        return;
    }
    const scalar s = scalar_of(q);
    for (int i = 0; i < count; i++) {
        real slope;
        bound(q, &s, z[i], &slope);
        dz[i] = de[i] * slope * s.scale;
    }
}

NN_FN double quant_loss(const quant *q, const real *z, const real *e, int n, int rows)
{
    if (q->kind != QUANT_VQ) return 0;
    double sum = 0;
    for (int i = 0; i < n * q->dim; i++) sum += (double)(z[i] - e[i]) * (double)(z[i] - e[i]);
    return (double)q->commitment * sum / ((double)rows * q->dim);
}

NN_FN double quant_margin(const quant *q, const real *z, const real *state)
{
    double least = 1;
    if (q->kind == QUANT_VQ) {
        double best = INFINITY, second = INFINITY;
        for (int c = 0; c < q->codes; c++) {
            double d = 0;
            for (int k = 0; k < q->dim; k++) {
                double gap = (double)z[k] - (double)state[(size_t)c * (size_t)q->dim + (size_t)k];
                d += gap * gap;
            }
            if (d < best)
                second = best, best = d;
            else if (d < second)
                second = d;
        }
        return second > 0 ? (second - best) / (second + best) : 0;
    }
    if (q->kind == QUANT_NONE) return 1;
    const scalar s = scalar_of(q);
    for (int i = 0; i < q->dim; i++) {
        double b = (double)bound(q, &s, z[i], NULL);
        least = fmin(least, 0.5 - fabs(b - rint(b)));
    }
    return least;
}

/* ---- The codebook ---- */

typedef struct {
    real *codes, *sums, *counts;
} book;

static book book_of(const quant *q, real *state)
{
    size_t size = (size_t)q->codes * (size_t)q->dim;
    return (book){state, state + size, state + 2 * size};
}

/* `even`: what each code's count would be if all were used alike. */
static void set_code(const quant *q, book b, int c, const real *z, real even, rng *r)
{
    for (int k = 0; k < q->dim; k++) {
        size_t at = (size_t)c * (size_t)q->dim + (size_t)k;
        b.codes[at] = z[k] + (real)(0.01 / sqrt((double)q->dim)) * (real)rng_normal(r);
        b.sums[at] = even * b.codes[at];
    }
    b.counts[c] = even;
}

NN_FN void quant_state_init(const quant *q, real *state, const real *z, int n, rng *r)
{
    book b = book_of(q, state);
    const real even = (real)n / (real)q->codes;
    for (int c = 0; c < q->codes; c++) set_code(q, b, c, z + (size_t)(c % n) * (size_t)q->dim, even, r);
}

NN_FN int quant_state_update(const quant *q, real *state, const real *z, const int32_t *index, int n, rng *r)
{
    const real keep = (real)QUANT_DECAY, take = 1 - keep, even = (real)n / (real)q->codes;
    const size_t d = (size_t)q->dim;
    book b = book_of(q, state);
    for (size_t i = 0; i < (size_t)q->codes * d; i++) b.sums[i] *= keep;
    for (int c = 0; c < q->codes; c++) b.counts[c] *= keep;
    for (int i = 0; i < n; i++) {
        size_t c = (size_t)index[i];
        b.counts[c] += take;
        for (size_t k = 0; k < d; k++) b.sums[c * d + k] += take * z[(size_t)i * d + k];
    }
    int reset = 0;
    for (int c = 0; c < q->codes; c++) {
        if (b.counts[c] >= (real)QUANT_DEAD * even) {
            for (size_t k = 0; k < d; k++)
                b.codes[(size_t)c * d + k] = b.sums[(size_t)c * d + k] / b.counts[c];
        } else {
            set_code(q, b, c, z + (size_t)rng_below(r, (uint32_t)n) * d, even, r);
            reset++;
        }
    }
    return reset;
}

/* ---- Use ---- */

NN_FN void quant_count(const quant *q, int64_t *counts, const int32_t *index, int n)
{
    const int dims = quant_indices(q), values = quant_values(q);
    for (int r = 0; r < n; r++)
        for (int k = 0; k < dims; k++) counts[(size_t)k * (size_t)values + (size_t)index[r * dims + k]]++;
}

NN_FN quant_usage quant_usage_of(const quant *q, const int64_t *counts)
{
    const int dims = quant_indices(q), values = quant_values(q);
    quant_usage u = {0};
    for (int k = 0; k < dims; k++) {
        const int64_t *c = counts + (size_t)k * (size_t)values;
        double all = 0, entropy = 0;
        int used = 0;
        for (int v = 0; v < values; v++) all += (double)c[v], used += c[v] > 0;
        for (int v = 0; v < values && all > 0; v++)
            if (c[v]) entropy -= (double)c[v] / all * log((double)c[v] / all);
        u.used += (double)used / values / dims;
        u.entropy += entropy / log(values) / dims;
        u.perplexity += exp(entropy) / dims;
        if (q->kind != QUANT_VQ && all > 0) u.saturated += (double)(c[0] + c[values - 1]) / all / dims;
    }
    return u;
}
