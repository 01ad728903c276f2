#include "learn/gemm_library.h"

#include <cblas.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "nn/gemm.h"

void gemm_library_choose(char **argv)
{
    static const char VARIABLE[] = "OPENBLAS_CORETYPE"; /* a value that is set stays, also this function's */
    char program[PATH_MAX];
    if (strcmp(openblas_get_corename(), "Prescott") != 0 || nn_cpu() < NN_AVX2 || getenv(VARIABLE)) return;
    const ssize_t n = readlink("/proc/self/exe", program, sizeof program - 1);
    if (n < 0 || setenv(VARIABLE, nn_cpu() >= NN_AVX512 ? "SkylakeX" : "Haswell", 0) != 0) return;
    program[n] = 0;
    execv(program, argv); /* if that fails, the slow kernels do */
}

void gemm_library_start(void)
{
    openblas_set_num_threads(1);
}

void gemm_library(float *c, const float *a, const float *b, int m, int n, int k, int ldc, int lda, int ldb,
                  int flags)
{
    cblas_sgemm(CblasRowMajor, flags & GEMM_TA ? CblasTrans : CblasNoTrans,
                flags & GEMM_TB ? CblasTrans : CblasNoTrans, m, n, k, 1.0f, a, lda, b, ldb,
                flags & GEMM_ADD ? 1.0f : 0.0f, c, ldc);
}

nn_ops training_ops(const char *precision)
{
    const bool bf16 = strcmp(precision, "auto") ? !strcmp(precision, "bf16") : nn_cpu() >= NN_AVX512_BF16;
    nn_ops ops = *nn_ops_best();
    gemm_library_start();
    ops.gemm = bf16 ? nn_gemm_bf16 : gemm_library;
    return ops;
}

/* LAPACK's, which OpenBLAS brings along: Cholesky, columns first. */
void dposv_(const char *uplo, const int *n, const int *nrhs, double *a, const int *lda, double *b,
            const int *ldb, int *info);

bool solve_library(double *a, double *b, int n, int columns)
{
    int info;
    dposv_("L", &n, &columns, a, &n, b, &n, &info);
    return info == 0;
}

const char *gemm_library_name(void)
{
    return openblas_get_config();
}
