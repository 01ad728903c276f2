#include "nn/kept.h"

#include "nn/gemm.h"

bool nn_kept_add(nn_kept *s, const float *b, int n, int k, int ldb, int flags, arena *memory)
{
    if (s->count == NN_KEPT_MOST) return false;
    void *panels = ARENA_NEW(memory, char, nn_packed_bytes(n, k, NN_BF16));
    if (!panels) return false;
    s->weight[s->count++] = (nn_kept_weight){b, n, k, ldb, flags & GEMM_TB, {0}, panels};
    return true;
}

void nn_kept_pack(nn_kept *s, int i)
{
    nn_kept_weight *w = &s->weight[i];
    w->packed = nn_pack(w->memory, w->b, w->n, w->k, w->turned ? w->ldb : 1, w->turned ? 1 : w->ldb, NN_BF16);
}

const nn_packed *nn_kept_find(const nn_kept *s, const float *b, int n, int k, int ldb, int flags)
{
    for (int i = 0; i < s->count && !(flags & GEMM_TA); i++) {
        const nn_kept_weight *w = &s->weight[i];
        if (w->b == b && w->n == n && w->k == k && w->ldb == ldb && w->turned == !!(flags & GEMM_TB))
            return &w->packed;
    }
    return NULL;
}
