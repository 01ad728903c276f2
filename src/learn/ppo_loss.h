/* The numbers of PPO, apart from any network. Arrays of a rollout are (T, n): step by step, all worlds. */
#ifndef HRC_LEARN_PPO_LOSS_H
#define HRC_LEARN_PPO_LOSS_H

#include <stdbool.h>

#include "nn/real.h"

/* ---- The policy's Gaussian head: diagonal, its log standard deviation a vector of parameters of its own.
 * Arrays: action, mean (n,d); log_std (d); what is per sample (n). ---- */

/* Sum over dimensions of the log density. */
NN_FN void gaussian_log_prob(real *out, const real *action, const real *mean, const real *log_std, int n,
                             int d);

/* For dlogp (n): dmean (n,d) set, dlog_std (d) += */
NN_FN void gaussian_log_prob_back(real *dmean, real *dlog_std, const real *dlogp, const real *action,
                                  const real *mean, const real *log_std, int n, int d);

/* Of one sample; its gradient is 1 for every log_std. */
NN_FN double gaussian_entropy(const real *log_std, int d);

/* Mean over samples of KL(old || new), both diagonal. */
NN_FN double gaussian_kl(const real *old_mean, const real *old_log_std, const real *mean, const real *log_std,
                         int n, int d);

/* ---- Advantages and losses ---- */

/* Generalised advantages and the critic's targets, all (T, n). over: the episode ended with this step, by
 * failure or time-out; the reward of a time-out already holds gamma V(what it ended with). last (n): values
 * after the last step.
 *   delta_t = r_t + gamma V_(t+1) - V_t,   A_t = delta_t + gamma lambda A_(t+1),   target = A + V
 * where an episode that is over has no t+1. */
NN_FN void ppo_advantages(real *advantage, real *target, const real *reward, const real *value,
                          const real *last, const bool *over, int T, int n, double gamma, double lambda);

/* Mean over n of -min(r A, clamp(r, 1 - clip, 1 + clip) A) with r = exp(logp - old); dlogp (n) is set to its
 * gradient. clipped, unless NULL: share of samples without a gradient. */
NN_FN double ppo_surrogate(real *dlogp, double *clipped, const real *logp, const real *old,
                           const real *advantage, int n, double clip);

/* Mean over n of (V - R)^2; dvalue (n) is set to its gradient. */
NN_FN double ppo_value_loss(real *dvalue, const real *value, const real *target, int n);

#endif
