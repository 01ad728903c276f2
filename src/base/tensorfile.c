#include "base/tensorfile.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/json.h"

/* Debian builds libjansson.a without -fPIC, and its file loader, which is never called here, names stdin:
 * the one relocation that a shared library cannot hold. The Makefile renames that symbol to this one. */
void *jansson_stdin;

/* ---- The digest ---- */

#define KEY "digest"

typedef char seal[24];

static uint64_t digest_text(uint64_t seed, const char *text)
{
    return digest_bytes(seed, text, strlen(text));
}

static uint64_t digest_tensor(const tensor *t)
{
    uint64_t h = digest_text(digest_text(1, t->name), dtype_name(t->type));
    for (int i = 0; i < t->ndim; i++) {
        char size[24];
        snprintf(size, sizeof size, "%lld", (long long)t->shape[i]);
        h = digest_text(h, size);
    }
    return digest_bytes(h, t->data, (size_t)t->count * dtype_size(t->type));
}

/* The sum over the entries, each of which carries its name: independent of their order. */
static void make_seal(seal out, const tensor *tensors, int ntensors, const tensor_meta *meta, int nmeta)
{
    uint64_t sum = 0;
    for (int i = 0; i < ntensors; i++) sum += digest_tensor(&tensors[i]);
    for (int i = 0; i < nmeta; i++)
        if (strcmp(meta[i].key, KEY)) sum += digest_text(digest_text(2, meta[i].key), meta[i].value);
    snprintf(out, sizeof(seal), "xxh64:%016llx", (unsigned long long)sum);
}

hrc_status seal_write(const char *path, const tensor *tensors, int ntensors, const tensor_meta *meta,
                      int nmeta, hrc_error *err)
{
    seal digest;
    tensor_meta *all = malloc(((size_t)nmeta + 1) * sizeof *all);
    if (!all) return fail(err, HRC_ENOMEM, "%s: out of memory", path);
    if (nmeta) memcpy(all, meta, (size_t)nmeta * sizeof *all);
    make_seal(digest, tensors, ntensors, meta, nmeta);
    all[nmeta] = (tensor_meta){KEY, digest};
    hrc_status status = tensorfile_write(path, tensors, ntensors, all, nmeta + 1, err);
    free(all);
    return status;
}

/* A file without a digest passes. */
static hrc_status seal_check(const tensorfile *file, hrc_error *err)
{
    seal digest;
    const char *found = tensorfile_meta(file, KEY);
    if (!found) return HRC_OK;
    make_seal(digest, file->tensors, file->ntensors, file->meta, file->nmeta);
    if (strcmp(found, digest))
        return fail(err, HRC_EFORMAT, "%s: damaged: its content has the digest %s, expected %.40s",
                    file->path, digest, found);
    return HRC_OK;
}

hrc_status seal_need(const tensorfile *file, hrc_error *err)
{
    if (tensorfile_meta(file, KEY)) return HRC_OK;
    return fail(err, HRC_EFORMAT,
                "%s: has no digest, so that damage could not be told: it is of an earlier version or another "
                "program; expected one written by training or by `heracles seal`",
                file->path);
}

/* ---- Reading ---- */

#define HEADER_MAX ((size_t)100 << 20) /* as in the public library */

static const struct {
    const char *name;
    size_t size;
} DTYPES[] = {
    [DT_F64] = {"F64", 8}, [DT_F32] = {"F32", 4}, [DT_F16] = {"F16", 2},   [DT_BF16] = {"BF16", 2},
    [DT_I64] = {"I64", 8}, [DT_I32] = {"I32", 4}, [DT_I16] = {"I16", 2},   [DT_I8] = {"I8", 1},
    [DT_U8] = {"U8", 1},   [DT_U32] = {"U32", 4}, [DT_BOOL] = {"BOOL", 1},
};

size_t dtype_size(dtype type)
{
    return DTYPES[type].size;
}

const char *dtype_name(dtype type)
{
    return DTYPES[type].name;
}

static int dtype_from_name(const char *name)
{
    for (int i = 0; i < COUNT(DTYPES); i++)
        if (strcmp(DTYPES[i].name, name) == 0) return i;
    return -1;
}

static hrc_status parse_shape(tensor *t, json_t *shape, const char *path, hrc_error *err)
{
    if (!json_is_array(shape) || json_array_size(shape) > TENSOR_MAX_DIMS)
        return fail(err, HRC_EFORMAT, "%s: tensor \"%.80s\": shape is not an array of at most %d sizes", path,
                    t->name, TENSOR_MAX_DIMS);
    t->ndim = (int)json_array_size(shape);
    t->count = 1;
    for (int i = 0; i < t->ndim; i++) {
        json_t *size = json_array_get(shape, (size_t)i);
        json_int_t n = json_integer_value(size);
        if (!json_is_integer(size) || n < 0 || (n > 0 && t->count > INT64_MAX / 8 / n))
            return fail(err, HRC_EFORMAT,
                        "%s: tensor \"%.80s\": size %d of its shape is not a sensible number", path, t->name,
                        i);
        t->shape[i] = n;
        t->count *= n;
    }
    return HRC_OK;
}

/* One entry {"dtype":..,"shape":[..],"data_offsets":[begin,end]}; data is what follows the header. */
static hrc_status parse_tensor(tensor *t, json_t *entry, const char *path, file_view data, hrc_error *err)
{
    json_t *type = json_object_get(entry, "dtype"), *offsets = json_object_get(entry, "data_offsets");
    int code = json_is_string(type) ? dtype_from_name(json_string_value(type)) : -1;
    if (code < 0)
        return fail(
            err, HRC_EFORMAT,
            "%s: tensor \"%.80s\": dtype %.20s is not one of F64 F32 F16 BF16 I64 I32 I16 I8 U8 U32 BOOL",
            path, t->name, json_is_string(type) ? json_string_value(type) : "(missing)");
    t->type = (dtype)code;
    TRY(parse_shape(t, json_object_get(entry, "shape"), path, err));
    json_t *begin = json_array_get(offsets, 0), *end = json_array_get(offsets, 1);
    if (json_array_size(offsets) != 2 || !json_is_integer(begin) || !json_is_integer(end))
        return fail(err, HRC_EFORMAT, "%s: tensor \"%.80s\": data_offsets is not [begin, end]", path,
                    t->name);
    int64_t first = json_integer_value(begin), last = json_integer_value(end);
    if (first < 0 || last < first || (uint64_t)last > data.size)
        return fail(err, HRC_EFORMAT,
                    "%s: tensor \"%.80s\": data_offsets %lld..%lld, but the file has %zu bytes of data", path,
                    t->name, (long long)first, (long long)last, data.size);
    if (last - first != t->count * (int64_t)dtype_size(t->type))
        return fail(err, HRC_EFORMAT,
                    "%s: tensor \"%.80s\": %lld bytes of data, expected %lld from its shape and type", path,
                    t->name, (long long)(last - first), (long long)(t->count * (int64_t)dtype_size(t->type)));
    t->data = data.data + first;
    return HRC_OK;
}

static int by_position(const void *a, const void *b)
{
    const tensor *s = a, *t = b;
    const char *p = s->data, *q = t->data;
    return p != q ? (p > q) - (p < q) : (s->count > t->count) - (s->count < t->count);
}

/* Tensors must tile the data: no overlap, no holes, nothing after the last. Sorts them by position. */
static hrc_status check_tiling(tensorfile *file, file_view data, hrc_error *err)
{
    if (file->ntensors > 0) qsort(file->tensors, (size_t)file->ntensors, sizeof(tensor), by_position);
    const char *expected = data.data;
    for (int i = 0; i < file->ntensors; i++) {
        const tensor *t = &file->tensors[i];
        if ((const char *)t->data != expected)
            return fail(err, HRC_EFORMAT, "%s: tensor \"%.80s\": overlaps another or leaves a hole before it",
                        file->path, t->name);
        expected += (size_t)t->count * dtype_size(t->type);
    }
    if (expected != data.data + data.size)
        return fail(err, HRC_EFORMAT, "%s: %zu bytes after the last tensor belong to none", file->path,
                    (size_t)(data.data + data.size - expected));
    return HRC_OK;
}

/* Readers cast `data` to the tensor's type: what a header of odd length has shifted is copied. */
static hrc_status align(tensorfile *file, hrc_error *err)
{
    for (int i = 0; i < file->ntensors; i++) {
        tensor *t = &file->tensors[i];
        const size_t size = dtype_size(t->type);
        if ((uintptr_t)t->data % size == 0) continue;
        void *copy = arena_alloc(&file->memory, (size_t)t->count, size);
        if (!copy) return fail(err, HRC_ENOMEM, "%s: out of memory", file->path);
        if (t->count) memcpy(copy, t->data, (size_t)t->count * size);
        t->data = copy;
    }
    return HRC_OK;
}

static hrc_status parse_meta(tensorfile *file, json_t *meta, hrc_error *err)
{
    if (!json_is_object(meta)) return fail(err, HRC_EFORMAT, "%s: __metadata__ is not an object", file->path);
    file->meta = ARENA_NEW(&file->memory, tensor_meta, json_object_size(meta));
    if (!file->meta) return fail(err, HRC_ENOMEM, "%s: out of memory", file->path);
    const char *key;
    json_t *value;
    json_object_foreach (meta, key, value) {
        if (!json_is_string(value))
            return fail(err, HRC_EFORMAT, "%s: metadata \"%.80s\" is not a string", file->path, key);
        tensor_meta *m = &file->meta[file->nmeta++];
        m->key = arena_strdup(&file->memory, key);
        m->value = arena_strdup(&file->memory, json_string_value(value));
        if (!m->key || !m->value) return fail(err, HRC_ENOMEM, "%s: out of memory", file->path);
        if (!status_is_tame(m->key) || !status_is_tame(m->value))
            return fail(err, HRC_EFORMAT, "%s: metadata \"%.80s\" holds control bytes", file->path, key);
    }
    return HRC_OK;
}

static hrc_status parse_header(tensorfile *file, json_t *header, file_view data, hrc_error *err)
{
    file->tensors = ARENA_NEW(&file->memory, tensor, json_object_size(header));
    if (!file->tensors) return fail(err, HRC_ENOMEM, "%s: out of memory", file->path);
    const char *name;
    json_t *entry;
    json_object_foreach (header, name, entry) {
        if (strcmp(name, "__metadata__") == 0) {
            TRY(parse_meta(file, entry, err));
            continue;
        }
        tensor *t = &file->tensors[file->ntensors++];
        t->name = arena_strdup(&file->memory, name);
        if (!t->name) return fail(err, HRC_ENOMEM, "%s: out of memory", file->path);
        if (!status_is_tame(name))
            return fail(err, HRC_EFORMAT, "%s: tensor \"%.80s\": the name holds control bytes", file->path,
                        name);
        TRY(parse_tensor(t, entry, file->path, data, err));
    }
    TRY(check_tiling(file, data, err));
    TRY(seal_check(file, err));
    return align(file, err);
}

hrc_status tensorfile_parse(tensorfile *file, const char *path, file_view bytes, hrc_error *err)
{
    *file = (tensorfile){0};
    file->path = arena_strdup(&file->memory, path);
    uint64_t length = 0;
    if (bytes.size >= 8)
        for (int i = 7; i >= 0; i--) length = length << 8 | (unsigned char)bytes.data[i];
    hrc_status status;
    json_t *header = NULL;
    if (!file->path) {
        status = fail(err, HRC_ENOMEM, "%s: out of memory", path);
    } else if (bytes.size < 8) {
        status = fail(err, HRC_EFORMAT, "%s: %zu bytes, too short for a safetensors file", path, bytes.size);
    } else if (length > HEADER_MAX || length > bytes.size - 8) {
        status = fail(
            err, HRC_EFORMAT,
            "%s: header of %llu bytes declared, but the file has %zu (not a safetensors file, or truncated)",
            path, (unsigned long long)length, bytes.size);
    } else {
        json_error_t where;
        header = json_loadb(bytes.data + 8, (size_t)length, JSON_REJECT_DUPLICATES, &where);
        file_view data = {bytes.data + 8 + length, bytes.size - 8 - (size_t)length};
        if (!json_is_object(header))
            status = fail(err, HRC_EFORMAT, "%s: header is not a JSON object: %s at byte %d", path,
                          header ? "another type" : where.text, header ? 0 : where.position);
        else
            status = parse_header(file, header, data, err);
    }
    json_decref(header);
    if (status < 0) tensorfile_close(file);
    return status;
}

hrc_status tensorfile_open(tensorfile *file, const char *path, hrc_error *err)
{
    file_view map;
    *file = (tensorfile){0};
    TRY(file_map(path, &map, err));
    hrc_status status = tensorfile_parse(file, path, map, err);
    if (status < 0)
        file_unmap(&map);
    else
        file->map = map;
    return status;
}

void tensorfile_close(tensorfile *file)
{
    file_unmap(&file->map);
    arena_free(&file->memory);
    *file = (tensorfile){0};
}

const tensor *tensorfile_find(const tensorfile *file, const char *name)
{
    for (int i = 0; i < file->ntensors; i++)
        if (strcmp(file->tensors[i].name, name) == 0) return &file->tensors[i];
    return NULL;
}

const char *tensorfile_meta(const tensorfile *file, const char *key)
{
    for (int i = 0; i < file->nmeta; i++)
        if (strcmp(file->meta[i].key, key) == 0) return file->meta[i].value;
    return NULL;
}

const char *tensorfile_text(const tensorfile *file, const char *key, const char *absent)
{
    const char *value = tensorfile_meta(file, key);
    return value ? value : absent;
}

hrc_status tensorfile_need_meta(const tensorfile *file, const char *key, const char **value, hrc_error *err)
{
    *value = tensorfile_meta(file, key);
    return *value ? HRC_OK : fail(err, HRC_EFORMAT, "%s: metadata \"%s\" is missing", file->path, key);
}

static void print_shape(char *out, size_t size, int ndim, const int64_t *shape)
{
    size_t used = 0;
    out[0] = 0;
    for (int i = 0; i < ndim && used < size; i++) {
        int n = shape[i] < 0 ? snprintf(out + used, size - used, "%s*", i ? "x" : "")
                             : snprintf(out + used, size - used, "%s%lld", i ? "x" : "", (long long)shape[i]);
        used += (size_t)n;
    }
}

hrc_status tensorfile_need(const tensorfile *file, const char *name, dtype type, int ndim,
                           const int64_t *shape, const tensor **out, hrc_error *err)
{
    const tensor *t = tensorfile_find(file, name);
    if (!t) return fail(err, HRC_EFORMAT, "%s: tensor \"%s\" is missing", file->path, name);
    int same = t->type == type && t->ndim == ndim;
    for (int i = 0; i < ndim && same; i++) same = shape[i] < 0 || shape[i] == t->shape[i];
    if (!same) {
        char found[96], expected[96];
        print_shape(found, sizeof found, t->ndim, t->shape);
        print_shape(expected, sizeof expected, ndim, shape);
        return fail(err, HRC_EFORMAT, "%s: tensor \"%s\" is %s %s, expected %s %s", file->path, name,
                    dtype_name(t->type), found, dtype_name(type), expected);
    }
    *out = t;
    return HRC_OK;
}

hrc_status tensorfile_finite(const tensorfile *file, const tensor *t, hrc_error *err)
{
    const float *x = t->data;
    for (int64_t i = 0; i < t->count; i++)
        if (!isfinite(x[i]))
            return fail(err, HRC_EFORMAT, "%s: %s[%lld] is not finite", file->path, t->name, (long long)i);
    return HRC_OK;
}

hrc_status tensorfile_floats(float *out, const tensorfile *file, const char *name, int64_t n, hrc_error *err)
{
    const tensor *t = NULL;
    const hrc_status status = tensorfile_need(file, name, DT_F32, 1, &n, &t, err);
    if (!t) return status;
    TRY(tensorfile_finite(file, t, err));
    memcpy(out, t->data, sizeof *out * (size_t)n);
    return HRC_OK;
}

static json_t *header_of(const tensor *tensors, int ntensors, const tensor_meta *meta, int nmeta)
{
    json_t *header = json_object();
    if (nmeta > 0) {
        json_t *object = json_object();
        for (int i = 0; i < nmeta; i++) json_object_set_new(object, meta[i].key, json_string(meta[i].value));
        json_object_set_new(header, "__metadata__", object);
    }
    json_int_t offset = 0;
    for (int i = 0; i < ntensors; i++) {
        const tensor *t = &tensors[i];
        json_int_t bytes = (json_int_t)t->count * (json_int_t)dtype_size(t->type);
        json_t *shape = json_array();
        for (int d = 0; d < t->ndim; d++) json_array_append_new(shape, json_integer(t->shape[d]));
        json_object_set_new(header, t->name,
                            json_pack("{s:s, s:o, s:[I, I]}", "dtype", dtype_name(t->type), "shape", shape,
                                      "data_offsets", offset, offset + bytes));
        offset += bytes;
    }
    return header;
}

hrc_status tensorfile_write(const char *path, const tensor *tensors, int ntensors, const tensor_meta *meta,
                            int nmeta, hrc_error *err)
{
    json_t *header = header_of(tensors, ntensors, meta, nmeta);
    char *text = json_dumps(header, JSON_COMPACT);
    json_decref(header);
    file_piece *pieces = calloc((size_t)ntensors + 3, sizeof *pieces);
    if (!text || !pieces) {
        free(text);
        free(pieces);
        return fail(err, HRC_ENOMEM,
                    "%s: cannot build the header (out of memory, or a text that is not UTF-8)", path);
    }
    /* Spaces pad the header so that data start at a multiple of 64 bytes. */
    static const char SPACES[65] = "                                                                ";
    size_t length = strlen(text), pad = (64 - (8 + length) % 64) % 64;
    unsigned char prefix[8];
    for (int i = 0; i < 8; i++) prefix[i] = (unsigned char)((uint64_t)(length + pad) >> (8 * i));
    pieces[0] = (file_piece){prefix, 8};
    pieces[1] = (file_piece){text, length};
    pieces[2] = (file_piece){SPACES, pad};
    for (int i = 0; i < ntensors; i++)
        pieces[3 + i] = (file_piece){tensors[i].data, (size_t)tensors[i].count * dtype_size(tensors[i].type)};
    hrc_status status = file_write(path, pieces, ntensors + 3, err);
    free(pieces);
    free(text);
    return status;
}
