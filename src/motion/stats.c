#include "motion/stats.h"

#include <math.h>
#include <stdlib.h>

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

void numbers_sort(double *x, int n)
{
    qsort(x, (size_t)n, sizeof *x, by_size);
}

double percentile(double *x, int n, double share)
{
    if (n == 0) return NAN;
    numbers_sort(x, n);
    double at = share * (n - 1);
    int below = (int)at;
    if (below >= n - 1) return x[n - 1];
    return x[below] + (at - below) * (x[below + 1] - x[below]);
}

double median(double *x, int n)
{
    return percentile(x, n, 0.5);
}

/* z = a + b t + c t^2 with t from the middle, where b falls out of the normal equations; 2 c. */
double parabola_acceleration(const double *z, int n, int stride, double dt)
{
    double middle = 0.5 * (n - 1), s2 = 0, s4 = 0, z0 = 0, z2 = 0;
    for (int i = 0; i < n; i++) {
        double t = (i - middle) * dt, x = z[(size_t)i * (size_t)stride];
        s2 += t * t, s4 += t * t * t * t, z0 += x, z2 += x * t * t;
    }
    return 2 * (n * z2 - s2 * z0) / (n * s4 - s2 * s2);
}
