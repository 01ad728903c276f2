/* The same motion as another would do it: at another pace, and, while the body is near the floor, with the
 * limbs that do not carry it held a little differently. Who stands keeps the pose: it was made to balance
 * (balance.h). */
#ifndef HRC_MOTION_VARY_H
#define HRC_MOTION_VARY_H

#include "base/rng.h"
#include "motion/clip.h"

/* pace 1.2: a fifth faster. bend: standard deviation of every joint of a limb that is free, rad; it changes
 * within a second or two. Limits are kept, and nothing goes under the floor. Name and labels stay. On error
 * nothing is left to free. */
hrc_status clip_vary(clip *out, const clip *in, double pace, double bend, rng *dice, hrc_error *err);

/* The motion as a worse recording would have it, in place: every joint off by `joints` rad (standard
 * deviation) and the root's orientation by `turn` rad about each of its axes, both changing within a second
 * or two. Limits of the joints are kept; the floor is not looked at. */
void clip_blur(clip *c, double joints, double turn, rng *dice);

#endif
