/* Least squares along a path of one number per frame, of rows that couple a frame with its two neighbours. */
#ifndef HRC_MOTION_RETARGET_PENTA_H
#define HRC_MOTION_RETARGET_PENTA_H

/* a (n, 3): the diagonal of the normal equations and the two above it; b (n): their right side. Adds
 * weight (row . x[i-1 .. i+1] - value)^2 for 1 <= i <= n-2. */
void penta_add(double (*a)[3], double *b, int i, const double row[3], double value, double weight);

void penta_solve(double (*a)[3], double *b, int n); /* b becomes the solution; a is used up */

#endif
