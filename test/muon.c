/* Orthogonalised steps against the polar factor, found in double by another iteration. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "nn/gemm.h"
#include "nn/muon.h"
#include "test.h"

enum { IN = 40, WIDE = 24, TALL = 56, OUT = 5, LAYERS = 3 };

typedef struct {
    nn_mlp net;
    nn_layout layout;
    arena memory;
    muon m;
    pool *threads;
    float params[4000], grads[4000];
} bed;

static bed *bed_make(int threads, uint64_t seed)
{
    static bed beds[2];
    bed *b = &beds[threads > 1];
    hrc_error err;
    memset(b, 0, sizeof *b);
    b->net = (nn_mlp){.layers = LAYERS, .size = {IN, WIDE, TALL, OUT}, .activation = ACT_ELU};
    nn_mlp_add(&b->net, &b->layout, "net", INIT_ZERO);
    ENSURE(b->layout.count < 4000);
    ENSURE_OK(pool_create(&b->threads, threads, &err));
    ENSURE(muon_add(&b->m, &b->net, LAYERS - 1) && muon_create(&b->m, &b->memory));
    rng r = rng_make(seed, 0);
    for (size_t i = 0; i < b->layout.count; i++) b->grads[i] = rng_normal(&r);
    return b;
}

static void bed_free(bed *b)
{
    pool_free(b->threads);
    arena_free(&b->memory);
}

/* x (r,c) -> the orthogonal factor of its polar decomposition: x <- 1.5 x - 0.5 x x' x. */
static void polar(double *x, int r, int c)
{
    static double next[WIDE * TALL], gram[TALL * TALL];
    double norm = 0;
    for (int i = 0; i < r * c; i++) norm += x[i] * x[i];
    for (int i = 0; i < r * c; i++) x[i] /= sqrt(norm);
    for (int round = 0; round < 200; round++) {
        for (int i = 0; i < r; i++)
            for (int j = 0; j < r; j++) {
                gram[i * r + j] = 0;
                for (int k = 0; k < c; k++) gram[i * r + j] += x[i * c + k] * x[j * c + k];
            }
        for (int i = 0; i < r; i++)
            for (int j = 0; j < c; j++) {
                next[i * c + j] = 1.5 * x[i * c + j];
                for (int k = 0; k < r; k++) next[i * c + j] -= 0.5 * gram[i * r + k] * x[k * c + j];
            }
        memcpy(x, next, sizeof *x * (size_t)(r * c));
    }
}

/* The first step goes along the gradient's orthogonal factor, as far as its rate says. */
static void test_polar(void)
{
    bed *b = bed_make(1, 3);
    static float grads[4000];
    static double want[WIDE * TALL];
    memcpy(grads, b->grads, sizeof grads);
    const double rate = 0.01, norm = muon_step(&b->m, nn_ops_best(), b->threads, b->params, b->grads, rate);
    ENSURE(norm > 0);
    ENSURE(b->m.n == 2 && b->m.matrices[0].rows == WIDE && b->m.matrices[1].rows == TALL);
    for (int i = 0; i < b->m.n; i++) {
        const muon_matrix *w = &b->m.matrices[i];
        const int n = w->rows * w->columns;
        double along = 0, own = 0, squares = 0;
        for (int k = 0; k < n; k++) want[k] = (double)grads[w->offset + (size_t)k];
        polar(want, w->rows, w->columns);
        for (int k = 0; k < n; k++) {
            const double step = -(double)b->params[w->offset + (size_t)k];
            along += step * want[k], own += step * step, squares += want[k] * want[k];
            ENSURE(b->grads[w->offset + (size_t)k] == 0);
        }
        ENSURE(along / sqrt(own * squares) > 0.95);
        ENSURE_NEAR(sqrt(own / n) / (rate * 0.2), 1, 0.25); /* as long as Adam's */
    }
    const nn_tensor *bias = &b->layout.tensors[1], *last = &b->layout.tensors[4];
    ENSURE(b->grads[bias->offset] == grads[bias->offset] && b->params[bias->offset] == 0);
    ENSURE(b->grads[last->offset] == grads[last->offset] && b->params[last->offset] == 0);
    bed_free(b);
}

/* The same bits from any number of threads, over several steps. */
static void test_threads(void)
{
    bed *one = bed_make(1, 4), *two = bed_make(2, 4);
    static float grads[4000];
    memcpy(grads, one->grads, sizeof grads);
    for (int i = 0; i < 3; i++) {
        memcpy(one->grads, grads, sizeof grads);
        memcpy(two->grads, grads, sizeof grads);
        muon_step(&one->m, nn_ops_best(), one->threads, one->params, one->grads, 0.01);
        muon_step(&two->m, nn_ops_best(), two->threads, two->params, two->grads, 0.01);
    }
    ENSURE(!memcmp(one->params, two->params, sizeof one->params));
    bed_free(one), bed_free(two);
}

/* A gradient that is not finite changes nothing; none at all leaves the weights where they are. */
static void test_refuses(void)
{
    bed *b = bed_make(1, 5);
    b->grads[3] = NAN;
    ENSURE(isnan(muon_step(&b->m, nn_ops_best(), b->threads, b->params, b->grads, 0.01)));
    for (size_t i = 0; i < b->layout.count; i++) ENSURE(b->params[i] == 0);
    for (size_t i = 0; i < b->m.count; i++) ENSURE(b->m.momentum[i] == 0);
    memset(b->grads, 0, sizeof b->grads);
    ENSURE(muon_step(&b->m, nn_ops_best(), b->threads, b->params, b->grads, 0.01) == 0);
    for (size_t i = 0; i < b->layout.count; i++) ENSURE(b->params[i] == 0);
    bed_free(b);
}

TEST_TABLE({"muon.polar", test_polar}, {"muon.threads", test_threads}, {"muon.refuses", test_refuses})
