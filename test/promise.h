/* What the gate promises of every command (gate.h), checked from the commands alone: computed anew from what
 * left, with none of the gate's own code. */
#ifndef HRC_TEST_PROMISE_H
#define HRC_TEST_PROMISE_H

#include "deploy/gate.h"

/* Of the commands so far; {0} at first. */
typedef struct {
    double q[HRC_JOINTS], d[HRC_JOINTS], c[HRC_JOINTS]; /* last target, its differences */
    int stiff[HRC_JOINTS];                              /* commands in a row with stiffness */
} promise;

/* What the next command breaks, NULL: nothing. s: the reading it was made from. */
const char *promise_broken(promise *p, const robot_command *c, const robot_state *s,
                           const gate_limits *limits);

/* No stiffness anywhere, damping everywhere. */
bool promise_damping(const robot_command *c);

#endif
