/* The same motion as another would do it: at another pace, and with limbs held a little differently while the
 * body is near the floor. Who stands keeps the pose: it was made to balance (balance.h). */
#ifndef HRC_MOTION_VARY_H
#define HRC_MOTION_VARY_H

#include "base/rng.h"
#include "motion/clip.h"

/* pace 1.2: a fifth faster. bend: standard deviation of every joint, rad; it changes within a second or two.
 * Limits are kept, and every frame stays as high over the floor as it was. Name and labels stay. On error
 * nothing is left to free. */
hrc_status clip_vary(clip *out, const clip *in, double pace, double bend, rng *dice, hrc_error *err);

#endif
