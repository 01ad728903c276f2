#include "deploy/gate.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "base/rot.h"
#include "deploy/remote.h"

/* ---- Slewing ---- */

#define BRAKE_MAX 400 /* commands; limits that need longer to stop are refused as goals */
#define HALVINGS 24

/* The limits per command. */
typedef struct {
    double d, c, j, low, high;
} bounds;

static double clamp(double x, double lo, double hi)
{
    return x < lo ? lo : x > hi ? hi : x;
}

/* The largest braking c for a speed d from which the jerk bound lets c fall to 0 just as d does:
 * d = c + (c - j) + ... in n terms, so c = d / n + (n - 1) j / 2, with the n for which the last term is in 0
 * .. j. */
static double release(double d, double j)
{
    double n = ceil(0.5 * (sqrt(1 + 8 * d / j) - 1));
    return n < 1 ? d : d / n + 0.5 * (n - 1) * j;
}

static double braking(const slew *s, const bounds *b)
{
    double wanted = -copysign(fmin(release(fabs(s->d), b->j), b->c), s->d);
    return clamp(wanted, s->c - b->j, s->c + b->j);
}

static void move(slew *s, double c)
{
    s->c = c;
    s->d += c;
    s->x += s->d;
}

/* Whether the bounds hold from here to a stand; where that is. */
static bool can_stop(slew s, const bounds *b, double *where)
{
    const double slack = 1e-12;
    for (int n = 0; n < BRAKE_MAX; n++) {
        if (fabs(s.d) > b->d + slack || s.x < b->low - slack || s.x > b->high + slack) return false;
        if (fabs(s.d) < slack && fabs(s.c) <= b->j) {
            *where = s.x;
            return true;
        }
        move(&s, braking(&s, b));
    }
    return false;
}

/* Taking c now: allowed, and stopping without passing the goal, which lies on the side of `sign`. */
static bool good(const slew *s, double c, double goal, double sign, const bounds *b)
{
    slew next = *s;
    double stop;
    move(&next, c);
    return can_stop(next, b, &stop) && sign * (stop - goal) <= 1e-9;
}

void slew_step(slew *s, double goal, double low, double high, const slew_limits *limits, double dt)
{
    const bounds b = {limits->speed * dt, limits->accel * dt * dt, limits->jerk * dt * dt * dt, low, high};
    double safe = braking(s, &b), stop = s->x;
    slew next = *s;
    move(&next, safe);
    can_stop(next, &b, &stop);
    double sign = goal >= stop ? 1 : -1;
    double end = sign > 0 ? fmin(s->c + b.j, b.c) : fmax(s->c - b.j, -b.c);
    double direct = goal - s->x - s->d;
    if (fabs(direct) <= b.c && fabs(direct - s->c) <= b.j && good(s, direct, goal, sign, &b)) {
        *s = (slew){goal, s->d + direct, direct};
        return;
    }
    if (good(s, end, goal, sign, &b)) {
        move(s, end);
        return;
    }
    for (int n = 0; n < HALVINGS; n++) {
        double half = 0.5 * (safe + end);
        if (good(s, half, goal, sign, &b))
            safe = half;
        else
            end = half;
    }
    move(s, safe);
}

#define MS 1000000LL
#define NOMINAL_NS (ROBOT_TICK_MS * MS)
#define PERIOD_S (0.001 * ROBOT_TICK_MS) /* of commands */
#define LAG_SHARE 1000 /* the baseline of delays forgets 1 ms a second: more than clocks drift apart */
#define CRC_TRIP 5000  /* five bad states; one is forgotten in a second of good ones */
#define CRC_BAD 1000
#define CRC_GOOD 2
#define STUCK_CLOCK 10 /* ticks */
#define IMU_NORM_ERROR 0.05
#define KP_MAX 500.0f /* the wildest gains in use on this robot, and far from what overflows */
#define KD_MAX 20.0f
#define DAMPING_LEG 8.0f /* N m s/rad, of motors of 50 N m and more */
#define DAMPING_ARM 3.0f

static const char *const TEXT[] = {
#define TRIP_TEXT(name, text, answer) text,
    TRIP_LIST(TRIP_TEXT)
#undef TRIP_TEXT
};

const char *trip_text(trip t)
{
    return t >= 0 && t < TRIPS ? TEXT[t] : "unknown";
}

trip_answer trip_answered(trip t)
{
    static const trip_answer ANSWER[] = {
#define TRIP_ANSWER(name, text, answer) ANSWER_##answer,
        TRIP_LIST(TRIP_ANSWER)
#undef TRIP_ANSWER
    };
    return t >= 0 && t < TRIPS ? ANSWER[t] : ANSWER_DAMP;
}

gate_limits gate_from_config(const config *cfg)
{
    return (gate_limits){
        .tilt = cfg->deploy_tilt,
        .gyro = cfg->deploy_gyro,
        .joint_speed = cfg->deploy_joint_speed,
        .joint_margin = 0.2,
        .joint_jump = 0.15,
        .imu_jump = 0.1,
        .hot_both = cfg->deploy_hot,
        .hot_one = cfg->deploy_hot_winding,
        .battery = cfg->deploy_battery,
        .state_s = cfg->deploy_state_s,
        .policy_s = 0.058,
        .remote_s = 3,
        .slew = {cfg->deploy_target_speed, 3e4, 2e7},
        .overreach = cfg->deploy_overreach,
    };
}

/* ---- Watch ---- */

static bool finite_row(const float *x, int n)
{
    for (int i = 0; i < n; i++)
        if (!isfinite(x[i])) return false;
    return true;
}

static bool state_finite(const robot_state *s)
{
    return finite_row(s->quat, 4) && finite_row(s->gyro, 3) && finite_row(s->accel, 3) &&
           finite_row(s->q, HRC_JOINTS) && finite_row(s->dq, HRC_JOINTS);
}

/* Angle between the robot's vertical and the world's. */
static double tilt_of(const float quat[4])
{
    double x = (double)quat[1], y = (double)quat[2];
    double up = 1 - 2 * (x * x + y * y);
    return acos(up > 1 ? 1 : up < -1 ? -1 : up);
}

static double seconds(int64_t ns)
{
    return 1e-9 * (double)ns;
}

static trip watch_body(const robot_state *s, const gate_limits *limits)
{
    double norm = 0, turn = 0;
    for (int i = 0; i < 4; i++) norm += (double)s->quat[i] * (double)s->quat[i];
    for (int i = 0; i < 3; i++) turn += (double)s->gyro[i] * (double)s->gyro[i];
    if (fabs(sqrt(norm) - 1) > IMU_NORM_ERROR) return TRIP_IMU_NORM;
    if (tilt_of(s->quat) > limits->tilt) return TRIP_TILT;
    return sqrt(turn) > limits->gyro ? TRIP_GYRO : TRIP_NONE;
}

static trip watch_joint(const robot_state *s, int i, const gate_limits *limits)
{
    double q = (double)s->q[i];
    int a = s->temp[2 * i], b = s->temp[2 * i + 1];
    if (q < G1_JOINT[i].lo - limits->joint_margin || q > G1_JOINT[i].hi + limits->joint_margin)
        return TRIP_JOINT_RANGE;
    if (fabs((double)s->dq[i]) > limits->joint_speed) return TRIP_JOINT_SPEED;
    if (s->fault[i]) return TRIP_MOTOR_FAULT;
    bool hot = (a > limits->hot_both && b > limits->hot_both) || a > limits->hot_one || b > limits->hot_one;
    return hot ? TRIP_TEMPERATURE : TRIP_NONE;
}

/* A new state against the one before it: `pauses` states would fit between. */
static trip watch_change(const watch *w, const robot_state *s, const gate_limits *limits, int *joint)
{
    if (s->mode_machine != w->last.mode_machine) return TRIP_MACHINE;
    int64_t ms = (int64_t)s->tick - (int64_t)w->last.tick;
    if (ms < 0 || (double)ms > 1e3 * limits->state_s) return TRIP_STATE_GAP;
    double periods = fmax(1, (double)ms / ROBOT_TICK_MS);
    if ((double)quat_anglef(s->quat, w->last.quat) > limits->imu_jump * periods) return TRIP_IMU_JUMP;
    for (int i = 0; i < HRC_JOINTS; i++)
        if (fabs((double)s->q[i] - (double)w->last.q[i]) > limits->joint_jump * periods) {
            *joint = i;
            return TRIP_JOINT_JUMP;
        }
    return TRIP_NONE;
}

/* The sensors against each other. */
static trip watch_senses(watch *w, const robot_state *s, const robot_command *commanded, int *joint)
{
    static const trip TRIP_OF[] = {[SENSORS_AGREE] = TRIP_NONE,       [SENSORS_JOINT] = TRIP_JOINT_DRIFT,
                                   [SENSORS_SPEED] = TRIP_SPEED_JUMP, [SENSORS_STUCK] = TRIP_JOINT_STAYS,
                                   [SENSORS_TURN] = TRIP_IMU_DRIFT,   [SENSORS_LEAN] = TRIP_IMU_LEAN};
    int whose;
    trip t = TRIP_OF[sensors_step(&w->senses, s, &w->last, commanded, &whose)];
    if (t && *joint < 0) *joint = whose;
    return t;
}

static void note_changes(watch *w, const watch_input *in)
{
    const robot_state *s = in->state, *last = &w->last;
    bool first = !w->begun;
    if (first || memcmp(s->quat, last->quat, sizeof s->quat)) w->imu_ns = in->now_ns;
    if (first || memcmp(s->gyro, last->gyro, sizeof s->gyro)) w->gyro_ns = in->now_ns;
    if (first || memcmp(s->q, last->q, sizeof s->q)) w->q_ns = in->now_ns;
    if (first || memcmp(s->dq, last->dq, sizeof s->dq)) w->dq_ns = in->now_ns;
    if (remote_present(s->remote)) w->remote_ns = in->now_ns;
    int64_t lag = in->state_ns - (int64_t)s->tick * MS;
    if (first || lag < w->lag_ns) w->lag_ns = lag;
}

/* Ages: of the state, of what it says, of its journey. */
static trip watch_ages(const watch *w, const watch_input *in, const gate_limits *limits, bool moving)
{
    const double old = limits->state_s;
    if (seconds(in->now_ns - in->state_ns) > old) return TRIP_STATE_STALE;
    if (seconds(in->state_ns - (int64_t)in->state->tick * MS - w->lag_ns) > old) return TRIP_STATE_LATE;
    if (seconds(in->now_ns - w->imu_ns) > old || seconds(in->now_ns - w->gyro_ns) > old)
        return TRIP_IMU_STUCK;
    if (moving && (seconds(in->now_ns - w->q_ns) > old || seconds(in->now_ns - w->dq_ns) > old))
        return TRIP_JOINT_STUCK;
    if (w->remote_ns && seconds(in->now_ns - w->remote_ns) > limits->remote_s) return TRIP_REMOTE_LOST;
    return TRIP_NONE;
}

static trip watch_clock(watch *w, const watch_input *in, const gate_limits *limits)
{
    int64_t passed = in->now_ns - w->now_ns;
    w->stuck_clock = passed > 0 ? 0 : w->stuck_clock + 1;
    w->now_ns = in->now_ns;
    if (passed < 0 || w->stuck_clock >= STUCK_CLOCK || seconds(passed) > limits->state_s) return TRIP_CLOCK;
    w->lag_ns += passed / LAG_SHARE;
    return TRIP_NONE;
}

static trip watch_rate(watch *w, const watch_input *in, int64_t passed_ns)
{
    w->rate = w->begun ? sensors_rate(w->rate, in->states - w->states, seconds(passed_ns)) : ROBOT_HZ;
    return w->rate < SENSORS_RATE_MIN ? TRIP_STATE_RATE : TRIP_NONE;
}

static trip watch_link(watch *w, const watch_input *in)
{
    uint32_t bad = in->bad_states - w->bad_states;
    uint32_t others = in->other_commands - w->other_commands;
    w->bad_states = in->bad_states, w->other_commands = in->other_commands;
    w->crc_level = bad ? w->crc_level + (int)(bad > 100 ? 100 : bad) * CRC_BAD : w->crc_level - CRC_GOOD;
    if (w->crc_level < 0) w->crc_level = 0;
    if (w->crc_level >= CRC_TRIP) {
        w->crc_level = CRC_TRIP;
        return TRIP_CRC;
    }
    return others ? TRIP_OTHER_WRITER : TRIP_NONE;
}

/* The first that was found, but damping before the way down. True: it is t now. */
static bool worse(trip *worst, trip t)
{
    bool graver = trip_answered(*worst) == ANSWER_LOWER && trip_answered(t) == ANSWER_DAMP;
    if (!t || (*worst && !graver)) return false;
    *worst = t;
    return true;
}

/* All that can be said of the latest state, whether it is new or not. */
static trip watch_state(const robot_state *s, const gate_limits *limits, int *joint)
{
    trip t = watch_body(s, limits);
    for (int i = 0; i < HRC_JOINTS; i++)
        if (worse(&t, watch_joint(s, i, limits))) *joint = i;
    return t;
}

trip watch_step(watch *w, const watch_input *in, const gate_limits *limits, const robot_command *commanded,
                int *joint)
{
    int whose = -1;
    trip found = TRIP_NONE;
    bool moving = commanded != NULL;
    if (moving && !w->moving) w->q_ns = w->dq_ns = in->now_ns; /* a resting robot may repeat itself */
    w->moving = moving;
    if (!in->state) return TRIP_STATE_STALE;
    if (!w->begun) w->now_ns = in->now_ns - NOMINAL_NS;
    if (!w->begun) w->bad_states = in->bad_states, w->other_commands = in->other_commands;
    int64_t passed_ns = in->now_ns - w->now_ns;
    worse(&found, watch_clock(w, in, limits));
    worse(&found, watch_link(w, in));
    worse(&found, watch_rate(w, in, passed_ns));
    if (!state_finite(in->state)) {
        worse(&found, TRIP_STATE_NONFINITE);
    } else {
        if (w->begun && in->states != w->states) {
            worse(&found, watch_change(w, in->state, limits, &whose));
            worse(&found, watch_senses(w, in->state, commanded, &whose));
        }
        if (!w->begun || in->states != w->states) note_changes(w, in);
        worse(&found, watch_ages(w, in, limits, moving));
        worse(&found, watch_state(in->state, limits, &whose));
        w->last = *in->state;
        w->states = in->states, w->state_ns = in->state_ns;
        w->begun = true;
    }
    if (in->battery >= 0 && in->battery < limits->battery) worse(&found, TRIP_BATTERY);
    if (joint) *joint = whose;
    return found;
}

/* ---- Bounds ---- */

static float clampf(float x, float lo, float hi)
{
    return x < lo ? lo : x > hi ? hi : x;
}

/* How far the targets of a joint may go, rad. */
static double lowest(int i, const gate_limits *limits)
{
    return G1_JOINT[i].lo - limits->overreach * G1_JOINT[i].action_scale;
}

static double highest(int i, const gate_limits *limits)
{
    return G1_JOINT[i].hi + limits->overreach * G1_JOINT[i].action_scale;
}

/* Into the limits, as floats that lie inside of them. */
static float within(float q, int i, const gate_limits *limits)
{
    return clampf(q, nextafterf((float)lowest(i, limits), INFINITY),
                  nextafterf((float)highest(i, limits), -INFINITY));
}

static float damping_gain(int i)
{
    return G1_JOINT[i].effort >= 50 ? DAMPING_LEG : DAMPING_ARM;
}

static void damp_joint(robot_command *c, int i, float q)
{
    c->q[i] = clampf(q, (float)G1_JOINT[i].lo, (float)G1_JOINT[i].hi);
    c->dq[i] = c->tau[i] = c->kp[i] = 0;
    c->kd[i] = damping_gain(i);
}

static float reading(const robot_state *measured, int i, float otherwise)
{
    return measured && isfinite(measured->q[i]) ? measured->q[i] : otherwise;
}

void gate_damping(robot_command *c, const float last[HRC_JOINTS], const robot_state *measured)
{
    for (int i = 0; i < HRC_JOINTS; i++) damp_joint(c, i, reading(measured, i, last[i]));
}

static bool joint_finite(const robot_command *c, int i)
{
    return isfinite(c->q[i]) && isfinite(c->dq[i]) && isfinite(c->tau[i]) && isfinite(c->kp[i]) &&
           isfinite(c->kd[i]) && c->kp[i] >= 0 && c->kd[i] >= 0;
}

bool command_finite(const robot_command *c)
{
    for (int i = 0; i < HRC_JOINTS; i++)
        if (!joint_finite(c, i)) return false;
    return true;
}

static bool plausible(float x)
{
    return fabsf(x) < 100;
}

/* Torque of the drive for this command; readings that cannot be true count as no error. */
static double torque_of(const robot_command *c, int i, const robot_state *measured)
{
    double q = measured && plausible(measured->q[i]) ? (double)measured->q[i] : (double)c->q[i];
    double dq = measured && plausible(measured->dq[i]) ? (double)measured->dq[i] : 0;
    return (double)c->tau[i] + (double)c->kp[i] * ((double)c->q[i] - q) +
           (double)c->kd[i] * ((double)c->dq[i] - dq);
}

static void bound_parts(robot_command *c, int i)
{
    const float effort = (float)G1_JOINT[i].effort, speed = (float)G1_JOINT[i].velocity;
    c->dq[i] = clampf(c->dq[i], -speed, speed);
    c->tau[i] = clampf(c->tau[i], -effort, effort);
    c->kp[i] = clampf(c->kp[i], 0, KP_MAX);
    c->kd[i] = clampf(c->kd[i], 0, KD_MAX);
}

/* Where the target goes from: at first, and after damping, from rest at the reading. */
static float led(slew *from, bool stiff, float goal, int i, const robot_state *measured,
                 const gate_limits *limits)
{
    if (!stiff) *from = (slew){.x = (double)within(reading(measured, i, goal), i, limits)};
    slew_step(from, (double)goal, lowest(i, limits), highest(i, limits), &limits->slew, PERIOD_S);
    return within((float)from->x, i, limits);
}

/* First the target is drawn towards the robot until the torque is allowed, which is what the drive's own
 * limit would do; then it is led there; and if these two cannot both be had, the gains give way. */
static void pass_joint(robot_command *c, int i, gate_memory *sent, const robot_state *measured,
                       const gate_limits *limits, int changed[3])
{
    const double effort = G1_JOINT[i].effort;
    bound_parts(c, i);
    float wanted = within(c->q[i], i, limits);
    changed[0] |= wanted != c->q[i];
    c->q[i] = wanted;
    double torque = torque_of(c, i, measured);
    if (c->kp[i] > 0 && fabs(torque) > effort) {
        double too_far = (torque - copysign(effort, torque)) / (double)c->kp[i];
        c->q[i] = within((float)((double)c->q[i] - too_far), i, limits);
        changed[2] = 1;
    }
    if (c->kp[i] > 0) {
        float q = led(&sent->target[i], sent->stiff[i], c->q[i], i, measured, limits);
        changed[1] |= q != c->q[i];
        c->q[i] = q;
    }
    sent->stiff[i] = c->kp[i] > 0;
    torque = torque_of(c, i, measured);
    if (fabs(torque) > effort * 1.0001) {
        float factor = (float)(effort / fabs(torque));
        c->kp[i] *= factor, c->kd[i] *= factor, c->tau[i] *= factor;
        changed[2] = 1;
    }
}

void gate_pass(robot_command *c, gate_memory *sent, const robot_state *measured, const gate_limits *limits,
               gate_counts *counts)
{
    int changed[3] = {0};
    for (int i = 0; i < HRC_JOINTS; i++) {
        if (!joint_finite(c, i)) damp_joint(c, i, reading(measured, i, (float)sent->target[i].x));
        pass_joint(c, i, sent, measured, limits, changed);
    }
    counts->limited += changed[0], counts->stepped += changed[1], counts->weakened += changed[2];
}
