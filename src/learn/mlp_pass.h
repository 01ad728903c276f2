/* One stack of linear layers over a batch, forward and back, on all threads. The batch is shared out in
 * chunks of MLP_CHUNK rows, the weights' gradients by rows of the weights; neither depends on the number of
 * threads, so neither does a bit of the result. The hidden layers of the last forward pass are kept for the
 * backward pass. */
#ifndef HRC_LEARN_MLP_PASS_H
#define HRC_LEARN_MLP_PASS_H

#include "base/arena.h"
#include "base/pool.h"
#include "nn/mlp.h"

#define MLP_CHUNK 64 /* rows */

typedef struct {
    const nn_mlp *net;
    const nn_ops *ops;
    pool *threads;
    int batch;  /* rows at the most */
    real *work; /* hidden layers, (batch, nn_mlp_work) */
} mlp_pass;

NN_FN hrc_status mlp_pass_create(mlp_pass *p, const nn_mlp *net, const nn_ops *ops, pool *threads, int batch,
                                 arena *memory, hrc_error *err);

/* y (n,out) = f(x (n,in)) */
NN_FN void mlp_pass_forward(mlp_pass *p, real *y, const real *x, const real *params, int n);

/* After a forward pass of the same x: grads += (NULL: not wanted), and dx (n, columns) = the gradient of the
 * inputs from `column` on (columns 0: not wanted; all of them: 0, in). */
NN_FN void mlp_pass_backward(mlp_pass *p, real *dx, int column, int columns, real *grads, const real *dy,
                             const real *x, const real *params, int n);

/* The weights' part of it alone, when the hidden gradients of all n rows are there already: for networks that
 * run row by row within a longer chain. */
NN_FN void mlp_pass_weights(mlp_pass *p, real *grads, const real *dy, const real *x, int n);

#endif
