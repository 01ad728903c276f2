/* Layers of our networks as ONNX nodes. */
#ifndef HRC_ONNX_LAYERS_H
#define HRC_ONNX_LAYERS_H

#include "nn/mlp.h"
#include "onnx/write.h"

onnx_value onnx_gemm(onnx_graph *g, onnx_value x, onnx_value w, onnx_value bias); /* x w^T + bias, on rows */
onnx_value onnx_silu(onnx_graph *g, onnx_value x);
onnx_value onnx_gelu(onnx_graph *g, onnx_value x); /* the tanh form */

/* params: the network's block; tensors are named prefix.0.weight, prefix.0.bias, prefix.2.weight ... */
onnx_value onnx_mlp(onnx_graph *g, const nn_mlp *m, const float *params, onnx_value x, const char *prefix);

/* Metadata: numbers separated by commas, with all their digits. */
void onnx_meta_list(onnx_graph *g, const char *key, const float *values, int n);

#endif
