/* The tracker's network (paper 3.3), as a list of parameters:
 *
 *   z  = encoder(window)                 410 -> d
 *   e  = quantizer(z)                    the motion token
 *   m^ = reconstruction(e)               d -> 410, only in training
 *   mu = action([e, proprio])            d + 930 -> 29; actions are drawn from N(mu, exp(log_std)^2)
 *
 * and the critic, a network of its own: V(critic observation), 628 -> 1. Inputs are normalised (normal.h).
 * learn/policy_pass.h trains it, tracker.h runs it. */
#ifndef HRC_TRACK_POLICY_H
#define HRC_TRACK_POLICY_H

#include "base/config.h"
#include "nn/mlp.h"
#include "track/observe.h"
#include "track/quantize.h"

#define POLICY_MAX_HIDDEN 8

typedef struct {
    int n, size[POLICY_MAX_HIDDEN]; /* widths of hidden layers */
} policy_hidden;

typedef struct {
    int window, proprio, actions; /* 410, 930, 29; tests take less */
    policy_hidden encoder, reconstruction, action;
    nn_activation activation;
    quant token;
} policy_shape;

typedef struct {
    policy_shape shape;
    nn_mlp encoder, reconstruction, action;
    size_t log_std;   /* offset of its `actions` numbers */
    nn_layout layout; /* layout.count parameters */
} policy;

typedef struct {
    nn_mlp net;
    nn_layout layout;
} critic;

NN_FN hrc_status policy_init(policy *p, const policy_shape *shape, hrc_error *err);

#define TRACK_STD 0.6 /* standard deviation of the actions at first */

/* Fresh weights: Xavier, biases 0, the last action layer times head_scale, standard deviation std. */
NN_FN void policy_fresh(real *params, const policy *p, uint64_t seed, double head_scale, double std);

NN_FN void critic_init(critic *c, int inputs, const policy_hidden *hidden, nn_activation activation);

#ifndef NN_DOUBLE
policy_shape policy_from_config(const config *cfg); /* section [tracker] */
nn_activation policy_activation(const char *word);
const char *policy_activation_name(nn_activation activation);
void critic_from_config(critic *c, const config *cfg);
#endif

#endif
