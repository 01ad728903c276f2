/* Two trackers that should be one: the same state and window at every step of a rollout, their targets
 * compared. */
#ifndef HRC_EVAL_PARITY_H
#define HRC_EVAL_PARITY_H

#include "eval/course.h"

typedef struct {
    int steps;
    double worst_rad; /* largest difference of a target, where both had the same token */
    int ties;         /* steps with another token: a number that lay between two levels */
} parity;

/* `leads` drives the robot. */
hrc_status parity_measure(parity *out, const hrc_model *leads, const hrc_model *other, const course *c,
                          const config *cfg, hrc_error *err);

#endif
