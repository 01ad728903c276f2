/* How far the robot is from one frame of its reference, in the measures of the paper's tables. */
#ifndef HRC_SIM_ERRORS_H
#define HRC_SIM_ERRORS_H

#include "robot/state.h"
#include "sim/reference.h"

typedef struct {
    double joint;  /* L2 norm over the 29 joints, rad */
    double height; /* of the root, absolute, m */
    double tilt;   /* angle between the two directions of gravity: orientation without heading, rad */
} tracking_error;

tracking_error tracking_error_of(const g1_state *robot, const ref_frame *ref);

#endif
