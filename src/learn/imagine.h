/* Imagined rollouts: the policy drives the world model for `steps` periods from real states, and the tracking
 * loss of every period is differentiated through all of them with respect to the policy's weights.
 *
 *   L_b = 1/steps sum over periods of [ tracking (imagine_loss.h) + w_a |a_t|^2 + w_r |a_t - a_(t-1)|^2 ]
 *   L   = 1/batch sum over rollouts of c log(1 + L_b / c) (c 0: of L_b)
 *         + w_rec L_rec (of the first `rec_steps` periods) + the tokenizer's own loss
 *
 * Periods after the end of a clip do not count, nor those from a state on that no robot can be in. Sequences
 * are shared out in pieces of 32, 64 or 128, by the size of the batch; the weights' gradients are then
 * products over all rows at once; so the result is the same for any number of threads. */
#ifndef HRC_LEARN_IMAGINE_H
#define HRC_LEARN_IMAGINE_H

#include "learn/imagine_observe.h"
#include "learn/world.h"
#include "track/observe.h"
#include "track/policy.h"

typedef struct {
    int batch, steps;
    int rec_steps; /* of which the window is reconstructed */
    int lead;      /* of the window */
    action_basis basis;
    double action_weight, rate_weight, rec_weight;
    double knee;       /* c */
    double state_clip; /* limit on the gradient of one state; 0: none */
} imagine_options;

/* Where a rollout starts. */
typedef struct {
    const obs_frame *frames; /* (n): the reference to the clip's end, or as far as the last window reaches */
    const obs_frame *shown;  /* (n): what the policy sees instead; NULL: the same */
    int n, frame;            /* frame: the robot's time */
    bool anchored;           /* the policy sees them by way of plan/offset.h, planned anew at the start and
                                every PLAN_EVERY periods */
    real s[WS];
    real history[OBS_HISTORY]
                [OBS_P]; /* raw, oldest first; the last one is of s and holds the action before */
} imagine_start;

typedef struct {
    double tracking, action, rate; /* means per period, without w_a and w_r */
    double objective;              /* of all three: L without reconstruction and tokenizer */
    double reconstruction;
} imagine_result;

typedef struct imagine imagine;

NN_FN hrc_status imagine_create(imagine **out, const imagine_options *o, const policy *net,
                                const world_model *m, const nn_ops *ops, pool *threads, hrc_error *err);
NN_FN void imagine_free(imagine *g); /* NULL is fine */

NN_FN imagine_start *imagine_starts(imagine *g); /* (batch), to be filled before every call */

/* Normalisation of what the policy sees: (x - shift) scale, of OBS_P and OBS_M numbers. */
NN_FN void imagine_normal(imagine *g, const float *p_shift, const float *p_scale, const float *m_shift,
                          const float *m_scale);

/* grads (of the policy) += */
NN_FN imagine_result imagine_gradient(imagine *g, real *grads, const real *policy_params,
                                      const real *codebook, const real *world_params);

/* Of the last call: tokens (batch steps, quant_indices), and what they were made of (batch steps, d). */
NN_FN const int32_t *imagine_tokens(const imagine *g);
NN_FN const real *imagine_latents(const imagine *g);

#endif
