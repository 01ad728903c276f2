/* Weights that many products of one update share, packed once for all of them (bfloat16). A table of
 * functions names such a store (nn_ops.kept) while the weights stay what they are; a product that finds its
 * second factor in it skips the packing. */
#ifndef HRC_NN_KEPT_H
#define HRC_NN_KEPT_H

#include <stdbool.h>

#include "base/arena.h"
#include "nn/packed.h"

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
