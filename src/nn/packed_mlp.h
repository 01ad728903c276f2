/* A stack of linear layers for inference: weights packed once, one row at a time, no allocation. */
#ifndef HRC_NN_PACKED_MLP_H
#define HRC_NN_PACKED_MLP_H

#include "base/arena.h"
#include "base/status.h"
#include "nn/mlp.h"
#include "nn/packed.h"

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
