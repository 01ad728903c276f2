/* The velocity field at inference: one sample, packed weights, float or bfloat16, nothing allocated after
 * create. The times of a plan's integration steps are known beforehand, so their embeddings are made once;
 * and the modulation of all blocks for all steps is one product at the start of a plan instead of one per
 * step (41 % of the weights are then read once a plan). */
#ifndef HRC_PLAN_INFER_H
#define HRC_PLAN_INFER_H

#include "base/pool.h"
#include "nn/packed.h"
#include "plan/field.h"

#define INFER_MAX_STEPS 16

typedef struct infer infer;

/* params: layout.count numbers, copied. times (steps), 0..1. threads may be NULL: all on the caller. */
hrc_status infer_create(infer **out, const field *net, const float *params, nn_precision precision,
                        const float *times, int steps, pool *threads, hrc_error *err);
void infer_free(infer *s); /* NULL is fine */

void infer_begin(infer *s, const float *cond); /* cond (net->cond), normalised */

/* v (tokens, dim) at times[step]; x (tokens, dim). */
void infer_step(infer *s, float *v, const float *x, int step);

#endif
