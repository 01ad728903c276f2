#include "onnx/write.h"

#include <stdio.h>
#include <string.h>

#include "onnx/format.h"

#define IR_VERSION 8
#define OPSET 13

/* ---- Protobuf: varints, and fields with a length ---- */

static void add_varint(text *t, uint64_t x)
{
    unsigned char bytes[10];
    size_t n = 0;
    do {
        bytes[n] = (unsigned char)(x & 127);
        x >>= 7;
        if (x) bytes[n] |= 128;
        n++;
    } while (x);
    text_bytes(t, bytes, n);
}

static void add_number(text *t, int field, int64_t x)
{
    add_varint(t, (uint64_t)field << 3 | WIRE_VARINT);
    add_varint(t, (uint64_t)x);
}

static void add_block(text *t, int field, const void *data, size_t size)
{
    add_varint(t, (uint64_t)field << 3 | WIRE_BLOCK);
    add_varint(t, size);
    text_bytes(t, data, size);
}

static void add_string(text *t, int field, const char *s)
{
    add_block(t, field, s, strlen(s));
}

/* A finished message as a field of another; a failure inside is handed on. */
static void add_message(text *t, int field, text *message)
{
    if (message->failed) t->failed = true;
    add_block(t, field, message->data ? message->data : "", message->size);
    text_free(message);
}

/* ---- Graph ---- */

static onnx_value named(const char *name)
{
    onnx_value v;
    snprintf(v.name, sizeof v.name, "%s", name);
    return v;
}

static onnx_value add_tensor(onnx_graph *g, const char *name, int type, const void *data, size_t bytes,
                             const int64_t *dims, int ndim)
{
    text proto = {0};
    for (int i = 0; i < ndim; i++) add_number(&proto, TENSOR_DIMS, dims[i]);
    add_number(&proto, TENSOR_TYPE, type);
    add_string(&proto, TENSOR_NAME, name);
    add_block(&proto, TENSOR_RAW, data, bytes);
    add_message(&g->initializers, GRAPH_INITIALIZER, &proto);
    return named(name);
}

onnx_value onnx_floats(onnx_graph *g, const char *name, const float *data, const int64_t *dims, int ndim)
{
    size_t count = 1;
    for (int i = 0; i < ndim; i++) count *= (size_t)dims[i];
    return add_tensor(g, name, TYPE_FLOAT, data, count * sizeof *data, dims, ndim);
}

onnx_value onnx_scalar(onnx_graph *g, const char *name, float value)
{
    return onnx_floats(g, name, &value, NULL, 0);
}

onnx_value onnx_ints(onnx_graph *g, const char *name, const int64_t *data, int n)
{
    const int64_t dims = n;
    return add_tensor(g, name, TYPE_INT64, data, sizeof *data * (size_t)n, &dims, 1);
}

onnx_value onnx_whole(onnx_graph *g, const char *name, int64_t value)
{
    return add_tensor(g, name, TYPE_INT64, &value, sizeof value, NULL, 0);
}

/* ValueInfoProto: name and TypeProto{tensor_type{elem_type, shape{dim{value or parameter}}}}. */
static void add_value_info(text *list, int field, const char *name, const int64_t *dims, int ndim)
{
    text shape = {0}, proto = {0}, type = {0}, info = {0};
    for (int i = 0; i < ndim; i++) {
        text dim = {0};
        if (dims[i] < 0)
            add_string(&dim, DIM_PARAMETER, "N");
        else
            add_number(&dim, DIM_VALUE, dims[i]);
        add_message(&shape, SHAPE_DIM, &dim);
    }
    add_number(&proto, TENSOR_ELEMENT, TYPE_FLOAT);
    add_message(&proto, TENSOR_SHAPE, &shape);
    add_message(&type, TYPE_TENSOR, &proto);
    add_string(&info, VALUE_NAME, name);
    add_message(&info, VALUE_TYPE, &type);
    add_message(list, field, &info);
}

onnx_value onnx_input(onnx_graph *g, const char *name, const int64_t *dims, int ndim)
{
    add_value_info(&g->inputs, GRAPH_INPUT, name, dims, ndim);
    return named(name);
}

/* An output has a name of the caller's choice: a node that does nothing gives it. */
void onnx_output(onnx_graph *g, const char *name, onnx_value value, const int64_t *dims, int ndim)
{
    text node = {0};
    add_string(&node, NODE_INPUT, value.name);
    add_string(&node, NODE_OUTPUT, name);
    add_string(&node, NODE_OP, "Identity");
    add_message(&g->nodes, GRAPH_NODE, &node);
    add_value_info(&g->outputs, GRAPH_OUTPUT, name, dims, ndim);
}

static void add_attribute(text *node, const onnx_attribute *a)
{
    text attribute = {0};
    add_string(&attribute, ATTRIBUTE_NAME, a->name);
    if (a->n < 0) add_number(&attribute, ATTRIBUTE_INT, a->ints[0]);
    for (int i = 0; i < a->n; i++) add_number(&attribute, ATTRIBUTE_INTS, a->ints[i]);
    add_number(&attribute, ATTRIBUTE_TYPE, a->n < 0 ? KIND_INT : KIND_INTS);
    add_message(node, NODE_ATTRIBUTE, &attribute);
}

onnx_value onnx_node(onnx_graph *g, const char *op, const onnx_value *in, int nin, onnx_value *out, int nout,
                     const onnx_attribute *attributes, int nattributes)
{
    text node = {0};
    onnx_value first = {""};
    for (int i = 0; i < nin; i++) add_string(&node, NODE_INPUT, in[i].name);
    for (int i = 0; i < nout; i++) {
        onnx_value v;
        snprintf(v.name, sizeof v.name, "%s_%d", op, g->made++);
        add_string(&node, NODE_OUTPUT, v.name);
        if (out) out[i] = v;
        if (i == 0) first = v;
    }
    add_string(&node, NODE_NAME, first.name);
    add_string(&node, NODE_OP, op);
    for (int i = 0; i < nattributes; i++) add_attribute(&node, &attributes[i]);
    add_message(&g->nodes, GRAPH_NODE, &node);
    return first;
}

onnx_value onnx_op1(onnx_graph *g, const char *op, onnx_value a)
{
    return onnx_node(g, op, &a, 1, NULL, 1, NULL, 0);
}

onnx_value onnx_op2(onnx_graph *g, const char *op, onnx_value a, onnx_value b)
{
    return onnx_node(g, op, (onnx_value[]){a, b}, 2, NULL, 1, NULL, 0);
}

void onnx_meta(onnx_graph *g, const char *key, const char *value)
{
    text entry = {0};
    add_string(&entry, ENTRY_KEY, key);
    add_string(&entry, ENTRY_VALUE, value);
    add_message(&g->metadata, MODEL_METADATA, &entry);
}

hrc_status onnx_write(const onnx_graph *g, const char *name, const char *path, hrc_error *err)
{
    text graph = {0}, model = {0}, opset = {0};
    const text *parts[] = {&g->nodes, NULL, &g->initializers, &g->inputs, &g->outputs};
    for (int i = 0; i < COUNT(parts); i++) {
        if (!parts[i]) {
            add_string(&graph, GRAPH_NAME, name);
            continue;
        }
        if (parts[i]->failed) graph.failed = true;
        text_bytes(&graph, parts[i]->data ? parts[i]->data : "", parts[i]->size);
    }
    add_number(&model, MODEL_IR_VERSION, IR_VERSION);
    add_string(&model, MODEL_PRODUCER, "heracles");
    add_number(&opset, OPSET_VERSION, OPSET);
    add_message(&model, MODEL_OPSET, &opset);
    add_message(&model, MODEL_GRAPH, &graph);
    text_bytes(&model, g->metadata.data ? g->metadata.data : "", g->metadata.size);
    return text_write(&model, path, err);
}

void onnx_free(onnx_graph *g)
{
    text *const parts[] = {&g->nodes, &g->initializers, &g->inputs, &g->outputs, &g->metadata};
    for (int i = 0; i < COUNT(parts); i++) text_free(parts[i]);
}

/* ---- Layers ---- */

onnx_value onnx_gemm(onnx_graph *g, onnx_value x, onnx_value w, onnx_value bias)
{
    static const int64_t yes = 1;
    return onnx_node(g, "Gemm", (onnx_value[]){x, w, bias}, 3, NULL, 1, &(onnx_attribute){"transB", &yes, -1},
                     1);
}

onnx_value onnx_silu(onnx_graph *g, onnx_value x)
{
    return onnx_op2(g, "Mul", x, onnx_op1(g, "Sigmoid", x));
}

/* 0.5 x (1 + tanh(a (x + c x^3))). Its constants come with the first one: runners warn of unused
 * ones. */
onnx_value onnx_gelu(onnx_graph *g, onnx_value x)
{
    static const onnx_value a = {"gelu_a"}, c = {"gelu_c"}, half = {"gelu_half"}, one = {"gelu_one"};
    if (!g->has_gelu) {
        onnx_scalar(g, a.name, 0.7978845608f); /* sqrt(2 / pi) */
        onnx_scalar(g, c.name, 0.044715f);
        onnx_scalar(g, half.name, 0.5f);
        onnx_scalar(g, one.name, 1);
        g->has_gelu = true;
    }
    onnx_value cube = onnx_op2(g, "Mul", onnx_op2(g, "Mul", x, x), x);
    onnx_value inner = onnx_op2(g, "Add", x, onnx_op2(g, "Mul", cube, c));
    onnx_value bell = onnx_op1(g, "Tanh", onnx_op2(g, "Mul", inner, a));
    return onnx_op2(g, "Mul", onnx_op2(g, "Mul", x, half), onnx_op2(g, "Add", bell, one));
}

static onnx_value activate(onnx_graph *g, nn_activation activation, onnx_value x)
{
    if (activation == ACT_ELU) return onnx_op1(g, "Elu", x);
    return activation == ACT_GELU ? onnx_gelu(g, x) : onnx_silu(g, x);
}

onnx_value onnx_mlp(onnx_graph *g, const nn_mlp *m, const float *params, onnx_value x, const char *prefix)
{
    const float *at = params + m->offset;
    for (int i = 0; i < m->layers; i++) {
        char name[48];
        int64_t dims[2] = {m->size[i + 1], m->size[i]};
        snprintf(name, sizeof name, "%s.%d.weight", prefix, 2 * i);
        onnx_value w = onnx_floats(g, name, at, dims, 2);
        at += dims[0] * dims[1];
        snprintf(name, sizeof name, "%s.%d.bias", prefix, 2 * i);
        onnx_value bias = onnx_floats(g, name, at, dims, 1);
        at += dims[0];
        x = onnx_gemm(g, x, w, bias);
        if (i + 1 < m->layers) x = activate(g, m->activation, x);
    }
    return x;
}

void onnx_meta_list(onnx_graph *g, const char *key, const float *values, int n)
{
    text list = {0};
    for (int i = 0; i < n; i++) text_add(&list, "%s%.9g", i ? "," : "", (double)values[i]);
    if (text_ok(&list)) onnx_meta(g, key, list.data);
    text_free(&list);
}
