/* Where a robot may begin that no reference knows of: lying on the floor, come to rest in the simulator. */
#ifndef HRC_EVAL_POSTURE_H
#define HRC_EVAL_POSTURE_H

#include "sim/sim.h"

#define POSTURES "lying-back, lying-front, lying-left, lying-right"

/* At the origin, the head toward -x turned by `heading` rad about the vertical. Worker 0 of the simulator
 * lets the robot settle. HRC_EINVAL when there is no posture of that name. */
hrc_status posture(double qpos[HRC_NQ], const char *name, double heading, sim *s, hrc_error *err);

#endif
