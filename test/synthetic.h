/* Motions made by formula, for tests that need a clip whose every number is known. */
#ifndef HRC_TEST_SYNTHETIC_H
#define HRC_TEST_SYNTHETIC_H

#include "motion/clip.h"

/* The robot in its default stance with the feet on the floor, turning by 1.5 rad/s while it sways; all
 * joints but those of the legs swing, each at its own rate. */
void synthetic_turn(clip *c, int n, double fps);

/* Largest difference of two clips over all numbers; quaternions may differ in sign as a whole. */
double clip_distance(const clip *a, const clip *b);

#endif
