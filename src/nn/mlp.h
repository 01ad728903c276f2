/* A stack of linear layers with an activation between them, none after the last. Its parameters lie in one
 * piece: weight (out,in) and bias (out) of each layer in turn. All calls work on rows first .. first+n-1 of
 * arrays of `rows` rows, so that a batch can be shared out by rows; the weights' gradient is then shared out
 * by rows of the weight, over the whole batch. */
#ifndef HRC_NN_MLP_H
#define HRC_NN_MLP_H

#include "base/arena.h"
#include "base/status.h"
#include "nn/ops.h"
#include "nn/params.h"

#define MLP_MAX_LAYERS 12

typedef enum { ACT_SILU, ACT_ELU, ACT_GELU } nn_activation;

typedef struct {
    int layers;
    int size[MLP_MAX_LAYERS + 1]; /* input, hidden ..., output */
    nn_activation activation;
    size_t offset; /* of its parameters in the network's block */
} nn_mlp;

/* Adds its tensors, named as in PyTorch's Sequential: prefix.0.weight, prefix.0.bias, prefix.2.weight ... */
NN_FN void nn_mlp_add(nn_mlp *m, nn_layout *l, const char *prefix, nn_init init);

/* Numbers per row that the passes keep: of each hidden layer before and after the activation, and the
 * gradient before it. */
NN_FN size_t nn_mlp_work(const nn_mlp *m);

/* y (rows,out) = f(x (rows,in)); params is the network's block. */
NN_FN void nn_mlp_forward(const nn_ops *o, const nn_mlp *m, real *y, real *work, const real *x,
                          const real *params, int rows, int first, int n);

/* dy (rows,out) -> the hidden gradients in work, and dx (rows,in) set unless it is NULL. */
NN_FN void nn_mlp_back(const nn_ops *o, const nn_mlp *m, real *dx, real *work, const real *dy,
                       const real *params, int rows, int first, int n);

/* After nn_mlp_back with dx NULL: dx (rows, columns) set to the gradient of the inputs column ..
 * column+columns-1 alone, for networks of whose inputs only some have a gradient. */
NN_FN void nn_mlp_back_inputs(const nn_ops *o, const nn_mlp *m, real *dx, const real *work, const real *dy,
                              const real *params, int rows, int first, int n, int column, int columns);

/* Rows first .. first+n-1 of one layer's weight and bias: grads += ... over all rows of the batch. */
NN_FN void nn_mlp_back_w(const nn_ops *o, const nn_mlp *m, real *grads, const real *work, const real *dy,
                         const real *x, int rows, int layer, int first, int n);

#ifndef NN_DOUBLE
/* Adds its weights, for the forward and the backward pass, to what is kept packed; and those of
 * nn_mlp_back_inputs. false when out of memory or places. */
bool nn_mlp_keep(const nn_mlp *m, nn_kept *s, const float *params, arena *memory);
bool nn_mlp_keep_inputs(const nn_mlp *m, nn_kept *s, const float *params, int column, int columns,
                        arena *memory);
#endif

/* Where nn_mlp_back leaves the gradient of hidden layer 1, 2, ... before its activation: (rows, size). */
NN_FN const real *nn_mlp_gradient(const nn_mlp *m, const real *work, int layer, int rows);

/* ---- For inference: weights packed once, one row at a time, no allocation ---- */

#ifndef NN_DOUBLE
typedef struct {
    int layers;
    nn_activation activation;
    const nn_ops *ops;
    nn_packed weight[MLP_MAX_LAYERS];
    const float *bias[MLP_MAX_LAYERS];
    float *hidden[2]; /* room for the widest layer, twice */
} packed_mlp;

/* params: the network's whole block. Everything is copied into memory. */
hrc_status packed_mlp_create(packed_mlp *p, const nn_mlp *m, const float *params, nn_precision precision,
                             arena *memory, hrc_error *err);

/* y (out) = f(x (in)) */
void packed_mlp_run(packed_mlp *p, float *y, const float *x);
#endif

#endif
