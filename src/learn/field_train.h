/* One training pass of the velocity field: forward, loss, and the gradient of every parameter.
 *
 * The batch is shared out in chunks of FIELD_CHUNK samples, which one thread takes through all blocks
 * forward and back; the weights' gradients follow, shared out by rows of the weights. Chunks and blocks
 * do not depend on the number of threads, so neither does a bit of the result. */
#ifndef HRC_LEARN_FIELD_TRAIN_H
#define HRC_LEARN_FIELD_TRAIN_H

#include "base/arena.h"
#include "base/pool.h"
#include "plan/field.h"

#define FIELD_CHUNK 32 /* samples */

typedef struct {
    int n;              /* samples, at most the batch of the pass */
    const real *x;      /* (n,T,D) noised residuals */
    const real *t;      /* (n) 0..1 */
    const real *cond;   /* (n,cond) */
    const real *target; /* (n,T,D) */
    const real *weight; /* (n,T,D), or NULL for ones */
} field_batch;

typedef struct field_pass field_pass;

NN_FN hrc_status field_pass_create(field_pass **out, const field *f, const nn_ops *ops, pool *p, int batch,
                                   hrc_error *err);
NN_FN void field_pass_free(field_pass *s); /* NULL is fine */

/* v (n,T,D); valid until the next call. x, t and cond of the batch are used. */
NN_FN const real *field_forward(field_pass *s, const real *params, const field_batch *b);

/* Mean over all numbers of weight * (v - target)^2; grads (layout.count) += its gradient. */
NN_FN double field_gradient(field_pass *s, real *grads, const real *params, const field_batch *b);

/* The loss alone. */
NN_FN double field_loss(field_pass *s, const real *params, const field_batch *b);

#endif
