/* Repair of a clip, each step by itself and in place. A clip that was optimised in blocks is first cut at
 * its seams; then in this order: median, low-pass, clamp, lift (filters and clamps can push a foot under
 * the floor, so lifting comes last). A step that fails leaves the clip as it was before that step. */
#ifndef HRC_MOTION_FIX_H
#define HRC_MOTION_FIX_H

#include <stdbool.h>

#include "motion/clip.h"

/* A low-pass without phase shift: Butterworth of second order, forwards and backwards, -3 dB at hz. */

/* False when hz is so close to half the frame rate, or n so small, that there is nothing to remove. */
bool lowpass_useful(int n, double hz, double fps);

int lowpass_scratch(int n, double hz, double fps); /* numbers that `scratch` must hold */

/* x[0], x[step], ... x[(n-1) step] in place. Both ends are continued, turned about the end point, so that
 * slopes go on. */
void lowpass(double *x, int n, int step, double hz, double fps, double *scratch);

/* m: soles of good clips dip this much; lifting them would float the robot */
#define FIX_LIFT_TOLERANCE 0.005
/* The lift begins this long before the robot needs it: longer makes it float around every touch, shorter
 * is not smoother than the motion itself (LAFAN1-G1: 0.2 s adds 25 s of floating in 16 files, this 1.5 s). */
#define FIX_LIFT_SECONDS 0.06
#define FIX_SHORTEST_SECONDS 0.5 /* pieces between seams that are shorter are dropped */

typedef struct {
    bool median, lowpass, clamp, lift;
    double lowpass_hz;
} fix_options;

hrc_status fix_clip(clip *c, const fix_options *options, hrc_error *err);

hrc_status fix_median(clip *c, hrc_error *err); /* median of 3 frames: removes single-frame spikes */

/* Butterworth of second order, forwards and backwards: no phase shift, -3 dB at hz. Nothing is done when hz
 * is so close to half the frame rate that there is nothing to remove. */
hrc_status fix_lowpass(clip *c, double hz, hrc_error *err);

hrc_status fix_lift(clip *c, hrc_error *err); /* afterwards no point is deeper than FIX_LIFT_TOLERANCE */

void fix_clamp(clip *c);                    /* joints to their hard limits */
void fix_clamp_within(clip *c, double rad); /* those that are no further beyond */

/* Piece k of a clip of n frames cut at multiples of `seam` (0: never), without pieces that are too short;
 * false when there is no such piece. */
bool fix_piece(int n, double fps, int seam, int k, int *first, int *last);

#endif
