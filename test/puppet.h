/* A person made for tests: the robot's bones, a third longer, on the joints of a skeleton map, in poses that
 * are given as poses of the robot. Retargeting must find those again. */
#ifndef HRC_TEST_PUPPET_H
#define HRC_TEST_PUPPET_H

#include "base/text.h"
#include "motion/retarget/skeleton_map.h"

#define PUPPET_SCALE 0.75 /* robot / person */
#define PUPPET_TOE 0.09   /* toe joint before the ankle, in the robot's measure, m */

/* A motion of n frames on the joints of the map, all zero. Ends the test when it fails. */
void puppet_create(bvh *b, const skeleton_map *map, int n, double fps);

/* Frame i as the robot's pose; the root's path is as much longer as the bones. */
void puppet_pose(bvh *b, const skeleton_map *map, int i, const double qpos[HRC_NQ]);

/* Left and right exchanged: joints, and the sign of what the plane x = 0 of the file turns round. */
void puppet_mirror(bvh *b);

void puppet_write(text *out, const bvh *b); /* as a BVH file */

#endif
