#include "motion/import/npy.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define ITEM_MAX 4096    /* bytes of one text */
#define HEADER_MAX 65536 /* characters; real ones have about 100 */

/* The header is a Python dictionary of three fixed keys: a cursor over its characters. */
typedef struct {
    const char *at, *end;
} cursor;

static void skip_blanks(cursor *c)
{
    while (c->at < c->end && (*c->at == ' ' || *c->at == '\n')) c->at++;
}

static bool take(cursor *c, const char *text)
{
    skip_blanks(c);
    size_t n = strlen(text);
    if ((size_t)(c->end - c->at) < n || memcmp(c->at, text, n) != 0) return false;
    c->at += n;
    return true;
}

static bool take_size(cursor *c, int64_t *out)
{
    skip_blanks(c);
    int64_t value = 0;
    const char *start = c->at;
    for (; c->at < c->end && isdigit((unsigned char)*c->at); c->at++) {
        if (value > INT64_MAX / 16) return false;
        value = 10 * value + (*c->at - '0');
    }
    *out = value;
    return c->at > start;
}

/* '<f4', '<U26': quotes included. */
static bool take_descr(cursor *c, npy *a)
{
    int64_t n;
    if (!take(c, "'<") || c->at == c->end) return false;
    a->kind = *c->at++;
    if (!take_size(c, &n) || !take(c, "'")) return false;
    if (a->kind == 'U' && n >= 1 && n <= ITEM_MAX / 4) {
        a->item = 4 * (int)n;
        return true;
    }
    a->item = (int)(n == 8 ? 8 : 4);
    return (a->kind == 'f' || a->kind == 'i') && (n == 4 || n == 8);
}

/* (), (5,), (5, 29) or (5, 30, 3) */
static bool take_shape(cursor *c, npy *a)
{
    a->ndim = 0;
    a->count = 1;
    if (!take(c, "(")) return false;
    while (!take(c, ")")) {
        int64_t n;
        if (a->ndim == NPY_MAX_DIMS || !take_size(c, &n)) return false;
        if (n > 0 && a->count > INT64_MAX / ITEM_MAX / n) return false;
        a->shape[a->ndim++] = n;
        a->count *= n;
        if (!take(c, ",")) return take(c, ")");
    }
    return true;
}

typedef enum { HEADER_GOOD, HEADER_BROKEN, HEADER_TYPE, HEADER_ORDER, HEADER_SHAPE } header_state;

static header_state parse_dictionary(cursor *c, npy *a)
{
    bool descr = false, order = false, shape = false;
    if (!take(c, "{")) return HEADER_BROKEN;
    while (!take(c, "}")) {
        if (take(c, "'descr':")) {
            if (!take_descr(c, a)) return HEADER_TYPE;
            descr = true;
        } else if (take(c, "'fortran_order':")) {
            a->fortran = take(c, "True");
            if (!a->fortran && !take(c, "False")) return HEADER_ORDER;
            order = true;
        } else if (take(c, "'shape':")) {
            if (!take_shape(c, a)) return HEADER_SHAPE;
            shape = true;
        } else {
            return HEADER_BROKEN;
        }
        if (!take(c, ",")) {
            if (!take(c, "}")) return HEADER_BROKEN;
            break;
        }
    }
    skip_blanks(c);
    return descr && order && shape && c->at == c->end ? HEADER_GOOD : HEADER_BROKEN;
}

/* Where the header's characters are: behind magic, version and a length of 2 or 4 bytes. */
static hrc_status find_header(cursor *header, const char *where, file_view bytes, hrc_error *err)
{
    const unsigned char *b = (const unsigned char *)bytes.data;
    if (bytes.size < 12 || memcmp(b, "\x93NUMPY", 6) != 0)
        return fail(err, HRC_EFORMAT, "%s: does not begin as an .npy array", where);
    if ((b[6] != 1 && b[6] != 2) || b[7] != 0)
        return fail(err, HRC_EFORMAT, "%s: is .npy version %d.%d, expected 1.0 or 2.0", where, b[6], b[7]);
    size_t prefix = b[6] == 1 ? 10 : 12, length = b[8] | (size_t)b[9] << 8;
    if (b[6] == 2) length |= (size_t)b[10] << 16 | (size_t)b[11] << 24;
    if (length > bytes.size - prefix || length > HEADER_MAX)
        return fail(err, HRC_EFORMAT, "%s: declares a header of %zu bytes, but has %zu", where, length,
                    bytes.size - prefix);
    *header = (cursor){bytes.data + prefix, bytes.data + prefix + length};
    return HRC_OK;
}

hrc_status npy_parse(npy *a, const char *where, file_view bytes, hrc_error *err)
{
    static const char *const WHY[] = {
        [HEADER_BROKEN] = "is not a dictionary of descr, fortran_order and shape",
        [HEADER_TYPE] = "has a type other than <f4 <f8 <i4 <i8 <U",
        [HEADER_ORDER] = "has a fortran_order other than True and False",
        [HEADER_SHAPE] = "has no sensible shape of at most 4 sizes",
    };
    *a = (npy){0};
    cursor header = {0};
    TRY(find_header(&header, where, bytes, err));
    a->data = header.end;
    size_t left = (size_t)(bytes.data + bytes.size - header.end);
    header_state state = parse_dictionary(&header, a);
    if (state != HEADER_GOOD) return fail(err, HRC_EFORMAT, "%s: its header %s", where, WHY[state]);
    if ((uint64_t)a->count * (uint64_t)a->item != left)
        return fail(err, HRC_EFORMAT, "%s: %zu bytes of data, expected %llu from its shape and type", where,
                    left, (unsigned long long)a->count * (unsigned long long)a->item);
    return HRC_OK;
}

hrc_status npy_to_c_order(npy *a, const char *where, arena *memory, hrc_error *err)
{
    if (!a->fortran) return HRC_OK;
    char *data = arena_alloc(memory, (size_t)a->count, (size_t)a->item);
    if (!data) return fail(err, HRC_ENOMEM, "%s: out of memory", where);
    int64_t index[NPY_MAX_DIMS] = {0};
    for (int64_t i = 0; i < a->count; i++) {
        /* index counts up in C order; its place in the file has the first size fastest. */
        int64_t from = 0;
        for (int d = a->ndim - 1; d >= 0; d--) from = from * a->shape[d] + index[d];
        memcpy(data + i * a->item, a->data + from * a->item, (size_t)a->item);
        for (int d = a->ndim - 1; d >= 0 && ++index[d] == a->shape[d]; d--) index[d] = 0;
    }
    a->data = data;
    a->fortran = false;
    return HRC_OK;
}

bool npy_is_number(const npy *a)
{
    return (a->kind == 'f' || a->kind == 'i') && (a->item == 4 || a->item == 8);
}

double npy_number(const npy *a, int64_t i)
{
    const char *at = a->data + i * a->item;
    float f;
    double d;
    int32_t n;
    int64_t m;
    if (a->kind == 'f' && a->item == 4) return memcpy(&f, at, sizeof f), (double)f;
    if (a->kind == 'f') return memcpy(&d, at, sizeof d), d;
    if (a->item == 4) return memcpy(&n, at, sizeof n), (double)n;
    return memcpy(&m, at, sizeof m), (double)m;
}

void npy_text(const npy *a, int64_t i, char *out, size_t size)
{
    size_t k = 0;
    for (; k + 1 < size && k < (size_t)a->item / 4; k++) {
        uint32_t code;
        memcpy(&code, a->data + i * a->item + 4 * k, sizeof code);
        if (code == 0) break; /* shorter texts are padded with zeros */
        out[k] = code >= 32 && code < 127 ? (char)code : '?';
    }
    out[k] = 0;
}

void npy_header(char out[NPY_HEADER], const char *descr, int ndim, const int64_t *shape)
{
    char sizes[NPY_MAX_DIMS * 24] = "", text[NPY_HEADER];
    for (int i = 0, used = 0; i < ndim; i++)
        used += snprintf(sizes + used, sizeof sizes - (size_t)used, "%s%lld%s", i ? " " : "",
                         (long long)shape[i], i < ndim - 1 || ndim == 1 ? "," : "");
    int n =
        snprintf(text, sizeof text, "{'descr': '%s', 'fortran_order': False, 'shape': (%s), }", descr, sizes);
    memset(out, ' ', NPY_HEADER);
    memcpy(out, "\x93NUMPY\x01", 7);
    out[7] = 0;
    out[8] = (char)(NPY_HEADER - 10);
    out[9] = 0;
    memcpy(out + 10, text, (size_t)n);
    out[NPY_HEADER - 1] = '\n';
}
