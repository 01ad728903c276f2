/* One training pass of the policy: encoder, quantizer, both decoders forward; then gradients of the actions'
 * loss (which the caller gives as d loss / d mu), of the reconstruction loss
 *
 *   L_rec = mean over samples of 1/10 sum over the 10 frames |m^ - m|^2      (normalised quantities)
 *
 * and of the tokenizer's own loss, in one backward pass. Gradients of the inputs are there for training
 * through a model of the world. */
#ifndef HRC_LEARN_POLICY_PASS_H
#define HRC_LEARN_POLICY_PASS_H

#include "learn/mlp_pass.h"
#include "track/policy.h"

typedef struct policy_pass policy_pass;

NN_FN hrc_status policy_pass_create(policy_pass **out, const policy *p, const nn_ops *ops, pool *threads,
                                    int batch, hrc_error *err);
NN_FN void policy_pass_free(policy_pass *s); /* NULL is fine */

typedef struct {
    int n;               /* samples, at most the batch of the pass */
    const real *proprio; /* (n, proprio), normalised */
    const real *window;  /* (n, window), normalised */
} policy_batch;

/* Valid until the next forward pass. */
typedef struct {
    const real *mean;           /* (n, actions) */
    const real *latent, *token; /* (n, d): z and e */
    const int32_t *index;       /* (n, quant_indices) */
    const real *reconstructed;  /* (n, window); only when it was asked for */
} policy_outputs;

/* codebook: the state of a VQ tokenizer, else NULL. The batch's arrays must stay until the backward pass. */
NN_FN policy_outputs policy_forward(policy_pass *s, const real *params, const real *codebook,
                                    const policy_batch *b, bool reconstruct);

typedef struct {
    double reconstruction; /* L_rec, unweighted */
    double token;          /* the tokenizer's own, weighted by its commitment */
} policy_losses;

/* After policy_forward with reconstruct: the losses alone. */
NN_FN policy_losses policy_loss(policy_pass *s);

#define RECONSTRUCTION_WEIGHT 0.01 /* of its loss, in both methods */

/* grads (layout.count) += d/dparams of (what dmean is the gradient of) + rec_weight L_rec + token loss; the
 * gradient of log_std is the caller's. rec_weight 0 leaves the reconstruction out. dproprio (n, proprio) and
 * dwindow (n, window) are set unless NULL; the reconstruction's target counts as a constant. */
NN_FN policy_losses policy_backward(policy_pass *s, real *grads, const real *params, const real *dmean,
                                    double rec_weight, real *dproprio, real *dwindow);

#endif
