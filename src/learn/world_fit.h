/* One update's loss of the world model: open loop over `horizon` periods from real states, under the targets
 * that the simulator had, against where the simulator went.
 *
 *   L = mean over rows of sum_i weight_i (sqrt(1 + (e_i / sigma_i)^2) - 1) / sum_i weight_i
 *
 * sigma_i: the standard deviation of a period's change of number i. */
#ifndef HRC_LEARN_WORLD_FIT_H
#define HRC_LEARN_WORLD_FIT_H

#include "learn/world.h"

typedef struct {
    arena memory;
    const world_model *m;
    pool *threads;
    int batch, horizon;
    real *truth;  /* (horizon + 1, batch, WS): truth[0] is where it starts */
    real *target; /* (horizon, batch, HRC_JOINTS) */
    /* Inside */
    world_pass pass;
    real *s, *ds, *dtarget; /* (horizon + 1, batch, WS) ... */
    double *loss, *onestep; /* per piece of rows */
    const real *params;
} world_fit;

typedef struct {
    double loss;
    double residual; /* of the first period: mean over v, w, qd of (e / sigma of the change)^2 */
} world_fit_result;

NN_FN hrc_status world_fit_create(world_fit *f, const world_model *m, const nn_ops *ops, pool *threads,
                                  int batch, int horizon, hrc_error *err);
NN_FN void world_fit_free(world_fit *f);

/* truth and target are filled by the caller. grads += */
NN_FN world_fit_result world_fit_gradient(world_fit *f, real *grads, const real *params);

#endif
