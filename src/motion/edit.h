/* What training and evaluation do to a clip: the mirror image, and a reference that is held. */
#ifndef HRC_MOTION_EDIT_H
#define HRC_MOTION_EDIT_H

#include "motion/clip.h"

/* Left and right exchanged, in place: the image in the plane y = 0. Twice is the clip itself, bit for bit. */
void clip_mirror(clip *c);

/* Zero-order hold, in place: every frame becomes the first of its period of `seconds` (rounded to whole
 * frames, at least one). */
void clip_hold(clip *c, double seconds);

#endif
