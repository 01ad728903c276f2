/* Products with a matrix that stays the same, for inference: y (rows,n) = x (rows,k) w^T with w (n,k) packed
 * once into panels of 16 columns, float or bfloat16. A panel holds, for one k after the other, its 16
 * columns side by side: one cache line a step, read from begin to end. bfloat16 panels hold pairs of k, as
 * the processor's dot product wants them. With bfloat16 the rows of x are rounded too, on every processor,
 * so that all of them compute the same but for the order of sums. */
#ifndef HRC_NN_PACKED_H
#define HRC_NN_PACKED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"

#define NN_PANEL 16

typedef enum { NN_FLOAT, NN_BF16 } nn_precision;

typedef struct {
    int n, k;
    nn_precision precision;
    const void *panels;
} nn_packed;

size_t nn_packed_bytes(int n, int k, nn_precision precision);

/* memory: nn_packed_bytes, aligned to 64. Column j of the product takes w[j*by_column + l*by_step]: a weight
 * (n,k) has by_column = k and by_step = 1; one of the two is always 1. */
nn_packed nn_pack(void *memory, const float *w, int n, int k, long by_column, long by_step,
                  nn_precision precision);

/* Columns of panels first .. last-1 of y (rows, ldy), set or (add) accumulated. x (rows, ldx). */
void nn_packed_mul(float *y, int ldy, const float *x, int ldx, const nn_packed *w, int rows, int first,
                   int last, int add);

/* c (m,n) = a (m,k) b, or += with GEMM_ADD, for many rows: what nn_gemm_float or nn_gemm_bf16 would do with
 * what b was packed from. */
void nn_gemm_packed(float *c, const float *a, const nn_packed *b, int m, int ldc, int lda, int flags);

static inline int nn_panels(int n)
{
    return (n + NN_PANEL - 1) / NN_PANEL;
}

/* Room for a row or panel of k steps that a bf16 kernel reads: whole tiles of 32. */
static inline int nn_bf16_steps(int k)
{
    return (k + 31) / 32 * 32;
}

/* What this processor can do, from least to most; tests run every level up to it. NN_AMX: tiles of 16 x 16
 * sums, fed with bfloat16, besides all of AVX-512. */
typedef enum { NN_PLAIN, NN_AVX2, NN_AVX512, NN_AVX512_BF16, NN_AMX } nn_level;

nn_level nn_cpu(void);

/* The kernels of one level, for tests and for packed.c. */
typedef struct {
    const char *name;
    int rows[2]; /* at most, of a call */
    /* c (rows, ldc), n columns, (+)= a (rows, lda) times panels, of which each has panel_size bytes;
     * k steps. bf16: a holds what `round` made, and both are 0 from k to nn_bf16_steps(k). */
    void (*mul[2])(float *c, int ldc, const void *a, int lda, const void *panels, size_t panel_size, int k,
                   int rows, int n, int add);
    /* n floats to what mul[NN_BF16] reads, in room for nn_bf16_steps(n) floats. */
    void (*round)(void *out, const float *a, int n);
    /* Column i of a (n, lda) as what `round` makes of a row, for `columns` of them; out (columns, room).
     * NULL where there is nothing better than turning, then rounding. */
    void (*turn)(void *out, int room, const float *a, int lda, int columns, int n);
    /* One panel of n <= 16 columns, w[j*by_column + l*by_step], where one of the two steps is 1. */
    void (*pack[2])(void *panel, const float *w, int n, int k, long by_column, long by_step);
} nn_kernels;

const nn_kernels *nn_kernels_at(nn_level level);

/* To the nearest bfloat16, ties to even; NaN stays NaN. */
static inline uint16_t nn_to_bf16(float x)
{
    union {
        float f;
        uint32_t u;
    } v = {.f = x};
    uint32_t nearest = (v.u + 0x7fffu + (v.u >> 16 & 1u)) >> 16, nan = v.u >> 16 | 0x40u;
    return (uint16_t)((v.u & 0x7fffffffu) > 0x7f800000u ? nan : nearest);
}

static inline float nn_from_bf16(uint16_t x)
{
    union {
        uint32_t u;
        float f;
    } v = {.u = (uint32_t)x << 16};
    return v.f;
}

/* ---- Weights kept packed ---- */

/* Weights that many products of one update share, packed once for all of them (bfloat16). A table of
 * functions names such a store (nn_ops.kept) while the weights stay what they are; a product that finds its
 * second factor in it skips the packing. */

#define NN_KEPT_MOST 128 /* weights */

typedef struct {
    const float *b; /* as the product names it: (k,n), or (n,k) with GEMM_TB */
    int n, k, ldb;
    bool turned; /* GEMM_TB */
    nn_packed packed;
    void *memory; /* of its panels */
} nn_kept_weight;

typedef struct nn_kept {
    int count;
    nn_kept_weight weight[NN_KEPT_MOST];
} nn_kept;

/* Room for the products with b of that shape; flags: GEMM_TB or 0. false when out of memory or places. */
bool nn_kept_add(nn_kept *s, const float *b, int n, int k, int ldb, int flags, arena *memory);

/* Packs weight i as it is now; different ones may be packed at once. */
void nn_kept_pack(nn_kept *s, int i);

/* NULL where it is not kept, and for a first factor that is turned (GEMM_TA). */
const nn_packed *nn_kept_find(const nn_kept *s, const float *b, int n, int k, int ldb, int flags);

#endif
