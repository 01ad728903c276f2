#include "learn/ppo_loss.h"

#include <math.h>
#include <stddef.h>

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
