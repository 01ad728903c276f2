#include "motion/pack.h"

#include <stdlib.h>
#include <zstd.h>

#include "robot/names.h"

#define LEVEL 19 /* of zstd: the smallest that needs no special settings to read */
#define MAX_ORDER 4
/* zstd stores at most 128 KiB in a block of at least 4 bytes: fewer than 512 frames of 72 bytes a byte. */
#define FRAMES_PER_BYTE 512

static size_t content_size(int n)
{
    return HRC_NQ * (1 + 2 * (size_t)n);
}

/* From differences of order k to k + 1, in place; the first k + 1 numbers stay. */
static void difference(uint16_t *x, int n, int k)
{
    for (int i = n - 1; i > k; i--) x[i] = (uint16_t)(x[i] - x[i - 1]);
}

static void sum_up(uint16_t *x, int n, int order)
{
    for (int k = order - 1; k >= 0; k--)
        for (int i = k + 1; i < n; i++) x[i] = (uint16_t)(x[i] + x[i - 1]);
}

/* 0, -1, 1, -2, ... to 0, 1, 2, 3, ...: small differences of either sign have an empty high byte. */
static uint16_t fold_sign(uint16_t d)
{
    return (uint16_t)(d << 1 ^ (d >> 15 ? 0xffff : 0));
}

static uint16_t unfold_sign(uint16_t z)
{
    return (uint16_t)(z >> 1 ^ (z & 1 ? 0xffff : 0));
}

static int bits(unsigned x)
{
    int n = 0;
    for (; x; x >>= 1) n++;
    return n;
}

/* Leaves in x the differences of the order that takes the fewest bits; returns it. scratch (n). */
static int difference_best(uint16_t *x, uint16_t *scratch, int n)
{
    int64_t least = INT64_MAX;
    int best = 0;
    for (int i = 0; i < n; i++) scratch[i] = x[i];
    for (int order = 0; order <= MAX_ORDER; order++) {
        int64_t sum = 0;
        for (int i = 0; i < n; i++) sum += bits(fold_sign(scratch[i]));
        if (sum < least) least = sum, best = order;
        difference(scratch, n, order);
    }
    for (int k = 0; k < best; k++) difference(x, n, k);
    return best;
}

static void fill_content(uint8_t *content, uint16_t *column, uint16_t *scratch, const uint16_t *codes, int n)
{
    uint8_t *low = content + HRC_NQ, *high = low + HRC_NQ * (size_t)n;
    for (int c = 0; c < HRC_NQ; c++) {
        for (int i = 0; i < n; i++) column[i] = codes[(size_t)i * HRC_NQ + c];
        content[c] = (uint8_t)difference_best(column, scratch, n);
        for (int i = 0; i < n; i++) {
            const uint16_t z = fold_sign(column[i]);
            *low++ = (uint8_t)(z & 255), *high++ = (uint8_t)(z >> 8);
        }
    }
}

hrc_status pack_codes(arena *memory, const uint16_t *codes, int n, const uint8_t **block, int64_t *size,
                      hrc_error *err)
{
    const size_t plain = content_size(n), room = ZSTD_compressBound(plain);
    uint8_t *content = malloc(plain), *out = malloc(room), *kept = NULL;
    uint16_t *columns = calloc((size_t)n, 2 * sizeof *columns);
    hrc_status status = fail(err, HRC_ENOMEM, "out of memory for %d frames", n);
    if (content && out && columns) {
        fill_content(content, columns, columns + n, codes, n);
        const size_t used = ZSTD_compress(out, room, content, plain, LEVEL);
        kept = ZSTD_isError(used) ? NULL : arena_alloc(memory, used, 1);
        if (kept) {
            for (size_t i = 0; i < used; i++) kept[i] = out[i];
            *block = kept, *size = (int64_t)used;
            status = HRC_OK;
        }
    }
    free(content);
    free(out);
    free(columns);
    return status;
}

bool pack_holds(const uint8_t *block, int64_t size, int n)
{
    return size > 0 && n > 0 && n / FRAMES_PER_BYTE < size &&
           ZSTD_getFrameContentSize(block, (size_t)size) == content_size(n);
}

/* False when an order is none. */
static bool read_content(uint16_t *codes, uint16_t *column, const uint8_t *content, int n)
{
    const uint8_t *low = content + HRC_NQ, *high = low + HRC_NQ * (size_t)n;
    for (int c = 0; c < HRC_NQ; c++) {
        if (content[c] > MAX_ORDER) return false;
        for (int i = 0; i < n; i++) column[i] = unfold_sign((uint16_t)(*low++ | *high++ << 8));
        sum_up(column, n, content[c]);
        for (int i = 0; i < n; i++) codes[(size_t)i * HRC_NQ + c] = column[i];
    }
    return true;
}

hrc_status unpack_codes(uint16_t *codes, int n, const uint8_t *block, int64_t size, hrc_error *err)
{
    if (!pack_holds(block, size, n))
        return fail(err, HRC_EFORMAT, "the block of %lld bytes does not hold %d frames", (long long)size, n);
    const size_t plain = content_size(n);
    uint8_t *content = malloc(plain);
    uint16_t *column = calloc((size_t)n, sizeof *column);
    hrc_status status = HRC_OK;
    if (!content || !column)
        status = fail(err, HRC_ENOMEM, "out of memory for %d frames", n);
    else if (ZSTD_decompress(content, plain, block, (size_t)size) != plain ||
             !read_content(codes, column, content, n))
        status = fail(err, HRC_EFORMAT, "the block of %lld bytes is damaged", (long long)size);
    free(content);
    free(column);
    return status;
}
