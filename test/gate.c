/* The safety gate: no command leaves that breaks its promise, whatever comes in; every trip is provoked; and
 * the supervisor's course from damping to policy and back. */
#include "deploy/gate.h"

#include <stdlib.h>
#include <string.h>

#include "deploy/pilot.h"
#include "test.h"
#include "toybot.h"

/* ---- Bounds ---- */

static float wild(rng *r)
{
    static const float ODD[] = {NAN, INFINITY, -INFINITY, 3e38f, -3e38f, 1e-40f, 0, -0.0f};
    uint32_t kind = rng_below(r, 8);
    if (kind == 0) return ODD[rng_below(r, 8)];
    float size = kind < 3 ? 1000 : kind < 6 ? 3 : 0.1f;
    return size * rng_normal(r);
}

static void wild_command(robot_command *c, rng *r)
{
    for (int i = 0; i < HRC_JOINTS; i++) {
        c->q[i] = wild(r), c->dq[i] = wild(r), c->tau[i] = wild(r);
        c->kp[i] = rng_below(r, 4) ? (float)G1_JOINT[i].kp : wild(r);
        c->kd[i] = rng_below(r, 4) ? (float)G1_JOINT[i].kd : wild(r);
    }
}

static void ensure_safe(const robot_command *c, const float *before, const robot_state *s,
                        const gate_limits *limits)
{
    ENSURE(command_finite(c));
    for (int i = 0; i < HRC_JOINTS; i++) {
        const hrc_joint *j = &G1_JOINT[i];
        ENSURE((double)c->q[i] >= gate_low(i, limits) && (double)c->q[i] <= gate_high(i, limits));
        if (c->kp[i] > 0) ENSURE(fabs((double)c->q[i] - (double)before[i]) <= limits->step * 1.00001);
        if (!(fabsf(s->q[i]) < 100 && fabsf(s->dq[i]) < 100)) continue; /* no reading of a robot */
        double torque = (double)c->tau[i] + (double)c->kp[i] * ((double)c->q[i] - (double)s->q[i]) +
                        (double)c->kd[i] * ((double)c->dq[i] - (double)s->dq[i]);
        ENSURE(fabs(torque) <= j->effort * 1.001);
    }
}

static void test_bounds(void)
{
    rng r = rng_make(1, 0);
    config cfg = config_default();
    gate_limits limits = gate_from_config(&cfg);
    float sent[HRC_JOINTS] = {0};
    gate_counts counts = {0};
    for (int n = 0; n < 20000; n++) {
        robot_command c = {0};
        robot_state s = {0};
        float before[HRC_JOINTS];
        wild_command(&c, &r);
        for (int i = 0; i < HRC_JOINTS; i++) {
            s.q[i] =
                rng_below(&r, 20) ? rng_uniform(&r, (float)G1_JOINT[i].lo, (float)G1_JOINT[i].hi) : wild(&r);
            s.dq[i] = rng_below(&r, 20) ? 5 * rng_normal(&r) : wild(&r);
        }
        memcpy(before, sent, sizeof before);
        gate_pass(&c, sent, &s, &limits, &counts);
        ensure_safe(&c, before, &s, &limits);
    }
    ENSURE(counts.limited && counts.stepped && counts.weakened);
}

/* What needs no bound passes unchanged, to the bit. */
static void test_transparent(void)
{
    config cfg = config_default();
    gate_limits limits = gate_from_config(&cfg);
    float sent[HRC_JOINTS];
    gate_counts counts = {0};
    robot_command c = {0}, copy;
    robot_state s = {0};
    for (int i = 0; i < HRC_JOINTS; i++) {
        sent[i] = s.q[i] = (float)G1_JOINT[i].q0;
        c.q[i] = s.q[i] + 0.01f, c.kp[i] = (float)G1_JOINT[i].kp, c.kd[i] = (float)G1_JOINT[i].kd;
    }
    copy = c;
    gate_pass(&c, sent, &s, &limits, &counts);
    ENSURE(memcmp(&c, &copy, sizeof c) == 0);
    ENSURE(counts.limited + counts.stepped + counts.weakened == 0);
}

/* ---- Watch ---- */

typedef struct {
    toybot robot;
    watch eyes;
    watch_input in;
    gate_limits limits;
} scene;

static void scene_begin(scene *s)
{
    config cfg = config_default();
    memset(s, 0, sizeof *s);
    s->limits = gate_from_config(&cfg);
    toybot_init(&s->robot, 3);
    s->in.battery = -1;
}

/* One tick with a new state; `change` may spoil it. */
static trip scene_tick(scene *s, void (*change)(scene *s))
{
    toybot_step(&s->robot, NULL, 0);
    s->in.state = &s->robot.state;
    s->in.states++;
    s->in.now_ns = s->in.state_ns = s->robot.ns;
    if (change) change(s);
    return watch_step(&s->eyes, &s->in, &s->limits, true, NULL);
}

#define CHANGE(name, ...)                                                                                    \
    static void change_##name(scene *s)                                                                      \
    {                                                                                                        \
        robot_state *r = &s->robot.state;                                                                    \
        (void)r;                                                                                             \
        __VA_ARGS__                                                                                          \
    }

CHANGE(nan, r->dq[28] = NAN;)
CHANGE(norm, r->quat[0] = 0.5f;)
CHANGE(tilt, r->quat[0] = 0.8f; r->quat[1] = 0.6f;)
CHANGE(imu_jump, r->quat[0] = 0.9659f; r->quat[1] = 0; r->quat[3] = 0.2588f;)
CHANGE(gyro, r->gyro[1] = -9;)
CHANGE(range, r->q[3] = -0.4f; s->eyes.last.q[3] = -0.4f;)
CHANGE(jump, r->q[3] += 0.3f;)
CHANGE(speed_up, r->dq[7] = 21;)
CHANGE(speed_down, r->dq[7] = -21;)
CHANGE(hot_one, r->temp[11] = 121;)
CHANGE(hot_both, r->temp[10] = 86; r->temp[11] = 86;)
CHANGE(fault, r->fault[4] = 0x40;)
CHANGE(battery, s->in.battery = 19;)
CHANGE(machine, r->mode_machine = 6;)
CHANGE(backwards, s->in.now_ns -= 10000000;)
CHANGE(stall, s->in.now_ns += 60000000; s->in.state_ns = s->in.now_ns;)
CHANGE(crc, s->in.bad_states += 5;)
CHANGE(other, s->in.other_commands++;)
CHANGE(gap, r->tick += 60;)
CHANGE(reboot, r->tick = 2;)

static void test_trips_at_once(void)
{
    static const struct {
        void (*change)(scene *s);
        trip expected;
    } CASE[] = {
        {change_nan, TRIP_STATE_NONFINITE},
        {change_norm, TRIP_IMU_NORM},
        {change_tilt, TRIP_IMU_JUMP},
        {change_imu_jump, TRIP_IMU_JUMP},
        {change_gyro, TRIP_GYRO},
        {change_range, TRIP_JOINT_RANGE},
        {change_jump, TRIP_JOINT_JUMP},
        {change_speed_up, TRIP_JOINT_SPEED},
        {change_speed_down, TRIP_JOINT_SPEED},
        {change_hot_one, TRIP_TEMPERATURE},
        {change_hot_both, TRIP_TEMPERATURE},
        {change_fault, TRIP_MOTOR_FAULT},
        {change_battery, TRIP_BATTERY},
        {change_machine, TRIP_MACHINE},
        {change_backwards, TRIP_CLOCK},
        {change_stall, TRIP_CLOCK},
        {change_crc, TRIP_CRC},
        {change_other, TRIP_OTHER_WRITER},
        {change_gap, TRIP_STATE_GAP},
        {change_reboot, TRIP_STATE_GAP},
    };
    static scene s;
    for (int k = 0; k < (int)(sizeof CASE / sizeof *CASE); k++) {
        scene_begin(&s);
        for (int n = 0; n < 500; n++) {
            trip t = scene_tick(&s, NULL);
            if (t) test_fail(__FILE__, __LINE__, "case %d: tripped by itself: %s", k, trip_text(t));
        }
        trip t = scene_tick(&s, CASE[k].change);
        if (t != CASE[k].expected)
            test_fail(__FILE__, __LINE__, "case %d: %s, expected %s", k, trip_text(t),
                      trip_text(CASE[k].expected));
    }
}

CHANGE(no_state, s->in.states--; s->in.state_ns = s->eyes.state_ns;)
CHANGE(imu_repeats, memcpy(r->quat, s->eyes.last.quat, sizeof r->quat);)
CHANGE(gyro_repeats, memcpy(r->gyro, s->eyes.last.gyro, sizeof r->gyro);)
CHANGE(q_repeats, memcpy(r->q, s->eyes.last.q, sizeof r->q);)
CHANGE(dq_repeats, memcpy(r->dq, s->eyes.last.dq, sizeof r->dq);)
CHANGE(clock_stands, s->in.now_ns = s->eyes.now_ns;)
CHANGE(late, s->in.state_ns += 1000000 * (s->robot.ns % 1000000000) / 2000000; s->in.now_ns = s->in.state_ns;)
CHANGE(lean, r->quat[1] = 0.03f * (float)(s->robot.ns / 2000000 % 500); r->quat[2] = 0;
       r->quat[0] = sqrtf(fmaxf(0, 1 - r->quat[1] * r->quat[1]));)
CHANGE(no_remote, memset(r->remote, 0, sizeof r->remote);)

/* Trips after so many ticks at the latest, and not at the first. */
static void test_trips_in_time(void)
{
    static const struct {
        void (*change)(scene *s);
        trip expected;
        int ticks;
    } CASE[] = {
        {change_no_state, TRIP_STATE_STALE, 30},    {change_imu_repeats, TRIP_IMU_STUCK, 30},
        {change_gyro_repeats, TRIP_IMU_STUCK, 30},  {change_q_repeats, TRIP_JOINT_STUCK, 30},
        {change_dq_repeats, TRIP_JOINT_STUCK, 30},  {change_clock_stands, TRIP_CLOCK, 30},
        {change_late, TRIP_STATE_LATE, 60},         {change_lean, TRIP_TILT, 30},
        {change_no_remote, TRIP_REMOTE_LOST, 1510},
    };
    static scene s;
    for (int k = 0; k < (int)(sizeof CASE / sizeof *CASE); k++) {
        scene_begin(&s);
        for (int n = 0; n < 500; n++) ENSURE(scene_tick(&s, NULL) == TRIP_NONE);
        trip t = TRIP_NONE;
        int n = 0;
        while (!t && n++ < CASE[k].ticks) t = scene_tick(&s, CASE[k].change);
        if (t != CASE[k].expected || n < 3)
            test_fail(__FILE__, __LINE__, "case %d: %s after %d ticks, expected %s", k, trip_text(t), n,
                      trip_text(CASE[k].expected));
    }
}

/* ---- The supervisor's course ---- */

typedef struct {
    toybot robot;
    pilot p;
    pilot_input in;
    pilot_target target;
    robot_command command;
    bool sent;
    int keys;
    bool frozen;         /* the policy's thread */
    float lean;          /* added to the policy's targets */
    double largest_step; /* of a stiff command */
} flight;

static void flight_begin(flight *f)
{
    config cfg = config_default();
    memset(f, 0, sizeof *f);
    toybot_init(&f->robot, 4);
    pilot_plan plan = {.limits = gate_from_config(&cfg), .ramp_s = 1, .blend_s = 0.5, .hold_s = -1};
    for (int i = 0; i < HRC_JOINTS; i++) plan.first[i] = (float)G1_JOINT[i].q0;
    pilot_init(&f->p, &plan);
    f->in.robot.battery = -1;
}

/* The policy of this flight leans every joint a little from its default. */
static void flight_policy(flight *f)
{
    uint32_t epoch = pilot_wants(&f->p);
    if (!epoch || f->in.robot.states % 10 || f->frozen) return;
    f->target.seq++, f->target.epoch = epoch, f->target.ns = f->robot.ns;
    for (int i = 0; i < HRC_JOINTS; i++) {
        f->target.q[i] = (float)G1_JOINT[i].q0 + 0.1f * sinf(2e-9f * (float)f->robot.ns) + f->lean;
        f->target.kp[i] = (float)G1_JOINT[i].kp, f->target.kd[i] = (float)G1_JOINT[i].kd;
    }
}

static void flight_tick(flight *f)
{
    float before[HRC_JOINTS];
    toybot_step(&f->robot, f->sent ? &f->command : NULL, f->keys);
    f->in.robot.state = &f->robot.state;
    f->in.robot.states++;
    f->in.robot.now_ns = f->in.robot.state_ns = f->robot.ns;
    flight_policy(f);
    f->in.target = &f->target;
    memcpy(before, f->p.sent, sizeof before);
    bool first = !f->sent;
    f->sent = pilot_tick(&f->p, &f->in, &f->command);
    f->in.asks = 0;
    if (f->sent && !first) ensure_safe(&f->command, before, &f->robot.state, &f->p.plan.limits);
    for (int i = 0; i < HRC_JOINTS && f->sent; i++)
        if (f->command.kp[i] > 0)
            f->largest_step = fmax(f->largest_step, fabs((double)f->command.q[i] - (double)before[i]));
}

static void flight_run(flight *f, double seconds)
{
    for (int n = (int)(seconds * ROBOT_HZ); n > 0; n--) flight_tick(f);
}

static void flight_to_policy(flight *f)
{
    flight_run(f, 0.2);
    ENSURE(f->p.mode == PILOT_DAMP && f->command.kp[0] == 0 && f->command.kd[0] > 0);
    f->in.asks = ASK_RAMP;
    flight_run(f, 0.5);
    ENSURE(f->p.mode == PILOT_RAMP);
    flight_run(f, 0.6);
    ENSURE(f->p.mode == PILOT_HOLD);
    f->in.asks = ASK_GO;
    flight_run(f, 1);
    ENSURE(f->p.mode == PILOT_POLICY);
    for (int i = 0; i < HRC_JOINTS; i++) ENSURE_NEAR(f->command.q[i], f->target.q[i], 1e-6);
}

static void test_course(void)
{
    static flight f;
    flight_begin(&f);
    f.in.asks = ASK_GO; /* too early: nothing happens */
    flight_run(&f, 0.1);
    ENSURE(f.p.mode == PILOT_DAMP);
    flight_to_policy(&f);
    ENSURE(f.largest_step < 0.02); /* ramp and blend never jump */
    f.target.flags = TARGET_ENDED;
    flight_run(&f, 0.5);
    ENSURE(f.p.mode == PILOT_POLICY && f.p.ended_ns);
    f.in.asks = ASK_DAMP;
    flight_run(&f, 0.1);
    ENSURE(f.p.mode == PILOT_DAMP && f.command.kp[5] == 0);
    /* and again from there, by the remote */
    f.target.flags = 0;
    f.keys = KEY_L2 | KEY_UP;
    flight_run(&f, 1.2);
    ENSURE(f.p.mode == PILOT_HOLD);
    f.keys = KEY_R1 | KEY_X;
    flight_run(&f, 0.5);
    ENSURE(f.p.mode == PILOT_POLICY && f.p.epoch == 2);
    f.keys = KEY_SELECT;
    flight_tick(&f);
    ENSURE(f.p.mode == PILOT_DAMP);
}

static void test_latch(void)
{
    static flight f;
    flight_begin(&f);
    flight_to_policy(&f);
    f.robot.state.mode_machine = 5;
    f.in.robot.other_commands++;
    flight_tick(&f);
    ENSURE(f.p.mode == PILOT_TRIPPED && f.p.why == TRIP_OTHER_WRITER);
    f.in.asks = ASK_RAMP | ASK_GO;
    flight_run(&f, 2);
    ENSURE(f.p.mode == PILOT_TRIPPED && f.sent && f.command.kp[3] == 0 && f.command.kd[3] > 0 &&
           f.command.on);
}

static void test_policy_faults(void)
{
    static flight f;
    flight_begin(&f);
    flight_to_policy(&f);
    f.target.flags = TARGET_HOLD;
    float at = f.command.q[3];
    flight_run(&f, 0.2);
    ENSURE(f.p.mode == PILOT_POLICY && f.command.q[3] == at && f.command.kp[3] > 0);
    f.target.flags = TARGET_DAMP;
    flight_tick(&f);
    ENSURE(f.p.mode == PILOT_TRIPPED && f.p.why == TRIP_POLICY_GAVE_UP);

    flight_begin(&f);
    flight_to_policy(&f);
    f.lean = NAN;
    flight_run(&f, 0.03);
    ENSURE(f.p.mode == PILOT_TRIPPED && f.p.why == TRIP_POLICY_NONFINITE);

    /* the policy's thread freezes: its last target grows old */
    flight_begin(&f);
    flight_to_policy(&f);
    int ticks = 0;
    for (f.frozen = true; f.p.mode == PILOT_POLICY && ticks < 100; ticks++) flight_tick(&f);
    ENSURE(f.p.why == TRIP_POLICY_STALE && ticks <= 30);
}

/* A ramp is refused while something is wrong, and says so; trips in damping do not latch. */
static void test_refused_ramp(void)
{
    static flight f;
    flight_begin(&f);
    flight_run(&f, 0.2);
    f.in.robot.battery = 5;
    f.in.asks = ASK_RAMP;
    flight_tick(&f);
    ENSURE(f.p.mode == PILOT_DAMP && f.p.refused == 1 && f.p.why == TRIP_BATTERY);
    f.in.robot.battery = 90;
    f.in.asks = ASK_RAMP;
    flight_tick(&f);
    ENSURE(f.p.mode == PILOT_RAMP);
}

TEST_TABLE({"gate.bounds", test_bounds}, {"gate.transparent", test_transparent},
           {"gate.trips_at_once", test_trips_at_once}, {"gate.trips_in_time", test_trips_in_time},
           {"pilot.course", test_course}, {"pilot.latch", test_latch},
           {"pilot.policy_faults", test_policy_faults}, {"pilot.refused_ramp", test_refused_ramp})
