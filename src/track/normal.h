/* Running mean and variance of observations: networks see (x - mean) / (sigma + 0.01). Proprioception and
 * reference are normalised per quantity, with one statistic for all steps of history and window: rows of
 * `n` numbers repeat. */
#ifndef HRC_TRACK_NORMAL_H
#define HRC_TRACK_NORMAL_H

#include "base/arena.h"
#include "base/state.h"

#define NORMAL_FLOOR 0.01f /* added to sigma: what hardly varies is not blown up */

typedef struct {
    int n;
    double count;      /* rows seen */
    double *mean, *m2; /* (n): mean, and sum of squared differences from it */
    float *shift;      /* (n): the mean; */
    float *scale;      /* (n): 1 / (sigma + floor). Both are 0 and 1 before the first update. */
} normal;

hrc_status normal_create(normal *s, int n, arena *memory, hrc_error *err);

/* x (rows, n); serial, in order of rows, so it is the same for any number of threads. */
void normal_update(normal *s, const float *x, size_t rows);

/* From stored mean and variance. */
void normal_set(normal *s, double count, const float *mean, const float *variance);
float normal_variance(const normal *s, int i);

/* Sums over many calls, to be merged at once: sums (NORMAL_SUMS) += number of rows, and for every quantity
 * the sum and the sum of squares about the present mean. Sums of several processes may be added up. */
#define NORMAL_SUMS(n) (2 * (size_t)(n) + 1)
void normal_gather(const normal *s, double *sums, const float *x, size_t rows);
void normal_merge(normal *s, const double *sums);

void normal_state(normal *s, state_list *l, const char *prefix);

/* y (rows, n) = normalised x; y may be x. */
void normal_apply(const normal *s, float *y, const float *x, size_t rows);

#endif
