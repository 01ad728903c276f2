/* Steps of weight matrices along their orthogonalised momentum (known as Muon): the mean of the last
 * gradients M = U S V' is replaced by U V', so that a direction in which many samples agree does not drown
 * the others. U V' is approached by five rounds of X <- a X + (b X X' + c (X X')^2) X from M / |M|, which
 * bring every singular value to about 1; a step is as long as one of Adam's at the same rate.
 *
 * Everything else of a network (biases, last layers) is Adam's: muon_step() sets the gradients of its
 * matrices to 0, with which adam_step() leaves them as they are but for their average. */
#ifndef HRC_NN_MUON_H
#define HRC_NN_MUON_H

#include <stdbool.h>

#include "base/arena.h"
#include "base/pool.h"
#include "base/state.h"
#include "nn/mlp.h"

#define MUON_MOST 32

typedef struct {
    size_t offset; /* in the network's block */
    int rows, columns;
    size_t at; /* in the momentum */
} muon_matrix;

typedef struct {
    int n;
    size_t count; /* numbers of all matrices */
    muon_matrix matrices[MUON_MOST];
    float *momentum;               /* (count) */
    float *x, *next;               /* the largest matrix */
    float *square, *fourth, *step; /* (side, side), the smaller side of the largest */
} muon;

/* Adds the weights of the first `layers` layers; before muon_create. false: too many. */
bool muon_add(muon *m, const nn_mlp *net, int layers);

/* false when out of memory. Without matrices there is nothing to do, and nothing is. */
bool muon_create(muon *m, arena *memory);

/* One step of all matrices at that rate. Returns the norm of their gradients, each of which counts in the
 * mean as if its own were 1; when it is not finite nothing has changed. */
double muon_step(muon *m, const nn_ops *ops, pool *p, float *params, float *grads, double rate);

void muon_state(muon *m, state_list *l, const char *prefix);

#endif
