#include "cli/gemm_peak.h"

#include "cli/cli.h"

#define SQUARE 2048 /* side of the product */

static float *numbers(arena *memory, rng *r)
{
    float *x = ARENA_NEW(memory, float, (size_t)SQUARE *SQUARE);
    for (size_t i = 0; x && r && i < (size_t)SQUARE * SQUARE; i++) x[i] = rng_normal(r);
    return x;
}

hrc_status gemm_peak_create(gemm_peak *g, const nn_ops *ops, pool *threads, rng *r, arena *memory,
                            hrc_error *err)
{
    *g = (gemm_peak){ops, threads, numbers(memory, r), numbers(memory, r), numbers(memory, NULL)};
    return g->a && g->b && g->c ? HRC_OK : fail(err, HRC_ENOMEM, "bench: out of memory for a product");
}

typedef struct {
    const gemm_peak *g;
    int rows; /* of one item */
} job;

static void some_rows(void *ctx, int item, int worker)
{
    (void)worker;
    const job *j = ctx;
    const int first = item * j->rows, n = SQUARE - first < j->rows ? SQUARE - first : j->rows;
    const size_t skip = (size_t)first * SQUARE;
    j->g->ops->gemm(j->g->c + skip, j->g->a + skip, j->g->b, n, SQUARE, SQUARE, SQUARE, SQUARE, SQUARE, 0);
}

double gemm_peak_flops(gemm_peak *g)
{
    const int threads = pool_threads(g->threads);
    job j = {g, (SQUARE + threads - 1) / threads};
    const double start = now_s();
    pool_items(g->threads, (SQUARE + j.rows - 1) / j.rows, some_rows, &j);
    return 2.0 * SQUARE * SQUARE * SQUARE / (now_s() - start);
}
