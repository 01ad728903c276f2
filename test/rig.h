/* The whole of deploy in one process and in simulated time: the simulated robot (MuJoCo), the closed loop of
 * the shipped models and the supervisor with its gate, stepped in the order of `deploy --lockstep` without a
 * network. A hook may spoil what is seen before it reaches the controller. */
#ifndef HRC_TEST_RIG_H
#define HRC_TEST_RIG_H

#include "base/rng.h"
#include "deploy/brain.h"
#include "deploy/simbot.h"

typedef struct rig rig;

struct rig {
    config cfg;
    hrc_model *tracker, *planner;
    char tracker_path[512], planner_path[512];
    simbot *robot;
    brain *mind;
    pilot p;
    robot_state truth, seen; /* as measured; as the controller gets it */
    /* what the hook may set besides */
    bool lost;                                  /* this state does not arrive */
    bool policy_dead, planner_dead, policy_nan; /* no targets; no plans; targets that are not finite */
    float wild;                                 /* rad: random targets around the default pose; 0: none */
    rng dice;
    pilot_input in;
    brain_output out;
    brain_plan plan;
    brain_request request;
    bool thinking;
    robot_command command;
    bool sent;
    int64_t tick;                     /* since rig_start */
    void (*spoil)(rig *r, void *ctx); /* NULL: healthy */
    void *ctx;
};

/* with_planner: the shipped planner of 35 numbers. Skips the test where the shipped models are not there. */
void rig_open(rig *r, bool with_planner, double noise, uint64_t seed);
void rig_close(rig *r);

/* A motion from its first frame, at which the robot is placed; ramp and blend are short. */
void rig_start(rig *r, const char *motion);

/* For an hour of hard motions: postures and speeds are free, so that only sensors and commands are judged. */
void rig_open_limits(rig *r);
void rig_tick(rig *r);
double rig_seconds(const rig *r); /* since rig_start */

/* A push of the torso, N s in a random horizontal direction, within 0.1 s. */
void rig_push(rig *r, double impulse, double direction);

#endif
