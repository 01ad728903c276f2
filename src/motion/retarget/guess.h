/* Joint angles straight from the wanted orientations of the links, by taking each chain apart into its
 * hinges. Exact where the robot can do what the person does; elsewhere a start for the solver that is in the
 * right valley: from the pose before, a knee that once got stretched the wrong way would stay so. */
#ifndef HRC_MOTION_RETARGET_GUESS_H
#define HRC_MOTION_RETARGET_GUESS_H

#include "motion/retarget/targets.h"

/* The root comes from the target, joints are within their limits. Of two ways to reach an orientation, the
 * one that keeps the limits better and is nearer to the pose before. */
void guess_pose(double qpos[HRC_NQ], const double near[HRC_NQ], const targets *t, int frame);

#endif
