/* A low-pass without phase shift: Butterworth of second order, forwards and backwards, -3 dB at hz. */
#ifndef HRC_MOTION_LOWPASS_H
#define HRC_MOTION_LOWPASS_H

#include <stdbool.h>

/* False when hz is so close to half the frame rate, or n so small, that there is nothing to remove. */
bool lowpass_useful(int n, double hz, double fps);

int lowpass_scratch(int n, double hz, double fps); /* numbers that `scratch` must hold */

/* x[0], x[step], ... x[(n-1) step] in place. Both ends are continued, turned about the end point, so that
 * slopes go on. */
void lowpass(double *x, int n, int step, double hz, double fps, double *scratch);

#endif
