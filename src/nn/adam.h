/* AdamW with decoupled weight decay, linear warm-up and cosine decay of the rate, clipping by the norm of
 * all gradients, and an exponential average of the weights. Sums run over fixed pieces in fixed order, so a
 * step is the same for any number of threads. */
#ifndef HRC_NN_ADAM_H
#define HRC_NN_ADAM_H

#include <stddef.h>
#include <stdint.h>

#include "base/pool.h"
#include "base/state.h"
#include "nn/ops.h"

typedef struct {
    double rate;         /* highest */
    double final_rate;   /* as a share of the highest, reached at the last step */
    int64_t warmup;      /* steps from 0 up to the highest rate */
    int64_t steps;       /* of the whole run; 0: the rate stays at its highest */
    double beta1, beta2; /* 0.9, 0.999 */
    double eps;          /* 1e-8 */
    double decay;        /* of every parameter, per step and unit of rate */
    double clip;         /* largest norm of the gradient; 0: no limit */
    double average;      /* decay of the averaged weights; 0: none are kept */
} adam_options;

typedef struct {
    adam_options options;
    size_t n;
    int64_t step;   /* taken so far */
    real *m, *v;    /* (n), first and second moment */
    real *averaged; /* (n), or NULL */
} adam;

/* The rate of step 1, 2, ... */
NN_FN double adam_rate(const adam_options *o, int64_t step);

/* One step. Returns the gradient's norm before clipping; when it is not finite nothing has changed. */
NN_FN double adam_step(adam *a, const nn_ops *ops, pool *p, real *params, const real *grads);

#ifndef NN_DOUBLE
/* Both moments (of a light state only the second), the averaged weights and the steps taken. */
void adam_state(adam *a, state_list *l, const char *prefix);
#endif

#endif
