#include "motion/import/pickle_array.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#define EXPANDED_MAX ((size_t)256 << 20) /* bytes that a compressed pickle may expand to */

typedef enum { RECONSTRUCT, FROMBUFFER, SCALAR, NDARRAY, DTYPE, WRAPPER } known;

int pickle_global_find(file_view module, file_view name)
{
    static const struct {
        const char *module, *name;
        known number;
    } KNOWN[] = {
        {"numpy.core.multiarray", "_reconstruct", RECONSTRUCT},
        {"numpy._core.multiarray", "_reconstruct", RECONSTRUCT},
        {"numpy.core.numeric", "_frombuffer", FROMBUFFER},
        {"numpy._core.numeric", "_frombuffer", FROMBUFFER},
        {"numpy.core.multiarray", "scalar", SCALAR},
        {"numpy._core.multiarray", "scalar", SCALAR},
        {"numpy", "ndarray", NDARRAY},
        {"numpy", "dtype", DTYPE},
        {"joblib.numpy_pickle", "NumpyArrayWrapper", WRAPPER},
    };
    for (int i = 0; i < COUNT(KNOWN); i++)
        if (module.size == strlen(KNOWN[i].module) && name.size == strlen(KNOWN[i].name) &&
            !memcmp(module.data, KNOWN[i].module, module.size) &&
            !memcmp(name.data, KNOWN[i].name, name.size))
            return (int)KNOWN[i].number;
    return -1;
}

static const pickle_value *entry(const pickle_value *list, int i)
{
    return list && list->kind == PICKLE_LIST && i < list->n ? list->items[i] : NULL;
}

/* "f4", "<i8", "U12": what a dtype is made from. */
static const char *parse_type(npy *a, const pickle_value *text)
{
    char name[16];
    if (!text || (text->kind != PICKLE_TEXT && text->kind != PICKLE_BYTES) || text->size >= sizeof name)
        return "a dtype that is no short text";
    memcpy(name, text->data, text->size);
    name[text->size] = 0;
    const char *at = name + strspn(name, "<|=");
    char *end = name;
    long n = at[0] ? strtol(at + 1, &end, 10) : 0;
    if (!at[0] || !strchr("fiubUS", at[0]) || *end || n < 1 || n > 1024)
        return "a dtype other than plain numbers and texts";
    a->kind = at[0];
    a->item = (int)(at[0] == 'U' ? 4 * n : n);
    return NULL;
}

static const char *parse_shape(npy *a, const pickle_value *shape)
{
    if (!shape || shape->kind != PICKLE_LIST || shape->n > NPY_MAX_DIMS)
        return "an array without a shape of at most 4 sizes";
    a->ndim = shape->n;
    a->count = 1;
    for (int i = 0; i < shape->n; i++) {
        const pickle_value *size = shape->items[i];
        if (size->kind != PICKLE_INT || size->integer < 0) return "an array with a size below 0";
        if (size->integer > 0 && a->count > INT64_MAX / 4096 / size->integer)
            return "an array beyond any file";
        a->shape[i] = size->integer;
        a->count *= size->integer;
    }
    return NULL;
}

static const char *set_type(npy *a, const pickle_value *dtype)
{
    if (!dtype || dtype->kind != PICKLE_DTYPE) return "an array without a dtype";
    a->kind = dtype->array->kind;
    a->item = dtype->array->item;
    return NULL;
}

static const char *set_data(npy *a, const pickle_value *bytes)
{
    if (!bytes || bytes->kind != PICKLE_BYTES) return "an array whose contents are no bytes";
    if ((uint64_t)a->count * (uint64_t)a->item != bytes->size)
        return "an array whose bytes are not as many as its shape and type need";
    a->data = bytes->data;
    return NULL;
}

#define CHECK(call)                                                                                          \
    do {                                                                                                     \
        const char *why_ = (call);                                                                           \
        if (why_) return why_;                                                                               \
    } while (0)

/* scalar(dtype, bytes) */
static const char *make_scalar(pickle_value *out, const pickle_value *arguments)
{
    npy a = {.count = 1};
    CHECK(set_type(&a, entry(arguments, 0)));
    CHECK(set_data(&a, entry(arguments, 1)));
    if (!npy_is_number(&a)) return "a NumPy scalar other than f4, f8, i4 and i8";
    out->kind = PICKLE_FLOAT;
    out->real = npy_number(&a, 0);
    return NULL;
}

/* _frombuffer(bytes, dtype, shape, order) */
static const char *make_frombuffer(npy *a, const pickle_value *arguments)
{
    CHECK(set_type(a, entry(arguments, 1)));
    CHECK(parse_shape(a, entry(arguments, 2)));
    a->fortran = pickle_is(entry(arguments, 3), "F");
    return set_data(a, entry(arguments, 0));
}

const char *pickle_make(pickle_value *out, const pickle_value *function, const pickle_value *arguments,
                        arena *memory)
{
    if (function->kind != PICKLE_GLOBAL) return "calls what is no function";
    if (arguments->kind != PICKLE_LIST) return "calls a function with what are no arguments";
    if (function->integer == SCALAR) return make_scalar(out, arguments);
    if (function->integer == NDARRAY) return "calls numpy.ndarray itself";
    out->kind = function->integer == DTYPE     ? PICKLE_DTYPE
                : function->integer == WRAPPER ? PICKLE_WRAPPER
                                               : PICKLE_ARRAY;
    out->array = ARENA_NEW(memory, npy, 1);
    if (!out->array) return "out of memory";
    if (function->integer == DTYPE) return parse_type(out->array, entry(arguments, 0));
    if (function->integer == FROMBUFFER) return make_frombuffer(out->array, arguments);
    return NULL;
}

const char *pickle_fill(pickle_value *object, const pickle_value *state)
{
    if (object->kind == PICKLE_DTYPE) /* (version, byte order, ...) */
        return pickle_is(entry(state, 1), ">") ? "an array of big-endian numbers" : NULL;
    if (object->kind != PICKLE_ARRAY) return "fills an object other than an array";
    npy a = {0}; /* (version, shape, dtype, whether in Fortran's order, bytes) */
    const pickle_value *fortran = entry(state, 3);
    CHECK(parse_shape(&a, entry(state, 1)));
    CHECK(set_type(&a, entry(state, 2)));
    CHECK(set_data(&a, entry(state, 4)));
    a.fortran = fortran && fortran->kind == PICKLE_INT && fortran->integer;
    *object->array = a;
    return NULL;
}

const char *pickle_wrapped(npy *out, bool *padded, const pickle_value *state)
{
    const pickle_value *alignment = pickle_get(state, "numpy_array_alignment_bytes");
    CHECK(parse_shape(out, pickle_get(state, "shape")));
    CHECK(set_type(out, pickle_get(state, "dtype")));
    out->fortran = pickle_is(pickle_get(state, "order"), "F");
    *padded = alignment && alignment->kind == PICKLE_INT;
    return NULL;
}

/* ---- Compressed pickles ---- */

static bool is_gzip(file_view bytes)
{
    return bytes.size > 2 && (unsigned char)bytes.data[0] == 0x1f && (unsigned char)bytes.data[1] == 0x8b;
}

/* 0x78 is 'x': the second byte makes the pair a multiple of 31, which a text does not do with these. */
static bool is_zlib(file_view bytes)
{
    return bytes.size > 2 && bytes.data[0] == 0x78 && strchr("\x01\x5e\x9c\xda", bytes.data[1]) &&
           bytes.data[1];
}

bool pickle_begins(file_view bytes)
{
    bool plain =
        bytes.size > 2 && (unsigned char)bytes.data[0] == 0x80 && bytes.data[1] >= 2 && bytes.data[1] <= 5;
    return plain || is_gzip(bytes) || is_zlib(bytes);
}

/* Into a buffer that doubles; NULL when the stream is damaged, ends early or goes beyond the limit. */
static char *inflate_all(z_stream *z, size_t *size)
{
    size_t room = 0;
    char *out = NULL;
    int state = Z_OK;
    while (state == Z_OK && z->total_out < EXPANDED_MAX) {
        if (z->total_out == room) {
            room = room ? 2 * room : 65536;
            char *more = realloc(out, room);
            if (!more) break;
            out = more;
        }
        z->next_out = (Bytef *)out + z->total_out;
        z->avail_out = (uInt)(room - z->total_out);
        state = inflate(z, Z_NO_FLUSH);
    }
    *size = z->total_out;
    if (state == Z_STREAM_END) return out;
    free(out);
    return NULL;
}

hrc_status pickle_expand(char **owned, file_view *bytes, const char *path, hrc_error *err)
{
    *owned = NULL;
    if (!is_gzip(*bytes) && !is_zlib(*bytes)) return HRC_OK;
    z_stream z = {.next_in = (z_const Bytef *)bytes->data, .avail_in = (uInt)bytes->size};
    if (bytes->size > EXPANDED_MAX || inflateInit2(&z, 15 + 32) != Z_OK) /* zlib or gzip, by the header */
        return fail(err, HRC_EFORMAT, "%s: is too large to be expanded: %zu bytes", path, bytes->size);
    size_t size = 0;
    *owned = inflate_all(&z, &size);
    inflateEnd(&z);
    if (!*owned)
        return fail(err, HRC_EFORMAT,
                    "%s: is a compressed pickle that cannot be expanded: damaged, truncated, or over %zu MB",
                    path, EXPANDED_MAX >> 20);
    *bytes = (file_view){*owned, size};
    return HRC_OK;
}
