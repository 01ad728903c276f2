/* What can go wrong with a robot, one thing at a time, put on a rig (rig.h) from a moment on. */
#ifndef HRC_TEST_MISHAP_H
#define HRC_TEST_MISHAP_H

#include "rig.h"

/* size is in the unit given; joint -1: all of them */
#define MISHAP_LIST(X)                                                                                       \
    X(ANGLE_STUCK, "angle stuck, speed true")                                                                \
    X(ENCODER_STUCK, "angle stuck, speed 0 and noise")                                                       \
    X(JOINT_FROZEN, "angle and speed frozen to the bit")                                                     \
    X(ANGLE_OFFSET, "angle off at once, rad")                                                                \
    X(ANGLE_DRIFT, "angle drifts, rad/s")                                                                    \
    X(SPEED_OFFSET, "speed off at once, rad/s")                                                              \
    X(SPEED_FACTOR, "speed times")                                                                           \
    X(SPEED_SPIKE, "speed spikes now and then, rad/s")                                                       \
    X(SLOW_STATES, "states come at, Hz")                                                                     \
    X(YAW_DRIFT, "IMU's heading drifts, gyro true, rad/s")                                                   \
    X(TILT_DRIFT, "IMU's roll drifts, gyro true, rad/s")                                                     \
    X(GYRO_OFFSET, "gyro off at once, rad/s")                                                                \
    X(GYRO_FACTOR, "gyro times")                                                                             \
    X(IMU_DRIFT, "IMU's roll drifts with its gyro, rad/s")                                                   \
    X(STATES_STOP, "no more states")                                                                         \
    X(STATES_PAUSE, "no states for, s")                                                                      \
    X(NOT_FINITE, "a reading is NaN")                                                                        \
    X(BAD_CHECKSUMS, "check sums wrong from here on")                                                        \
    X(OTHER_WRITER, "another program's command")                                                             \
    X(MACHINE, "mode_machine changes")                                                                       \
    X(MOTOR_FAULT, "a motor reports a fault")                                                                \
    X(CLOCK_STANDS, "our clock stands")                                                                      \
    X(POLICY_DEAD, "the policy's thread dies")                                                               \
    X(POLICY_NAN, "the policy's targets are NaN")                                                            \
    X(POLICY_WILD, "the policy's targets are random, rad")                                                   \
    X(PLANS_STOP, "no more plans")                                                                           \
    X(HOT_MOTOR, "a motor is hot, deg C")                                                                    \
    X(BATTERY_LOW, "battery, per cent")                                                                      \
    X(REMOTE_LOST, "the remote is gone")

typedef enum {
#define MISHAP_ENUM(name, text) MISHAP_##name,
    MISHAP_LIST(MISHAP_ENUM)
#undef MISHAP_ENUM
        MISHAPS,
} mishap_kind;

typedef struct {
    mishap_kind kind;
    int joint;
    double size;
    int64_t at; /* tick of the rig */
    /* while it goes on */
    robot_state first; /* the last good one */
    int64_t clock_ns;
} mishap;

const char *mishap_text(mishap_kind kind);
void mishap_put(rig *r, mishap *m);               /* the mishap stays the caller's */
double mishap_age(const mishap *m, const rig *r); /* s since it began; < 0: not yet */

#endif
