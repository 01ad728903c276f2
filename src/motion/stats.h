/* Order statistics of small samples. */
#ifndef HRC_MOTION_STATS_H
#define HRC_MOTION_STATS_H

void numbers_sort(double *x, int n); /* upwards */

/* Sorts x. share in 0..1, linear between samples; NAN when there are none. */
double percentile(double *x, int n, double share);
double median(double *x, int n); /* sorts x too */

/* The acceleration of a least squares parabola through z[0], z[stride] ... z[(n-1) stride], dt apart; n >= 3.
 */
double parabola_acceleration(const double *z, int n, int stride, double dt);

#endif
