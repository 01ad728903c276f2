/* The safety gate: the last thing before the wire, and independent of the networks. Two halves, both without
 * clocks, locks or memory of their own:
 *
 *   watch_step   looks at the robot, the clock and the operator's link, once a tick, and says what is wrong
 *   gate_pass    bounds a command: finite, joint limits, speed, acceleration and jerk of targets, torque
 *
 * What leaves gate_pass is finite; every q lies within the joint's hard limits and `overreach` action scales
 * beyond (policies push with targets that lie beyond: one action scale is a quarter of the motor's effort);
 * while a joint is stiff its q moves from command to command within `slew`; and |tau + kp (q - measured) +
 * kd (dq - measured)| is at most the effort. */
#ifndef HRC_DEPLOY_GATE_H
#define HRC_DEPLOY_GATE_H

#include "base/config.h"
#include "deploy/sensors.h"

/* How fast a joint's target may move: bounds on speed, acceleration and jerk from one command to the next,
 * and on where it may go. A target x with differences d = x' - x and c = d' - d is led to a goal so that at
 * every command
 *
 *   low <= x <= high    |d| <= speed dt    |c| <= acceleration dt^2    |c' - c| <= jerk dt^3
 *
 * The bounds hold by construction: only such a step is taken after which braking to a stand keeps them all,
 * and the first step of that braking is the next command's fallback. Among those steps the one is chosen
 * whose stopping point is nearest to the goal without passing it; a goal that can be reached at once, and
 * stopped at, is taken to the bit. */
typedef struct {
    double speed, accel, jerk; /* rad/s, rad/s^2, rad/s^3 */
} slew_limits;

/* Plain data: a target and its differences per command, rad. */
typedef struct {
    double x, d, c;
} slew;

/* One command of dt seconds towards the goal, which lies within low .. high as x does. */
void slew_step(slew *s, double goal, double low, double high, const slew_limits *limits, double dt);

/* What can be wrong, and the answer to it: damping at once, or, where the robot can still balance, the way
 * down (lower.h) first. */
typedef enum { ANSWER_DAMP, ANSWER_LOWER } trip_answer;

#define TRIP_LIST(X)                                                                                         \
    X(NONE, "nothing", DAMP)                                                                                 \
    X(STATE_STALE, "no state from the robot", DAMP)                                                          \
    X(STATE_GAP, "states were missing, then came again", DAMP)                                               \
    X(STATE_LATE, "states arrive late", DAMP)                                                                \
    X(STATE_RATE, "states come too seldom", DAMP)                                                            \
    X(STATE_NONFINITE, "a state holds NaN or infinity", DAMP)                                                \
    X(IMU_NORM, "the IMU's quaternion is not of length 1", DAMP)                                             \
    X(IMU_STUCK, "the IMU repeats itself", DAMP)                                                             \
    X(IMU_JUMP, "the IMU's orientation jumps", DAMP)                                                         \
    X(IMU_DRIFT, "the IMU's orientation and its gyro disagree", DAMP)                                        \
    X(IMU_LEAN, "the IMU's orientation and its accelerometer disagree", DAMP)                                \
    X(TILT, "the robot tilts too far", DAMP)                                                                 \
    X(GYRO, "the robot turns too fast", DAMP)                                                                \
    X(JOINT_RANGE, "a joint reads beyond its limits", DAMP)                                                  \
    X(JOINT_JUMP, "a joint's angle jumps", DAMP)                                                             \
    X(JOINT_STUCK, "the joints' readings repeat themselves", DAMP)                                           \
    X(JOINT_STAYS, "a joint's reading stays though it is commanded to move", DAMP)                           \
    X(JOINT_DRIFT, "a joint's angle and its speed disagree", DAMP)                                           \
    X(SPEED_JUMP, "a joint's speed jumps", DAMP)                                                             \
    X(JOINT_SPEED, "a joint moves too fast", DAMP)                                                           \
    X(TEMPERATURE, "a motor is too hot", LOWER)                                                              \
    X(MOTOR_FAULT, "a motor reports a fault", DAMP)                                                          \
    X(BATTERY, "the battery is low", LOWER)                                                                  \
    X(MACHINE, "mode_machine changed", DAMP)                                                                 \
    X(CLOCK, "our own clock or schedule is broken", DAMP)                                                    \
    X(CRC, "too many states with a wrong check sum", DAMP)                                                   \
    X(OTHER_WRITER, "another program sends commands", DAMP)                                                  \
    X(REMOTE_LOST, "the remote is gone", LOWER)                                                              \
    X(POLICY_STALE, "the policy gives no targets", DAMP)                                                     \
    X(POLICY_NONFINITE, "the policy's target is not finite", DAMP)                                           \
    X(PLANS_LATE, "plans have come too late for too long", LOWER)                                            \
    X(POLICY_FAILED, "the policy has failed", DAMP)                                                          \
    X(OPERATOR, "the operator asked for damping", DAMP)                                                      \
    X(WATCHDOG, "the watchdog is gone, or it damps the robot in our place", DAMP)

typedef enum {
#define TRIP_ENUM(name, text, answer) TRIP_##name,
    TRIP_LIST(TRIP_ENUM)
#undef TRIP_ENUM
        TRIPS,
} trip;

const char *trip_text(trip t);
trip_answer trip_answered(trip t);

typedef struct {
    double tilt, gyro, joint_speed; /* rad, rad/s, rad/s */
    double joint_margin;            /* beyond the hard limits that a reading may lie, rad */
    double joint_jump, imu_jump;    /* between two states 2 ms apart, rad; more for longer pauses */
    int hot_both, hot_one;          /* deg C: trip when both readings of a motor, or one of them, are above */
    int battery;                    /* per cent */
    double state_s, policy_s;       /* ages that trip */
    double remote_s;
    slew_limits slew; /* of a joint's target */
    double overreach; /* of targets beyond the hard limits, in action scales */
} gate_limits;

gate_limits gate_from_config(const config *cfg); /* section [deploy] */

/* What the watch is given each tick. Times are ns of one monotonic clock. */
typedef struct {
    int64_t now_ns, state_ns;            /* now; when the state came */
    const robot_state *state;            /* the latest, NULL: none yet */
    uint32_t states;                     /* how many came so far */
    uint32_t bad_states, other_commands; /* likewise */
    int32_t battery;                     /* per cent, -1: unknown */
} watch_input;

/* Plain data; {0} is a watch that has seen nothing. */
typedef struct {
    robot_state last; /* the state of the previous tick */
    int64_t now_ns, state_ns;
    uint32_t states, bad_states, other_commands;
    int64_t lag_ns;    /* smallest (received - robot's clock), slowly rising: what no delay looks like */
    int64_t remote_ns; /* when the remote was last there; 0: never */
    int64_t imu_ns, gyro_ns, q_ns, dq_ns; /* when each last changed */
    int stuck_clock, crc_level;
    double rate; /* of states, Hz */
    sensors senses;
    bool begun, moving;
} watch;

/* What is wrong now, TRIP_NONE: nothing; what is answered by damping comes before the rest. `joint` (may be
 * NULL): whose, or -1. commanded: the last command when the joints are under control, so that their readings
 * must change; else NULL. */
trip watch_step(watch *w, const watch_input *in, const gate_limits *limits, const robot_command *commanded,
                int *joint);

/* Counts of what the gate had to change. */
typedef struct {
    uint32_t limited, stepped, weakened; /* commands with a joint beyond limits, slew, torque */
} gate_counts;

/* What was sent before; plain data, {0} at first. */
typedef struct {
    slew target[HRC_JOINTS];
    bool stiff[HRC_JOINTS]; /* else the next target starts from rest where the reading is */
} gate_memory;

/* The command that may leave instead of c. Non-finite parts of c are the caller's to trip on: here they
 * become damping of that joint. */
void gate_pass(robot_command *c, gate_memory *sent, const robot_state *measured, const gate_limits *limits,
               gate_counts *counts);

/* Damping: no stiffness, q where the robot is. measured NULL: q stays `last`. */
void gate_damping(robot_command *c, const float last[HRC_JOINTS], const robot_state *measured);

bool command_finite(const robot_command *c);

#endif
