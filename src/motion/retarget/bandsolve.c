#include "motion/retarget/bandsolve.h"

#include <math.h>
#include <string.h>

/* AVX2 where the processor has it. Every sum below is taken element by element in one order (no sums across
 * a vector, no fused multiply-add), so both versions give the same bits. */
#if defined(__x86_64__) && defined(__gnu_linux__) && !defined(__clang__) &&                                  \
    !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define CLONES __attribute__((target_clones("avx2", "default")))
#else
#define CLONES
#endif

#define TILE 4

CLONES bool band_cholesky(band_matrix a)
{
    for (int k = 0; k < BAND_N; k++) {
        if (!(a[k][k] > 0)) return false;
        double d = sqrt(a[k][k]);
        for (int j = k; j < BAND_N; j++) a[k][j] /= d;
        for (int i = k + 1; i < BAND_N; i++) {
            double f = a[k][i];
#pragma omp simd
            for (int j = i; j < BAND_N; j++) a[i][j] -= f * a[k][j];
        }
    }
    return true;
}

/* x := U'^-1 x for all columns of x at once. */
CLONES static void forward_columns(band_matrix x, const band_matrix u)
{
    for (int k = 0; k < BAND_N; k++) {
        double f = 1 / u[k][k];
#pragma omp simd
        for (int j = 0; j < BAND_N; j++) x[k][j] *= f;
        for (int m = k + 1; m < BAND_N; m++) {
            double g = u[k][m];
#pragma omp simd
            for (int j = 0; j < BAND_N; j++) x[m][j] -= g * x[k][j];
        }
    }
}

/* c -= a' b; with `upper` only the tiles on and over the diagonal. */
CLONES static void subtract_product(band_matrix c, const band_matrix a, const band_matrix b, bool upper)
{
    for (int i = 0; i < BAND_N; i += TILE)
        for (int j = upper ? i : 0; j < BAND_N; j += TILE) {
            double sum[TILE][TILE] = {{0}};
            for (int k = 0; k < BAND_N; k++)
                for (int m = 0; m < TILE; m++)
#pragma omp simd
                    for (int l = 0; l < TILE; l++) sum[m][l] += a[k][i + m] * b[k][j + l];
            for (int m = 0; m < TILE; m++)
                for (int l = 0; l < TILE; l++) c[i + m][j + l] -= sum[m][l];
        }
}

bool band_factor(band_block *b, int n)
{
    for (int t = 0; t < n; t++) {
        if (!band_cholesky(b[t].self)) return false;
        if (t + 1 < n) {
            forward_columns(b[t].next, b[t].self);
            subtract_product(b[t + 1].self, b[t].next, b[t].next, true);
        }
        if (t + 2 < n) {
            forward_columns(b[t].after, b[t].self);
            subtract_product(b[t + 1].next, b[t].next, b[t].after, false);
            subtract_product(b[t + 2].self, b[t].after, b[t].after, true);
        }
    }
    return true;
}

static void forward(const band_matrix u, double x[BAND_N])
{
    for (int k = 0; k < BAND_N; k++) {
        x[k] /= u[k][k];
        for (int i = k + 1; i < BAND_N; i++) x[i] -= u[k][i] * x[k];
    }
}

static void backward(const band_matrix u, double x[BAND_N])
{
    for (int i = BAND_N - 1; i >= 0; i--) {
        for (int k = i + 1; k < BAND_N; k++) x[i] -= u[i][k] * x[k];
        x[i] /= u[i][i];
    }
}

void band_substitute(const band_matrix u, double x[BAND_N])
{
    forward(u, x);
    backward(u, x);
}

/* y -= a' x, and y -= a x */
static void subtract_transposed(double y[BAND_N], const band_matrix a, const double x[BAND_N])
{
    for (int k = 0; k < BAND_N; k++)
        for (int j = 0; j < BAND_N; j++) y[j] -= a[k][j] * x[k];
}

static void subtract_times(double y[BAND_N], const band_matrix a, const double x[BAND_N])
{
    for (int k = 0; k < BAND_N; k++)
        for (int j = 0; j < BAND_N; j++) y[k] -= a[k][j] * x[j];
}

void band_solve(const band_block *b, double (*x)[BAND_N], int n)
{
    for (int t = 0; t < n; t++) {
        if (t >= 1) subtract_transposed(x[t], b[t - 1].next, x[t - 1]);
        if (t >= 2) subtract_transposed(x[t], b[t - 2].after, x[t - 2]);
        forward(b[t].self, x[t]);
    }
    for (int t = n - 1; t >= 0; t--) {
        if (t + 1 < n) subtract_times(x[t], b[t].next, x[t + 1]);
        if (t + 2 < n) subtract_times(x[t], b[t].after, x[t + 2]);
        backward(b[t].self, x[t]);
    }
}

void penta_add(double (*a)[3], double *b, int i, const double row[3], double value, double weight)
{
    for (int p = 0; p < 3; p++) {
        b[i - 1 + p] += weight * row[p] * value;
        for (int q = p; q < 3; q++) a[i - 1 + p][q - p] += weight * row[p] * row[q];
    }
}

void penta_solve(double (*a)[3], double *b, int n)
{
    for (int i = 0; i < n; i++)
        for (int k = 1; k <= 2 && i + k < n; k++) {
            double f = a[i][k] / a[i][0];
            for (int m = k; m <= 2; m++) a[i + k][m - k] -= f * a[i][m];
            b[i + k] -= f * b[i];
        }
    for (int i = n - 1; i >= 0; i--) {
        for (int k = 1; k <= 2 && i + k < n; k++) b[i] -= a[i][k] * b[i + k];
        b[i] /= a[i][0];
    }
}
