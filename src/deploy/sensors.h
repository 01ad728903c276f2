/* Do the robot's sensors agree with each other, and with what was commanded? One small detector for each way
 * in which a plausible reading can be wrong. Every state brings
 *
 *   q, dq      of each joint: the angle must change by the integral of the speed
 *   quat, gyro the orientation must change by the integral of the turning rate
 *   accel      specific force: over seconds its mean, turned into the world, must point up
 *   target     of each joint: when it swings, the reading cannot stay where it is
 *
 * The integrals are compared with leaky sums: with r the disagreement in one state and T a time constant,
 *
 *   e <- (1 - dt/T) e + r
 *
 * A step of size s in one of the two shows at once as |e| = s; a drift of rate d approaches d T, and passes a
 * threshold h after -T ln(1 - h / (d T)). Two of them, a fast one for steps and a slow one for drifts. What
 * drifts in both readings alike (an encoder that slips and reports the slip as speed) cannot be seen here. */
#ifndef HRC_DEPLOY_SENSORS_H
#define HRC_DEPLOY_SENSORS_H

#include "deploy/messages.h"

/* Thresholds are at least twice the largest value in an hour of hard motions, falls and pushes in the
 * simulated robot with noise (`make soak`); those of joints also bear a speed that a filter delays by 5 ms,
 * which at 20 rad/s errs by 0.1 rad. */
#define SENSORS_FAST_S 0.2
#define SENSORS_SLOW_S 5.0
#define SENSORS_JOINT_FAST 0.10 /* rad */
#define SENSORS_JOINT_SLOW 0.15 /* rad: drifts of a joint from 0.03 rad/s on */
#define SENSORS_JOINT_ALL 0.05  /* rad, root mean square of the fast sums: one cause for all joints */
#define SENSORS_TURN_FAST 0.10  /* rad */
#define SENSORS_TURN_SLOW 0.12  /* rad: drifts of the IMU from 0.024 rad/s on */
#define SENSORS_UP_S 4.0        /* over which the specific force is averaged */
#define SENSORS_UP 0.20         /* rad between that mean and the world's vertical */
/* A mean within STILL of where it was has not moved: 6 times what is left of the noise, and less than a limb
 * that is pinned to the floor still gives. */
#define SENSORS_STILL_S 0.02   /* over which readings are averaged for that */
#define SENSORS_STILL 0.0006   /* rad */
#define SENSORS_INERTIA 0.1    /* kg m^2 for each N m of effort: more than any joint here has to move */
#define SENSORS_STAYS 0.10     /* rad that such an inertia would have moved meanwhile */
#define SENSORS_ACCEL 1e4      /* rad/s^2 that a joint may show: impacts reach 6e3 */
#define SENSORS_RATE_S 0.1     /* over which states are counted */
#define SENSORS_RATE_MIN 200.0 /* states a second, of 500 */

typedef enum {
    SENSORS_AGREE,
    SENSORS_JOINT, /* angle and speed of a joint disagree */
    SENSORS_SPEED, /* a joint's speed jumps */
    SENSORS_STUCK, /* a joint's reading stays though its target moves */
    SENSORS_TURN,  /* orientation and gyro disagree */
    SENSORS_LEAN,  /* orientation and accelerometer disagree */
} sensors_verdict;

/* Plain data; {0} has seen nothing. */
typedef struct {
    double fast[HRC_JOINTS], slow[HRC_JOINTS];     /* angle less integrated speed, rad */
    double all;                                    /* root mean square of fast */
    double turn_fast[3], turn_slow[3];             /* orientation less integrated gyro, rad, body frame */
    double force[3];                               /* mean specific force, world frame, m/s^2 */
    double force_s;                                /* seconds in that mean, up to SENSORS_UP_S */
    double mean[HRC_JOINTS];                       /* of the reading, over SENSORS_STILL_S, rad */
    double anchor[HRC_JOINTS], target[HRC_JOINTS]; /* that and the target when it last moved, rad */
    double speed[HRC_JOINTS], due[HRC_JOINTS];     /* what it should have gained since, rad/s and rad */
    bool commanded;                                /* these five are set */
} sensors;

/* A new state, `before` being the one that came before it. commanded: the command that the drives obey since,
 * NULL: they are not held. joint: whose, or -1. */
sensors_verdict sensors_step(sensors *s, const robot_state *now, const robot_state *before,
                             const robot_command *commanded, int *joint);

/* States a second as of now: `came` states in the `dt` seconds since the last call. The mean forgets over
 * SENSORS_RATE_S:  rate <- rate exp(-dt/T) + came / T. */
double sensors_rate(double rate, uint32_t came, double dt);

#endif
