/* Products and kernels of src/nn in float: every fast path of this processor against plain loops. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "learn/gemm_library.h"
#include "nn/gemm.h"
#include "nn/packed.h"
#include "test.h"

static float *filled(rng *r, size_t n)
{
    float *x = aligned_alloc(64, (n * sizeof *x + 127) / 64 * 64);
    ENSURE(x);
    for (size_t i = 0; i < n; i++) x[i] = rng_normal(r);
    return x;
}

static double worst(const float *a, const float *b, size_t n)
{
    double top = 0;
    for (size_t i = 0; i < n; i++) {
        double d = fabs((double)a[i] - b[i]);
        if (!(d <= top)) top = d; /* NaN counts */
    }
    return top;
}

typedef void (*gemm_function)(float *, const float *, const float *, int, int, int, int, int, int, int);

/* c with a border that must stay as it is. */
static void check_gemm(gemm_function gemm, int m, int n, int k, int flags, bool rounded)
{
    rng r = rng_make(7, (uint64_t)(m * 1000003 + n * 1009 + k * 8 + flags));
    int lda = (flags & GEMM_TA ? m : k) + 3, ldb = (flags & GEMM_TB ? k : n) + 1, ldc = n + 2;
    size_t na = (size_t)lda * (flags & GEMM_TA ? k : m), nb = (size_t)ldb * (flags & GEMM_TB ? n : k);
    float *a = filled(&r, na), *b = filled(&r, nb), *c = filled(&r, (size_t)ldc * m);
    float *want = filled(&r, (size_t)ldc * m);
    memcpy(want, c, (size_t)ldc * m * sizeof *c);
    gemm(c, a, b, m, n, k, ldc, lda, ldb, flags);
    if (rounded) {
        for (size_t i = 0; i < na; i++) a[i] = nn_from_bf16(nn_to_bf16(a[i]));
        for (size_t i = 0; i < nb; i++) b[i] = nn_from_bf16(nn_to_bf16(b[i]));
    }
    nn_gemm_plain(want, a, b, m, n, k, ldc, lda, ldb, flags);
    double d = worst(c, want, (size_t)ldc * m);
    if (!(d < 2e-5 * (1 + sqrt(k))))
        test_fail(__FILE__, __LINE__, "m %d n %d k %d flags %d: off by %g", m, n, k, flags, d);
    free(a), free(b), free(c), free(want);
}

static void check_all_shapes(gemm_function gemm, bool rounded)
{
    static const int SHAPES[][3] = {{1, 1, 1},    {3, 5, 2},      {8, 16, 7},    {9, 17, 33},   {5, 48, 64},
                                    {4, 49, 257}, {129, 31, 256}, {130, 50, 40}, {17, 100, 513}};
    for (int s = 0; s < (int)(sizeof SHAPES / sizeof *SHAPES); s++)
        for (int flags = 0; flags < 8; flags++)
            check_gemm(gemm, SHAPES[s][0], SHAPES[s][1], SHAPES[s][2], flags, rounded);
}

static void test_gemm_float(void)
{
    check_all_shapes(nn_gemm_float, false);
}

static void test_gemm_bf16(void)
{
    check_all_shapes(nn_gemm_bf16, true);
}

static void test_gemm_library(void)
{
    gemm_library_start();
    check_all_shapes(gemm_library, false);
}

/* A weight that is kept, and another of the same shape that is not. */
static void gemm_kept(float *c, const float *a, const float *b, int m, int n, int k, int ldc, int lda,
                      int ldb, int flags)
{
    arena memory = {0};
    nn_kept store = {0};
    nn_ops ops = *nn_ops_best();
    ops.gemm = nn_gemm_bf16;
    ops.kept = &store;
    ENSURE(nn_kept_add(&store, b + 1, n, k, ldb, flags & GEMM_TB, &memory));
    ENSURE(nn_kept_add(&store, b, n, k, ldb, flags & GEMM_TB, &memory));
    nn_kept_pack(&store, 1);
    ENSURE(!nn_kept_find(&store, b, n + 1, k, ldb, flags));
    ENSURE(!!nn_kept_find(&store, b, n, k, ldb, flags) == !(flags & GEMM_TA));
    nn_product(&ops, c, a, b, m, n, k, ldc, lda, ldb, flags);
    arena_free(&memory);
}

static void test_kept(void)
{
    check_all_shapes(gemm_kept, true);
}

/* Every level this processor has, each number of rows, odd and whole panels. */
static void check_kernel(nn_level level, nn_precision precision, int rows, int n, int k)
{
    const nn_kernels *kernels = nn_kernels_at(level);
    rng r = rng_make(11, (uint64_t)(rows * 1000 + n * 100 + k));
    float *a = filled(&r, (size_t)rows * k), *w = filled(&r, (size_t)n * k);
    float *c = filled(&r, (size_t)rows * n), *want = filled(&r, (size_t)rows * n);
    int room = nn_bf16_steps(k);
    float *prepared = filled(&r, (size_t)rows * room);
    void *memory = aligned_alloc(64, nn_packed_bytes(n, k, precision));
    nn_packed p = nn_pack(memory, w, n, k, k, 1, precision);
    size_t panel = nn_packed_bytes(1, k, precision);
    for (int i = 0; i < rows; i++)
        if (precision == NN_BF16)
            kernels->round(prepared + (size_t)i * room, a + (size_t)i * k, k);
        else
            memcpy(prepared + (size_t)i * room, a + (size_t)i * k, (size_t)k * sizeof *a);
    if (precision == NN_BF16) {
        for (int i = 0; i < rows * k; i++) a[i] = nn_from_bf16(nn_to_bf16(a[i]));
        for (int i = 0; i < n * k; i++) w[i] = nn_from_bf16(nn_to_bf16(w[i]));
    }
    for (int add = 0; add < 2; add++) {
        kernels->mul[precision](c, n, prepared, room, p.panels, panel, k, rows, n, add);
        nn_gemm_plain(want, a, w, rows, n, k, n, k, k, GEMM_TB | (add ? GEMM_ADD : 0));
        double d = worst(c, want, (size_t)rows * n);
        if (!(d < 4e-5 * (1 + sqrt(k))))
            test_fail(__FILE__, __LINE__, "%s precision %d rows %d n %d k %d: off by %g", kernels->name,
                      precision, rows, n, k, d);
    }
    free(a), free(w), free(c), free(want), free(prepared), free(memory);
}

static void test_kernels(void)
{
    for (int level = NN_PLAIN; level <= (int)nn_cpu(); level++)
        for (int precision = NN_FLOAT; precision <= NN_BF16; precision++)
            for (int rows = 1; rows <= nn_kernels_at((nn_level)level)->rows[precision] && rows <= 50;
                 rows++) {
                static const int N[] = {1, 15, 16, 17, 32, 33, 48, 61, 96}, K[] = {1, 2, 7, 64, 129};
                for (int i = 0; i < (int)(sizeof N / sizeof *N); i++)
                    for (int j = 0; j < (int)(sizeof K / sizeof *K); j++)
                        check_kernel((nn_level)level, (nn_precision)precision, rows, N[i], K[j]);
            }
}

/* Panels in two shares give the same bits as in one; more rows and more k than a kernel takes at once. */
static void test_packed_mul(void)
{
    enum { ROWS = 19, N = 90, K = 2050 };
    rng r = rng_make(3, 0);
    float *x = filled(&r, ROWS * K), *w = filled(&r, N * K), *want = filled(&r, ROWS * N);
    float *whole = filled(&r, ROWS * N), *shared = filled(&r, ROWS * N);
    for (int precision = NN_FLOAT; precision <= NN_BF16; precision++) {
        void *memory = aligned_alloc(64, nn_packed_bytes(N, K, (nn_precision)precision));
        nn_packed p = nn_pack(memory, w, N, K, K, 1, (nn_precision)precision);
        nn_packed_mul(whole, N, x, K, &p, ROWS, 0, nn_panels(N), 0);
        nn_packed_mul(shared, N, x, K, &p, ROWS, 0, 2, 0);
        nn_packed_mul(shared, N, x, K, &p, ROWS, 2, nn_panels(N), 0);
        ENSURE(memcmp(whole, shared, sizeof(float) * ROWS * N) == 0);
        if (precision == NN_BF16) {
            for (int i = 0; i < ROWS * K; i++) x[i] = nn_from_bf16(nn_to_bf16(x[i]));
            for (int i = 0; i < N * K; i++) w[i] = nn_from_bf16(nn_to_bf16(w[i]));
        }
        nn_gemm_plain(want, x, w, ROWS, N, K, N, K, K, GEMM_TB);
        ENSURE_NEAR(worst(whole, want, ROWS * N), 0, 1e-3);
        free(memory);
    }
    free(x), free(w), free(want), free(whole), free(shared);
}

static void test_bf16(void)
{
    ENSURE(nn_to_bf16(1.0f) == 0x3f80);
    ENSURE(nn_to_bf16(1.00390625f) == 0x3f80); /* half way: to even */
    ENSURE(nn_to_bf16(1.01171875f) == 0x3f82); /* half way: to even */
    ENSURE(nn_to_bf16(1.0039064f) == 0x3f81);
    ENSURE(nn_to_bf16(-INFINITY) == 0xff80);
    ENSURE(isnan(nn_from_bf16(nn_to_bf16(NAN))));
    union {
        uint32_t u;
        float f;
    } quiet = {.u = 0x7f800001u}; /* the payload is all in the bits that go */
    ENSURE(isnan(nn_from_bf16(nn_to_bf16(quiet.f))));
}

/* The exponential inside is our own: activations against libm in double, over the whole range. */
static void test_activations(void)
{
    for (int level = NN_PLAIN; level <= (int)nn_cpu(); level++) {
        const nn_ops *o = nn_ops_at((nn_level)level);
        for (double x = -120; x <= 120; x += 0.0377) {
            float in = (float)x, gelu, silu, elu;
            o->gelu(&gelu, &in, 1), o->silu(&silu, &in, 1), o->elu(&elu, &in, 1);
            double v = in, u = sqrt(2 / M_PI) * (v + 0.044715 * v * v * v), tolerance = 3e-7 * (1 + fabs(v));
            ENSURE_NEAR(gelu, 0.5 * v * (1 + tanh(u)), tolerance);
            ENSURE_NEAR(silu, v / (1 + exp(-v)), tolerance);
            ENSURE_NEAR(elu, v < 0 ? expm1(v) : v, tolerance);
        }
        float bad[3] = {NAN, INFINITY, -INFINITY}, out[3];
        o->gelu(out, bad, 3);
        ENSURE(isnan(out[0]) && out[1] == INFINITY);
        o->silu(out, bad, 3);
        ENSURE(isnan(out[0]) && out[1] == INFINITY);
    }
}

TEST_TABLE({"nn.gemm_float", test_gemm_float}, {"nn.gemm_bf16", test_gemm_bf16},
           {"nn.gemm_library", test_gemm_library}, {"nn.kept", test_kept}, {"nn.kernels", test_kernels},
           {"nn.packed_mul", test_packed_mul}, {"nn.bf16", test_bf16}, {"nn.activations", test_activations})
