/* The large matrix products of training through OpenBLAS, one thread a call, with the signature of
 * nn_ops.gemm. Only the program links it: libheracles has its own products. Why OpenBLAS and not oneDNN, in
 * figures: docs/nn.md. */
#ifndef HRC_LEARN_GEMM_LIBRARY_H
#define HRC_LEARN_GEMM_LIBRARY_H

#include <stdbool.h>

#include "nn/ops.h"

/* First in main: OpenBLAS chooses its kernels while it is loaded, by the processor's model, and takes one
 * that is newer than itself for one of 2004, which is 4 times slower on a Xeon of 2023. Then the program
 * starts itself again with OPENBLAS_CORETYPE set to what the processor can do. */
void gemm_library_choose(char **argv);

/* Once, before the first product: the library must not start threads of its own under ours. */
void gemm_library_start(void);

void gemm_library(float *c, const float *a, const float *b, int m, int n, int k, int ldc, int lda, int ldb,
                  int flags);

/* The kernels of this processor with the product that a training wants: precision "float", "bf16", or "auto"
 * for bf16 where the processor has it, since emulated bfloat16 is slower than float. Starts the library. */
nn_ops training_ops(const char *precision);

/* Solves a x = b for a symmetric, positive a (n,n); b (columns, n) holds one right-hand side after the other
 * and becomes x; a is destroyed. False when a is not positive. */
bool solve_library(double *a, double *b, int n, int columns);

const char *gemm_library_name(void); /* version and the processor it chose */

#endif
