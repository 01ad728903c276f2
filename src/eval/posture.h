/* Where a robot may begin that no reference knows of: lying on the floor, come to rest in the simulator. */
#ifndef HRC_EVAL_POSTURE_H
#define HRC_EVAL_POSTURE_H

#include "base/rng.h"
#include "sim/sim.h"

enum { POSTURE_COUNT = 4 };
extern const char *const POSTURE_NAME[POSTURE_COUNT];
#define LYING_STARTS "lying-back, lying-front, lying-left, lying-right"

/* At the origin, the head toward -x turned by `heading` rad about the vertical. Variant 0 is dropped with the
 * limbs of the stance; every other one with limbs bent at random and tilted a little, its own. The worker of
 * the simulator lets the robot settle. HRC_EINVAL when there is no posture of that name. */
hrc_status posture_lying(double qpos[HRC_NQ], const char *name, double heading, int variant, sim *s,
                         int worker, hrc_error *err);

/* The same with limbs drawn from `dice`; NULL: those of the stance. Variants draw from streams 0 to
 * POSTURE_COUNT - 1: practice takes other streams for heaps that no variant has. */
hrc_status posture_heap(double qpos[HRC_NQ], int side, double heading, rng *dice, sim *s, int worker,
                        hrc_error *err);

#endif
