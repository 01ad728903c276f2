/* From the policy's output to joint targets for the PD law. Three bases:
 *   default     q0 + scale a      (the paper's)
 *   reference   q_ref + scale a   q_ref: the first frame of the window the policy saw
 *   ahead       likewise, q_ref the fourth frame: the overdamped PD law follows kd / kp = 64 ms late, about
 *               three frames, so aiming that far ahead puts the joints where the reference is */
#ifndef HRC_TRACK_ACTION_H
#define HRC_TRACK_ACTION_H

#include "robot/g1.h"

typedef enum { BASIS_DEFAULT, BASIS_REFERENCE, BASIS_AHEAD } action_basis;

action_basis action_basis_of(const char *word); /* a word of the setting tracker.basis */
const char *action_basis_name(action_basis basis);
int action_frame(action_basis basis); /* of the window, 0 first: which one q_ref is */

/* offset (29): calibration error of the joints' zero in training, else NULL. */
void action_target(double target[HRC_JOINTS], action_basis basis, const float action[HRC_JOINTS],
                   const float q_ref[HRC_JOINTS], const double *offset);

#endif
