/* Balance. A person's path of the hips is not one that carries the robot: its mass is elsewhere, its feet are
 * smaller. Where the floor's force would have to act beside what touches (support.h), body and arms are moved
 * over the floor while the feet stay, by the smoothest path d(t) after which it can act where it should:
 *
 *   c + d - l (c'' + d'') = a point of the hull,  l = height / (g + vertical acceleration)
 *
 * Since d answers to what it has to reach later, the weight shifts before a leg is lifted, as it has to. */
#ifndef HRC_MOTION_RETARGET_BALANCE_H
#define HRC_MOTION_RETARGET_BALANCE_H

#include "motion/retarget/refine.h"

/* Moves the targets t (of the problem) for another refine; the poses of p are those of the first. */
hrc_status balance_targets(targets *t, const motion_problem *p, arena *memory, hrc_error *err);

#endif
