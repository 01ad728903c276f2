/* The safety gate: no command leaves that breaks its promise, whatever comes in; every trip is provoked; and
 * the supervisor's course from damping to policy and back. */
#include "deploy/gate.h"

#include <stdlib.h>
#include <string.h>

#include "deploy/pilot.h"
#include "promise.h"
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

static void ensure_safe(promise *p, const robot_command *c, const robot_state *s, const gate_limits *limits)
{
    const char *what = promise_broken(p, c, s, limits);
    if (what) test_fail(__FILE__, __LINE__, "a command left that has %s", what);
    ENSURE(command_finite(c));
}

static void test_bounds(void)
{
    rng r = rng_make(1, 0);
    config cfg = config_default();
    gate_limits limits = gate_from_config(&cfg);
    gate_memory sent = {0};
    promise kept = {0};
    gate_counts counts = {0};
    for (int n = 0; n < 20000; n++) {
        robot_command c = {0};
        robot_state s = {0};
        wild_command(&c, &r);
        for (int i = 0; i < HRC_JOINTS; i++) {
            s.q[i] =
                rng_below(&r, 20) ? rng_uniform(&r, (float)G1_JOINT[i].lo, (float)G1_JOINT[i].hi) : wild(&r);
            s.dq[i] = rng_below(&r, 20) ? 5 * rng_normal(&r) : wild(&r);
        }
        gate_pass(&c, &sent, &s, &limits, &counts);
        ensure_safe(&kept, &c, &s, &limits);
    }
    ENSURE(counts.limited && counts.stepped && counts.weakened);
}

/* ---- Slew: random, square and sudden goals ---- */

typedef enum { RANDOM, SQUARE, RAMP, GOALS } goals;

static double goal_at(goals kind, int n, rng *r, double last)
{
    switch (kind) {
    case RANDOM: return n % 10 ? last : (double)rng_uniform(r, -1, 1);
    case SQUARE: return n / 25 % 2 ? 0.9 : -0.9;
    default: return rng_below(r, 500) ? fmin(1, last + 0.004) : -1;
    }
}

static void test_slew(void)
{
    static const slew_limits LIMITS[] = {{40, 6000, 3e6}, {10, 1000, 1e5}, {100, 2000, 1e8}, {2, 3000, 1e6}};
    rng r = rng_make(2, 0);
    for (int k = 0; k < 4 * GOALS; k++) {
        const slew_limits *l = &LIMITS[k % 4];
        const double h = 0.002;
        slew s = {0};
        double goal = 0;
        for (int n = 0; n < 20000; n++) {
            slew b = s;
            goal = goal_at((goals)(k / 4), n, &r, goal);
            slew_step(&s, goal, -1, 1, l, h);
            double d = s.x - b.x, c = d - b.d;
            ENSURE_NEAR(s.d, d, 1e-12);
            ENSURE_NEAR(s.c, c, 1e-12);
            ENSURE(fabs(d) <= l->speed * h * 1.00001 && fabs(c) <= l->accel * h * h * 1.00001);
            ENSURE(fabs(c - b.c) <= l->jerk * h * h * h * 1.00001 && fabs(s.x) <= 1 + 1e-9);
        }
        for (int n = 0; n < 2000; n++) slew_step(&s, 0.3, -1, 1, l, h);
        ENSURE(s.x == 0.3 && s.d == 0 && s.c == 0); /* it arrives, to the bit */
    }
}

/* A step arrives about as soon as the bounds let it: two ramps of speed and two of acceleration. */
static void test_slew_is_quick(void)
{
    const slew_limits l = {40, 6000, 3e6};
    for (double far = 0.02; far < 2; far *= 2) {
        slew s = {0};
        int n = 0;
        while (fabs(s.x - far) > 1e-6 && n < 1000) slew_step(&s, far, -3, 3, &l, 0.002), n++;
        double least = fmax(2 * sqrt(far / l.accel), far / l.speed + l.speed / l.accel);
        ENSURE(0.002 * n <= least + 2 * l.accel / l.jerk + 0.006);
    }
}

/* What needs no bound passes unchanged, to the bit. */
static void test_transparent(void)
{
    config cfg = config_default();
    gate_limits limits = gate_from_config(&cfg);
    gate_memory sent = {0};
    gate_counts counts = {0};
    robot_command c = {0}, copy;
    robot_state s = {0};
    for (int n = 0; n < 500; n++) {
        for (int i = 0; i < HRC_JOINTS; i++) {
            s.q[i] = (float)G1_JOINT[i].q0;
            c.q[i] = s.q[i] + 0.1f * sinf(0.02f * (float)n), c.kp[i] = (float)G1_JOINT[i].kp;
            c.kd[i] = (float)G1_JOINT[i].kd;
        }
        copy = c;
        gate_pass(&c, &sent, &s, &limits, &counts);
        ENSURE(memcmp(&c, &copy, sizeof c) == 0);
    }
    ENSURE(counts.limited + counts.stepped + counts.weakened == 0);
}

/* ---- Watch ---- */

typedef struct {
    toybot robot;
    watch eyes;
    watch_input in;
    gate_limits limits;
    robot_command command;
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
    return watch_step(&s->eyes, &s->in, &s->limits, &s->command, NULL);
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
CHANGE(speed_up, s->eyes.last.dq[7] = 19; r->dq[7] = 21;)
CHANGE(speed_down, s->eyes.last.dq[7] = -19; r->dq[7] = -21;)
CHANGE(speed_jump, s->eyes.last.dq[7] = -11; r->dq[7] = 11;)
CHANGE(small_jump, r->q[3] += 0.14f;)
CHANGE(shift, for (int i = 0; i < HRC_JOINTS; i++) r->q[i] -= 0.07f;)
CHANGE(hot_one, r->temp[11] = 121;)
CHANGE(hot_both, r->temp[10] = 86; r->temp[11] = 86;)
CHANGE(fault, r->fault[4] = 0x40;)
CHANGE(hot_and_fault, r->temp[0] = 130; r->fault[4] = 0x40;)
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
        {change_speed_jump, TRIP_SPEED_JUMP},
        {change_small_jump, TRIP_JOINT_DRIFT},
        {change_shift, TRIP_JOINT_DRIFT},
        {change_hot_one, TRIP_TEMPERATURE},
        {change_hot_both, TRIP_TEMPERATURE},
        {change_fault, TRIP_MOTOR_FAULT},
        {change_hot_and_fault, TRIP_MOTOR_FAULT},
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
CHANGE(lean, float half = 1e-9f * (float)(s->robot.ns - 2000000000); r->quat[0] = cosf(half);
       r->quat[1] = sinf(half); r->quat[2] = 0; r->gyro[0] = 2;)
CHANGE(seldom, if (s->robot.ns % 10000000) s->in.states--, s->in.state_ns = s->eyes.state_ns;)
CHANGE(gyro_off, r->gyro[2] += 0.5f;)
CHANGE(angle_drifts, r->q[8] += 0.3f * 1e-9f * (float)(s->robot.ns - 2000000000);)
CHANGE(one_stays, r->q[8] = s->eyes.last.q[8]; s->command.q[8] += 0.002f;
       s->command.kp[8] = (float)G1_JOINT[8].kp;)
CHANGE(crooked, r->accel[0] = 3.3f;)
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
        {change_late, TRIP_STATE_LATE, 60},         {change_lean, TRIP_TILT, 300},
        {change_no_remote, TRIP_REMOTE_LOST, 1510}, {change_seldom, TRIP_STATE_RATE, 75},
        {change_gyro_off, TRIP_IMU_DRIFT, 170},     {change_angle_drifts, TRIP_JOINT_DRIFT, 350},
        {change_one_stays, TRIP_JOINT_STAYS, 400},  {change_crooked, TRIP_IMU_LEAN, 3000},
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
    promise kept;
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
    memcpy(before, f->command.q, sizeof before);
    toybot_step(&f->robot, f->sent ? &f->command : NULL, f->keys);
    f->in.robot.state = &f->robot.state;
    f->in.robot.states++;
    f->in.robot.now_ns = f->in.robot.state_ns = f->robot.ns;
    flight_policy(f);
    f->in.target = &f->target;
    f->sent = pilot_tick(&f->p, &f->in, &f->command);
    f->in.asks = 0;
    if (f->sent) ensure_safe(&f->kept, &f->command, &f->robot.state, &f->p.plan.limits);
    for (int i = 0; i < HRC_JOINTS && f->sent; i++)
        if (f->kept.stiff[i] > 1)
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
    f.target.flags = TARGET_DAMP;
    flight_tick(&f);
    ENSURE(f.p.mode == PILOT_TRIPPED && f.p.why == TRIP_POLICY_FAILED);

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

/* ---- Graded answers ---- */

static void wrong_plans(flight *f)
{
    f->target.flags |= TARGET_LATE;
}
static void wrong_remote(flight *f)
{
    f->p.plan.limits.remote_s = -1;
}
static void wrong_heat(flight *f)
{
    f->p.plan.limits.hot_one = 42;
}
static void wrong_battery(flight *f)
{
    f->in.robot.battery = 19;
}

static const struct {
    void (*happens)(flight *f);
    trip why;
} LOWERED[] = {{wrong_plans, TRIP_PLANS_LATE},
               {wrong_remote, TRIP_REMOTE_LOST},
               {wrong_heat, TRIP_TEMPERATURE},
               {wrong_battery, TRIP_BATTERY}};
enum { NLOWERED = sizeof LOWERED / sizeof *LOWERED };

/* Each is answered by the way down: the policy goes on, is asked to lower the robot, and damping follows its
 * end. */
static void test_lowered(void)
{
    static flight f;
    for (int k = 0; k < NLOWERED; k++) {
        flight_begin(&f);
        flight_to_policy(&f);
        LOWERED[k].happens(&f);
        flight_tick(&f);
        ENSURE(f.p.mode == PILOT_LOWER && f.p.why == LOWERED[k].why && f.command.kp[3] > 0);
        ENSURE(pilot_wants(&f.p) & EPOCH_LOWER);
        flight_run(&f, 3);
        ENSURE(f.p.mode == PILOT_LOWER && f.command.kp[3] > 0 && f.target.epoch == f.p.epoch);
        f.target.flags = TARGET_ENDED;
        flight_run(&f, 0.4);
        ENSURE(f.p.mode == PILOT_LOWER);
        flight_run(&f, 0.2);
        ENSURE(f.p.mode == PILOT_TRIPPED && f.p.why == LOWERED[k].why && promise_damping(&f.command));
    }
}

/* A way down that does not end is ended; and what cannot be balanced, or the operator, ends it at once. */
static void test_lowering_ends(void)
{
    static flight f;
    flight_begin(&f);
    flight_to_policy(&f);
    f.in.robot.battery = 5;
    flight_run(&f, 9.9);
    ENSURE(f.p.mode == PILOT_LOWER);
    flight_run(&f, 0.2);
    ENSURE(f.p.mode == PILOT_TRIPPED && f.p.why == TRIP_BATTERY);

    flight_begin(&f);
    flight_to_policy(&f);
    f.in.robot.battery = 5;
    flight_run(&f, 1);
    f.in.robot.other_commands++;
    flight_tick(&f);
    ENSURE(f.p.mode == PILOT_TRIPPED && f.p.why == TRIP_OTHER_WRITER && promise_damping(&f.command));

    flight_begin(&f);
    flight_to_policy(&f);
    f.in.robot.battery = 5;
    flight_run(&f, 1);
    f.in.asks = ASK_DAMP;
    flight_tick(&f);
    ENSURE(f.p.mode == PILOT_TRIPPED && promise_damping(&f.command));

    flight_begin(&f);
    flight_to_policy(&f);
    f.in.robot.battery = 5;
    f.frozen = true;
    flight_run(&f, 0.1);
    ENSURE(f.p.mode == PILOT_TRIPPED && f.p.why == TRIP_POLICY_STALE && promise_damping(&f.command));
}

/* Both at once: damping. In ramp and hold nobody balances: damping too. */
static void test_damped_at_once(void)
{
    static flight f;
    flight_begin(&f);
    flight_to_policy(&f);
    f.in.robot.battery = 5;
    f.in.robot.other_commands++;
    flight_tick(&f);
    ENSURE(f.p.mode == PILOT_TRIPPED && f.p.why == TRIP_OTHER_WRITER);

    flight_begin(&f);
    flight_run(&f, 0.2);
    f.in.asks = ASK_RAMP;
    flight_run(&f, 1.2);
    ENSURE(f.p.mode == PILOT_HOLD);
    f.in.robot.battery = 5;
    flight_tick(&f);
    ENSURE(f.p.mode == PILOT_TRIPPED && f.p.why == TRIP_BATTERY && promise_damping(&f.command));
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

TEST_TABLE({"gate.bounds", test_bounds}, {"gate.transparent", test_transparent}, {"gate.slew", test_slew},
           {"gate.slew_is_quick", test_slew_is_quick}, {"gate.trips_at_once", test_trips_at_once},
           {"gate.trips_in_time", test_trips_in_time}, {"pilot.course", test_course},
           {"pilot.latch", test_latch}, {"pilot.policy_faults", test_policy_faults},
           {"pilot.refused_ramp", test_refused_ramp}, {"pilot.lowered", test_lowered},
           {"pilot.lowering_ends", test_lowering_ends}, {"pilot.damped_at_once", test_damped_at_once})
