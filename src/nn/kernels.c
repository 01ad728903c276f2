/* The inner loops of all products, one set per level of processor. A tile of the result stays in registers
 * while k runs: 4 x 16 with AVX2 (8 sums of 8 lanes), up to 8 x 48 with AVX-512 (24 sums of 16 lanes). Those
 * of processors with bfloat16 arithmetic are in nn/kernels_bf16.c. */
#include <stdatomic.h>
#include <string.h>

#include "nn/kernels_bf16.h"
#include "nn/packed.h"

#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

#define PACK(name) plain_##name
#define PACK_TARGET
#include "nn/pack.inc"

#define INLINE static inline __attribute__((always_inline))

/* The one that holds column j. */
INLINE const void *panel_of(const void *panels, size_t size, int j)
{
    return (const char *)panels + (size_t)(j / NN_PANEL) * size;
}

static void plain_mul_float(float *c, int ldc, const void *a, int lda, const void *panels, size_t panel_size,
                            int k, int rows, int n, int add)
{
    for (int r = 0; r < rows; r++)
        for (int j = 0; j < n; j++) {
            const float *x = (const float *)a + (long)r * lda;
            const float *w = panel_of(panels, panel_size, j);
            float sum = add ? c[(long)r * ldc + j] : 0;
            for (int l = 0; l < k; l++) sum += x[l] * w[l * NN_PANEL + j % NN_PANEL];
            c[(long)r * ldc + j] = sum;
        }
}

static void plain_mul_bf16(float *c, int ldc, const void *a, int lda, const void *panels, size_t panel_size,
                           int k, int rows, int n, int add)
{
    for (int r = 0; r < rows; r++)
        for (int j = 0; j < n; j++) {
            const float *x = (const float *)a + (long)r * lda;
            const uint16_t *w = panel_of(panels, panel_size, j);
            float sum = add ? c[(long)r * ldc + j] : 0;
            for (int l = 0; l < k; l++)
                sum += x[l] * nn_from_bf16(w[(l / 2 * NN_PANEL + j % NN_PANEL) * 2 + l % 2]);
            c[(long)r * ldc + j] = sum;
        }
}

static void plain_round(void *out, const float *a, int n)
{
    float *o = out;
    for (int i = 0; i < n; i++) o[i] = nn_from_bf16(nn_to_bf16(a[i]));
    for (int i = n; i < nn_bf16_steps(n); i++) o[i] = 0;
}

static const nn_kernels PLAIN = {"plain",     {8, 8}, {plain_mul_float, plain_mul_bf16},
                                 plain_round, NULL,   {plain_pack_float, plain_pack_bf16}};

#if defined(__x86_64__)

/* A tile of at most 16 columns through a buffer when they are fewer. */
INLINE void store_partial(float *c, int ldc, const float *tile, int rows, int n, int add)
{
    for (int r = 0; r < rows; r++)
        for (int j = 0; j < n; j++)
            c[(long)r * ldc + j] = (add ? c[(long)r * ldc + j] : 0) + tile[r * NN_PANEL + j];
}

/* ---- AVX2 ---- */

#define AVX2 __attribute__((target("avx2,fma")))

#define PACK(name) avx2_##name
#define PACK_TARGET AVX2
#include "nn/pack.inc"

INLINE AVX2 void avx2_store(float *c, int ldc, __m256 (*sum)[2], int rows, int n, int add)
{
    if (n < NN_PANEL) {
        float tile[4 * NN_PANEL] = {0};
        for (int r = 0; r < rows; r++)
            for (int h = 0; h < 2; h++) _mm256_storeu_ps(tile + r * NN_PANEL + 8 * h, sum[r][h]);
        store_partial(c, ldc, tile, rows, n, add);
        return;
    }
    for (int r = 0; r < rows; r++)
        for (int h = 0; h < 2; h++) {
            float *at = c + (long)r * ldc + 8 * h;
            _mm256_storeu_ps(at, add ? _mm256_add_ps(_mm256_loadu_ps(at), sum[r][h]) : sum[r][h]);
        }
}

INLINE AVX2 void avx2_tile_float(float *c, int ldc, const float *a, int lda, const float *w, int k,
                                 const int rows, int n, int add)
{
    __m256 sum[4][2];
    for (int r = 0; r < rows; r++) sum[r][0] = sum[r][1] = _mm256_setzero_ps();
    for (int l = 0; l < k; l++) {
        __m256 w0 = _mm256_load_ps(w + l * NN_PANEL), w1 = _mm256_load_ps(w + l * NN_PANEL + 8);
        for (int r = 0; r < rows; r++) {
            __m256 x = _mm256_broadcast_ss(a + (long)r * lda + l);
            sum[r][0] = _mm256_fmadd_ps(x, w0, sum[r][0]);
            sum[r][1] = _mm256_fmadd_ps(x, w1, sum[r][1]);
        }
    }
    avx2_store(c, ldc, sum, rows, n, add);
}

/* A bfloat16 is the upper half of a float: of a pair, the second stands in place, the first is shifted up. */
INLINE AVX2 void avx2_tile_bf16(float *c, int ldc, const float *a, int lda, const uint16_t *w, int k,
                                const int rows, int n, int add)
{
    const __m256i upper = _mm256_set1_epi32((int)0xffff0000u);
    __m256 sum[4][2];
    for (int r = 0; r < rows; r++) sum[r][0] = sum[r][1] = _mm256_setzero_ps();
    for (int l = 0; 2 * l < k; l++) {
        __m256i left = _mm256_load_si256((const __m256i *)(w + l * NN_PANEL * 2));
        __m256i right = _mm256_load_si256((const __m256i *)(w + (l * NN_PANEL + 8) * 2));
        __m256 left0 = _mm256_castsi256_ps(_mm256_slli_epi32(left, 16));
        __m256 left1 = _mm256_castsi256_ps(_mm256_and_si256(left, upper));
        __m256 right0 = _mm256_castsi256_ps(_mm256_slli_epi32(right, 16));
        __m256 right1 = _mm256_castsi256_ps(_mm256_and_si256(right, upper));
        for (int r = 0; r < rows; r++) {
            __m256 x0 = _mm256_broadcast_ss(a + (long)r * lda + 2 * l);
            sum[r][0] = _mm256_fmadd_ps(x0, left0, sum[r][0]);
            sum[r][1] = _mm256_fmadd_ps(x0, right0, sum[r][1]);
            __m256 x1 = _mm256_broadcast_ss(a + (long)r * lda + 2 * l + 1);
            sum[r][0] = _mm256_fmadd_ps(x1, left1, sum[r][0]);
            sum[r][1] = _mm256_fmadd_ps(x1, right1, sum[r][1]);
        }
    }
    avx2_store(c, ldc, sum, rows, n, add);
}

/* Rows in groups of 4, then what is left; the number of rows of a tile is a constant in each. */
#define AVX2_MUL(name, tile, type)                                                                           \
    AVX2 static void name(float *c, int ldc, const void *a, int lda, const void *panels, size_t panel_size,  \
                          int k, int rows, int n, int add)                                                   \
    {                                                                                                        \
        for (int j = 0; j < n; j += NN_PANEL) {                                                              \
            const type *w = panel_of(panels, panel_size, j);                                                 \
            int width = n - j < NN_PANEL ? n - j : NN_PANEL;                                                 \
            for (int r = 0; r < rows; r += 4) {                                                              \
                float *out = c + (long)r * ldc + j;                                                          \
                const float *x = (const float *)a + (long)r * lda;                                           \
                switch (rows - r) {                                                                          \
                case 1: tile(out, ldc, x, lda, w, k, 1, width, add); break;                                  \
                case 2: tile(out, ldc, x, lda, w, k, 2, width, add); break;                                  \
                case 3: tile(out, ldc, x, lda, w, k, 3, width, add); break;                                  \
                default: tile(out, ldc, x, lda, w, k, 4, width, add); break;                                 \
                }                                                                                            \
            }                                                                                                \
        }                                                                                                    \
    }

AVX2_MUL(avx2_mul_float, avx2_tile_float, float)
AVX2_MUL(avx2_mul_bf16, avx2_tile_bf16, uint16_t)

AVX2 static void avx2_round(void *out, const float *a, int n)
{
    float *o = out;
    for (int i = 0; i < n; i++) o[i] = nn_from_bf16(nn_to_bf16(a[i]));
    for (int i = n; i < nn_bf16_steps(n); i++) o[i] = 0;
}

static const nn_kernels KERNELS_AVX2 = {"avx2",     {8, 8}, {avx2_mul_float, avx2_mul_bf16},
                                        avx2_round, NULL,   {avx2_pack_float, avx2_pack_bf16}};

/* ---- AVX-512 ---- */

#define AVX512 __attribute__((target("avx512f,avx512bw,avx512vl,avx512dq,avx2,fma")))

/* rows x (16 panels) sums; `left` columns remain from the first on. */
INLINE AVX512 void avx512_store(float *c, int ldc, __m512 (*sum)[3], int rows, int panels, int left, int add)
{
    for (int p = 0; p < panels; p++, left -= NN_PANEL) {
        unsigned columns = left < NN_PANEL ? (1u << left) - 1u : 0xffffu;
        __mmask16 mask = (__mmask16)columns;
        for (int r = 0; r < rows; r++) {
            float *at = c + (long)r * ldc + p * NN_PANEL;
            __m512 old = add ? _mm512_maskz_loadu_ps(mask, at) : _mm512_setzero_ps();
            _mm512_mask_storeu_ps(at, mask, _mm512_add_ps(old, sum[r][p]));
        }
    }
}

/* Weights of a large network come from the last cache: 32 steps ahead hides its latency. A full replan took
 * 12.2 ms without, 11.2 ms with; 16 and 64 steps gained less. */
#define PREFETCH_BYTES 2048

INLINE AVX512 void avx512_tile_float(float *c, int ldc, const void *a, int lda, const char *w,
                                     size_t panel_size, int k, const int rows, const int panels, int left,
                                     int add)
{
    __m512 sum[8][3];
    for (int r = 0; r < rows; r++)
        for (int p = 0; p < panels; p++) sum[r][p] = _mm512_setzero_ps();
    for (int l = 0; l < k; l++) {
        __m512 column[3];
        for (int p = 0; p < panels; p++) {
            const char *at = w + (size_t)p * panel_size + (size_t)l * 64;
            _mm_prefetch(at + PREFETCH_BYTES, _MM_HINT_T0);
            column[p] = _mm512_load_ps((const void *)at);
        }
        for (int r = 0; r < rows; r++) {
            __m512 x = _mm512_set1_ps(((const float *)a)[(long)r * lda + l]);
            for (int p = 0; p < panels; p++) sum[r][p] = _mm512_fmadd_ps(x, column[p], sum[r][p]);
        }
    }
    avx512_store(c, ldc, sum, rows, panels, left, add);
}

#define ROWS_CASE(r, tile, panels)                                                                           \
    case r:                                                                                                  \
        tile(c + j, ldc, a, lda, w, panel_size, k, r, panels, n - j, add);                                   \
        break;
#define ROWS_SWITCH(tile, panels)                                                                            \
    switch (rows) {                                                                                          \
        ROWS_CASE(1, tile, panels)                                                                           \
        ROWS_CASE(2, tile, panels)                                                                           \
        ROWS_CASE(3, tile, panels)                                                                           \
        ROWS_CASE(4, tile, panels)                                                                           \
        ROWS_CASE(5, tile, panels)                                                                           \
        ROWS_CASE(6, tile, panels)                                                                           \
        ROWS_CASE(7, tile, panels)                                                                           \
    default: ROWS_CASE(8, tile, panels)                                                                      \
    }

AVX512 static void avx512_mul_float(float *c, int ldc, const void *a, int lda, const void *panels,
                                    size_t panel_size, int k, int rows, int n, int add)
{
    const char *w = panels;
    int j = 0;
    for (; j + 2 * NN_PANEL < n; j += 3 * NN_PANEL, w += 3 * panel_size) ROWS_SWITCH(avx512_tile_float, 3)
    for (; j < n; j += NN_PANEL, w += panel_size) ROWS_SWITCH(avx512_tile_float, 1)
}

static const nn_kernels KERNELS_AVX512 = {"avx512",   {8, 8}, {avx512_mul_float, avx2_mul_bf16},
                                          avx2_round, NULL,   {avx2_pack_float, avx2_pack_bf16}};
static const nn_kernels KERNELS_AVX512_BF16 = {
    "avx512_bf16", {8, 8},       {avx512_mul_float, nn_mul_bf16_dots},
    nn_round_bf16, nn_turn_bf16, {avx2_pack_float, nn_pack_bf16}};
static const nn_kernels KERNELS_AMX = {"amx",         {8, 256},     {avx512_mul_float, nn_mul_bf16_tiles},
                                       nn_round_bf16, nn_turn_bf16, {avx2_pack_float, nn_pack_bf16}};

#endif

const nn_kernels *nn_kernels_at(nn_level level)
{
#if defined(__x86_64__)
    if (level >= NN_AMX) return &KERNELS_AMX;
    if (level >= NN_AVX512_BF16) return &KERNELS_AVX512_BF16;
    if (level >= NN_AVX512) return &KERNELS_AVX512;
    if (level >= NN_AVX2) return &KERNELS_AVX2;
#endif
    (void)level;
    return &PLAIN;
}

/* ---- Which processor this is ---- */

#if defined(__x86_64__)

/* Linux lends the tiles' 8 KB of registers only to a process that asks: arch_prctl(2), feature 18. */
static int tiles_granted(void)
{
    enum { ARCH_REQ_XCOMP_PERM = 0x1023, XTILE_DATA = 18, LEAF_FEATURES = 7 };
    const unsigned bf16 = 1u << 22, tile = 1u << 24;
    unsigned a, b, c, d;
    if (!__get_cpuid_count(LEAF_FEATURES, 0, &a, &b, &c, &d) || (d & (bf16 | tile)) != (bf16 | tile))
        return 0;
    return syscall(SYS_arch_prctl, ARCH_REQ_XCOMP_PERM, XTILE_DATA) == 0;
}
#endif

static nn_level detect(void)
{
#if defined(__x86_64__)
    if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma")) return NN_PLAIN;
    if (!__builtin_cpu_supports("avx512f") || !__builtin_cpu_supports("avx512vl") ||
        !__builtin_cpu_supports("avx512dq") || !__builtin_cpu_supports("avx512bw"))
        return NN_AVX2;
    if (!__builtin_cpu_supports("avx512bf16")) return NN_AVX512;
    return tiles_granted() ? NN_AMX : NN_AVX512_BF16;
#else
    return NN_PLAIN;
#endif
}

nn_level nn_cpu(void)
{
    static atomic_int known = -1; /* every thread that finds it unknown finds the same */
    int level = atomic_load_explicit(&known, memory_order_relaxed);
    if (level < 0) atomic_store_explicit(&known, level = (int)detect(), memory_order_relaxed);
    return (nn_level)level;
}
