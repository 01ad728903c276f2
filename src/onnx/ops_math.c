/* Operators that compute. Between a kernel and its prepare function, `a` to `d` of the step mean what the
 * comment above the kernel says. */
#include <math.h>
#include <string.h>

#include "onnx/program.h"

/* ---- One number at a time ---- */

static float sigmoid(float x)
{
    return 1 / (1 + expf(-x));
}

static float relu(float x)
{
    return x < 0 ? 0 : x; /* NaN stays, so that it is seen at the end */
}

static float negative(float x)
{
    return -x;
}

static float softplus(float x)
{
    return x > 20 ? x : log1pf(expf(x));
}

static void run_each(const onnx_step *s, const void *const *in, void *const *out, void *scratch)
{
    const float *x = in[0];
    float *y = out[0];
    (void)scratch;
    for (size_t i = 0; i < s->n; i++) y[i] = s->each(x[i]);
}

static void run_elu(const onnx_step *s, const void *const *in, void *const *out, void *scratch)
{
    const float *x = in[0];
    float *y = out[0];
    (void)scratch;
    for (size_t i = 0; i < s->n; i++) y[i] = x[i] > 0 ? x[i] : s->f[0] * expm1f(x[i]);
}

#define EACH_FUNCTION(name, function)                                                                        \
    {                                                                                                        \
        name, function                                                                                       \
    }
#define EACH_OPERATORS(X)                                                                                    \
    X("Sigmoid", sigmoid), X("Tanh", tanhf), X("Relu", relu), X("Sqrt", sqrtf), X("Exp", expf),              \
        X("Sin", sinf), X("Cos", cosf), X("Round", nearbyintf), X("Abs", fabsf), X("Neg", negative),         \
        X("Erf", erff), X("Log", logf), X("Floor", floorf), X("Softplus", softplus)

static hrc_status prepare_each(onnx_builder *b, onnx_step *s, onnx_slot *const *in, onnx_slot *const *out)
{
    static const struct {
        const char *name;
        float (*each)(float);
    } EACH[] = {EACH_OPERATORS(EACH_FUNCTION)};
    TRY(onnx_want_float(b, in[0]));
    onnx_like(out[0], in[0]);
    s->run = run_each;
    for (int i = 0; i < COUNT(EACH); i++)
        if (!strcmp(EACH[i].name, b->call->op)) s->each = EACH[i].each;
    return HRC_OK;
}

static hrc_status prepare_elu(onnx_builder *b, onnx_step *s, onnx_slot *const *in, onnx_slot *const *out)
{
    TRY(onnx_want_float(b, in[0]));
    onnx_like(out[0], in[0]);
    s->f[0] = onnx_number(b, "alpha", 1);
    s->run = run_elu;
    return HRC_OK;
}

static void run_clip(const onnx_step *s, const void *const *in, void *const *out, void *scratch)
{
    const void *low = s->nin > 1 ? in[1] : NULL, *high = s->nin > 2 ? in[2] : NULL;
    (void)scratch;
    for (size_t i = 0; i < s->n && s->whole; i++) {
        int64_t x = ((const int64_t *)in[0])[i];
        if (low && x < *(const int64_t *)low) x = *(const int64_t *)low;
        if (high && x > *(const int64_t *)high) x = *(const int64_t *)high;
        ((int64_t *)out[0])[i] = x;
    }
    for (size_t i = 0; i < s->n && !s->whole; i++) {
        float x = ((const float *)in[0])[i], least = low ? *(const float *)low : s->f[0],
              most = high ? *(const float *)high : s->f[1];
        x = x < least ? least : x;
        ((float *)out[0])[i] = x > most ? most : x;
    }
}

static hrc_status prepare_clip(onnx_builder *b, onnx_step *s, onnx_slot *const *in, onnx_slot *const *out)
{
    onnx_like(out[0], in[0]);
    s->whole = in[0]->type == TYPE_INT64;
    s->f[0] = onnx_number(b, "min", -INFINITY);
    s->f[1] = onnx_number(b, "max", INFINITY);
    for (int i = 1; i < s->nin; i++)
        if (in[i] && (in[i]->count != 1 || in[i]->type != in[0]->type))
            return onnx_refuse(b, "a bound of %zu numbers or another type, expected one", in[i]->count);
    s->run = run_clip;
    return HRC_OK;
}

/* ---- Two at a time, broadcast: a = {ndim}; b: the output's dims; c, d: steps of the two inputs along them
 * ---- */

typedef enum { ADD, SUB, MUL, DIV, POW } arithmetic;
static const char *const ARITHMETIC[] = {"Add", "Sub", "Mul", "Div", "Pow"};

static inline float compute(arithmetic op, float x, float y)
{
    switch (op) {
    case ADD: return x + y;
    case SUB: return x - y;
    case MUL: return x * y;
    case DIV: return x / y;
    default: return y == 2 ? x * x : powf(x, y);
    }
}

static int64_t compute_whole(arithmetic op, int64_t x, int64_t y)
{
    switch (op) {
    case ADD: return (int64_t)((uint64_t)x + (uint64_t)y);
    case SUB: return (int64_t)((uint64_t)x - (uint64_t)y);
    case MUL: return (int64_t)((uint64_t)x * (uint64_t)y);
    default: return y == 0 || (y == -1 && x == INT64_MIN) ? 0 : x / y;
    }
}

/* One row: the innermost dimension, where each input steps by 1 or stays. */
static void float_row(arithmetic op, float *z, const float *x, const float *y, int64_t n, int64_t dx,
                      int64_t dy)
{
#define ROW(OP)                                                                                              \
    case OP:                                                                                                 \
        for (int64_t i = 0; i < n; i++) z[i] = compute(OP, x[i * dx], y[i * dy]);                            \
        break
    switch (op) {
        ROW(ADD);
        ROW(SUB);
        ROW(MUL);
        ROW(DIV);
        ROW(POW);
    }
#undef ROW
}

static void run_arithmetic(const onnx_step *s, const void *const *in, void *const *out, void *scratch)
{
    int64_t index[ONNX_MAX_DIMS] = {0}, x = 0, y = 0;
    const int last = (int)s->a[0] - 1;
    const arithmetic op = (arithmetic)s->a[1];
    const int64_t n = s->b[last];
    (void)scratch;
    for (size_t i = 0; i < s->n; i += (size_t)n) {
        if (!s->whole)
            float_row(op, (float *)out[0] + i, (const float *)in[0] + x, (const float *)in[1] + y, n,
                      s->c[last], s->d[last]);
        for (int64_t k = 0; k < n && s->whole; k++)
            ((int64_t *)out[0])[i + (size_t)k] =
                compute_whole(op, ((const int64_t *)in[0])[x + k * s->c[last]],
                              ((const int64_t *)in[1])[y + k * s->d[last]]);
        for (int k = last - 1; k >= 0; k--) {
            x += s->c[k], y += s->d[k];
            if (++index[k] < s->b[k]) break;
            x -= s->c[k] * s->b[k], y -= s->d[k] * s->b[k];
            index[k] = 0;
        }
    }
}

/* Steps of an input along the output's dims: 0 where it is repeated. */
static void broadcast_steps(int64_t steps[ONNX_MAX_DIMS], const onnx_slot *in, int ndim)
{
    int64_t step = 1;
    for (int k = ndim - 1, from = in->ndim - 1; k >= 0; k--, from--) {
        const int64_t d = from >= 0 ? in->dims[from] : 1;
        steps[k] = d == 1 ? 0 : step;
        step *= d;
    }
}

static hrc_status broadcast(onnx_builder *b, onnx_slot *out, const onnx_slot *x, const onnx_slot *y)
{
    out->ndim = x->ndim > y->ndim ? x->ndim : y->ndim;
    for (int k = 1; k <= out->ndim; k++) {
        const int64_t dx = k <= x->ndim ? x->dims[x->ndim - k] : 1,
                      dy = k <= y->ndim ? y->dims[y->ndim - k] : 1;
        if (dx != dy && dx != 1 && dy != 1)
            return onnx_refuse(b, "\"%.60s\" and \"%.60s\" have %lld and %lld numbers along a dimension",
                               x->name, y->name, (long long)dx, (long long)dy);
        out->dims[out->ndim - k] = dx == 1 ? dy : dx;
    }
    return HRC_OK;
}

static hrc_status prepare_arithmetic(onnx_builder *b, onnx_step *s, onnx_slot *const *in,
                                     onnx_slot *const *out)
{
    if (in[0]->type != in[1]->type) return onnx_refuse(b, "one input is float, the other int64");
    for (int i = 0; i < COUNT(ARITHMETIC); i++)
        if (!strcmp(ARITHMETIC[i], b->call->op)) s->a[1] = i;
    out[0]->type = in[0]->type;
    s->whole = in[0]->type == TYPE_INT64;
    if (s->whole && s->a[1] == POW) return onnx_refuse(b, "of whole numbers");
    TRY(broadcast(b, out[0], in[0], in[1]));
    broadcast_steps(s->c, in[0], out[0]->ndim);
    broadcast_steps(s->d, in[1], out[0]->ndim);
    memcpy(s->b, out[0]->dims, sizeof s->b);
    s->a[0] = out[0]->ndim;
    if (!out[0]->ndim) s->a[0] = s->b[0] = 1; /* two scalars */
    s->run = run_arithmetic;
    return HRC_OK;
}

/* ---- Products ---- */

static hrc_status count_products(onnx_builder *b, const onnx_slot *out, int64_t each)
{
    double n = (double)each;
    for (int i = 0; i < out->ndim; i++) n *= (double)out->dims[i];
    b->products += n;
    return n < 1e9 ? HRC_OK : onnx_refuse(b, "takes %g products", n);
}

/* w (k,n), or (n,k) with turned, as panels. */
static hrc_status pack(onnx_builder *b, onnx_step *s, const onnx_slot *w, int64_t n, int64_t k, bool turned)
{
    void *panels = arena_alloc(b->memory, nn_packed_bytes((int)n, (int)k, NN_FLOAT), 1);
    if (!panels) return fail(b->err, HRC_ENOMEM, "%s: out of memory", b->file->path);
    s->weight = nn_pack(panels, w->constant, (int)n, (int)k, turned ? k : 1, turned ? 1 : n, NN_FLOAT);
    return HRC_OK;
}

/* a = {m, n, k, steps of the bias: 0 none, 1 one number, n a row, m*n all}; b = {B is (n,k)}; f = {alpha,
 * beta} */
static void run_gemm(const onnx_step *s, const void *const *in, void *const *out, void *scratch)
{
    const int m = (int)s->a[0], n = (int)s->a[1], k = (int)s->a[2];
    float *y = out[0];
    (void)scratch;
    if (s->weight.panels)
        nn_packed_mul(y, n, in[0], k, &s->weight, m, 0, nn_panels(n), 0);
    else
        nn_ops_best()->gemm(y, in[0], in[1], m, n, k, n, k, s->b[0] ? k : n, s->b[0] ? GEMM_TB : 0);
    const int64_t bias = s->a[3];
    const float *c = bias ? in[2] : NULL;
    if (s->f[0] != 1)
        for (size_t i = 0; i < s->n; i++) y[i] *= s->f[0];
    for (int64_t i = 0; i < (int64_t)s->n && bias == 1; i++) y[i] += s->f[1] * c[0];
    for (int64_t i = 0; i < (int64_t)s->n && bias > 1; i += bias)
        for (int64_t j = 0; j < bias; j++) y[i + j] += s->f[1] * c[j];
}

static hrc_status check_bias(onnx_builder *b, onnx_step *s, const onnx_slot *c, int64_t m, int64_t n)
{
    if (!c) return HRC_OK;
    const int64_t columns = c->ndim > 0 ? c->dims[c->ndim - 1] : 1, rows = c->ndim > 1 ? c->dims[0] : 1;
    TRY(onnx_want_float(b, c));
    if (c->ndim > 2 || (columns == 1 ? rows != 1 : columns != n || (rows != 1 && rows != m)))
        return onnx_refuse(b, "a bias of %lld by %lld numbers, expected %lld", (long long)rows,
                           (long long)columns, (long long)n);
    s->a[3] = rows * columns;
    return HRC_OK;
}

static hrc_status prepare_gemm(onnx_builder *b, onnx_step *s, onnx_slot *const *in, onnx_slot *const *out)
{
    const onnx_slot *x = in[0], *w = in[1];
    const bool turned = onnx_integer(b, "transB", 0) != 0;
    TRY(onnx_want_float(b, x));
    TRY(onnx_want_float(b, w));
    if (x->ndim != 2 || w->ndim != 2 || onnx_integer(b, "transA", 0))
        return onnx_refuse(b, "of %d and %d dimensions, expected two matrices, the first not transposed",
                           x->ndim, w->ndim);
    const int64_t m = x->dims[0], k = x->dims[1], n = w->dims[turned ? 0 : 1];
    if (w->dims[turned ? 1 : 0] != k || k < 1 || n < 1)
        return onnx_refuse(b, "\"%.80s\" takes %lld numbers, given are %lld", w->name,
                           (long long)w->dims[turned ? 1 : 0], (long long)k);
    out[0]->type = TYPE_FLOAT;
    out[0]->ndim = 2, out[0]->dims[0] = m, out[0]->dims[1] = n;
    s->a[0] = m, s->a[1] = n, s->a[2] = k;
    s->b[0] = turned;
    s->f[0] = onnx_number(b, "alpha", 1), s->f[1] = onnx_number(b, "beta", 1);
    TRY(check_bias(b, s, s->nin > 2 ? in[2] : NULL, m, n));
    TRY(count_products(b, out[0], k));
    if (w->constant) TRY(pack(b, s, w, n, k, turned));
    s->run = run_gemm;
    return HRC_OK;
}

/* a = {m, n, k, batches}; b: numbers between the batches of x, w and y */
static void run_matmul(const onnx_step *s, const void *const *in, void *const *out, void *scratch)
{
    const int m = (int)s->a[0], n = (int)s->a[1], k = (int)s->a[2];
    (void)scratch;
    for (int64_t i = 0; i < s->a[3]; i++) {
        float *y = (float *)out[0] + i * s->b[2];
        const float *x = (const float *)in[0] + i * s->b[0], *w = (const float *)in[1] + i * s->b[1];
        if (s->weight.panels)
            nn_packed_mul(y, n, x, k, &s->weight, m, 0, nn_panels(n), 0);
        else
            nn_ops_best()->gemm(y, x, w, m, n, k, n, k, n, 0);
    }
}

static hrc_status prepare_matmul(onnx_builder *b, onnx_step *s, onnx_slot *const *in, onnx_slot *const *out)
{
    const onnx_slot *x = in[0], *w = in[1];
    const int nx = x->ndim, nw = w->ndim;
    TRY(onnx_want_float(b, x));
    TRY(onnx_want_float(b, w));
    bool fits =
        nx >= 2 && (nw == 2 || nw == nx) && x->dims[nx - 1] == w->dims[nw - 2] && x->count && w->count;
    for (int i = 0; fits && nw > 2 && i < nx - 2; i++) fits = x->dims[i] == w->dims[i];
    if (!fits) return onnx_refuse(b, "shapes that do not fit, of %d and %d dimensions", nx, nw);
    onnx_like(out[0], x);
    out[0]->dims[nx - 1] = w->dims[nw - 1];
    s->a[0] = x->dims[nx - 2], s->a[1] = w->dims[nw - 1], s->a[2] = x->dims[nx - 1];
    s->a[3] = (int64_t)x->count / (s->a[0] * s->a[2]);
    s->b[0] = s->a[0] * s->a[2], s->b[1] = nw > 2 ? s->a[2] * s->a[1] : 0, s->b[2] = s->a[0] * s->a[1];
    TRY(count_products(b, out[0], s->a[2]));
    if (w->constant && nw == 2) TRY(pack(b, s, w, s->a[1], s->a[2], false));
    s->run = run_matmul;
    return HRC_OK;
}

/* ---- Convolution over one dimension: a = {samples, outputs, channels, length}; b = {kernel, stride, pad,
 * steps}. scratch: the inputs of every step (steps, channels * kernel), then the products (steps, outputs).
 * ---- */

static void run_conv(const onnx_step *s, const void *const *in, void *const *out, void *scratch)
{
    const int64_t M = s->a[1], C = s->a[2], L = s->a[3], K = s->b[0], steps = s->b[3];
    const float *bias = s->nin > 2 ? in[2] : NULL;
    float *rows = scratch, *made = rows + steps * C * K;
    for (int64_t n = 0; n < s->a[0]; n++) {
        const float *x = (const float *)in[0] + n * C * L;
        float *y = (float *)out[0] + n * M * steps;
        for (int64_t t = 0; t < steps; t++)
            for (int64_t c = 0; c < C; c++)
                for (int64_t k = 0; k < K; k++) {
                    const int64_t at = t * s->b[1] - s->b[2] + k;
                    rows[(t * C + c) * K + k] = at >= 0 && at < L ? x[c * L + at] : 0;
                }
        nn_packed_mul(made, (int)M, rows, (int)(C * K), &s->weight, (int)steps, 0, nn_panels((int)M), 0);
        for (int64_t m = 0; m < M; m++)
            for (int64_t t = 0; t < steps; t++) y[m * steps + t] = made[t * M + m] + (bias ? bias[m] : 0);
    }
}

static hrc_status conv_lists(onnx_builder *b, onnx_step *s)
{
    const int64_t *strides, *pads, *dilations;
    const onnx_setting *automatic = onnx_setting_of(b, "auto_pad");
    int n[3];
    TRY(onnx_list(b, "strides", NULL, &strides, &n[0]));
    TRY(onnx_list(b, "pads", NULL, &pads, &n[1]));
    TRY(onnx_list(b, "dilations", NULL, &dilations, &n[2]));
    s->b[1] = n[0] == 1 ? strides[0] : 1;
    s->b[2] = n[1] == 2 ? pads[0] : 0;
    s->b[3] = n[1] == 2 ? pads[1] : 0;
    if (n[0] > 1 || n[2] > 1 || (n[1] && n[1] != 2))
        return onnx_refuse(b, "%d strides, %d pads, %d dilations, expected those of one dimension", n[0],
                           n[1], n[2]);
    if (s->b[1] < 1 || s->b[1] > 4096 || s->b[2] < 0 || s->b[2] > 4096 || s->b[3] < 0 || s->b[3] > 4096 ||
        (n[2] == 1 && dilations[0] != 1) || onnx_integer(b, "group", 1) != 1 ||
        (automatic && strcmp(automatic->text, "NOTSET")))
        return onnx_refuse(b, "expected one group, no dilation and given pads");
    return HRC_OK;
}

static hrc_status prepare_conv(onnx_builder *b, onnx_step *s, onnx_slot *const *in, onnx_slot *const *out)
{
    const onnx_slot *x = in[0], *w = in[1];
    TRY(onnx_want_float(b, x));
    TRY(onnx_want_float(b, w));
    if (x->ndim != 3 || w->ndim != 3 || x->dims[1] != w->dims[1] || !w->constant || !w->count)
        return onnx_refuse(
            b, "%d and %d dimensions, expected 3 (samples, channels, steps) and a constant weight", x->ndim,
            w->ndim);
    if (s->nin > 2 && (!in[2] || in[2]->type != TYPE_FLOAT || in[2]->count != (size_t)w->dims[0]))
        return onnx_refuse(b, "a bias that is no row of %lld floats", (long long)w->dims[0]);
    TRY(conv_lists(b, s));
    const int64_t K = w->dims[2], length = x->dims[2] + s->b[2] + s->b[3];
    if (K > length) return onnx_refuse(b, "a kernel of %lld on %lld steps", (long long)K, (long long)length);
    s->a[0] = x->dims[0], s->a[1] = w->dims[0], s->a[2] = x->dims[1], s->a[3] = x->dims[2];
    s->b[0] = K, s->b[3] = (length - K) / s->b[1] + 1;
    out[0]->type = TYPE_FLOAT;
    out[0]->ndim = 3, out[0]->dims[0] = s->a[0], out[0]->dims[1] = s->a[1], out[0]->dims[2] = s->b[3];
    TRY(count_products(b, out[0], s->a[2] * K));
    s->scratch = (size_t)(s->b[3] * (s->a[2] * K + s->a[1]));
    if (s->scratch > (size_t)1 << 24) return onnx_refuse(b, "takes memory for %zu numbers", s->scratch);
    TRY(pack(b, s, w, s->a[1], s->a[2] * K, true));
    s->run = run_conv;
    return HRC_OK;
}

/* ---- Over the last dimensions: a = {rows, numbers of a row} ---- */

static float mean_of(const float *x, int64_t n)
{
    float sum = 0;
#pragma omp simd reduction(+ : sum)
    for (int64_t i = 0; i < n; i++) sum += x[i];
    return sum / (float)n;
}

static void run_mean(const onnx_step *s, const void *const *in, void *const *out, void *scratch)
{
    (void)scratch;
    for (int64_t r = 0; r < s->a[0]; r++)
        ((float *)out[0])[r] = mean_of((const float *)in[0] + r * s->a[1], s->a[1]);
}

static hrc_status prepare_mean(onnx_builder *b, onnx_step *s, onnx_slot *const *in, onnx_slot *const *out)
{
    const int64_t *axes;
    int n, first = in[0]->ndim;
    bool over[ONNX_MAX_DIMS] = {0};
    TRY(onnx_want_float(b, in[0]));
    TRY(onnx_list(b, "axes", s->nin > 1 ? in[1] : NULL, &axes, &n));
    for (int i = 0; i < n; i++) {
        int axis;
        TRY(onnx_axis(b, axes[i], in[0]->ndim, &axis));
        over[axis] = true;
        first = axis < first ? axis : first;
    }
    if (n == 0 && !onnx_integer(b, "noop_with_empty_axes", 0)) { /* over all */
        first = 0;
        for (int k = 0; k < in[0]->ndim; k++) over[k] = true;
    }
    s->a[0] = s->a[1] = 1;
    out[0]->type = TYPE_FLOAT;
    for (int k = 0; k < in[0]->ndim; k++) {
        if ((k >= first) != over[k]) return onnx_refuse(b, "over dimensions that are not the last ones");
        s->a[k >= first] *= in[0]->dims[k];
        if (!over[k])
            out[0]->dims[out[0]->ndim++] = in[0]->dims[k];
        else if (onnx_integer(b, "keepdims", 1))
            out[0]->dims[out[0]->ndim++] = 1;
    }
    s->run = run_mean;
    return HRC_OK;
}

static void run_softmax(const onnx_step *s, const void *const *in, void *const *out, void *scratch)
{
    (void)scratch;
    for (int64_t r = 0; r < s->a[0]; r++) {
        const float *x = (const float *)in[0] + r * s->a[1];
        float *y = (float *)out[0] + r * s->a[1], top = x[0], sum = 0;
        for (int64_t i = 1; i < s->a[1]; i++) top = x[i] > top ? x[i] : top;
        for (int64_t i = 0; i < s->a[1]; i++) sum += y[i] = expf(x[i] - top);
        for (int64_t i = 0; i < s->a[1]; i++) y[i] /= sum;
    }
}

static hrc_status set_last(onnx_builder *b, onnx_step *s, const onnx_slot *in, onnx_slot *out, int otherwise)
{
    int axis;
    TRY(onnx_want_float(b, in));
    TRY(onnx_axis(b, onnx_integer(b, "axis", otherwise), in->ndim, &axis));
    if (axis != in->ndim - 1) return onnx_refuse(b, "over dimension %d, expected the last", axis);
    onnx_like(out, in);
    s->a[1] = in->dims[axis];
    s->a[0] = in->count ? (int64_t)in->count / s->a[1] : 0;
    return HRC_OK;
}

static hrc_status prepare_softmax(onnx_builder *b, onnx_step *s, onnx_slot *const *in, onnx_slot *const *out)
{
    s->run = run_softmax;
    return set_last(b, s, in[0], out[0], b->file->opset < 13 ? 1 : -1);
}

/* The place of the smallest, the first of equals; over the last dimension, or over one with none but 1 after.
 */
static void run_argmin(const onnx_step *s, const void *const *in, void *const *out, void *scratch)
{
    (void)scratch;
    for (int64_t r = 0; r < s->a[0]; r++) {
        const float *x = (const float *)in[0] + r * s->a[1];
        int64_t least = 0;
        for (int64_t i = 1; i < s->a[1]; i++)
            if (x[i] < x[least]) least = i;
        ((int64_t *)out[0])[r] = least;
    }
}

static hrc_status prepare_argmin(onnx_builder *b, onnx_step *s, onnx_slot *const *in, onnx_slot *const *out)
{
    int axis;
    TRY(onnx_want_float(b, in[0]));
    TRY(onnx_axis(b, onnx_integer(b, "axis", 0), in[0]->ndim, &axis));
    if (onnx_integer(b, "select_last_index", 0))
        return onnx_refuse(b, "the last of equals, expected the first");
    s->a[0] = 1, s->a[1] = in[0]->dims[axis];
    out[0]->type = TYPE_INT64;
    for (int k = 0; k < in[0]->ndim; k++) {
        if (k > axis && in[0]->dims[k] != 1)
            return onnx_refuse(b, "over dimension %d, expected the last", axis);
        if (k != axis) s->a[0] *= in[0]->dims[k];
        if (k != axis || onnx_integer(b, "keepdims", 1))
            out[0]->dims[out[0]->ndim++] = k == axis ? 1 : in[0]->dims[k];
    }
    s->run = run_argmin;
    return HRC_OK;
}

/* f = {epsilon} */
static void run_norm(const onnx_step *s, const void *const *in, void *const *out, void *scratch)
{
    const float *gain = in[1], *bias = s->nin > 2 ? in[2] : NULL;
    const int64_t n = s->a[1];
    (void)scratch;
    for (int64_t r = 0; r < s->a[0]; r++) {
        const float *x = (const float *)in[0] + r * n, mean = mean_of(x, n);
        float *y = (float *)out[0] + r * n, square = 0;
        for (int64_t i = 0; i < n; i++) square += (x[i] - mean) * (x[i] - mean);
        const float scale = 1 / sqrtf(square / (float)n + s->f[0]);
        for (int64_t i = 0; i < n; i++) y[i] = (x[i] - mean) * scale * gain[i] + (bias ? bias[i] : 0);
    }
}

static hrc_status prepare_norm(onnx_builder *b, onnx_step *s, onnx_slot *const *in, onnx_slot *const *out)
{
    TRY(set_last(b, s, in[0], out[0], -1));
    for (int i = 1; i < s->nin; i++)
        if (in[i] && (in[i]->type != TYPE_FLOAT || in[i]->count != (size_t)s->a[1]))
            return onnx_refuse(b, "input %d has %zu numbers, expected %lld floats", i, in[i]->count,
                               (long long)s->a[1]);
    s->f[0] = onnx_number(b, "epsilon", 1e-5f);
    s->run = run_norm;
    return HRC_OK;
}

#define EACH_ROW(name, function)                                                                             \
    {                                                                                                        \
        name, 1, 1, 1, prepare_each                                                                          \
    }

const onnx_operator ONNX_MATH_OPERATORS[] = {
    EACH_OPERATORS(EACH_ROW),
    {"Add", 2, 2, 1, prepare_arithmetic},
    {"Sub", 2, 2, 1, prepare_arithmetic},
    {"Mul", 2, 2, 1, prepare_arithmetic},
    {"Div", 2, 2, 1, prepare_arithmetic},
    {"Pow", 2, 2, 1, prepare_arithmetic},
    {"Elu", 1, 1, 1, prepare_elu},
    {"Clip", 1, 3, 1, prepare_clip},
    {"Gemm", 2, 3, 1, prepare_gemm},
    {"MatMul", 2, 2, 1, prepare_matmul},
    {"Conv", 2, 3, 1, prepare_conv},
    {"ReduceMean", 1, 2, 1, prepare_mean},
    {"Softmax", 1, 1, 1, prepare_softmax},
    {"ArgMin", 1, 1, 1, prepare_argmin},
    {"LayerNormalization", 2, 3, 1, prepare_norm},
    {0},
};
