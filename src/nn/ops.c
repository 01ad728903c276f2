#include "nn/ops.h"

#include <math.h>
#include <stdint.h>
#include <string.h>
#include <tgmath.h>

#include "nn/gemm.h"

#define OPS(name) plain_##name
#define OPS_TARGET
#define OPS_NAME "plain"
#define OPS_GEMM nn_gemm_plain
#include "nn/ops.inc"

#if defined(__x86_64__) && !defined(NN_DOUBLE)
#define OPS(name) avx2_##name
#define OPS_TARGET __attribute__((target("avx2,fma")))
#define OPS_NAME "avx2"
#define OPS_GEMM nn_gemm_float
#include "nn/ops.inc"

#define OPS(name) avx512_##name
#define OPS_TARGET __attribute__((target("avx512f,avx512bw,avx512vl,avx512dq,avx2,fma")))
#define OPS_NAME "avx512"
#define OPS_GEMM nn_gemm_float
#include "nn/ops.inc"
#endif

NN_FN const nn_ops *nn_ops_at(nn_level level)
{
#if defined(__x86_64__) && !defined(NN_DOUBLE)
    if (level >= NN_AVX512) return &avx512_table;
    if (level >= NN_AVX2) return &avx2_table;
#endif
    (void)level;
    return &plain_table;
}

NN_FN const nn_ops *nn_ops_best(void)
{
    return nn_ops_at(nn_cpu());
}

NN_FN void nn_sinusoid(real *e, const real *t, int n, int S)
{
    int half = S / 2;
    for (int i = 0; i < n; i++)
        for (int j = 0; j < half; j++) {
            real angle = t[i] * exp(-log((real)10000) * (real)j / (real)half);
            e[(long)i * S + j] = cos(angle);
            e[(long)i * S + half + j] = sin(angle);
        }
}

NN_FN void nn_gemm_plain(real *c, const real *a, const real *b, int m, int n, int k, int ldc, int lda,
                         int ldb, int flags)
{
    long a_row = flags & GEMM_TA ? 1 : lda, a_step = flags & GEMM_TA ? lda : 1;
    for (int i = 0; i < m; i++) {
        real *row = c + (long)i * ldc;
        if (!(flags & GEMM_ADD)) memset(row, 0, (size_t)n * sizeof *row);
        if (flags & GEMM_TB) {
            for (int j = 0; j < n; j++)
                for (int l = 0; l < k; l++) row[j] += a[i * a_row + l * a_step] * b[(long)j * ldb + l];
        } else {
            for (int l = 0; l < k; l++)
                for (int j = 0; j < n; j++) row[j] += a[i * a_row + l * a_step] * b[(long)l * ldb + j];
        }
    }
}
