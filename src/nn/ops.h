/* The kernels that every network is made of, as one table of functions. A network is given a table when it
 * is created: the best one for this processor, the plain one, or a copy whose matrix product is a library's
 * (training). So the same layer code runs everywhere, and this folder needs nothing but libm.
 *
 * Each kernel runs on the calling thread: outputs, inputs, sizes. Backward passes accumulate (+=) unless
 * they say otherwise. Letters: B samples, T tokens of a sample, C channels, H heads, n any number of values.
 * All arrays are dense, row-major; "mod" arrays have their own stride between samples, because they are
 * slices of the matrix that holds the modulation of all blocks. */
#ifndef HRC_NN_OPS_H
#define HRC_NN_OPS_H

#include "nn/packed.h"
#include "nn/real.h"

enum { GEMM_TA = 1, GEMM_TB = 2, GEMM_ADD = 4 };

#define NN_EPS ((real)1e-6) /* inside the root of LayerNorm */

/* Sizes that kernels keep on the stack; what builds a network checks against them. */
#define NN_MAX_WIDTH 4096 /* channels of a LayerNorm */
#define NN_MAX_TOKENS 64

typedef struct {
    const char *name; /* "plain", "avx2", ... */

    /* c (m,n) = a (m,k) b (k,n), or += with GEMM_ADD. GEMM_TA: a is stored as (k,m); GEMM_TB: b as (n,k).
     * ld*: distance between stored rows. */
    void (*gemm)(real *c, const real *a, const real *b, int m, int n, int k, int ldc, int lda, int ldb,
                 int flags);

    void (*add_rows)(real *y, const real *b, int rows, int n);   /* y (rows,n) += b (n) */
    void (*sum_rows)(real *db, const real *dy, int rows, int n); /* db (n) += sum of dy (rows,n) */

    /* Activations; dx = dy * f'(x), not accumulated, and dx may be dy. */
    void (*gelu)(real *y, const real *x, int n); /* the tanh form */
    void (*gelu_back)(real *dx, const real *dy, const real *x, int n);
    void (*silu)(real *y, const real *x, int n);
    void (*silu_back)(real *dx, const real *dy, const real *x, int n);
    void (*elu)(real *y, const real *x, int n);
    void (*elu_back)(real *dx, const real *dy, const real *x, int n);

    /* LayerNorm with affine: y (n,C) = xhat * gain + bias; stat (n,2) keeps mean and 1/sigma. */
    void (*norm)(real *y, real *stat, const real *x, const real *gain, const real *bias, int n, int C);
    void (*norm_back)(real *dx, real *dgain, real *dbias, const real *dy, const real *x, const real *stat,
                      const real *gain, int n, int C);

    /* AdaLN: y (B,T,C) = xhat * (1 + scale) + shift; shift, scale: one row of C per sample. */
    void (*adaln)(real *y, real *stat, const real *x, const real *shift, const real *scale, int mod_stride,
                  int B, int T, int C);
    void (*adaln_back)(real *dx, real *dshift, real *dscale, const real *dy, const real *x, const real *stat,
                       const real *scale, int mod_stride, int B, int T, int C);

    /* Residual with gate: y (B,T,C) = x + gate * h. Backward: dh = gate * dy (set), dgate += sum_t dy * h;
     * dx is dy itself. */
    void (*gate)(real *y, const real *x, const real *h, const real *gate, int mod_stride, int B, int T,
                 int C);
    void (*gate_back)(real *dh, real *dgate, const real *dy, const real *h, const real *gate, int mod_stride,
                      int B, int T, int C);

    /* Multi-head attention without mask: qkv (B,T,3C) -> y (B,T,C); prob (B,H,T,T) is kept for backward.
     * Backward sets dqkv (B,T,3C). */
    void (*attention)(real *y, real *prob, const real *qkv, int B, int T, int C, int H);
    void (*attention_back)(real *dqkv, const real *dy, const real *qkv, const real *prob, int B, int T, int C,
                           int H);

    /* One AdamW step with decoupled decay; the two *_fix are 1 / (1 - beta^t). */
    void (*adamw)(real *param, real *m, real *v, const real *grad, real grad_scale, real rate, real beta1,
                  real beta2, real eps, real decay, real m_fix, real v_fix, int n);

    const nn_kept *kept; /* weights that need no packing now, or NULL */
} nn_ops;

/* The table for a level (nn/packed.h), with our own matrix product; and the best for this processor. */
NN_FN const nn_ops *nn_ops_at(nn_level level);
NN_FN const nn_ops *nn_ops_best(void);

/* gemm with a weight, which may be kept. */
static inline void nn_product(const nn_ops *o, real *c, const real *a, const real *w, int m, int n, int k,
                              int ldc, int lda, int ldb, int flags)
{
#ifndef NN_DOUBLE
    const nn_packed *packed = o->kept ? nn_kept_find(o->kept, w, n, k, ldb, flags) : NULL;
    if (packed) {
        nn_gemm_packed(c, a, packed, m, ldc, lda, flags);
        return;
    }
#endif
    o->gemm(c, a, w, m, n, k, ldc, lda, ldb, flags);
}

/* y (rows,nout) = x (rows,nin) w^T + b; w (nout,nin) */
static inline void nn_linear(const nn_ops *o, real *y, const real *x, const real *w, const real *b, int rows,
                             int nin, int nout)
{
    nn_product(o, y, x, w, rows, nout, nin, nout, nin, nin, GEMM_TB);
    o->add_rows(y, b, rows, nout);
}

/* dx (rows,nin) = dy (rows,nout) w, or += with GEMM_ADD */
static inline void nn_linear_back_x(const nn_ops *o, real *dx, const real *dy, const real *w, int rows,
                                    int nin, int nout, int flags)
{
    nn_product(o, dx, dy, w, rows, nin, nout, nin, nout, nin, flags);
}

/* Rows first .. first+n-1 of dw (nout,nin) += dy^T x, and the same of db (nout): a weight's gradient can be
 * shared out by rows, and each value is still summed by one thread in one order. */
static inline void nn_linear_back_w(const nn_ops *o, real *dw, real *db, const real *dy, const real *x,
                                    int rows, int nin, int nout, int first, int n)
{
    o->gemm(dw + (long)first * nin, dy + first, x, n, nin, rows, nin, nout, nin, GEMM_TA | GEMM_ADD);
    for (int r = 0; r < rows; r++)
        for (int j = first; j < first + n; j++) db[j] += dy[(long)r * nout + j];
}

/* e (n,S) = [cos(t f_i)..., sin(t f_i)...], f_i = 10000^(-i / (S/2)); t (n), S even */
NN_FN void nn_sinusoid(real *e, const real *t, int n, int S);

#endif
