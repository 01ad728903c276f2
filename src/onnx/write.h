/* Writes ONNX models (opset 13): a graph is built node by node and encoded as protobuf by hand, which is less
 * than a protobuf library would need around it. Names are the caller's; nothing is checked but memory. */
#ifndef HRC_ONNX_WRITE_H
#define HRC_ONNX_WRITE_H

#include "base/text.h"
#include "nn/mlp.h"

typedef struct {
    text nodes, initializers, inputs, outputs, metadata; /* encoded fields of GraphProto and ModelProto */
    int made;                                            /* names given by onnx_node */
    bool has_gelu;                                       /* the constants of onnx_gelu are in it */
} onnx_graph;

/* A value inside the graph. */
typedef struct {
    char name[48];
} onnx_value;

/* Constants. dims ends at ndim. */
onnx_value onnx_floats(onnx_graph *g, const char *name, const float *data, const int64_t *dims, int ndim);
onnx_value onnx_scalar(onnx_graph *g, const char *name, float value);
onnx_value onnx_ints(onnx_graph *g, const char *name, const int64_t *data, int n); /* a vector */
onnx_value onnx_whole(onnx_graph *g, const char *name, int64_t value);             /* a scalar */

/* Inputs and outputs of the graph; a dimension of -1 is the batch, "N". */
onnx_value onnx_input(onnx_graph *g, const char *name, const int64_t *dims, int ndim);
void onnx_output(onnx_graph *g, const char *name, onnx_value value, const int64_t *dims, int ndim);

typedef struct {
    const char *name;
    const int64_t *ints; /* a list when n >= 0, one number when n < 0 */
    int n;
} onnx_attribute;

/* One node. Its outputs get names of their own and go to out[0 .. nout-1], unless out is NULL; the first is
 * returned. */
onnx_value onnx_node(onnx_graph *g, const char *op, const onnx_value *in, int nin, onnx_value *out, int nout,
                     const onnx_attribute *attributes, int nattributes);
onnx_value onnx_op1(onnx_graph *g, const char *op, onnx_value a);
onnx_value onnx_op2(onnx_graph *g, const char *op, onnx_value a, onnx_value b);

void onnx_meta(onnx_graph *g, const char *key, const char *value);

hrc_status onnx_write(const onnx_graph *g, const char *name, const char *path, hrc_error *err);
void onnx_free(onnx_graph *g);

/* ---- Layers of our networks as ONNX nodes ---- */

onnx_value onnx_gemm(onnx_graph *g, onnx_value x, onnx_value w, onnx_value bias); /* x w^T + bias, on rows */
onnx_value onnx_silu(onnx_graph *g, onnx_value x);
onnx_value onnx_gelu(onnx_graph *g, onnx_value x); /* the tanh form */

/* params: the network's block; tensors are named prefix.0.weight, prefix.0.bias, prefix.2.weight ... */
onnx_value onnx_mlp(onnx_graph *g, const nn_mlp *m, const float *params, onnx_value x, const char *prefix);

/* Metadata: numbers separated by commas, with all their digits. */
void onnx_meta_list(onnx_graph *g, const char *key, const float *values, int n);

#endif
