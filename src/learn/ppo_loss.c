#include "learn/ppo_loss.h"

#include <math.h>
#include <stddef.h>

#define HALF_LOG_TAU 0.91893853320467274178 /* log(2 pi) / 2 */

NN_FN void gaussian_log_prob(real *out, const real *action, const real *mean, const real *log_std, int n,
                             int d)
{
    for (int r = 0; r < n; r++) {
        double sum = 0;
        for (int k = 0; k < d; k++) {
            size_t at = (size_t)r * (size_t)d + (size_t)k;
            double z = (double)(action[at] - mean[at]) * exp(-(double)log_std[k]);
            sum -= 0.5 * z * z + (double)log_std[k] + HALF_LOG_TAU;
        }
        out[r] = (real)sum;
    }
}

NN_FN void gaussian_log_prob_back(real *dmean, real *dlog_std, const real *dlogp, const real *action,
                                  const real *mean, const real *log_std, int n, int d)
{
    for (int k = 0; k < d; k++) {
        double inverse = exp(-(double)log_std[k]), sum = 0;
        for (int r = 0; r < n; r++) {
            size_t at = (size_t)r * (size_t)d + (size_t)k;
            double z = (double)(action[at] - mean[at]) * inverse;
            dmean[at] = (real)((double)dlogp[r] * z * inverse);
            sum += (double)dlogp[r] * (z * z - 1);
        }
        dlog_std[k] += (real)sum;
    }
}

NN_FN double gaussian_entropy(const real *log_std, int d)
{
    double sum = 0;
    for (int k = 0; k < d; k++) sum += (double)log_std[k] + 0.5 + HALF_LOG_TAU;
    return sum;
}

NN_FN double gaussian_kl(const real *old_mean, const real *old_log_std, const real *mean, const real *log_std,
                         int n, int d)
{
    double sum = 0;
    for (int k = 0; k < d; k++) {
        double spread = exp(2 * (double)old_log_std[k]), inverse = exp(-2 * (double)log_std[k]);
        for (int r = 0; r < n; r++) {
            size_t at = (size_t)r * (size_t)d + (size_t)k;
            double gap = (double)(mean[at] - old_mean[at]);
            sum += (double)(log_std[k] - old_log_std[k]) + 0.5 * (spread + gap * gap) * inverse - 0.5;
        }
    }
    return sum / n;
}

/* ---- Losses ---- */

NN_FN void ppo_advantages(real *advantage, real *target, const real *reward, const real *value,
                          const real *last, const bool *over, int T, int n, double gamma, double lambda)
{
    for (int i = 0; i < n; i++) {
        double next = (double)last[i], later = 0;
        for (int t = T - 1; t >= 0; t--) {
            const size_t at = (size_t)t * (size_t)n + (size_t)i;
            const double live = over[at] ? 0 : 1, v = (double)value[at];
            later = (double)reward[at] + gamma * live * next - v + gamma * lambda * live * later;
            advantage[at] = (real)later;
            target[at] = (real)(later + v);
            next = v;
        }
    }
}

NN_FN double ppo_surrogate(real *dlogp, double *clipped, const real *logp, const real *old,
                           const real *advantage, int n, double clip)
{
    double sum = 0;
    int without = 0;
    for (int i = 0; i < n; i++) {
        const double a = (double)advantage[i], r = exp((double)(logp[i] - old[i]));
        const double bound = fmin(fmax(r, 1 - clip), 1 + clip);
        const bool held = bound * a < r * a; /* the clamped term is the smaller, and constant */
        sum -= held ? bound * a : r * a;
        dlogp[i] = (real)(held ? 0 : -r * a / n);
        without += held;
    }
    if (clipped) *clipped = (double)without / n;
    return sum / n;
}

NN_FN double ppo_value_loss(real *dvalue, const real *value, const real *target, int n)
{
    double sum = 0;
    for (int i = 0; i < n; i++) {
        const double gap = (double)value[i] - (double)target[i];
        sum += gap * gap;
        dvalue[i] = (real)(2 * gap / n);
    }
    return sum / n;
}
