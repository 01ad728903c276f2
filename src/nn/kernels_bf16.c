#include "nn/kernels_bf16.h"

#include <string.h>

#include "nn/packed.h"

#if defined(__x86_64__)
#include <immintrin.h>

#define INLINE static inline __attribute__((always_inline))
#define AVX512 __attribute__((target("avx512bf16,avx512f,avx512bw,avx512vl,avx512dq,avx2,fma")))
#define AMX                                                                                                  \
    __attribute__((target("amx-tile,amx-bf16,avx512bf16,avx512f,avx512bw,avx512vl,avx512dq,avx2,fma")))

#define LANES 16
#define TILE_STEPS 32 /* k of one tile: 64 bytes of bfloat16 */

/* ---- from float to pairs ---- */

INLINE AVX512 __mmask16 first_lanes(int n)
{
    return (__mmask16)(n >= LANES ? 0xffffu : n > 0 ? (1u << n) - 1u : 0u);
}

/* 32 floats of a row, those from n on 0, as 16 pairs. */
INLINE AVX512 __m512i row_pairs(const float *a, int n)
{
    __m512 low = _mm512_maskz_loadu_ps(first_lanes(n), a);
    __m512 high = n > LANES ? _mm512_maskz_loadu_ps(first_lanes(n - LANES), a + LANES) : _mm512_setzero_ps();
    return (__m512i)_mm512_cvtne2ps_pbh(high, low);
}

/* 16 columns of two rows side by side as 16 pairs. */
INLINE AVX512 __m512i column_pairs(const float *a, const float *b, int columns)
{
    __mmask16 mask = first_lanes(columns);
    __m256i low = (__m256i)_mm512_cvtneps_pbh(_mm512_maskz_loadu_ps(mask, a));
    __m256i high = b ? (__m256i)_mm512_cvtneps_pbh(_mm512_maskz_loadu_ps(mask, b)) : _mm256_setzero_si256();
    return _mm512_or_si512(_mm512_cvtepu16_epi32(low), _mm512_slli_epi32(_mm512_cvtepu16_epi32(high), 16));
}

/* Turns a square of 16 x 16 words: words, pairs of words, then quarters change places. */
INLINE AVX512 void turn_square(__m512i *r)
{
    __m512i t[LANES];
    for (int i = 0; i < LANES; i += 2) {
        t[i] = _mm512_unpacklo_epi32(r[i], r[i + 1]);
        t[i + 1] = _mm512_unpackhi_epi32(r[i], r[i + 1]);
    }
    for (int i = 0; i < LANES; i += 4) {
        r[i] = _mm512_unpacklo_epi64(t[i], t[i + 2]);
        r[i + 1] = _mm512_unpackhi_epi64(t[i], t[i + 2]);
        r[i + 2] = _mm512_unpacklo_epi64(t[i + 1], t[i + 3]);
        r[i + 3] = _mm512_unpackhi_epi64(t[i + 1], t[i + 3]);
    }
    for (int i = 0; i < 4; i++)
        for (int h = 0; h < LANES; h += 8) {
            t[h + i] = _mm512_shuffle_i32x4(r[h + i], r[h + 4 + i], 0x88);
            t[h + 4 + i] = _mm512_shuffle_i32x4(r[h + i], r[h + 4 + i], 0xdd);
        }
    for (int i = 0; i < 8; i++) {
        r[i] = _mm512_shuffle_i32x4(t[i], t[8 + i], 0x88);
        r[8 + i] = _mm512_shuffle_i32x4(t[i], t[8 + i], 0xdd);
    }
}

AVX512 void nn_round_bf16(void *out, const float *a, int n)
{
    for (int l = 0; l < n; l += TILE_STEPS) _mm512_storeu_si512((uint16_t *)out + l, row_pairs(a + l, n - l));
}

AVX512 void nn_turn_bf16(void *out, int room, const float *a, int lda, int columns, int n)
{
    for (int i = 0; i < columns; i += LANES)
        for (int l = 0; l < n; l += TILE_STEPS) {
            __m512i pair[LANES];
            for (int p = 0; p < LANES; p++) {
                int row = l + 2 * p;
                const float *at = a + (long)row * lda + i;
                pair[p] = row < n ? column_pairs(at, row + 1 < n ? at + lda : NULL, columns - i)
                                  : _mm512_setzero_si512();
            }
            turn_square(pair);
            for (int u = 0; u < LANES && i + u < columns; u++)
                _mm512_storeu_si512((uint16_t *)((float *)out + (long)(i + u) * room) + l, pair[u]);
        }
}

AVX512 void nn_pack_bf16(void *panel, const float *w, int n, int k, long by_column, long by_step)
{
    for (int l = 0; l < nn_bf16_steps(k); l += TILE_STEPS) {
        __m512i pair[LANES];
        for (int p = 0; p < LANES; p++) {
            int row = l + 2 * p;
            if (by_column != 1)
                pair[p] = p < n ? row_pairs(w + p * by_column + l, k - l) : _mm512_setzero_si512();
            else
                pair[p] =
                    row < k ? column_pairs(w + row * by_step, row + 1 < k ? w + (row + 1) * by_step : NULL, n)
                            : _mm512_setzero_si512();
        }
        if (by_column != 1) turn_square(pair);
        for (int p = 0; p < LANES; p++)
            _mm512_store_si512((uint16_t *)panel + l * NN_PANEL + p * 2 * NN_PANEL, pair[p]);
    }
}

/* ---- dot products of pairs ---- */

/* lda counts floats of room, and a row's pairs begin at its start: pair l of row r is 32-bit word
 * r * lda + l. */
INLINE AVX512 void dots_tile(float *c, int ldc, const void *a, int lda, const char *w, size_t panel_size,
                             int k, const int rows, const int panels, int left, int add)
{
    __m512 sum[8][3];
    for (int r = 0; r < rows; r++)
        for (int p = 0; p < panels; p++) sum[r][p] = _mm512_setzero_ps();
    for (int l = 0; 2 * l < k; l++) {
        __m512i column[3];
        for (int p = 0; p < panels; p++)
            column[p] = _mm512_load_si512(w + (size_t)p * panel_size + (size_t)l * 64);
        for (int r = 0; r < rows; r++) {
            __m512i x = _mm512_set1_epi32(((const int *)a)[(long)r * lda + l]);
            for (int p = 0; p < panels; p++)
                sum[r][p] = _mm512_dpbf16_ps(sum[r][p], (__m512bh)x, (__m512bh)column[p]);
        }
    }
    for (int p = 0; p < panels; p++)
        for (int r = 0; r < rows; r++) {
            float *at = c + (long)r * ldc + p * NN_PANEL;
            __mmask16 mask = first_lanes(left - p * NN_PANEL);
            __m512 old = add ? _mm512_maskz_loadu_ps(mask, at) : _mm512_setzero_ps();
            _mm512_mask_storeu_ps(at, mask, _mm512_add_ps(old, sum[r][p]));
        }
}

INLINE AVX512 void dots_rows(float *c, int ldc, const void *a, int lda, const char *w, size_t panel_size,
                             int k, int rows, const int panels, int left, int add)
{
    switch (rows) {
    case 1: dots_tile(c, ldc, a, lda, w, panel_size, k, 1, panels, left, add); break;
    case 2: dots_tile(c, ldc, a, lda, w, panel_size, k, 2, panels, left, add); break;
    case 3: dots_tile(c, ldc, a, lda, w, panel_size, k, 3, panels, left, add); break;
    case 4: dots_tile(c, ldc, a, lda, w, panel_size, k, 4, panels, left, add); break;
    case 5: dots_tile(c, ldc, a, lda, w, panel_size, k, 5, panels, left, add); break;
    case 6: dots_tile(c, ldc, a, lda, w, panel_size, k, 6, panels, left, add); break;
    case 7: dots_tile(c, ldc, a, lda, w, panel_size, k, 7, panels, left, add); break;
    default: dots_tile(c, ldc, a, lda, w, panel_size, k, 8, panels, left, add); break;
    }
}

AVX512 void nn_mul_bf16_dots(float *c, int ldc, const void *a, int lda, const void *panels, size_t panel_size,
                             int k, int rows, int n, int add)
{
    const char *w = panels;
    int j = 0;
    for (; j + 2 * NN_PANEL < n; j += 3 * NN_PANEL, w += 3 * panel_size)
        dots_rows(c + j, ldc, a, lda, w, panel_size, k, rows, 3, n - j, add);
    for (; j < n; j += NN_PANEL, w += panel_size)
        dots_rows(c + j, ldc, a, lda, w, panel_size, k, rows, 1, n - j, add);
}

/* ---- tiles ---- */

/* The layout of the eight tile registers, as LDTILECFG reads it. Sums: 0 1 / 2 3, rows above and below,
 * panels left and right; 4 5: rows of a; 6 7: panels. */
typedef struct {
    uint8_t palette, start_row, reserved[14];
    uint16_t bytes[16]; /* of a row */
    uint8_t rows[16];
} tile_shapes;

INLINE AMX void shape_tiles(int upper, int lower)
{
    _Alignas(64) tile_shapes s = {.palette = 1};
    const int rows[8] = {upper, upper, lower, lower, upper, lower, LANES, LANES};
    for (int i = 0; i < 8; i++) {
        s.rows[i] = (uint8_t)rows[i];
        s.bytes[i] = rows[i] ? 64 : 0;
    }
    _tile_loadconfig(&s);
}

/* Sums of one tile to where they belong, of which `n` columns exist. */
INLINE AVX512 void tile_out(float *c, int ldc, const float *tile, int rows, int n, int add)
{
    __mmask16 mask = first_lanes(n);
    for (int r = 0; r < rows; r++) {
        float *at = c + (long)r * ldc;
        __m512 sum = _mm512_load_ps(tile + r * LANES);
        if (add) sum = _mm512_add_ps(sum, _mm512_maskz_loadu_ps(mask, at));
        _mm512_mask_storeu_ps(at, mask, sum);
    }
}

/* upper + lower rows (at most 16 each) times one panel or two. */
INLINE AMX void tiles_block(float *c, int ldc, const uint16_t *a, size_t row_bytes, const char *w,
                            size_t panel_size, int k, int upper, int lower, int n, int add)
{
    _Alignas(64) float sums[4][LANES * LANES];
    const uint16_t *below = (const uint16_t *)((const char *)a + LANES * row_bytes);
    const int two = n > NN_PANEL;
    _tile_zero(0);
    if (two) _tile_zero(1);
    if (lower) {
        _tile_zero(2);
        if (two) _tile_zero(3);
    }
    for (int l = 0; l < k; l += TILE_STEPS) {
        const char *panel = w + (size_t)l * NN_PANEL * 2;
        _tile_loadd(4, a + l, row_bytes);
        _tile_loadd(6, panel, 64);
        _tile_dpbf16ps(0, 4, 6);
        if (two) {
            _tile_loadd(7, panel + panel_size, 64);
            _tile_dpbf16ps(1, 4, 7);
        }
        if (lower) {
            _tile_loadd(5, below + l, row_bytes);
            _tile_dpbf16ps(2, 5, 6);
            if (two) _tile_dpbf16ps(3, 5, 7);
        }
    }
    _tile_stored(0, sums[0], 64);
    tile_out(c, ldc, sums[0], upper, n, add);
    if (two) {
        _tile_stored(1, sums[1], 64);
        tile_out(c + NN_PANEL, ldc, sums[1], upper, n - NN_PANEL, add);
    }
    if (!lower) return;
    c += (long)LANES * ldc;
    _tile_stored(2, sums[2], 64);
    tile_out(c, ldc, sums[2], lower, n, add);
    if (!two) return;
    _tile_stored(3, sums[3], 64);
    tile_out(c + NN_PANEL, ldc, sums[3], lower, n - NN_PANEL, add);
}

AMX void nn_mul_bf16_tiles(float *c, int ldc, const void *a, int lda, const void *panels, size_t panel_size,
                           int k, int rows, int n, int add)
{
    int shaped = -1;
    for (int r = 0; r < rows; r += 2 * LANES) {
        const int left = rows - r, upper = left < LANES ? left : LANES;
        const int lower = left <= LANES ? 0 : left < 2 * LANES ? left - LANES : LANES;
        if (shaped != upper + lower) shape_tiles(upper, lower);
        shaped = upper + lower;
        for (int j = 0; j < n; j += 2 * NN_PANEL)
            tiles_block(c + (long)r * ldc + j, ldc, (const uint16_t *)((const float *)a + (long)r * lda),
                        (size_t)lda * sizeof(float),
                        (const char *)panels + (size_t)(j / NN_PANEL) * panel_size, panel_size, k, upper,
                        lower, n - j, add);
    }
    _tile_release();
}

#endif
