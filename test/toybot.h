/* For tests of what stands above the wire: 29 joints that follow their commands as a damped mass on a PD law,
 * an upright IMU with noise, a remote. No contacts, no falling: a source of plausible states, thousands a
 * millisecond. */
#ifndef HRC_TEST_TOYBOT_H
#define HRC_TEST_TOYBOT_H

#include "base/rng.h"
#include "deploy/messages.h"
#include "deploy/remote.h"

typedef struct {
    robot_state state; /* with noise */
    double q[HRC_JOINTS], dq[HRC_JOINTS];
    rng dice;
    int64_t ns; /* its clock */
} toybot;

void toybot_init(toybot *t, uint64_t seed);
void toybot_step(toybot *t, const robot_command *c, int keys); /* 2 ms; c NULL: no command yet */

#endif
