/* What a robot can read and what may be asked of it: the one list of bounds at the library's edge. They are
 * far beyond anything a G1 does, in simulation too, where joints give way at their limits; they keep out what
 * a broken sensor, a broken file or a cast to float makes. The gate of deploy has tighter ones.
 *
 *                      reading      motion        window of a tracker
 *   joint beyond limit 1 rad        0.1 rad       10 rad     (a plan goes straight on beyond its end)
 *   joint speed        200 rad/s    1.5 x motor   200 rad/s
 *   root position      10 km        10 km         10 km      (a float there is good to 1 mm)
 *   root speed         100 m/s      12 m/s        100 m/s    (the corpus: 7.6)
 *   root turn          100 rad/s    50 rad/s      100 rad/s  (the corpus: 26)
 *   quaternion         1 % off unit length, each */
#ifndef HRC_ROBOT_BOUNDS_H
#define HRC_ROBOT_BOUNDS_H

#include <stdbool.h>

#include "robot/g1.h"

/* The first value that is not finite or lies outside is named, with the bound. */
hrc_status bounds_reading(const hrc_state *s, hrc_error *err);
hrc_status bounds_motion(const hrc_motion *m, hrc_error *err);
hrc_status bounds_motion_frame(int frame, const float qpos[HRC_NQ], const float qvel[HRC_NV], hrc_error *err);
hrc_status bounds_window(const hrc_frame *frames, int n, hrc_error *err);
hrc_status bounds_aim(const float qpos[HRC_NQ], hrc_error *err); /* a planner's target: as a reading */

/* A joint's target within twice what full effort takes, beyond its hard limits: farther out no target pulls
 * harder. False, and nothing changed, where a target is not finite. */
bool bounds_target(double q[HRC_JOINTS]);

#endif
