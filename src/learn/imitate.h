/* Imitation: what was done in rehearsals (rehearse.h) is what the policy is to do in the same states, shown
 * the originals. A leap or a get-up that gradients through a model of the world do not come upon is learned
 * from its actions; those gradients then make it hold against what goes otherwise.
 *
 *   loss = weight mean over samples of sum over joints (sqrt(1 + (a - a*)^2) - 1)
 *   a*   = (target - base of the frames that are shown) / scale
 */
#ifndef HRC_LEARN_IMITATE_H
#define HRC_LEARN_IMITATE_H

#include "base/rng.h"
#include "learn/policy_pass.h"
#include "sim/reference.h"
#include "track/model.h"

/* What the robot did on clip `original` of the references, as rehearse() has it. */
typedef struct {
    int original, n;
    const float *qpos, *qvel, *target; /* (n, ...) */
} demonstration;

typedef struct {
    const demonstration *list;
    int n;
} demonstrations;

typedef struct imitation imitation;

/* Everything is borrowed. Originals are mirrored where the references are. */
hrc_status imitation_create(imitation **out, const demonstrations *d, const references *refs,
                            const track_model *m, const nn_ops *ops, pool *threads, int batch,
                            hrc_error *err);
void imitation_free(imitation *m); /* NULL is fine */

/* grads (layout.count) += weight d loss / d params over a batch that is drawn anew: half evenly, half where
 * the policy was farthest off when last asked. Returns the loss without its weight. */
double imitation_gradient(imitation *im, float *grads, const float *params, double weight, rng *r);

/* Which were how far off; for checkpoints. */
void imitation_state(imitation *im, state_list *l, const char *prefix);

#endif
