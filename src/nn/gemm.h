/* Matrix products of one thread. Every one has the signature of nn_ops.gemm, so a network can be given any:
 *   nn_gemm_plain   the definition, in loops; the oracle of the others
 *   nn_gemm_float   packs both factors and runs the kernel of this processor (nn/packed.h)
 *   nn_gemm_bf16    the same with both factors rounded to bfloat16, products and sums in float: mixed
 *                   precision training, where parameters and activations stay float in memory
 *   gemm_library    OpenBLAS (learn/gemm_library.h), which only the program links
 * A product is shared out by calling one of them on blocks of the result, whose borders never depend on the
 * number of threads; so results are the same for any number. */
#ifndef HRC_NN_GEMM_H
#define HRC_NN_GEMM_H

#include "nn/ops.h"

NN_FN void nn_gemm_plain(real *c, const real *a, const real *b, int m, int n, int k, int ldc, int lda,
                         int ldb, int flags);

#ifndef NN_DOUBLE
void nn_gemm_float(float *c, const float *a, const float *b, int m, int n, int k, int ldc, int lda, int ldb,
                   int flags);
void nn_gemm_bf16(float *c, const float *a, const float *b, int m, int n, int k, int ldc, int lda, int ldb,
                  int flags);
#endif

#endif
