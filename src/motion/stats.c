#include "motion/stats.h"

#include <math.h>
#include <stdlib.h>

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double percentile(double *x, int n, double share)
{
    if (n == 0) return NAN;
    qsort(x, (size_t)n, sizeof *x, by_size);
    double at = share * (n - 1);
    int below = (int)at;
    if (below >= n - 1) return x[n - 1];
    return x[below] + (at - below) * (x[below + 1] - x[below]);
}

double median(double *x, int n)
{
    return percentile(x, n, 0.5);
}
