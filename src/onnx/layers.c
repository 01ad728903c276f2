#include "onnx/layers.h"

#include <stdio.h>

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

/* 0.5 x (1 + tanh(a (x + c x^3))). Its constants come with the first one: runners warn of those that nobody
 * uses. */
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
