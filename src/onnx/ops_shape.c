/* Operators that move numbers or make shapes. Between a kernel and its prepare function, `a` to `d` of the
 * step mean what the comment above the kernel says. */
#include <string.h>

#include "onnx/program.h"

static size_t item_size(const onnx_step *s)
{
    return s->whole ? sizeof(int64_t) : sizeof(float);
}

/* Product of dims from .. to-1. */
static int64_t span_of(const onnx_slot *s, int from, int to)
{
    int64_t n = 1;
    for (int i = from; i < to; i++) n *= s->dims[i];
    return n;
}

/* ---- The same numbers in another shape ---- */

static hrc_status same_numbers(onnx_builder *b, onnx_slot *out, const onnx_slot *in)
{
    int64_t n = 1;
    for (int i = 0; i < out->ndim; i++) {
        if (out->dims[i] < 1 || n > (int64_t)in->count / out->dims[i])
            return onnx_refuse(b, "dimension %d is %lld, which does not fit the %zu numbers of \"%.80s\"", i,
                               (long long)out->dims[i], in->count, in->name);
        n *= out->dims[i];
    }
    if (n != (int64_t)in->count)
        return onnx_refuse(b, "a shape of %lld numbers, but \"%.80s\" has %zu", (long long)n, in->name,
                           in->count);
    onnx_alias(out, in);
    return HRC_OK;
}

static hrc_status prepare_identity(onnx_builder *b, onnx_step *s, onnx_slot *const *in, onnx_slot *const *out)
{
    (void)s;
    onnx_like(out[0], in[0]);
    return same_numbers(b, out[0], in[0]);
}

static hrc_status prepare_reshape(onnx_builder *b, onnx_step *s, onnx_slot *const *in, onnx_slot *const *out)
{
    const int64_t *shape;
    int n, open = -1;
    int64_t known = 1;
    (void)s;
    TRY(onnx_list(b, "shape", in[1], &shape, &n));
    if (n > ONNX_MAX_DIMS) return onnx_refuse(b, "%d dimensions, expected at most %d", n, ONNX_MAX_DIMS);
    for (int i = 0; i < n; i++) {
        int64_t d = shape[i];
        if (d == 0 && i < in[0]->ndim && !onnx_integer(b, "allowzero", 0)) d = in[0]->dims[i];
        if (d == -1 && open >= 0) return onnx_refuse(b, "dimensions %d and %d are both -1", open, i);
        if (d == -1)
            open = i, d = 1;
        else if (d < 1 || known > (int64_t)in[0]->count / d)
            return onnx_refuse(b, "dimension %d is %lld, which does not fit %zu numbers", i, (long long)d,
                               in[0]->count);
        known *= d;
        out[0]->dims[i] = d;
    }
    out[0]->ndim = n;
    if (open >= 0) out[0]->dims[open] = (int64_t)in[0]->count / known;
    return same_numbers(b, out[0], in[0]);
}

static hrc_status prepare_flatten(onnx_builder *b, onnx_step *s, onnx_slot *const *in, onnx_slot *const *out)
{
    int64_t axis = onnx_integer(b, "axis", 1);
    (void)s;
    if (axis < 0) axis += in[0]->ndim;
    if (axis < 0 || axis > in[0]->ndim) return onnx_refuse(b, "axis is %lld", (long long)axis);
    out[0]->ndim = 2;
    out[0]->dims[0] = span_of(in[0], 0, (int)axis);
    out[0]->dims[1] = span_of(in[0], (int)axis, in[0]->ndim);
    return same_numbers(b, out[0], in[0]);
}

static hrc_status prepare_squeeze(onnx_builder *b, onnx_step *s, onnx_slot *const *in, onnx_slot *const *out)
{
    const int64_t *axes;
    bool drop[ONNX_MAX_DIMS] = {0};
    int n;
    TRY(onnx_list(b, "axes", s->nin > 1 ? in[1] : NULL, &axes, &n));
    for (int i = 0; i < in[0]->ndim && !n; i++) drop[i] = in[0]->dims[i] == 1;
    for (int i = 0; i < n; i++) {
        int axis;
        TRY(onnx_axis(b, axes[i], in[0]->ndim, &axis));
        drop[axis] = true;
    }
    for (int i = 0; i < in[0]->ndim; i++)
        if (!drop[i]) out[0]->dims[out[0]->ndim++] = in[0]->dims[i];
    return same_numbers(b, out[0], in[0]);
}

static hrc_status prepare_unsqueeze(onnx_builder *b, onnx_step *s, onnx_slot *const *in,
                                    onnx_slot *const *out)
{
    const int64_t *axes;
    bool added[ONNX_MAX_DIMS] = {0};
    int n;
    TRY(onnx_list(b, "axes", s->nin > 1 ? in[1] : NULL, &axes, &n));
    if (n < 1 || n + in[0]->ndim > ONNX_MAX_DIMS)
        return onnx_refuse(b, "%d axes of %d dimensions", n, in[0]->ndim);
    out[0]->ndim = n + in[0]->ndim;
    for (int i = 0; i < n; i++) {
        int axis;
        TRY(onnx_axis(b, axes[i], out[0]->ndim, &axis));
        if (added[axis]) return onnx_refuse(b, "axis %d twice", axis);
        added[axis] = true;
    }
    for (int i = 0, from = 0; i < out[0]->ndim; i++) out[0]->dims[i] = added[i] ? 1 : in[0]->dims[from++];
    return same_numbers(b, out[0], in[0]);
}

/* ---- Constants ---- */

static hrc_status prepare_constant(onnx_builder *b, onnx_step *s, onnx_slot *const *in, onnx_slot *const *out)
{
    const onnx_setting *value = onnx_setting_of(b, "value");
    (void)s, (void)in;
    if (!value || !value->array) return onnx_refuse(b, "expected a tensor as its \"value\"");
    const onnx_array *a = value->array;
    out[0]->type = a->type;
    out[0]->ndim = a->ndim;
    memcpy(out[0]->dims, a->dims, sizeof a->dims);
    out[0]->constant = a->data;
    return HRC_OK;
}

static hrc_status prepare_shape(onnx_builder *b, onnx_step *s, onnx_slot *const *in, onnx_slot *const *out)
{
    int64_t *dims = ARENA_NEW(b->memory, int64_t, ONNX_MAX_DIMS);
    (void)s;
    if (!dims) return fail(b->err, HRC_ENOMEM, "%s: out of memory", b->file->path);
    if (onnx_setting_of(b, "start") || onnx_setting_of(b, "end")) return onnx_refuse(b, "a part of a shape");
    memcpy(dims, in[0]->dims, sizeof in[0]->dims);
    *out[0] = (onnx_slot){
        .name = out[0]->name, .type = TYPE_INT64, .ndim = 1, .dims = {in[0]->ndim}, .constant = dims};
    return HRC_OK;
}

/* ---- Cast ---- */

static void run_to_whole(const onnx_step *s, const void *const *in, void *const *out, void *scratch)
{
    const float *x = in[0];
    int64_t *y = out[0];
    (void)scratch;
    for (size_t i = 0; i < s->n; i++) y[i] = x[i] > -9e15f && x[i] < 9e15f ? (int64_t)x[i] : 0;
}

static void run_to_float(const onnx_step *s, const void *const *in, void *const *out, void *scratch)
{
    const int64_t *x = in[0];
    float *y = out[0];
    (void)scratch;
    for (size_t i = 0; i < s->n; i++) y[i] = (float)x[i];
}

static hrc_status prepare_cast(onnx_builder *b, onnx_step *s, onnx_slot *const *in, onnx_slot *const *out)
{
    const int64_t to = onnx_integer(b, "to", 0);
    if (to != TYPE_FLOAT && to != TYPE_INT64)
        return onnx_refuse(b, "to type %lld, expected float (1) or int64 (7)", (long long)to);
    onnx_like(out[0], in[0]);
    if (to == in[0]->type) return same_numbers(b, out[0], in[0]);
    out[0]->type = (int)to;
    s->run = to == TYPE_FLOAT ? run_to_float : run_to_whole;
    return HRC_OK;
}

/* ---- Parts: a = {outer, inner bytes}; list: the inputs' or outputs' lengths along the axis ---- */

static void run_concat(const onnx_step *s, const void *const *in, void *const *out, void *scratch)
{
    char *to = out[0];
    (void)scratch;
    for (int64_t o = 0; o < s->a[0]; o++)
        for (int i = 0; i < s->nin; i++) {
            const size_t bytes = (size_t)(s->list[i] * s->a[1]);
            memcpy(to, (const char *)in[i] + (size_t)o * bytes, bytes);
            to += bytes;
        }
}

static hrc_status set_parts(onnx_builder *b, onnx_step *s, const onnx_slot *whole, int axis, int n)
{
    s->whole = whole->type == TYPE_INT64;
    s->a[0] = span_of(whole, 0, axis);
    s->a[1] = span_of(whole, axis + 1, whole->ndim) * (int64_t)item_size(s);
    s->list = ARENA_NEW(b->memory, int64_t, n);
    return s->list ? HRC_OK : fail(b->err, HRC_ENOMEM, "%s: out of memory", b->file->path);
}

static hrc_status prepare_concat(onnx_builder *b, onnx_step *s, onnx_slot *const *in, onnx_slot *const *out)
{
    int axis;
    TRY(onnx_axis(b, onnx_integer(b, "axis", 0), in[0]->ndim, &axis));
    TRY(set_parts(b, s, in[0], axis, s->nin));
    onnx_like(out[0], in[0]);
    out[0]->dims[axis] = 0;
    for (int i = 0; i < s->nin; i++) {
        bool fits = in[i] && in[i]->type == in[0]->type && in[i]->ndim == in[0]->ndim;
        for (int k = 0; fits && k < in[0]->ndim; k++) fits = k == axis || in[i]->dims[k] == in[0]->dims[k];
        if (!fits) return onnx_refuse(b, "input %d has another shape than input 0", i);
        s->list[i] = in[i]->dims[axis];
        out[0]->dims[axis] += in[i]->dims[axis];
    }
    s->run = run_concat;
    return HRC_OK;
}

static void run_split(const onnx_step *s, const void *const *in, void *const *out, void *scratch)
{
    const char *from = in[0];
    (void)scratch;
    for (int64_t o = 0; o < s->a[0]; o++)
        for (int i = 0; i < s->nout; i++) {
            const size_t bytes = (size_t)(s->list[i] * s->a[1]);
            memcpy((char *)out[i] + (size_t)o * bytes, from, bytes);
            from += bytes;
        }
}

static hrc_status prepare_split(onnx_builder *b, onnx_step *s, onnx_slot *const *in, onnx_slot *const *out)
{
    const int64_t *sizes;
    int axis, n;
    int64_t sum = 0;
    TRY(onnx_axis(b, onnx_integer(b, "axis", 0), in[0]->ndim, &axis));
    TRY(onnx_list(b, "split", s->nin > 1 ? in[1] : NULL, &sizes, &n));
    TRY(set_parts(b, s, in[0], axis, s->nout));
    const int64_t length = in[0]->dims[axis];
    if (n ? n != s->nout : length % s->nout != 0)
        return onnx_refuse(b, "%lld numbers into %d outputs", (long long)length, s->nout);
    for (int i = 0; i < s->nout; i++) {
        s->list[i] = n ? sizes[i] : length / s->nout;
        if (s->list[i] < 1 || s->list[i] > length - sum) return onnx_refuse(b, "part %d does not fit", i);
        sum += s->list[i];
        onnx_like(out[i], in[0]);
        out[i]->dims[axis] = s->list[i];
    }
    if (sum != length)
        return onnx_refuse(b, "parts of %lld in all, expected %lld", (long long)sum, (long long)length);
    s->run = run_split;
    return HRC_OK;
}

/* ---- Views: out[i] = in[start + sum of index k times step d[k]]; b: the output's dims, a = {ndim, start}
 * ---- */

static void run_view(const onnx_step *s, const void *const *in, void *const *out, void *scratch)
{
    int64_t index[ONNX_MAX_DIMS] = {0}, at = s->a[1];
    const int ndim = (int)s->a[0];
    (void)scratch;
    for (size_t i = 0; i < s->n; i++) {
        if (s->whole)
            ((int64_t *)out[0])[i] = ((const int64_t *)in[0])[at];
        else
            ((float *)out[0])[i] = ((const float *)in[0])[at];
        for (int k = ndim - 1; k >= 0; k--) {
            at += s->d[k];
            if (++index[k] < s->b[k]) break;
            at -= s->d[k] * s->b[k];
            index[k] = 0;
        }
    }
}

static void strides_of(int64_t strides[ONNX_MAX_DIMS], const onnx_slot *s)
{
    for (int k = 0; k < s->ndim; k++) strides[k] = span_of(s, k + 1, s->ndim);
}

static void set_view(onnx_step *s, const onnx_slot *in, const onnx_slot *out, int64_t start)
{
    s->whole = in->type == TYPE_INT64;
    s->a[0] = out->ndim, s->a[1] = start;
    memcpy(s->b, out->dims, sizeof s->b);
    s->run = run_view;
}

static hrc_status prepare_transpose(onnx_builder *b, onnx_step *s, onnx_slot *const *in,
                                    onnx_slot *const *out)
{
    const int64_t *perm;
    int64_t strides[ONNX_MAX_DIMS] = {0};
    bool seen[ONNX_MAX_DIMS] = {0};
    int n;
    const int ndim = in[0]->ndim;
    TRY(onnx_list(b, "perm", NULL, &perm, &n));
    if (n && n != ndim) return onnx_refuse(b, "perm of %d dimensions, expected %d", n, ndim);
    onnx_like(out[0], in[0]);
    strides_of(strides, in[0]);
    for (int k = 0; k < ndim; k++) {
        int from = ndim - 1 - k;
        if (n) TRY(onnx_axis(b, perm[k], ndim, &from));
        if (seen[from]) return onnx_refuse(b, "perm names dimension %d twice", from);
        seen[from] = true;
        out[0]->dims[k] = in[0]->dims[from];
        s->d[k] = strides[from];
    }
    set_view(s, in[0], out[0], 0);
    return HRC_OK;
}

/* First and number of elements that start:end:step takes of `length`. */
static hrc_status slice_range(onnx_builder *b, int64_t start, int64_t end, int64_t step, int64_t length,
                              int64_t *first, int64_t *n)
{
    if (step < 1 || step > length) return onnx_refuse(b, "step is %lld, expected 1 or more", (long long)step);
    if (start < 0) start += length;
    if (end < 0) end += length;
    start = start < 0 ? 0 : start > length ? length : start;
    end = end < 0 ? 0 : end > length ? length : end;
    if (end <= start) return onnx_refuse(b, "takes nothing: %lld to %lld", (long long)start, (long long)end);
    *first = start;
    *n = (end - start + step - 1) / step;
    return HRC_OK;
}

static hrc_status prepare_slice(onnx_builder *b, onnx_step *s, onnx_slot *const *in, onnx_slot *const *out)
{
    const int64_t *starts, *ends, *axes, *steps;
    int n[4];
    int64_t strides[ONNX_MAX_DIMS] = {0}, start = 0;
    TRY(onnx_list(b, "starts", s->nin > 1 ? in[1] : NULL, &starts, &n[0]));
    TRY(onnx_list(b, "ends", s->nin > 2 ? in[2] : NULL, &ends, &n[1]));
    TRY(onnx_list(b, "axes", s->nin > 3 ? in[3] : NULL, &axes, &n[2]));
    TRY(onnx_list(b, "steps", s->nin > 4 ? in[4] : NULL, &steps, &n[3]));
    if (n[0] < 1 || n[0] > in[0]->ndim || n[1] != n[0] || (n[2] && n[2] != n[0]) || (n[3] && n[3] != n[0]))
        return onnx_refuse(b, "%d starts, %d ends, %d axes, %d steps of %d dimensions", n[0], n[1], n[2],
                           n[3], in[0]->ndim);
    onnx_like(out[0], in[0]);
    strides_of(strides, in[0]);
    memcpy(s->d, strides, sizeof s->d);
    for (int i = 0; i < n[0]; i++) {
        int axis;
        int64_t first = 0, taken = 0;
        TRY(onnx_axis(b, n[2] ? axes[i] : i, in[0]->ndim, &axis));
        if (s->d[axis] != strides[axis] || out[0]->dims[axis] != in[0]->dims[axis])
            return onnx_refuse(b, "axis %d twice", axis);
        TRY(slice_range(b, starts[i], ends[i], n[3] ? steps[i] : 1, in[0]->dims[axis], &first, &taken));
        start += first * strides[axis];
        s->d[axis] = strides[axis] * (n[3] ? steps[i] : 1);
        out[0]->dims[axis] = taken;
    }
    set_view(s, in[0], out[0], start);
    return HRC_OK;
}

/* ---- Gather: a = {outer, length along the axis, inner bytes, indices} ---- */

static void run_gather(const onnx_step *s, const void *const *in, void *const *out, void *scratch)
{
    const int64_t *index = in[1], length = s->a[1];
    const size_t bytes = (size_t)s->a[2];
    char *to = out[0];
    (void)scratch;
    for (int64_t o = 0; o < s->a[0]; o++)
        for (int64_t i = 0; i < s->a[3]; i++) {
            int64_t k = index[i] < 0 ? index[i] + length : index[i];
            k = k < 0 ? 0 : k >= length ? length - 1 : k; /* never outside, whatever the input says */
            memcpy(to, (const char *)in[0] + (size_t)(o * length + k) * bytes, bytes);
            to += bytes;
        }
}

static hrc_status prepare_gather(onnx_builder *b, onnx_step *s, onnx_slot *const *in, onnx_slot *const *out)
{
    int axis;
    const onnx_slot *data = in[0], *index = in[1];
    TRY(onnx_axis(b, onnx_integer(b, "axis", 0), data->ndim, &axis));
    if (index->type != TYPE_INT64) return onnx_refuse(b, "indices are floats, expected int64");
    if (data->ndim - 1 + index->ndim > ONNX_MAX_DIMS || !data->count || !index->count)
        return onnx_refuse(b, "%d dimensions by %d", data->ndim, index->ndim);
    s->whole = data->type == TYPE_INT64;
    out[0]->type = data->type;
    for (int k = 0; k < axis; k++) out[0]->dims[out[0]->ndim++] = data->dims[k];
    for (int k = 0; k < index->ndim; k++) out[0]->dims[out[0]->ndim++] = index->dims[k];
    for (int k = axis + 1; k < data->ndim; k++) out[0]->dims[out[0]->ndim++] = data->dims[k];
    s->a[0] = span_of(data, 0, axis);
    s->a[1] = data->dims[axis];
    s->a[2] = span_of(data, axis + 1, data->ndim) * (int64_t)item_size(s);
    s->a[3] = (int64_t)index->count;
    s->run = run_gather;
    return HRC_OK;
}

const onnx_operator ONNX_SHAPE_OPERATORS[] = {
    {"Identity", 1, 1, 1, prepare_identity},    {"Reshape", 2, 2, 1, prepare_reshape},
    {"Flatten", 1, 1, 1, prepare_flatten},      {"Squeeze", 1, 2, 1, prepare_squeeze},
    {"Unsqueeze", 1, 2, 1, prepare_unsqueeze},  {"Constant", 0, 0, 1, prepare_constant},
    {"Shape", 1, 1, 1, prepare_shape},          {"Cast", 1, 1, 1, prepare_cast},
    {"Concat", 1, STEP_MAX, 1, prepare_concat}, {"Split", 1, 2, STEP_MAX, prepare_split},
    {"Transpose", 1, 1, 1, prepare_transpose},  {"Slice", 1, 5, 1, prepare_slice},
    {"Gather", 2, 2, 1, prepare_gather},        {0},
};
