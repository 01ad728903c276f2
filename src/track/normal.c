#include "track/normal.h"

#include <math.h>
#include <string.h>

hrc_status normal_create(normal *s, int n, arena *memory, hrc_error *err)
{
    *s = (normal){.n = n};
    s->mean = ARENA_NEW(memory, double, n);
    s->m2 = ARENA_NEW(memory, double, n);
    s->shift = ARENA_NEW(memory, float, n);
    s->scale = ARENA_NEW(memory, float, n);
    if (!s->mean || !s->m2 || !s->shift || !s->scale)
        return fail(err, HRC_ENOMEM, "normaliser: out of memory for %d numbers", n);
    for (int i = 0; i < n; i++) s->scale[i] = 1;
    return HRC_OK;
}

static void refresh(normal *s)
{
    for (int i = 0; i < s->n; i++) {
        s->shift[i] = (float)s->mean[i];
        s->scale[i] = 1 / (sqrtf(normal_variance(s, i)) + NORMAL_FLOOR);
    }
}

/* Merging a batch (mean b, sum of squares about it) into the running figures: with d the difference of the
 * means, m2 += batch m2 + d^2 count rows / (count + rows). */
void normal_update(normal *s, const float *x, size_t rows)
{
    if (rows == 0) return;
    const double all = s->count + (double)rows;
    for (int i = 0; i < s->n; i++) {
        double sum = 0, squares = 0;
        const float *column = x + i;
        for (size_t r = 0; r < rows; r++) sum += (double)column[r * (size_t)s->n];
        const double batch = sum / (double)rows;
        for (size_t r = 0; r < rows; r++) {
            double d = (double)column[r * (size_t)s->n] - batch;
            squares += d * d;
        }
        const double d = batch - s->mean[i];
        s->m2[i] += squares + d * d * s->count * (double)rows / all;
        s->mean[i] += d * (double)rows / all;
    }
    s->count = all;
    refresh(s);
}

void normal_gather(const normal *s, double *sums, const float *x, size_t rows)
{
    double *sum = sums + 1, *squares = sum + s->n;
    sums[0] += (double)rows;
    for (size_t r = 0; r < rows; r++, x += s->n) {
#pragma omp simd
        for (int i = 0; i < s->n; i++) {
            double d = (double)(x[i] - s->shift[i]);
            sum[i] += d;
            squares[i] += d * d;
        }
    }
}

/* With S = sum and Q = sum of squares about the shift: batch mean = shift + S / rows, and about that mean
 * Q - S^2 / rows. */
void normal_merge(normal *s, const double *sums)
{
    const double rows = sums[0], all = s->count + rows;
    const double *sum = sums + 1, *squares = sum + s->n;
    if (!(rows > 0)) return;
    for (int i = 0; i < s->n; i++) {
        const double d = (double)s->shift[i] + sum[i] / rows - s->mean[i];
        s->m2[i] += fmax(0, squares[i] - sum[i] * sum[i] / rows) + d * d * s->count * rows / all;
        s->mean[i] += d * rows / all;
    }
    s->count = all;
    refresh(s);
}

void normal_set(normal *s, double count, const float *mean, const float *variance)
{
    s->count = count;
    for (int i = 0; i < s->n; i++) {
        s->mean[i] = (double)mean[i];
        s->m2[i] = (double)variance[i] * count;
    }
    refresh(s);
}

float normal_variance(const normal *s, int i)
{
    return s->count > 0 ? (float)(s->m2[i] / s->count) : 1;
}

void normal_state(normal *s, state_list *l, const char *prefix)
{
    const size_t n = (size_t)s->n;
    state_add(l, prefix, "count", DT_F64, &s->count, 1);
    state_add(l, prefix, "mean", DT_F64, s->mean, n);
    state_add(l, prefix, "m2", DT_F64, s->m2, n);
    state_add(l, prefix, "shift", DT_F32, s->shift, n);
    state_add(l, prefix, "scale", DT_F32, s->scale, n);
}

void normal_apply(const normal *s, float *y, const float *x, size_t rows)
{
    for (size_t r = 0; r < rows; r++, x += s->n, y += s->n) {
#pragma omp simd
        for (int i = 0; i < s->n; i++) y[i] = (x[i] - s->shift[i]) * s->scale[i];
    }
}
