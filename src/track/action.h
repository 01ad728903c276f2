/* From the policy's output to joint targets for the PD law. Two bases:
 *   default     q0 + scale a      (the paper's)
 *   reference   q_ref + scale a   q_ref: the first frame of the window the policy saw */
#ifndef HRC_TRACK_ACTION_H
#define HRC_TRACK_ACTION_H

#include "robot/g1.h"

typedef enum { BASIS_DEFAULT, BASIS_REFERENCE } action_basis;

action_basis action_basis_of(const char *word); /* a word of the setting tracker.basis */
const char *action_basis_name(action_basis basis);

/* offset (29): calibration error of the joints' zero in training, else NULL. */
void action_target(double target[HRC_JOINTS], action_basis basis, const float action[HRC_JOINTS],
                   const float q_ref[HRC_JOINTS], const double *offset);

#endif
