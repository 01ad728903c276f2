/* What the matrix product of a table of kernels reaches on this machine on one large square: the measure that
 * training passes are held against, in turns with them, so that other load meets both. */
#ifndef HRC_CLI_GEMM_PEAK_H
#define HRC_CLI_GEMM_PEAK_H

#include "base/arena.h"
#include "base/pool.h"
#include "base/rng.h"
#include "nn/ops.h"

typedef struct {
    const nn_ops *ops; /* may be changed between measurements */
    pool *threads;
    float *a, *b, *c;
} gemm_peak;

hrc_status gemm_peak_create(gemm_peak *g, const nn_ops *ops, pool *threads, rng *r, arena *memory,
                            hrc_error *err);
double gemm_peak_flops(gemm_peak *g); /* floating-point operations a second, by one product */

#endif
