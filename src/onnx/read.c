#include "onnx/read.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_COUNT ((int64_t)1 << 28)
#define MAX_LISTED 100000

/* ---- Protobuf: a message is a row of fields ---- */

typedef struct {
    const unsigned char *at, *end;
} span;

typedef struct {
    int field, wire;
    uint64_t number; /* of a varint */
    span block;      /* of a block, or the 4 or 8 bytes */
} item;

typedef struct {
    onnx_file *out;
    const unsigned char *begin;
    char beside[4096]; /* path of the data file that is mapped, "" for none */
    file_view data;
    hrc_error *err;
} reader;

static hrc_status broken(const reader *r, const span *s, const char *what)
{
    return fail(r->err, HRC_EFORMAT, "%s: byte %zu: %s, expected an ONNX model", r->out->path,
                (size_t)(s->at - r->begin), what);
}

static bool read_varint(span *s, uint64_t *out)
{
    *out = 0;
    for (int shift = 0; shift < 64 && s->at < s->end; shift += 7) {
        const unsigned char byte = *s->at++;
        *out |= (uint64_t)(byte & 127) << shift;
        if (byte < 128) return true;
    }
    return false;
}

static bool take_bytes(span *s, uint64_t n, span *out)
{
    if (n > (uint64_t)(s->end - s->at)) return false;
    *out = (span){s->at, s->at + n};
    s->at += n;
    return true;
}

static hrc_status next_item(const reader *r, span *s, item *out)
{
    uint64_t tag = 0, size = 0;
    bool fine = read_varint(s, &tag);
    *out = (item){.field = (int)(tag >> 3 & 0xfffffff), .wire = (int)(tag & 7)};
    if (fine && out->wire == WIRE_VARINT)
        fine = read_varint(s, &out->number);
    else if (fine && out->wire == WIRE_BLOCK)
        fine = read_varint(s, &size) && take_bytes(s, size, &out->block);
    else if (fine)
        fine = (out->wire == WIRE_32 || out->wire == WIRE_64) &&
               take_bytes(s, out->wire == WIRE_32 ? 4 : 8, &out->block);
    return fine ? HRC_OK : broken(r, s, "broken or cut off");
}

/* How many fields of this number a message has. */
static hrc_status count_items(const reader *r, span s, int field, int *out)
{
    item i;
    for (*out = 0; s.at < s.end;) {
        TRY(next_item(r, &s, &i));
        *out += i.field == field;
        if (*out > MAX_LISTED) return broken(r, &s, "too long a list");
    }
    return HRC_OK;
}

static hrc_status no_memory(const reader *r)
{
    return fail(r->err, HRC_ENOMEM, "%s: out of memory", r->out->path);
}

static hrc_status read_text(const reader *r, const item *i, const char **out)
{
    const size_t size = (size_t)(i->block.end - i->block.at);
    if (i->wire != WIRE_BLOCK || (size && memchr(i->block.at, 0, size)))
        return broken(r, &i->block, "no text where a name should be");
    char *copy = arena_alloc(&r->out->memory, size + 1, 1);
    if (!copy) return no_memory(r);
    if (size) memcpy(copy, i->block.at, size);
    status_tame(copy, true);
    *out = copy;
    return HRC_OK;
}

static hrc_status read_number(const reader *r, const span *s, const item *i, int64_t *out)
{
    if (i->wire != WIRE_VARINT) return broken(r, s, "no number where one should be");
    *out = (int64_t)i->number;
    return HRC_OK;
}

/* A list of whole numbers: one item each, or packed into one. Appends to list (n) when it is not NULL. */
static hrc_status read_numbers(const reader *r, const item *i, int64_t *list, int64_t *n, int64_t max)
{
    span s = i->block;
    uint64_t x = i->number;
    if (i->wire != WIRE_VARINT && i->wire != WIRE_BLOCK) return broken(r, &s, "no list of numbers");
    do {
        if (i->wire == WIRE_BLOCK && s.at == s.end) break;
        if (i->wire == WIRE_BLOCK && !read_varint(&s, &x)) return broken(r, &s, "a list cut off");
        if (*n == max) return broken(r, &s, "too many numbers");
        if (list) list[*n] = (int64_t)x;
        ++*n;
    } while (i->wire == WIRE_BLOCK);
    return HRC_OK;
}

static hrc_status read_entry(reader *r, span s, void *out)
{
    onnx_entry *e = out;
    e->key = e->value = "";
    while (s.at < s.end) {
        item i;
        TRY(next_item(r, &s, &i));
        if (i.field == ENTRY_KEY) TRY(read_text(r, &i, &e->key));
        if (i.field == ENTRY_VALUE) TRY(read_text(r, &i, &e->value));
    }
    return HRC_OK;
}

/* ---- Tensors ---- */

typedef struct {
    int64_t type, outside; /* outside: the data lies in another file */
    const char *location;
    int64_t offset, length;
    span raw, content; /* content: the message, for typed data */
    bool have_raw;
} tensor_parts;

static hrc_status read_external(reader *r, const item *i, tensor_parts *p)
{
    onnx_entry e;
    TRY(read_entry(r, i->block, &e));
    if (!strcmp(e.key, "location")) p->location = e.value;
    if (!strcmp(e.key, "offset")) p->offset = strtoll(e.value, NULL, 10);
    if (!strcmp(e.key, "length")) p->length = strtoll(e.value, NULL, 10);
    return HRC_OK;
}

/* A name beside the model, never a way out of its folder. */
static hrc_status map_beside(reader *r, const char *name, hrc_error *err)
{
    char path[4096];
    const int folder = (int)(file_name(r->out->path) - r->out->path);
    if (!*name || strchr(name, '/') || !strcmp(name, ".."))
        return fail(err, HRC_EFORMAT, "%s: its data lie in \"%.80s\", expected a file beside it",
                    r->out->path, name);
    if (snprintf(path, sizeof path, "%.*s%s", folder, r->out->path, name) >= (int)sizeof path)
        return fail(err, HRC_EFORMAT, "%s: too long a name for its data: \"%.80s\"", r->out->path, name);
    if (!strcmp(path, r->beside)) return HRC_OK;
    file_unmap(&r->data);
    r->beside[0] = 0;
    TRY(file_map(path, &r->data, err));
    memcpy(r->beside, path, sizeof path);
    return HRC_OK;
}

static hrc_status find_raw(reader *r, const onnx_array *a, tensor_parts *p)
{
    const int64_t wanted = (int64_t)a->count * (a->type == TYPE_FLOAT ? 4 : 8);
    if (p->outside) {
        TRY(map_beside(r, p->location ? p->location : "", r->err));
        const int64_t size = (int64_t)r->data.size;
        const bool inside = p->offset >= 0 && p->offset <= size;
        const int64_t length = p->length || !inside ? p->length : size - p->offset;
        if (!inside || length < 0 || length > size - p->offset)
            return fail(r->err, HRC_EFORMAT, "%s: has %lld bytes, \"%.80s\" of %s lies at %lld + %lld",
                        r->beside, (long long)size, a->name, r->out->path, (long long)p->offset,
                        (long long)length);
        p->raw.at = (const unsigned char *)r->data.data + p->offset;
        p->raw.end = p->raw.at + length;
        p->have_raw = true;
    }
    if (p->have_raw && p->raw.end - p->raw.at != wanted)
        return fail(r->err, HRC_EFORMAT, "%s: tensor \"%.80s\" has %lld bytes, expected %lld", r->out->path,
                    a->name, (long long)(p->raw.end - p->raw.at), (long long)wanted);
    return HRC_OK;
}

/* Data as a list of its type: packed floats, or varints. */
static hrc_status read_typed(const reader *r, const onnx_array *a, void *data, span s)
{
    int64_t n = 0;
    const int64_t count = (int64_t)a->count;
    while (s.at < s.end) {
        item i;
        TRY(next_item(r, &s, &i));
        if (a->type == TYPE_INT64 && i.field == TENSOR_INT64S) TRY(read_numbers(r, &i, data, &n, count));
        if (a->type != TYPE_FLOAT || i.field != TENSOR_FLOATS) continue;
        const int64_t bytes = i.block.end - i.block.at;
        if (i.wire == WIRE_VARINT || bytes % 4 || bytes / 4 > count - n)
            return broken(r, &i.block, "too many numbers");
        if (bytes) memcpy((float *)data + n, i.block.at, (size_t)bytes);
        n += bytes / 4;
    }
    if (n != count)
        return fail(r->err, HRC_EFORMAT, "%s: tensor \"%.80s\" has %lld numbers, expected %lld", r->out->path,
                    a->name, (long long)n, (long long)count);
    return HRC_OK;
}

static hrc_status count_of(const reader *r, onnx_array *a)
{
    int64_t count = 1;
    for (int i = 0; i < a->ndim; i++) {
        if (a->dims[i] < 0 || a->dims[i] > MAX_COUNT || (a->dims[i] && count > MAX_COUNT / a->dims[i]))
            return fail(r->err, HRC_EFORMAT,
                        "%s: tensor \"%.80s\": dimension %d is %lld, expected 0 to %lld in all", r->out->path,
                        a->name, i, (long long)a->dims[i], (long long)MAX_COUNT);
        count *= a->dims[i];
    }
    a->count = (size_t)count;
    return HRC_OK;
}

static hrc_status read_dims(const reader *r, const item *i, onnx_array *a)
{
    int64_t n = a->ndim;
    hrc_status status = read_numbers(r, i, a->dims, &n, ONNX_MAX_DIMS);
    a->ndim = (int)n;
    return status;
}

static hrc_status check_type(const reader *r, const onnx_array *a, int64_t type)
{
    if (type == TYPE_FLOAT || type == TYPE_INT64) return HRC_OK;
    return fail(r->err, HRC_EFORMAT,
                "%s: \"%.80s\" has elements of type %lld, expected float (1) or int64 (7)", r->out->path,
                a->name, (long long)type);
}

static hrc_status read_parts(reader *r, span s, onnx_array *a, tensor_parts *p)
{
    a->name = "";
    p->content = s;
    while (s.at < s.end) {
        item i;
        TRY(next_item(r, &s, &i));
        switch (i.field) {
        case TENSOR_DIMS: TRY(read_dims(r, &i, a)); break;
        case TENSOR_TYPE: TRY(read_number(r, &s, &i, &p->type)); break;
        case TENSOR_NAME: TRY(read_text(r, &i, &a->name)); break;
        case TENSOR_RAW: p->raw = i.block, p->have_raw = i.wire == WIRE_BLOCK; break;
        case TENSOR_EXTERNAL: TRY(read_external(r, &i, p)); break;
        case TENSOR_LOCATION: TRY(read_number(r, &s, &i, &p->outside)); break;
        default: break;
        }
    }
    return HRC_OK;
}

static hrc_status read_tensor(reader *r, span s, void *out)
{
    onnx_array *a = out;
    tensor_parts p = {0};
    TRY(read_parts(r, s, a, &p));
    TRY(check_type(r, a, p.type));
    a->type = (int)p.type;
    TRY(count_of(r, a));
    TRY(find_raw(r, a, &p));
    /* Typed data take at least a byte a number: what says it has more is not worth the memory. */
    if (!p.have_raw && (int64_t)a->count > p.content.end - p.content.at)
        return fail(r->err, HRC_EFORMAT, "%s: tensor \"%.80s\" has no data for its %zu numbers", r->out->path,
                    a->name, a->count);
    const size_t bytes = a->type == TYPE_FLOAT ? 4 : 8;
    void *data = arena_alloc(&r->out->memory, a->count + 1, bytes);
    if (!data) return no_memory(r);
    a->data = data;
    if (!p.have_raw) return read_typed(r, a, data, p.content);
    if (a->count) memcpy(data, p.raw.at, a->count * bytes);
    return HRC_OK;
}

/* ---- Inputs and outputs ---- */

static hrc_status read_shape(const reader *r, span s, onnx_array *a)
{
    while (s.at < s.end) {
        item i, d;
        int64_t value = -1;
        TRY(next_item(r, &s, &i));
        if (i.field != SHAPE_DIM || i.wire != WIRE_BLOCK) continue;
        if (a->ndim == ONNX_MAX_DIMS) return broken(r, &s, "too many dimensions");
        for (span dim = i.block; dim.at < dim.end;) {
            TRY(next_item(r, &dim, &d));
            if (d.field == DIM_VALUE) TRY(read_number(r, &dim, &d, &value));
        }
        a->dims[a->ndim++] = value;
    }
    return HRC_OK;
}

/* ValueInfoProto: name and TypeProto{tensor_type{elem_type, shape}}. */
static hrc_status read_value(reader *r, span s, void *out)
{
    onnx_array *a = out;
    item i, t, e;
    int64_t type = 0;
    a->name = "";
    while (s.at < s.end) {
        TRY(next_item(r, &s, &i));
        if (i.field == VALUE_NAME) TRY(read_text(r, &i, &a->name));
        if (i.field != VALUE_TYPE || i.wire != WIRE_BLOCK) continue;
        for (span types = i.block; types.at < types.end;) {
            TRY(next_item(r, &types, &t));
            if (t.field != TYPE_TENSOR || t.wire != WIRE_BLOCK) continue;
            for (span tensor = t.block; tensor.at < tensor.end;) {
                TRY(next_item(r, &tensor, &e));
                if (e.field == TENSOR_ELEMENT) TRY(read_number(r, &tensor, &e, &type));
                if (e.field == TENSOR_SHAPE && e.wire == WIRE_BLOCK) TRY(read_shape(r, e.block, a));
            }
        }
    }
    a->type = (int)type;
    return check_type(r, a, type);
}

/* ---- Nodes ---- */

static hrc_status read_list(const reader *r, span s, onnx_setting *out)
{
    item i;
    int64_t n = 0;
    for (span t = s; t.at < t.end;) {
        TRY(next_item(r, &t, &i));
        if (i.field == ATTRIBUTE_INTS) TRY(read_numbers(r, &i, NULL, &n, MAX_LISTED));
    }
    int64_t *list = ARENA_NEW(&r->out->memory, int64_t, n + 1);
    if (!list) return no_memory(r);
    for (n = 0; s.at < s.end;) {
        TRY(next_item(r, &s, &i));
        if (i.field == ATTRIBUTE_INTS) TRY(read_numbers(r, &i, list, &n, MAX_LISTED));
    }
    out->list = list;
    out->n = (int)n;
    return HRC_OK;
}

static hrc_status read_array_of(reader *r, const item *i, onnx_setting *out)
{
    onnx_array *a = ARENA_NEW(&r->out->memory, onnx_array, 1);
    if (!a) return no_memory(r);
    if (i->wire != WIRE_BLOCK) return broken(r, &i->block, "no tensor where one should be");
    out->array = a;
    return read_tensor(r, i->block, a);
}

static hrc_status read_setting(reader *r, span s, onnx_setting *out)
{
    int64_t kind = 0;
    out->name = out->text = "";
    for (span t = s; t.at < t.end;) {
        item i;
        TRY(next_item(r, &t, &i));
        switch (i.field) {
        case ATTRIBUTE_NAME: TRY(read_text(r, &i, &out->name)); break;
        case ATTRIBUTE_STRING: TRY(read_text(r, &i, &out->text)); break;
        case ATTRIBUTE_INT: TRY(read_number(r, &t, &i, &out->integer)); break;
        case ATTRIBUTE_TYPE: TRY(read_number(r, &t, &i, &kind)); break;
        case ATTRIBUTE_TENSOR: TRY(read_array_of(r, &i, out)); break;
        case ATTRIBUTE_FLOAT:
            if (i.wire != WIRE_32) return broken(r, &t, "no float where one should be");
            memcpy(&out->number, i.block.at, sizeof out->number);
            break;
        default: break;
        }
    }
    out->kind = (int)kind;
    return read_list(r, s, out);
}

static hrc_status list_texts(reader *r, span s, int field, const char ***out, int *n)
{
    TRY(count_items(r, s, field, n));
    const char **list = ARENA_NEW(&r->out->memory, const char *, *n + 1);
    if (!list) return no_memory(r);
    for (int k = 0; s.at < s.end;) {
        item i;
        TRY(next_item(r, &s, &i));
        if (i.field == field) TRY(read_text(r, &i, &list[k++]));
    }
    *out = list;
    return HRC_OK;
}

static hrc_status read_call(reader *r, span s, void *to)
{
    int k = 0;
    onnx_call *out = to;
    out->op = out->name = "";
    TRY(list_texts(r, s, NODE_INPUT, &out->in, &out->nin));
    TRY(list_texts(r, s, NODE_OUTPUT, &out->out, &out->nout));
    TRY(count_items(r, s, NODE_ATTRIBUTE, &out->nsettings));
    out->settings = ARENA_NEW(&r->out->memory, onnx_setting, out->nsettings + 1);
    if (!out->settings) return no_memory(r);
    while (s.at < s.end) {
        item i;
        const char *domain = "";
        TRY(next_item(r, &s, &i));
        if (i.field == NODE_OP) TRY(read_text(r, &i, &out->op));
        if (i.field == NODE_NAME) TRY(read_text(r, &i, &out->name));
        if (i.field == NODE_DOMAIN) TRY(read_text(r, &i, &domain));
        if (*domain && strcmp(domain, "ai.onnx"))
            return fail(r->err, HRC_EFORMAT, "%s: node \"%.80s\" is of domain \"%.60s\", expected ONNX's own",
                        r->out->path, out->name, domain);
        if (i.field != NODE_ATTRIBUTE) continue;
        if (i.wire != WIRE_BLOCK) return broken(r, &s, "no attribute where one should be");
        TRY(read_setting(r, i.block, &out->settings[k++]));
    }
    if (!*out->name) out->name = out->nout ? out->out[0] : "";
    return HRC_OK;
}

/* ---- Graph and model ---- */

/* All fields of one number as an array of structs. */
static hrc_status read_all(reader *r, span s, int field, size_t size,
                           hrc_status (*each)(reader *, span, void *), void **out, int *n)
{
    TRY(count_items(r, s, field, n));
    char *list = arena_alloc(&r->out->memory, (size_t)*n + 1, size);
    if (!list) return no_memory(r);
    *out = list;
    for (int k = 0; s.at < s.end;) {
        item i;
        TRY(next_item(r, &s, &i));
        if (i.field != field) continue;
        if (i.wire != WIRE_BLOCK) return broken(r, &s, "no message where one should be");
        TRY(each(r, i.block, list + (size_t)k++ * size));
    }
    return HRC_OK;
}

static bool is_constant(const onnx_file *f, const char *name)
{
    for (int i = 0; i < f->nconstants; i++)
        if (!strcmp(f->constants[i].name, name)) return true;
    return false;
}

static hrc_status read_graph(reader *r, span s)
{
    onnx_file *f = r->out;
    void *calls = NULL, *constants = NULL, *inputs = NULL, *outputs = NULL;
    int sparse, kept = 0;
    TRY(count_items(r, s, GRAPH_SPARSE, &sparse));
    if (sparse) return fail(r->err, HRC_EFORMAT, "%s: has sparse constants, expected dense ones", f->path);
    TRY(read_all(r, s, GRAPH_NODE, sizeof(onnx_call), read_call, &calls, &f->ncalls));
    TRY(read_all(r, s, GRAPH_INITIALIZER, sizeof(onnx_array), read_tensor, &constants, &f->nconstants));
    TRY(read_all(r, s, GRAPH_INPUT, sizeof(onnx_array), read_value, &inputs, &f->ninputs));
    TRY(read_all(r, s, GRAPH_OUTPUT, sizeof(onnx_array), read_value, &outputs, &f->noutputs));
    f->calls = calls, f->constants = constants, f->inputs = inputs, f->outputs = outputs;
    for (int i = 0; f->inputs && i < f->ninputs; i++) /* older files list constants as inputs too */
        if (!is_constant(f, f->inputs[i].name)) f->inputs[kept++] = f->inputs[i];
    f->ninputs = kept;
    return HRC_OK;
}

static hrc_status read_opset(reader *r, span s)
{
    int64_t version = 0;
    const char *domain = "";
    while (s.at < s.end) {
        item i;
        TRY(next_item(r, &s, &i));
        if (i.field == OPSET_DOMAIN) TRY(read_text(r, &i, &domain));
        if (i.field == OPSET_VERSION) TRY(read_number(r, &s, &i, &version));
    }
    if (!*domain || !strcmp(domain, "ai.onnx"))
        r->out->opset = version > 0 && version < 1000 ? (int)version : 0;
    return HRC_OK;
}

static hrc_status read_model(reader *r, span s)
{
    bool graph = false;
    void *entries = NULL;
    TRY(read_all(r, s, MODEL_METADATA, sizeof(onnx_entry), read_entry, &entries, &r->out->nentries));
    r->out->entries = entries;
    while (s.at < s.end) {
        item i;
        TRY(next_item(r, &s, &i));
        if (i.field == MODEL_OPSET && i.wire == WIRE_BLOCK) TRY(read_opset(r, i.block));
        if (i.field != MODEL_GRAPH || i.wire != WIRE_BLOCK) continue;
        if (graph) return broken(r, &s, "a second graph");
        graph = true;
        TRY(read_graph(r, i.block));
    }
    if (!graph || !r->out->opset)
        return fail(r->err, HRC_EFORMAT, "%s: has no %s, expected an ONNX model", r->out->path,
                    graph ? "opset of ONNX's own" : "graph");
    return HRC_OK;
}

hrc_status onnx_parse(onnx_file *out, const char *path, file_view bytes, hrc_error *err)
{
    *out = (onnx_file){0};
    const unsigned char *begin = (const unsigned char *)(bytes.data ? bytes.data : "");
    reader *r = calloc(1, sizeof *r);
    hrc_status status = HRC_ENOMEM;
    if (r && (out->path = arena_strdup(&out->memory, path))) {
        r->out = out, r->begin = begin, r->err = err;
        status = read_model(r, (span){begin, begin + bytes.size});
        file_unmap(&r->data);
    } else
        fail(err, HRC_ENOMEM, "%s: out of memory", path);
    free(r);
    if (status < 0) onnx_file_free(out);
    return status;
}

hrc_status onnx_read(onnx_file *out, const char *path, hrc_error *err)
{
    file_view bytes;
    *out = (onnx_file){0};
    TRY(file_map(path, &bytes, err));
    hrc_status status = onnx_parse(out, path, bytes, err);
    file_unmap(&bytes);
    return status;
}

void onnx_file_free(onnx_file *f)
{
    arena_free(&f->memory);
    *f = (onnx_file){0};
}

const char *onnx_metadata(const onnx_file *f, const char *key)
{
    for (int i = 0; i < f->nentries; i++)
        if (!strcmp(f->entries[i].key, key)) return f->entries[i].value;
    return NULL;
}
