/* A gradient against central differences, in double. */
#ifndef HRC_TEST_DIFFERENCES_H
#define HRC_TEST_DIFFERENCES_H

#include "test.h"

/* gradient (n) of what `value` computes, in x; h: half the step. An entry may be off by 1e-5 of what the
 * differences say and `share` of the largest entry. */
static void check_gradient(const char *what, const double *gradient, double *x, size_t n,
                           double (*value)(void *), void *ctx, double h, double share)
{
    double scale = 0;
    for (size_t i = 0; i < n; i++) scale = fmax(scale, fabs(gradient[i]));
    if (!(scale > 0)) test_fail(__FILE__, __LINE__, "%s: the gradient is 0 throughout", what);
    for (size_t i = 0; i < n; i++) {
        const double keep = x[i];
        x[i] = keep + h;
        const double up = value(ctx);
        x[i] = keep - h;
        const double down = value(ctx);
        x[i] = keep;
        const double numeric = (up - down) / (2 * h);
        if (!(fabs(gradient[i] - numeric) < 1e-5 * (fabs(numeric) + share * scale) + 1e-9))
            test_fail(__FILE__, __LINE__, "%s[%zu]: gradient %.9g, differences say %.9g", what, i,
                      gradient[i], numeric);
    }
}

#endif
