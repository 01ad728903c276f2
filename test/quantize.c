/* Quantizers in double: levels by the formulas, straight-through gradients against differences of the
 * unrounded map, the codebook, the figures of use. */
#define NN_DOUBLE
#include <math.h>
#include <string.h>

#include "test.h"

#include "nn/ops.c"
#include "track/quantize.c"

static void test_ifsq_levels(void)
{
    const quant q = {.kind = QUANT_IFSQ, .dim = 1, .levels = 17};
    hrc_error err;
    ENSURE_OK(quant_check(&q, &err));
    for (double z = -4; z <= 4; z += 0.01) {
        double e, f = 2 / (1 + exp(-1.6 * z)) - 1;
        int32_t index;
        quant_forward(&q, nn_ops_best(), &e, &index, NULL, &z, NULL, 1);
        ENSURE(index == (int)rint(8 * (f + 1))); /* the paper's index */
        ENSURE_NEAR(e, index / 8.0 - 1, 1e-15);
    }
    double zero = 0, e;
    int32_t index;
    quant_forward(&q, nn_ops_best(), &e, &index, NULL, &zero, NULL, 1);
    ENSURE(e == 0 && index == 8); /* an exact zero state */
    ENSURE(quant_check(&(quant){.kind = QUANT_IFSQ, .dim = 1, .levels = 16}, &err) < 0);
    ENSURE(strstr(err.text, "16") && strstr(err.text, "odd"));
}

static void test_fsq_levels(void)
{
    for (int levels = 2; levels <= 17; levels++) {
        const quant q = {.kind = QUANT_FSQ, .dim = 1, .levels = levels};
        int64_t counts[17] = {0};
        double last = -2;
        for (double z = -9; z <= 9; z += 0.001) {
            double e;
            int32_t index;
            quant_forward(&q, nn_ops_best(), &e, &index, NULL, &z, NULL, 1);
            ENSURE(index >= 0 && index < levels && e >= last);
            ENSURE_NEAR(e, (double)(index - levels / 2) / (levels / 2), 1e-12);
            last = e;
            counts[index]++;
        }
        for (int i = 0; i < levels; i++) ENSURE(counts[i] > 0); /* every level can be reached */
    }
}

/* Whatever an encoder gives, an index lies among the values; the token of NaN is NaN, so that a loss is. */
static void test_not_finite(void)
{
    static const double Z[] = {NAN, INFINITY, -INFINITY, 1e300, -1e300, 1e10};
    static const quant KINDS[] = {{.kind = QUANT_IFSQ, .dim = 1, .levels = 17},
                                  {.kind = QUANT_FSQ, .dim = 1, .levels = 16},
                                  {.kind = QUANT_VQ, .dim = 1, .codes = 4}};
    double state[12] = {-1, 0, 1, 2}, e, scratch[4];
    for (int k = 0; k < COUNT(KINDS); k++)
        for (int i = 0; i < COUNT(Z); i++) {
            int32_t index = -1;
            int64_t counts[17] = {0};
            quant_forward(&KINDS[k], nn_ops_best(), &e, &index, scratch, &Z[i], state, 1);
            ENSURE(index >= 0 && index < quant_values(&KINDS[k]));
            quant_count(&KINDS[k], counts, &index, 1);
            ENSURE(counts[index] == 1);
            if (isnan(Z[i]) && KINDS[k].kind != QUANT_VQ) ENSURE(isnan(e));
        }
}

/* For z ~ N(0,1) and 17 levels: interior levels of iFSQ differ by 1.09, of tanh by 1.71 (computed from the
 * normal distribution function). */
static double interior_ratio(quant_kind kind)
{
    const quant q = {.kind = kind, .dim = 1, .levels = 17};
    double mass[17] = {0}, least = 1, most = 0;
    for (double z = -8; z < 8; z += 1e-4) {
        double e;
        int32_t index;
        quant_forward(&q, nn_ops_best(), &e, &index, NULL, &z, NULL, 1);
        mass[index] += exp(-z * z / 2) / sqrt(2 * 3.14159265358979) * 1e-4;
    }
    for (int i = 1; i < 16; i++) least = fmin(least, mass[i]), most = fmax(most, mass[i]);
    return most / least;
}

static void test_uniformity(void)
{
    ENSURE_NEAR(interior_ratio(QUANT_IFSQ), 1.09, 0.01);
    ENSURE_NEAR(interior_ratio(QUANT_FSQ), 1.71, 0.02);
}

static void test_gradients(void)
{
    enum { N = 3, D = 5 };
    rng r = rng_make(3, 0);
    for (int kind = QUANT_IFSQ; kind <= QUANT_NONE; kind++)
        for (int levels = 16; levels <= 17; levels++) {
            if (kind == QUANT_IFSQ && levels % 2 == 0) continue;
            quant q = {.kind = (quant_kind)kind, .dim = D, .levels = levels, .codes = 4, .smooth = true};
            double z[N * D], e[N * D], de[N * D], dz[N * D], state[4 * (2 * D + 1)], scratch[N * 4];
            int32_t index[N * D];
            for (int i = 0; i < N * D; i++) z[i] = (double)rng_normal(&r), de[i] = (double)rng_normal(&r);
            for (int i = 0; i < COUNT(state); i++) state[i] = (double)rng_normal(&r);
            quant_forward(&q, nn_ops_best(), e, index, scratch, z, state, N);
            quant_backward(&q, dz, de, z, e, N, N);
            for (int i = 0; i < N * D; i++) {
                double keep = z[i], side[2];
                for (int s = 0; s < 2; s++) {
                    z[i] = keep + (s ? 1e-6 : -1e-6);
                    quant_forward(&q, nn_ops_best(), e, index, scratch, z, state, N);
                    side[s] = e[i] * de[i];
                }
                z[i] = keep;
                ENSURE_NEAR(dz[i], (side[1] - side[0]) / 2e-6, 1e-8);
            }
            /* rounding changes the value but not the gradient */
            double rounded[N * D];
            q.smooth = false;
            quant_forward(&q, nn_ops_best(), e, index, scratch, z, state, N);
            quant_backward(&q, rounded, de, z, e, N, N);
            ENSURE(memcmp(rounded, dz, sizeof dz) == 0);
        }
    const double at = 0, one = 1;
    double slope, unused = 0;
    quant_backward(&(quant){.kind = QUANT_IFSQ, .dim = 1, .levels = 17}, &slope, &one, &at, &unused, 1, 1);
    ENSURE_NEAR(slope, 0.8, 1e-12);
}

static void test_codebook(void)
{
    enum { N = 64, D = 2, C = 4 };
    const double centre[C][D] = {{1, 1}, {-1, 1}, {1, -1}, {-1, -1}};
    const quant q = {.kind = QUANT_VQ, .dim = D, .codes = C, .commitment = 0.5};
    double z[N * D], e[N * D], de[N * D] = {0}, dz[N * D], state[C * (2 * D + 1)], scratch[N * C];
    int32_t index[N];
    rng r = rng_make(5, 0);
    ENSURE(quant_state(&q) == COUNT(state) && quant_indices(&q) == 1);
    for (int i = 0; i < N * D; i++) z[i] = centre[i / D % C][i % D] + 0.05 * (double)rng_normal(&r);
    /* All codes begin at one place: all but the nearest die and are put where the data is. */
    quant_state_init(&q, state, z, 1, &r);
    int resets = 0;
    for (int update = 0; update < 2000; update++) {
        quant_forward(&q, nn_ops_best(), e, index, scratch, z, state, N);
        resets += quant_state_update(&q, state, z, index, N, &r);
    }
    ENSURE(resets > 0);
    quant_forward(&q, nn_ops_best(), e, index, scratch, z, state, N);
    for (int i = 0; i < N * D; i++) ENSURE_NEAR(e[i], centre[i / D % C][i % D], 0.05);
    for (int i = 0; i < N; i++) /* the nearest by definition */
        for (int c = 0; c < C; c++) {
            double to = hypot(z[2 * i] - state[2 * c], z[2 * i + 1] - state[2 * c + 1]);
            ENSURE(hypot(z[2 * i] - e[2 * i], z[2 * i + 1] - e[2 * i + 1]) <= to + 1e-12);
        }
    double loss = quant_loss(&q, z, e, N, N), sum = 0;
    for (int i = 0; i < N * D; i++) sum += (z[i] - e[i]) * (z[i] - e[i]);
    ENSURE_NEAR(loss, 0.5 * sum / (N * D), 1e-15);
    quant_backward(&q, dz, de, z, e, N, N);
    ENSURE_NEAR(dz[7], (z[7] - e[7]) / (N * D), 1e-15);
}

static void test_usage(void)
{
    const quant q = {.kind = QUANT_FSQ, .dim = 2, .levels = 4};
    const int32_t index[8] = {0, 0, 1, 0, 2, 0, 3, 0}; /* first number: all four; second: always the lowest */
    int64_t counts[8] = {0};
    quant_count(&q, counts, index, 4);
    quant_usage u = quant_usage_of(&q, counts);
    ENSURE_NEAR(u.used, (1 + 0.25) / 2, 1e-12);
    ENSURE_NEAR(u.entropy, 0.5, 1e-12);
    ENSURE_NEAR(u.perplexity, (4 + 1) / 2.0, 1e-12);
    ENSURE_NEAR(u.saturated, (0.5 + 1) / 2, 1e-12);
    double z[2] = {0, 0};
    ENSURE(quant_margin(&(quant){.kind = QUANT_IFSQ, .dim = 2, .levels = 17}, z, NULL) == 0.5);
}

TEST_TABLE({"quantize.not_finite", test_not_finite}, {"quantize.ifsq", test_ifsq_levels},
           {"quantize.fsq", test_fsq_levels}, {"quantize.uniform", test_uniformity},
           {"quantize.gradients", test_gradients}, {"quantize.codebook", test_codebook},
           {"quantize.usage", test_usage})
