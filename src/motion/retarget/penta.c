#include "motion/retarget/penta.h"

void penta_add(double (*a)[3], double *b, int i, const double row[3], double value, double weight)
{
    for (int p = 0; p < 3; p++) {
        b[i - 1 + p] += weight * row[p] * value;
        for (int q = p; q < 3; q++) a[i - 1 + p][q - p] += weight * row[p] * row[q];
    }
}

void penta_solve(double (*a)[3], double *b, int n)
{
    for (int i = 0; i < n; i++)
        for (int k = 1; k <= 2 && i + k < n; k++) {
            double f = a[i][k] / a[i][0];
            for (int m = k; m <= 2; m++) a[i + k][m - k] -= f * a[i][m];
            b[i + k] -= f * b[i];
        }
    for (int i = n - 1; i >= 0; i--) {
        for (int k = 1; k <= 2 && i + k < n; k++) b[i] -= a[i][k] * b[i + k];
        b[i] /= a[i][0];
    }
}
