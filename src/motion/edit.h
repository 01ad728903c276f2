/* What training and evaluation do to a clip: the mirror image, a reference that is held, the way back, a
 * delay, standing still before and after. */
#ifndef HRC_MOTION_EDIT_H
#define HRC_MOTION_EDIT_H

#include "motion/clip.h"

/* Left and right exchanged, in place: the image in the plane y = 0. Twice is the clip itself, bit for bit. */
void clip_mirror(clip *c);

/* Zero-order hold, in place: every frame becomes the first of its period of `seconds` (rounded to whole
 * frames, at least one). */
void clip_hold(clip *c, double seconds);

/* A clip of its own that stands still for `still` seconds, blends in `blend` seconds into `in`, and likewise
 * at its end. The robot stands in its default pose, at the place and heading of the clip's end; what speed
 * the root has over the floor is lost evenly during the blend. An end at which the robot is not on its feet
 * (pelvis under 0.5 m or tilted by more than 60 degrees) is held instead, since a get-up takes longer
 * than half a second. Name and labels stay. On error nothing is left to free. */
hrc_status clip_pad_standing(clip *out, const clip *in, double still, double blend, hrc_error *err);

#endif
