#include "deploy/sensors.h"

#include <math.h>

#include "base/rot.h"

#define MS_MAX 6 /* longer pauses between states are not integrated over: the trapezium rule errs by then */

static void leak(double *fast, double *slow, double r, double dt)
{
    *fast += r - *fast * dt / SENSORS_FAST_S;
    *slow += r - *slow * dt / SENSORS_SLOW_S;
}

/* In units of the thresholds. */
static double joint_error(const sensors *s, int i)
{
    return fmax(fabs(s->fast[i]) / SENSORS_JOINT_FAST, fabs(s->slow[i]) / SENSORS_JOINT_SLOW);
}

/* r = q' - q - (dq' + dq) dt / 2 */
static int joints_disagree(sensors *s, const robot_state *now, const robot_state *before, double dt)
{
    int largest = 0;
    double sum = 0;
    for (int i = 0; i < HRC_JOINTS; i++) {
        double moved = (double)now->q[i] - (double)before->q[i];
        double speed = 0.5 * ((double)now->dq[i] + (double)before->dq[i]);
        leak(&s->fast[i], &s->slow[i], moved - speed * dt, dt);
        sum += s->fast[i] * s->fast[i];
        if (joint_error(s, i) > joint_error(s, largest)) largest = i;
    }
    s->all = sqrt(sum / HRC_JOINTS);
    return s->all > SENSORS_JOINT_ALL || joint_error(s, largest) > 1 ? largest : -1;
}

static int speed_jumps(const robot_state *now, const robot_state *before, double dt)
{
    for (int i = 0; i < HRC_JOINTS; i++)
        if (fabs((double)now->dq[i] - (double)before->dq[i]) > SENSORS_ACCEL * dt) return i;
    return -1;
}

static void orientation(double out[4], const robot_state *s)
{
    for (int k = 0; k < 4; k++) out[k] = (double)s->quat[k];
    quat_normalize(out);
}

/* r = log(quat^-1 quat') - (gyro' + gyro) dt / 2, in the body's frame. */
static bool turn_disagrees(sensors *s, const robot_state *now, const robot_state *before, double dt)
{
    double a[4], b[4], turned[4], r[3];
    orientation(a, before);
    orientation(b, now);
    quat_local(turned, a, b);
    quat_log(r, turned);
    for (int k = 0; k < 3; k++)
        leak(&s->turn_fast[k], &s->turn_slow[k],
             r[k] - 0.5 * dt * ((double)now->gyro[k] + (double)before->gyro[k]), dt);
    return vec_norm(s->turn_fast) > SENSORS_TURN_FAST || vec_norm(s->turn_slow) > SENSORS_TURN_SLOW;
}

/* The mean of acceleration over T is (v(T) - v(0)) / T: what moves at 2 m/s errs by 2/4 m/s^2 in 9.81, which
 * is 0.05 rad. Judged only once the mean is as long as that. */
static bool leans(sensors *s, const robot_state *now, double dt)
{
    double quat[4], felt[3], world[3];
    orientation(quat, now);
    for (int k = 0; k < 3; k++) felt[k] = (double)now->accel[k];
    quat_rotate(world, quat, felt);
    s->force_s = fmin(s->force_s + dt, SENSORS_UP_S);
    for (int k = 0; k < 3; k++) s->force[k] += (world[k] - s->force[k]) * dt / fmax(s->force_s, dt);
    return s->force_s >= SENSORS_UP_S && atan2(hypot(s->force[0], s->force[1]), s->force[2]) > SENSORS_UP;
}

/* Within 0.03 rad of its limits a joint may be pressed against the stop. */
static bool at_stop(int i, double q)
{
    return q < G1_JOINT[i].lo + 0.03 || q > G1_JOINT[i].hi - 0.03;
}

/* While the reading stays, what carried the joint at first still does, so that a target that moves adds the
 * torque kp (target - target then), and an inertia J moves by its double integral over J. */
static int stays_though_commanded(sensors *s, const robot_state *now, const robot_command *c, double dt)
{
    int whose = -1;
    for (int i = 0; i < HRC_JOINTS; i++) {
        double q = (double)now->q[i], target = (double)c->q[i];
        if (!s->commanded) s->mean[i] = q;
        s->mean[i] += (q - s->mean[i]) * dt / SENSORS_STILL_S;
        if (!s->commanded || fabs(s->mean[i] - s->anchor[i]) > SENSORS_STILL || at_stop(i, q)) {
            s->anchor[i] = s->mean[i], s->target[i] = target;
            s->speed[i] = s->due[i] = 0;
            continue;
        }
        double torque = (double)c->kp[i] * (target - s->target[i]);
        s->speed[i] += dt * torque / (SENSORS_INERTIA * G1_JOINT[i].effort);
        s->due[i] += dt * s->speed[i];
        if (whose < 0 && fabs(s->due[i]) > SENSORS_STAYS) whose = i;
    }
    s->commanded = true;
    return whose;
}

sensors_verdict sensors_step(sensors *s, const robot_state *now, const robot_state *before,
                             const robot_command *commanded, int *joint)
{
    int64_t ms = (int64_t)now->tick - (int64_t)before->tick;
    if (!commanded) s->commanded = false;
    *joint = -1;
    if (ms <= 0 || ms > MS_MAX) return SENSORS_AGREE;
    double dt = 1e-3 * (double)ms;
    int apart = joints_disagree(s, now, before, dt), jumps = speed_jumps(now, before, dt);
    int stuck = commanded ? stays_though_commanded(s, now, commanded, dt) : -1;
    bool turns = turn_disagrees(s, now, before, dt), leaning = leans(s, now, dt);
    *joint = apart >= 0 ? apart : jumps >= 0 ? jumps : stuck;
    return apart >= 0   ? SENSORS_JOINT
           : jumps >= 0 ? SENSORS_SPEED
           : stuck >= 0 ? SENSORS_STUCK
           : turns      ? SENSORS_TURN
           : leaning    ? SENSORS_LEAN
                        : SENSORS_AGREE;
}

double sensors_rate(double rate, uint32_t came, double dt)
{
    return rate * exp(-dt / SENSORS_RATE_S) + came / SENSORS_RATE_S;
}
