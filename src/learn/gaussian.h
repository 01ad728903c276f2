/* The policy's Gaussian head: diagonal, its log standard deviation a vector of parameters of its own.
 * Arrays: action, mean (n,d); log_std (d); what is per sample (n). */
#ifndef HRC_LEARN_GAUSSIAN_H
#define HRC_LEARN_GAUSSIAN_H

#include "nn/real.h"

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

#endif
