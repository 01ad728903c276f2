/* The G1 as a MuJoCo model file, written from the tables of g1.h: the tables are the one source, and
 * assets/g1.xml is what this writes with default options (a test keeps them equal). */
#ifndef HRC_ROBOT_MJCF_H
#define HRC_ROBOT_MJCF_H

#include "base/config.h"
#include "base/text.h"
#include "robot/capsules.h"

#define MJCF_ITERATIONS 10 /* of the contact solver at the most */

typedef struct {
    double timestep; /* s */
    double friction; /* sliding, on every geom: MuJoCo takes the larger of two */
    g1_feet feet;
    self_collision self_collision;
} mjcf_options;

mjcf_options mjcf_from_config(const config *cfg); /* section [sim] */
void mjcf_write(text *out, const mjcf_options *options);

#endif
