#include "deploy/pilot.h"

#include <math.h>
#include <string.h>

#define LATE_S 0.02      /* a state this old makes ramp and blend wait */
#define LOWER_REST_S 0.5 /* in the crouch, before damping */
#define LOWER_MAX_S 10.0

static const char *const MODE[PILOT_MODES] = {"wait", "damp", "ramp", "hold", "policy", "lower", "tripped"};

const char *pilot_mode_name(pilot_mode mode)
{
    return mode >= 0 && mode < PILOT_MODES ? MODE[mode] : "unknown";
}

void pilot_init(pilot *p, const pilot_plan *plan)
{
    memset(p, 0, sizeof *p);
    p->plan = *plan;
    p->joint = -1;
}

static bool flying(const pilot *p)
{
    return p->mode == PILOT_POLICY || p->mode == PILOT_LOWER;
}

uint32_t pilot_wants(const pilot *p)
{
    return flying(p) ? p->epoch : 0;
}

static void enter(pilot *p, pilot_mode mode, int64_t now_ns)
{
    p->mode = mode;
    p->since_ns = now_ns;
    p->progress_s = 0;
    p->ended_ns = 0;
}

static double in_mode_s(const pilot *p, int64_t now_ns)
{
    return 1e-9 * (double)(now_ns - p->since_ns);
}

/* Keys count when they go down, so that a held key asks once; damping is asked for as long as it is held. */
static uint32_t hear(pilot *p, const pilot_input *in)
{
    int keys = in->robot.state ? remote_keys(in->robot.state->remote) : 0;
    int asks = remote_asks(keys), before = remote_asks(p->keys);
    p->keys = keys;
    return in->asks | ((uint32_t)asks & ASK_DAMP) | (uint32_t)(asks & ~before);
}

/* ---- What to do ---- */

static bool held(const pilot *p)
{
    return p->mode == PILOT_RAMP || p->mode == PILOT_HOLD || flying(p);
}

/* Fresh and of the current start; before the first one has come the hold goes on. */
static bool has_target(const pilot *p, const pilot_input *in)
{
    return in->target && in->target->seq && in->target->epoch == p->epoch;
}

static trip watch_policy(const pilot *p, const pilot_input *in)
{
    if (!flying(p)) return TRIP_NONE;
    int64_t since = has_target(p, in) ? in->target->ns : p->since_ns;
    if (1e-9 * (double)(in->robot.now_ns - since) > p->plan.limits.policy_s) return TRIP_POLICY_STALE;
    if (!has_target(p, in)) return TRIP_NONE;
    if (in->target->flags & TARGET_DAMP) return TRIP_POLICY_FAILED;
    for (int i = 0; i < HRC_JOINTS; i++)
        if (!isfinite(in->target->q[i]) || !isfinite(in->target->kp[i]) || !isfinite(in->target->kd[i]))
            return TRIP_POLICY_NONFINITE;
    return in->target->flags & TARGET_LATE ? TRIP_PLANS_LATE : TRIP_NONE;
}

static void start_ramp(pilot *p, const pilot_input *in)
{
    memcpy(p->start, in->robot.state->q, sizeof p->start);
    enter(p, PILOT_RAMP, in->robot.now_ns);
}

static void start_policy(pilot *p, const pilot_input *in)
{
    memcpy(p->hold, p->last.q, sizeof p->hold);
    p->epoch = (p->epoch & ~EPOCH_LOWER) + 1;
    enter(p, PILOT_POLICY, in->robot.now_ns);
}

/* The operator's wishes, or the time's when there is none. */
static void obey(pilot *p, const pilot_input *in)
{
    if (p->asks & ASK_DAMP) return; /* damping wins over what is asked for beside it */
    bool by_itself = p->plan.automatic && !p->ended_ns && in_mode_s(p, in->robot.now_ns) >= p->plan.settle_s;
    bool ramp = (p->asks & ASK_RAMP) || by_itself, go = (p->asks & ASK_GO) || by_itself;
    if (p->mode == PILOT_DAMP && ramp) {
        if (p->why)
            p->refused += (p->asks & ASK_RAMP) != 0;
        else
            start_ramp(p, in);
    } else if (p->mode == PILOT_HOLD && go) {
        start_policy(p, in);
    }
}

/* The answer to what was found while the robot is held or moved. In ramp and hold there is no balance
 * feedback. */
static void answer(pilot *p, trip found, int joint, int64_t now_ns)
{
    bool lower = trip_answered(found) == ANSWER_LOWER;
    if (lower && p->mode == PILOT_LOWER) return;
    p->why = found, p->joint = joint;
    if (lower && p->mode == PILOT_POLICY) {
        p->epoch = (p->epoch + 1) | EPOCH_LOWER;
        enter(p, PILOT_LOWER, now_ns);
    } else {
        enter(p, PILOT_TRIPPED, now_ns);
    }
}

static void judge(pilot *p, const pilot_input *in)
{
    int joint = -1;
    trip found = watch_step(&p->eyes, &in->robot, &p->plan.limits, held(p) ? &p->last : NULL, &joint);
    trip policy = watch_policy(p, in);
    if (!policy && (p->asks & ASK_TRIP)) policy = TRIP_WATCHDOG;
    if (!found || (policy && trip_answered(found) == ANSWER_LOWER)) found = policy, joint = -1;
    if (p->mode == PILOT_TRIPPED) return;
    if (p->mode != PILOT_LOWER) p->why = found, p->joint = found ? joint : -1;
    if (p->mode == PILOT_WAIT && in->robot.state && found != TRIP_STATE_STALE)
        enter(p, PILOT_DAMP, in->robot.now_ns);
    if (!held(p)) return;
    bool lowering = p->mode == PILOT_LOWER;
    if (found && trip_answered(found) == ANSWER_DAMP) {
        answer(p, found, joint, in->robot.now_ns);
    } else if (p->asks & ASK_DAMP) {
        enter(p, lowering ? PILOT_TRIPPED : PILOT_DAMP, in->robot.now_ns);
        p->ended_ns = p->plan.automatic ? in->robot.now_ns : 0; /* an automatic run does not start again */
    } else if (found) {
        answer(p, found, joint, in->robot.now_ns);
    }
}

/* ---- Commands ---- */

static void stiff(robot_command *c)
{
    for (int i = 0; i < HRC_JOINTS; i++) {
        c->kp[i] = (float)G1_JOINT[i].kp, c->kd[i] = (float)G1_JOINT[i].kd;
        c->dq[i] = c->tau[i] = 0;
    }
}

/* 0 to 1 with no speed at either end. */
static float smooth(double x)
{
    return x <= 0 ? 0 : x >= 1 ? 1 : (float)(x * x * (3 - 2 * x));
}

static void ramp(pilot *p, const pilot_input *in, robot_command *c)
{
    float share = smooth(p->progress_s / p->plan.ramp_s);
    stiff(c);
    for (int i = 0; i < HRC_JOINTS; i++) c->q[i] = p->start[i] + share * (p->plan.first[i] - p->start[i]);
    if (p->progress_s < p->plan.ramp_s) return;
    memcpy(p->hold, p->plan.first, sizeof p->hold);
    enter(p, PILOT_HOLD, in->robot.now_ns);
}

static void hold(const pilot *p, robot_command *c)
{
    stiff(c);
    memcpy(c->q, p->hold, sizeof c->q);
}

/* The motion is over: `hold_s` later damping, when that was asked for; the way down always ends in it. */
static void watch_end(pilot *p, const pilot_input *in)
{
    int64_t now = in->robot.now_ns;
    bool lowering = p->mode == PILOT_LOWER;
    double rest_s = lowering ? LOWER_REST_S : p->plan.hold_s;
    if (lowering && in_mode_s(p, now) > LOWER_MAX_S) enter(p, PILOT_TRIPPED, now);
    if (!(in->target->flags & TARGET_ENDED)) return;
    if (!p->ended_ns) p->ended_ns = now;
    if (rest_s < 0 || 1e-9 * (double)(now - p->ended_ns) < rest_s) return;
    enter(p, lowering ? PILOT_TRIPPED : PILOT_DAMP, now);
    p->ended_ns = now;
}

/* Before the first target of this epoch: the pose from which the blend begins; the last target on the way
 * down. */
static void await_target(pilot *p, robot_command *c)
{
    p->progress_s = 0;
    if (p->mode != PILOT_LOWER) return;
    memcpy(c->q, p->last.q, sizeof c->q);
    memcpy(c->kp, p->last.kp, sizeof c->kp);
    memcpy(c->kd, p->last.kd, sizeof c->kd);
}

static void fly(pilot *p, const pilot_input *in, robot_command *c)
{
    hold(p, c);
    if (!has_target(p, in)) {
        await_target(p, c);
        return;
    }
    const pilot_target *t = in->target;
    float share = p->mode == PILOT_LOWER ? 1 : smooth(p->progress_s / p->plan.blend_s);
    for (int i = 0; i < HRC_JOINTS; i++) {
        c->q[i] = p->hold[i] + share * (t->q[i] - p->hold[i]);
        c->kp[i] = t->kp[i], c->kd[i] = t->kd[i];
    }
    watch_end(p, in);
}

static void advance(pilot *p, const pilot_input *in)
{
    int64_t now = in->robot.now_ns, passed = p->tick_ns ? now - p->tick_ns : 0;
    bool late = 1e-9 * (double)(now - in->robot.state_ns) > LATE_S;
    if (!late && passed > 0) p->progress_s += 1e-9 * (double)passed;
    p->tick_ns = now;
}

bool pilot_tick(pilot *p, const pilot_input *in, robot_command *out)
{
    memset(out, 0, sizeof *out);
    if (p->mode == PILOT_WAIT && in->robot.state)
        for (int i = 0; i < HRC_JOINTS; i++)
            p->last.q[i] = isfinite(in->robot.state->q[i]) ? in->robot.state->q[i] : (float)G1_JOINT[i].q0;
    p->asks = hear(p, in);
    judge(p, in);
    if (p->mode == PILOT_WAIT) return false;
    obey(p, in);
    advance(p, in);
    out->on = 1;
    out->tick = in->robot.state->tick;
    out->mode_machine = p->eyes.begun ? p->eyes.last.mode_machine : in->robot.state->mode_machine;
    if (p->mode == PILOT_RAMP)
        ramp(p, in, out);
    else if (p->mode == PILOT_HOLD)
        hold(p, out);
    else if (flying(p))
        fly(p, in, out);
    if (!held(p)) gate_damping(out, p->last.q, in->robot.state);
    gate_pass(out, &p->sent, in->robot.state, &p->plan.limits, &p->counts);
    p->last = *out;
    return true;
}
