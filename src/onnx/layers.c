#include "onnx/layers.h"

#include <stdio.h>

onnx_layers onnx_layers_begin(onnx_graph *g)
{
    return (onnx_layers){.g = g,
                         .one = onnx_scalar(g, "one", 1),
                         .half = onnx_scalar(g, "half", 0.5f),
                         .gelu_a = onnx_scalar(g, "gelu_a", 0.7978845608f), /* sqrt(2 / pi) */
                         .gelu_b = onnx_scalar(g, "gelu_b", 0.044715f)};
}

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

/* 0.5 x (1 + tanh(a (x + c x^3))) */
onnx_value onnx_gelu(const onnx_layers *l, onnx_value x)
{
    onnx_graph *g = l->g;
    onnx_value cube = onnx_op2(g, "Mul", onnx_op2(g, "Mul", x, x), x);
    onnx_value inner = onnx_op2(g, "Add", x, onnx_op2(g, "Mul", cube, l->gelu_b));
    onnx_value bell = onnx_op1(g, "Tanh", onnx_op2(g, "Mul", inner, l->gelu_a));
    return onnx_op2(g, "Mul", onnx_op2(g, "Mul", x, l->half), onnx_op2(g, "Add", bell, l->one));
}

static onnx_value activate(const onnx_layers *l, nn_activation activation, onnx_value x)
{
    if (activation == ACT_ELU) return onnx_op1(l->g, "Elu", x);
    return activation == ACT_GELU ? onnx_gelu(l, x) : onnx_silu(l->g, x);
}

onnx_value onnx_mlp(const onnx_layers *l, const nn_mlp *m, const float *params, onnx_value x,
                    const char *prefix)
{
    const float *at = params + m->offset;
    for (int i = 0; i < m->layers; i++) {
        char name[48];
        int64_t dims[2] = {m->size[i + 1], m->size[i]};
        snprintf(name, sizeof name, "%s.%d.weight", prefix, 2 * i);
        onnx_value w = onnx_floats(l->g, name, at, dims, 2);
        at += dims[0] * dims[1];
        snprintf(name, sizeof name, "%s.%d.bias", prefix, 2 * i);
        onnx_value bias = onnx_floats(l->g, name, at, dims, 1);
        at += dims[0];
        x = onnx_gemm(l->g, x, w, bias);
        if (i + 1 < m->layers) x = activate(l, m->activation, x);
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
