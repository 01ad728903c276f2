#include "learn/world_ridge.h"

#include <math.h>
#include <stdlib.h>

#include "learn/gemm_library.h"

#define RIDGE 1e-3      /* per sample; inputs have variance 1 */
#define LAST_LAYER 0.1f /* of its Xavier size */
#define STILL 1e-4      /* a spread below this counts as none */

/* Mean and standard deviation of column i of x (n, columns). */
static void spread(double *mean, double *sd, const float *x, int n, int columns, int i)
{
    double sum = 0, squares = 0;
    for (int r = 0; r < n; r++) sum += (double)x[(size_t)r * (size_t)columns + (size_t)i];
    *mean = sum / n;
    for (int r = 0; r < n; r++) {
        double d = (double)x[(size_t)r * (size_t)columns + (size_t)i] - *mean;
        squares += d * d;
    }
    *sd = sqrt(squares / n);
}

static void normalise_columns(float *x, float *shift, float *scale, int n, int columns)
{
    for (int i = 0; i < columns; i++) {
        double mean, sd;
        spread(&mean, &sd, x, n, columns, i);
        if (sd < STILL) sd = 1;
        shift[i] = (float)mean, scale[i] = (float)(1 / sd);
        for (int r = 0; r < n; r++) {
            float *at = &x[(size_t)r * (size_t)columns + (size_t)i];
            *at = (*at - shift[i]) * scale[i];
        }
    }
}

static void error_scales(world_model *m, const float *s, const float *next, int n)
{
    float *change = malloc(sizeof *change * (size_t)n * WS);
    if (!change) return; /* then errors count as they are */
    for (size_t i = 0; i < (size_t)n * WS; i++) change[i] = next[i] - s[i];
    for (int i = 0; i < WS; i++) {
        double mean, sd;
        spread(&mean, &sd, change, n, WS, i);
        m->error_scale[i] = (float)(1 / fmax(sd, STILL));
    }
    free(change);
}

/* (X^T X + n ridge) B = X^T Y, in double; skip (WO, WI) = B^T */
static hrc_status regress(float *skip, const float *x, const float *y, int n, hrc_error *err)
{
    double *a = calloc(WI * WI, sizeof *a), *b = calloc(WI * WO, sizeof *b);
    bool fine = a && b;
    for (int r = 0; fine && r < n; r++) {
        const float *xr = x + (size_t)r * WI, *yr = y + (size_t)r * WO;
        for (int i = 0; i < WI; i++) {
            for (int j = 0; j <= i; j++) a[i * WI + j] += (double)xr[i] * (double)xr[j];
            for (int j = 0; j < WO; j++) b[j * WI + i] += (double)xr[i] * (double)yr[j];
        }
    }
    for (int i = 0; fine && i < WI; i++) {
        a[i * WI + i] += RIDGE * n;
        for (int j = 0; j < i; j++) a[j * WI + i] = a[i * WI + j];
    }
    const bool solved = fine && solve_library(a, b, WI, WO);
    for (int i = 0; solved && i < WO * WI; i++) skip[i] = (float)b[i];
    free(a), free(b);
    if (!fine) return fail(err, HRC_ENOMEM, "world model: out of memory for the regression");
    return solved ? HRC_OK
                  : fail(err, HRC_ENONFINITE, "world model: the regression on %d steps has no solution", n);
}

hrc_status world_ridge(world_model *m, float *params, const float *s, const float *target, const float *next,
                       int n, hrc_error *err)
{
    float *x = malloc(sizeof *x * (size_t)n * WI), *y = malloc(sizeof *y * (size_t)n * WO);
    hrc_status status = x && y ? HRC_OK : fail(err, HRC_ENOMEM, "world model: out of memory for %d steps", n);
    if (status == HRC_OK) {
        float scale[WO];
        world_inputs(m, x, s, target, n);
        for (int r = 0; r < n; r++)
            world_outputs_of(y + (size_t)r * WO, s + (size_t)r * WS, next + (size_t)r * WS);
        normalise_columns(x, m->in_shift, m->in_scale, n, WI);
        normalise_columns(y, m->out_shift, scale, n, WO);
        for (int i = 0; i < WO; i++) m->out_scale[i] = 1 / scale[i];
        error_scales(m, s, next, n);
        status = regress(params + m->skip, x, y, n, err);
        const nn_tensor *last = &m->layout.tensors[m->layout.n - 3]; /* then its bias, then skip */
        for (size_t i = 0; i < last->count; i++) params[last->offset + i] *= LAST_LAYER;
    }
    free(x), free(y);
    return status;
}
