/* bfloat16 on processors that compute with it: dot products of pairs (AVX-512 BF16) and tiles (AMX). The
 * signatures are those of nn_kernels (nn/packed.h). */
#ifndef HRC_NN_KERNELS_BF16_H
#define HRC_NN_KERNELS_BF16_H

#include <stddef.h>

#if defined(__x86_64__)
void nn_mul_bf16_dots(float *c, int ldc, const void *a, int lda, const void *panels, size_t panel_size, int k,
                      int rows, int n, int add);
void nn_mul_bf16_tiles(float *c, int ldc, const void *a, int lda, const void *panels, size_t panel_size,
                       int k, int rows, int n, int add);
void nn_round_bf16(void *out, const float *a, int n);
void nn_turn_bf16(void *out, int room, const float *a, int lda, int columns, int n);
void nn_pack_bf16(void *panel, const float *w, int n, int k, long by_column, long by_step);
#endif

#endif
