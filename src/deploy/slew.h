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
#ifndef HRC_DEPLOY_SLEW_H
#define HRC_DEPLOY_SLEW_H

typedef struct {
    double speed, accel, jerk; /* rad/s, rad/s^2, rad/s^3 */
} slew_limits;

/* Plain data: a target and its differences per command, rad. */
typedef struct {
    double x, d, c;
} slew;

/* One command of dt seconds towards the goal, which lies within low .. high as x does. */
void slew_step(slew *s, double goal, double low, double high, const slew_limits *limits, double dt);

#endif
