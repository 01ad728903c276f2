#include "motion/pack.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "base/rot.h"
#include "robot/g1.h"

/* ---- Codes ---- */

#define CODE_MIN (-32768)
#define CODE_MAX 32767
#define JOINT_UNIT 1e-4    /* rad; twice the error that is promised */
#define POSITION_UNIT 2e-4 /* m */

static uint8_t grain_of(double step, double unit)
{
    return (uint8_t)fmin(fmax(floor(unit / step), 1), 255);
}

void corpus_choose_grain(corpus_entry *e, const double *lo, const double *hi, bool exact)
{
    memset(e->grain, 1, sizeof e->grain);
    if (exact) return;
    for (int k = 0; k < 3; k++) e->grain[k] = grain_of(e->step[k], POSITION_UNIT);
    for (int j = 0; j < HRC_JOINTS; j++)
        e->grain[7 + j] = grain_of((hi[j] - lo[j]) / (CODE_MAX - CODE_MIN), JOINT_UNIT);
}

static uint16_t to_code(double x)
{
    const double code = floor(x + 0.5);
    return (uint16_t)((code < CODE_MIN ? CODE_MIN : code > CODE_MAX ? CODE_MAX : code) - CODE_MIN);
}

/* A unit stands for as many codes as the grain says, and is read as the middle of them. Rounding to codes and
 * then to units costs no more than half a grain that way. */
static double from_unit(uint16_t unit, int grain)
{
    return fmin(CODE_MIN + unit * grain + (grain - 1) / 2.0, CODE_MAX);
}

void corpus_encode(uint16_t out[HRC_NQ], const float *frame, const corpus_entry *e, const double *lo,
                   const double *hi)
{
    for (int k = 0; k < 3; k++) out[k] = to_code((frame[k] - e->origin[k]) / e->step[k]);
    for (int k = 3; k < 7; k++) out[k] = to_code(CODE_MAX * (double)frame[k]);
    for (int j = 0; j < HRC_JOINTS; j++)
        out[7 + j] = to_code((frame[7 + j] - lo[j]) / (hi[j] - lo[j]) * (CODE_MAX - CODE_MIN) + CODE_MIN);
}

void corpus_decode(float *frame, const uint16_t units[HRC_NQ], const corpus_entry *e, const double *lo,
                   const double *hi)
{
    double quat[4], codes[HRC_NQ];
    for (int k = 0; k < HRC_NQ; k++) codes[k] = from_unit(units[k], e->grain[k]);
    for (int k = 0; k < 3; k++) frame[k] = (float)(e->origin[k] + e->step[k] * codes[k]);
    for (int k = 0; k < 4; k++) quat[k] = codes[3 + k] / CODE_MAX;
    quat_normalize(quat);
    for (int k = 0; k < 4; k++) frame[3 + k] = (float)quat[k];
    for (int j = 0; j < HRC_JOINTS; j++)
        frame[7 + j] = (float)(lo[j] + (hi[j] - lo[j]) * (codes[7 + j] - CODE_MIN) / (CODE_MAX - CODE_MIN));
}

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
