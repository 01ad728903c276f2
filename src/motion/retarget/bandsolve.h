/* Symmetric positive definite systems of small dense blocks coupled to their next two neighbours: what
 * Gauss-Newton makes of frames (35 unknowns each) with accelerations between them.
 *
 * Not a library: sparse solvers (CHOLMOD) order and analyse a structure that is known here, and pull in
 * BLAS; general least-squares packages (ceres, levmar) either are C++ or dense. Block Cholesky along the
 * band is 100 lines, 0.14 million multiplications a frame, and elementwise in its inner loops, so that every
 * vector width gives the same bits. */
#ifndef HRC_MOTION_RETARGET_BANDSOLVE_H
#define HRC_MOTION_RETARGET_BANDSOLVE_H

#include <stdbool.h>

#include "robot/g1.h"

#define BAND_N 36 /* unknowns a frame, HRC_NV filled up to a multiple of four; the last stands alone */

typedef double band_matrix[BAND_N][BAND_N];

typedef struct {
    band_matrix self;  /* only the upper triangle counts; band_factor makes it U of U'U */
    band_matrix next;  /* rows: this frame, columns: the next one */
    band_matrix after; /* columns: the one after that */
} band_block;

/* In place. False when the matrix is not positive definite. Blocks beyond the end are ignored. */
bool band_factor(band_block *blocks, int n);

/* x (n, BAND_N): right-hand side in, solution out. */
void band_solve(const band_block *blocks, double (*x)[BAND_N], int n);

/* One block alone. */
bool band_cholesky(band_matrix a);
void band_substitute(const band_matrix u, double x[BAND_N]);

/* Least squares along a path of one number per frame, of rows that couple a frame with its two neighbours. */
/* a (n, 3): the diagonal of the normal equations and the two above it; b (n): their right side. Adds
 * weight (row . x[i-1 .. i+1] - value)^2 for 1 <= i <= n-2. */
void penta_add(double (*a)[3], double *b, int i, const double row[3], double value, double weight);

void penta_solve(double (*a)[3], double *b, int n); /* b becomes the solution; a is used up */

#endif
