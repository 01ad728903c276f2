/* A simulated G1 as its network sees it: MuJoCo at 500 Hz behind states and orders. It is stricter than the
 * robot: an order with a wrong check sum, mode or mode_machine, or one that comes before the motion service
 * was released, is ignored, and everything a careful controller would not do is counted. Without orders the
 * drives go on with the last one, as the robot is feared to do.
 *
 * It knows neither clock nor network: the caller steps it and sends its states. */
#ifndef HRC_DEPLOY_SIMBOT_H
#define HRC_DEPLOY_SIMBOT_H

#include "base/config.h"
#include "deploy/wire.h"

typedef struct simbot simbot;

#define SIMBOT_PRESSES 16

typedef struct {
    double at_s;
    int keys; /* held for 0.2 s; KEY_ bits of remote.h */
} simbot_press;

typedef struct {
    uint64_t seed;
    double noise;               /* factor on the sensors' noise; 0: none */
    int latency_ms;             /* states are this old when they leave */
    double loss;                /* share of states, and of orders, that get lost */
    double cable_at_s, cable_s; /* from here, so long, nothing gets through */
    bool band;                  /* hung up by the torso, feet just off the floor */
    double band_s;              /* then lowered; 0: never */
    bool released;              /* the motion service is off from the start */
    bool remote;                /* there is a remote */
    int npresses;
    simbot_press press[SIMBOT_PRESSES];
    const double *qpos; /* start; NULL: the stance */
} simbot_options;

/* What came, and what was wrong with it. */
#define SIMBOT_COUNTS(X)                                                                                     \
    X(orders, "orders that came")                                                                            \
    X(bad_crc, "ignored: wrong check sum")                                                                   \
    X(bad_mode, "ignored: mode_pr not 0, or motors not on")                                                  \
    X(bad_machine, "ignored: wrong mode_machine")                                                            \
    X(not_released, "ignored: the motion service still owned the robot")                                     \
    X(bad_number, "ignored: NaN, infinity or a negative gain")                                               \
    X(beyond_limits, "a target more than an action scale beyond the joint's limits")                         \
    X(big_steps, "a stiff target more than 0.13 rad from the one before")                                    \
    X(over_torque, "more torque asked for than the motor has")                                               \
    X(gaps, "pauses of more than 10 ms between orders")                                                      \
    X(lost, "orders that the emulated network lost")

typedef struct {
#define SIMBOT_FIELD(name, text) int64_t name;
    SIMBOT_COUNTS(SIMBOT_FIELD)
#undef SIMBOT_FIELD
} simbot_counts;

hrc_status simbot_create(simbot **out, const config *cfg, const simbot_options *options, hrc_error *err);
void simbot_free(simbot *b); /* NULL is fine */

/* The next order; what is wrong with it is counted. */
void simbot_order(simbot *b, const wire_order *order);

/* 2 ms of physics. False: the state gets lost. */
bool simbot_step(simbot *b, robot_state *out);

/* At rest in this pose, as if just created; counts and noise go on. */
void simbot_place(simbot *b, const double qpos[HRC_NQ]);

/* Pushes a link for so long, N in the world's frame. Not for a robot on its band. */
void simbot_hit(simbot *b, int link, const double force[3], double seconds);

/* The torso's IMU, as of the last step. */
void simbot_torso(const simbot *b, float quat[4], float gyro[3]);

/* Answers the motion switcher (wire_robot.request). */
int simbot_request(simbot *b, int64_t api, const char *parameter, char *reply, size_t size);

/* What no sensor tells; points into the robot. */
typedef struct {
    const simbot_counts *counts;
    const double *qpos;          /* (HRC_NQ) */
    const float *target;         /* (29) the drives aim at */
    double tilt, lowest, impact; /* since it was placed: largest tilt (rad), lowest height of the pelvis (m),
                                    largest force on a link but the feet (N) */
    bool diverged;               /* the physics failed: it stays where it was */
} simbot_truth;

simbot_truth simbot_look(const simbot *b);

#endif
