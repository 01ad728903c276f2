/* Order statistics of small samples. */
#ifndef HRC_MOTION_STATS_H
#define HRC_MOTION_STATS_H

/* Sorts x. share in 0..1, linear between samples; NAN when there are none. */
double percentile(double *x, int n, double share);
double median(double *x, int n); /* sorts x too */

#endif
