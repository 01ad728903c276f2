#include "nn/packed.h"

#include <string.h>

#include "nn/gemm.h"

#define ROWS 8           /* rounded at once for a product with packed weights */
#define STEPS 1024       /* k of one run of a kernel */
#define GEMM_ROWS 256    /* block of a that is prepared at once */
#define GEMM_STEPS 256   /* whole tiles of 32 */
#define GEMM_COLUMNS 512 /* of b */

/* Bytes of one panel: k steps of 16 (bf16: whole tiles of 32 steps). */
static size_t panel_bytes(int k, nn_precision precision)
{
    return precision == NN_BF16 ? (size_t)nn_bf16_steps(k) * NN_PANEL * 2 : (size_t)k * NN_PANEL * 4;
}

size_t nn_packed_bytes(int n, int k, nn_precision precision)
{
    return (size_t)nn_panels(n) * panel_bytes(k, precision);
}

nn_packed nn_pack(void *memory, const float *w, int n, int k, long by_column, long by_step,
                  nn_precision precision)
{
    size_t size = panel_bytes(k, precision);
    for (int j = 0; j < n; j += NN_PANEL)
        nn_kernels_at(nn_cpu())->pack[precision]((char *)memory + (size_t)(j / NN_PANEL) * size,
                                                 w + j * by_column, n - j < NN_PANEL ? n - j : NN_PANEL, k,
                                                 by_column, by_step);
    return (nn_packed){n, k, precision, memory};
}

void nn_packed_mul(float *y, int ldy, const float *x, int ldx, const nn_packed *w, int rows, int first,
                   int last, int add)
{
    const nn_kernels *kernels = nn_kernels_at(nn_cpu());
    _Alignas(64) float rounded[ROWS * STEPS];
    size_t size = panel_bytes(w->k, w->precision);
    int begin = first * NN_PANEL, end = last * NN_PANEL < w->n ? last * NN_PANEL : w->n;
    for (int r = 0; r < rows; r += ROWS)
        for (int l = 0; l < w->k; l += STEPS) {
            int some = rows - r < ROWS ? rows - r : ROWS, steps = w->k - l < STEPS ? w->k - l : STEPS;
            const float *a = x + (long)r * ldx + l;
            const char *panels =
                (const char *)w->panels + (size_t)first * size + panel_bytes(l, w->precision);
            float *c = y + (long)r * ldy + begin;
            if (w->precision == NN_FLOAT) {
                kernels->mul[NN_FLOAT](c, ldy, a, ldx, panels, size, steps, some, end - begin, add || l);
                continue;
            }
            for (int i = 0; i < some; i++) kernels->round(rounded + i * STEPS, a + (long)i * ldx, steps);
            kernels->mul[NN_BF16](c, ldy, rounded, STEPS, panels, size, steps, some, end - begin, add || l);
        }
}

/* Rows of a as the kernel wants them, turned (GEMM_TA) and rounded (bf16): out (m, GEMM_STEPS). They are
 * turned in squares of 16, so that both sides stay in the nearest cache. */
#define TURN 16

static void prepare(float *out, const nn_kernels *kernels, const float *a, int m, int k, int lda, int flags,
                    nn_precision precision)
{
    float turned[TURN * GEMM_STEPS];
    if (flags & GEMM_TA && precision == NN_BF16 && kernels->turn) {
        kernels->turn(out, GEMM_STEPS, a, lda, m, k);
        return;
    }
    for (int i = 0; i < m; i += TURN) {
        int rows = m - i < TURN ? m - i : TURN;
        if (flags & GEMM_TA)
            for (int l = 0; l < k; l += TURN)
                for (int u = 0; u < rows; u++)
                    for (int v = l; v < l + TURN && v < k; v++)
                        turned[u * GEMM_STEPS + v] = a[(long)v * lda + i + u];
        for (int u = 0; u < rows; u++, out += GEMM_STEPS) {
            const float *row = flags & GEMM_TA ? turned + u * GEMM_STEPS : a + (long)(i + u) * lda;
            if (precision == NN_BF16)
                kernels->round(out, row, k);
            else
                memcpy(out, row, (size_t)k * sizeof *out);
        }
    }
}

/* Rows of a, prepared in blocks, times `width` columns of panels; `steps` of the sum. */
typedef struct {
    float *c;
    const float *a;
    const void *panels;
    size_t panel_size;
    int m, width, steps, ldc, lda, flags;
    nn_precision precision;
} block;

static void block_mul(const block *b)
{
    const nn_kernels *kernels = nn_kernels_at(nn_cpu());
    const int most = kernels->rows[b->precision];
    _Alignas(64) float rows[GEMM_ROWS * GEMM_STEPS];
    for (int i = 0; i < b->m; i += GEMM_ROWS) {
        const int some = b->m - i < GEMM_ROWS ? b->m - i : GEMM_ROWS;
        prepare(rows, kernels, b->a + (b->flags & GEMM_TA ? (long)i : (long)i * b->lda), some, b->steps,
                b->lda, b->flags, b->precision);
        for (int r = 0; r < some; r += most)
            kernels->mul[b->precision](b->c + (long)(i + r) * b->ldc, b->ldc, rows + r * GEMM_STEPS,
                                       GEMM_STEPS, b->panels, b->panel_size, b->steps,
                                       some - r < most ? some - r : most, b->width, b->flags & GEMM_ADD);
    }
}

/* A block of b, as panels, stays while all rows of a pass by. */
static void gemm(float *c, const float *a, const float *b, int m, int n, int k, int ldc, int lda, int ldb,
                 int flags, nn_precision precision)
{
    _Alignas(64) float panels[GEMM_COLUMNS * GEMM_STEPS];
    long by_column = flags & GEMM_TB ? ldb : 1, by_step = flags & GEMM_TB ? 1 : ldb;
    for (int j = 0; j < n; j += GEMM_COLUMNS)
        for (int l = 0; l < k; l += GEMM_STEPS) {
            const int width = n - j < GEMM_COLUMNS ? n - j : GEMM_COLUMNS;
            const int steps = k - l < GEMM_STEPS ? k - l : GEMM_STEPS;
            nn_pack(panels, b + j * by_column + l * by_step, width, steps, by_column, by_step, precision);
            block_mul(&(block){c + j, a + (flags & GEMM_TA ? (long)l * lda : (long)l), panels,
                               panel_bytes(steps, precision), m, width, steps, ldc, lda,
                               l ? flags | GEMM_ADD : flags, precision});
        }
    if (k == 0 && !(flags & GEMM_ADD))
        for (int i = 0; i < m; i++) memset(c + (long)i * ldc, 0, (size_t)n * sizeof *c);
}

void nn_gemm_packed(float *c, const float *a, const nn_packed *b, int m, int ldc, int lda, int flags)
{
    for (int l = 0; l < b->k; l += GEMM_STEPS)
        block_mul(&(block){c, a + l, (const char *)b->panels + panel_bytes(l, b->precision),
                           panel_bytes(b->k, b->precision), m, b->n,
                           b->k - l < GEMM_STEPS ? b->k - l : GEMM_STEPS, ldc, lda,
                           l ? flags | GEMM_ADD : flags, b->precision});
}

void nn_gemm_float(float *c, const float *a, const float *b, int m, int n, int k, int ldc, int lda, int ldb,
                   int flags)
{
    gemm(c, a, b, m, n, k, ldc, lda, ldb, flags, NN_FLOAT);
}

void nn_gemm_bf16(float *c, const float *a, const float *b, int m, int n, int k, int ldc, int lda, int ldb,
                  int flags)
{
    gemm(c, a, b, m, n, k, ldc, lda, ldb, flags, NN_BF16);
}

/* ---- Weights kept packed ---- */

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
