/* Which links of the robot may touch each other: decided once, here, for the simulator's model, the quality
 * figures and the retargeting. docs/robot.md has the measurements behind it. */
#ifndef HRC_ROBOT_SELFCOLLISION_H
#define HRC_ROBOT_SELFCOLLISION_H

#include <stdbool.h>

#include "robot/g1.h"

typedef enum {
    SELF_FILTERED, /* the default: without the pairs that real references violate habitually */
    SELF_ALL,      /* all but neighbours in the tree and the four pairs that overlap by construction */
    SELF_NONE,
} self_collision;

self_collision self_collision_mode(const char *word); /* a word of the setting sim.self_collision */

/* Links of one body part overlap by construction: the same link, parent and child, elbow and wrist pitch,
 * pelvis and hip roll. They never collide, in no mode. */
bool g1_pair_structural(int link_a, int link_b);

/* Symmetric in its links. */
bool g1_pair_collides(int link_a, int link_b, self_collision mode);

#endif
