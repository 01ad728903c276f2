#include <string.h>

#include "nn/gemm.h"

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
