/* Muon: a step of a weight matrix is its momentum's nearest orthogonal matrix, so that no few directions of
 * the gradient outweigh the others. It takes the matrices of a network; AdamW does the rest (nn/adam.h).
 *
 *   m = 0.95 m + g,  u = g + 0.95 m,  w -= rate 0.2 sqrt(max(rows, columns)) O(u)
 *
 * O by five rounds of x <- a x + (b s + c s^2) x, s = x x^T, from x = u / |u|: singular values go to between
 * 0.7 and 1.2. The factor gives the step the size that AdamW's usually has, so that both share one rate. */
#ifndef HRC_NN_MUON_H
#define HRC_NN_MUON_H

#include "base/arena.h"
#include "base/pool.h"
#include "base/state.h"
#include "base/status.h"
#include "nn/ops.h"
#include "nn/params.h"

#define MUON_LEAST 48 /* rows and columns; smaller ones, like heads, stay with AdamW */

typedef struct {
    size_t offset; /* in the network's block */
    int rows, columns;
    real *x, *next;       /* (rows, columns) */
    real *square, *other; /* (least, least), least = min(rows, columns) */
} muon_matrix;

typedef struct {
    int n;
    muon_matrix matrices[NN_MAX_TENSORS];
    real *momentum; /* (count of the layout) */
    size_t count;
} muon;

NN_FN hrc_status muon_create(muon *m, const nn_layout *l, arena *memory, hrc_error *err);

/* One step of its matrices; their gradients become 0, so that AdamW leaves them alone. Gradients are limited
 * to norm `clip` all together first. Returns their norm before; when it is not finite nothing has changed. */
NN_FN double muon_step(muon *m, const nn_ops *ops, pool *threads, real *params, real *grads, double rate,
                       double clip);

#ifndef NN_DOUBLE
void muon_state(muon *m, state_list *l, const char *prefix);
#endif

#endif
