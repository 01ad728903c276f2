/* Flow-matching training of the planner (paper 3.2): x_t = (1-t) x_0 + t x_1, the network learns x_1 - x_0
 * from x_t, t and the condition; x_0 is a normalised residual, x_1 noise.
 *
 * Step s draws sample i of its batch from random stream s * batch + i of the seed, and nothing else is
 * random: so a run that was stopped and resumed equals the uninterrupted one, bit for bit, whatever the
 * number of threads.
 *
 * Of several processes (learn/comm.h) each makes its rows of every batch and its part of the gradient; the
 * sum moves all alike. The batch is that of one process, and so is the result but for the order of sums. */
#ifndef HRC_LEARN_PLANNER_TRAIN_H
#define HRC_LEARN_PLANNER_TRAIN_H

#include "base/config.h"
#include "learn/tuples.h"
#include "plan/model.h"

typedef struct planner_trainer planner_trainer;

/* The data are borrowed; heldout may be NULL. */
hrc_status planner_trainer_create(planner_trainer **out, const config *cfg, const tuple_set *train,
                                  const tuple_set *heldout, uint64_t seed, pool *threads, hrc_error *err);
void planner_trainer_free(planner_trainer *t);

/* Begin with the weights of a model instead of random ones, to teach it other motions. Its network must be
 * the one of the settings. */
hrc_status planner_trainer_from(planner_trainer *t, const plan_model *m, hrc_error *err);

tuple_options planner_tuple_options(const config *cfg);

typedef struct {
    double loss;      /* of the batch, before the update */
    double grad_norm; /* before clipping; not finite: the update was left out */
    double rate;
} planner_update;

planner_update planner_trainer_step(planner_trainer *t);

double
planner_trainer_heldout(planner_trainer *t); /* loss of the averaged weights; NAN without held-out data */
int64_t planner_trainer_steps(const planner_trainer *t); /* taken so far */
size_t planner_trainer_parameters(const planner_trainer *t);

const field *planner_trainer_field(const planner_trainer *t);
const plan_layout *planner_trainer_layout(const planner_trainer *t);
const plan_scales *planner_trainer_scales(const planner_trainer *t);
const float *planner_trainer_averaged(const planner_trainer *t); /* the weights worth using */

/* Everything a resumed run needs, in one file. Resuming refuses other data, another network or seed, and says
 * which entry differs. */
hrc_status planner_checkpoint_save(planner_trainer *t, const char *path, hrc_error *err);
hrc_status planner_checkpoint_load(planner_trainer *t, const char *path, hrc_error *err);

#endif
