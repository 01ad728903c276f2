/* The fault matrix: every verb on every channel, thousands of times, through the real pilot, gate and closed
 * loop. Whatever happens, no command leaves that is not finite, beyond its limits, too far from the one
 * before or asks for too much torque; and where a fault can be seen, damping follows within 60 ms. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "deploy/brain.h"
#include "motion/clip.h"
#include "promise.h"
#include "small.h"
#include "synthetic.h"
#include "test.h"
#include "toybot.h"

typedef enum { OFF, STUCK, GARBAGE, NOT_A_NUMBER, DELAYED, DROPPED, JITTERED, BIT_FLIPPED, VERBS } verb;
typedef enum { IMU, GYRO, Q, DQ, REFERENCE, PLAN, REMOTE, CLOCK, CHANNELS } channel;

static const char *const VERB[] = {"off",     "stuck",   "garbage",  "NaN",
                                   "delayed", "dropped", "jittered", "bit-flipped"};
static const char *const CHANNEL[] = {"IMU", "gyro", "q", "dq", "reference", "plan", "remote", "clock"};

/* Where damping must follow within 60 ms, or the way down for the remote: what can be told from a healthy
 * robot. A stuck remote has no key down; a delayed value is one of a moment ago; a plan that does not come,
 * or is none, is survived by the reference. */
static const bool SEEN[VERBS][CHANNELS] = {
    [OFF] = {[IMU] = 1, [GYRO] = 1, [Q] = 1, [DQ] = 1, [REMOTE] = 1, [CLOCK] = 1},
    [STUCK] = {[IMU] = 1, [GYRO] = 1, [Q] = 1, [DQ] = 1, [CLOCK] = 1},
    [GARBAGE] = {[IMU] = 1, [GYRO] = 1, [Q] = 1, [DQ] = 1, [CLOCK] = 1},
    [NOT_A_NUMBER] = {[IMU] = 1, [GYRO] = 1, [Q] = 1, [DQ] = 1, [REFERENCE] = 1, [CLOCK] = 1},
    [DROPPED] = {[IMU] = 1, [GYRO] = 1, [Q] = 1, [DQ] = 1, [CLOCK] = 1},
};

enum { READY = 220, INJECTED = 256, REACT = 30, EPISODES = 64, PAST = 64 };

typedef struct {
    brain *alone, *planned; /* without and with a planner */
    float *healthy;         /* the motion as it was loaded */
    size_t nhealthy;
} minds;

typedef struct {
    toybot robot;
    pilot p;
    brain *mind;
    robot_state seen, past[PAST]; /* what the watch is given; before faults */
    pilot_input in;
    brain_output out;
    brain_plan plan, given;
    brain_request request;
    bool have_request;
    robot_command command;
    bool sent;
    promise kept;
    rng dice;
    verb v;
    channel c;
    int64_t tick, since; /* since: tick of the first injection */
    robot_state frozen;
    int64_t frozen_ns;
} episode;

/* ---- Spoiling ---- */

static float spoiled(episode *e, float x, float was, float late, float size)
{
    uint32_t bits;
    switch (e->v) {
    case OFF: return 0;
    case STUCK: return was;
    case GARBAGE: return rng_uniform(&e->dice, -size, size);
    case NOT_A_NUMBER: return NAN;
    case DELAYED: return late;
    case JITTERED: return x + 0.002f * size * rng_normal(&e->dice);
    case BIT_FLIPPED:
        memcpy(&bits, &x, 4);
        if (rng_below(&e->dice, 8) == 0) bits ^= 1u << rng_below(&e->dice, 32);
        memcpy(&x, &bits, 4);
        return x;
    default: return x;
    }
}

static void spoil_row(episode *e, float *x, const float *was, const float *late, int n, float size)
{
    for (int i = 0; i < n; i++) x[i] = spoiled(e, x[i], was[i], late[i], size);
}

static void spoil_state(episode *e)
{
    robot_state *s = &e->seen, *w = &e->frozen;
    const robot_state *l = &e->past[(e->tick + PAST - 20) % PAST];
    if (e->c == IMU) spoil_row(e, s->quat, w->quat, l->quat, 4, 2);
    if (e->c == GYRO) spoil_row(e, s->gyro, w->gyro, l->gyro, 3, 50);
    if (e->c == Q) spoil_row(e, s->q, w->q, l->q, HRC_JOINTS, 5);
    if (e->c == DQ) spoil_row(e, s->dq, w->dq, l->dq, HRC_JOINTS, 80);
    if (e->c != REMOTE) return;
    for (int i = 0; i < ROBOT_REMOTE; i++) {
        if (e->v == OFF || e->v == DROPPED) s->remote[i] = 0;
        if (e->v == GARBAGE || e->v == NOT_A_NUMBER) s->remote[i] = (uint8_t)rng_u32(&e->dice);
        if (e->v == BIT_FLIPPED) s->remote[i] ^= (uint8_t)(1u << rng_below(&e->dice, 8));
    }
}

static int64_t spoiled_clock(episode *e, int64_t now)
{
    switch (e->v) {
    case OFF: return 0;
    case STUCK: return e->frozen_ns;
    case GARBAGE: return (int64_t)((uint64_t)rng_u32(&e->dice) << 20);
    case NOT_A_NUMBER: return INT64_MIN / 2;
    case DELAYED: return now - 8000000;
    case DROPPED: return now + 100000000;
    case JITTERED: return now + (int64_t)(1e6f * rng_normal(&e->dice));
    case BIT_FLIPPED: return now ^ (1LL << rng_below(&e->dice, 40));
    default: return now;
    }
}

static void spoil_plan(episode *e)
{
    float *k = &e->given.keyframes[0][0];
    const int n = HRC_KEYFRAMES * HRC_NQ;
    e->given.verdict = HRC_FINE; /* as if the guard had been asleep */
    if (e->v == DROPPED || e->v == DELAYED) return;
    for (int i = 0; i < n; i++) k[i] = spoiled(e, k[i], 1, k[i], 20);
}

static void spoil_reference(episode *e, const minds *m)
{
    float *x = brain_reference(e->mind);
    size_t from = rng_below(&e->dice, (uint32_t)(m->nhealthy - 400));
    for (size_t i = from; i < from + 400; i++)
        x[i] = spoiled(e, m->healthy[i], m->healthy[i % HRC_NQ], x[i], 20);
    if (e->v == NOT_A_NUMBER)
        for (size_t i = 0; i < m->nhealthy; i++) x[i] = NAN;
}

/* ---- An episode ---- */

static void begin(episode *e, const minds *m, verb v, channel c, uint64_t seed)
{
    config cfg = config_default();
    memset(e, 0, sizeof *e);
    toybot_init(&e->robot, seed);
    e->v = v, e->c = c, e->dice = rng_make(seed, 1);
    e->mind = c == PLAN || seed % 8 == 0 ? m->planned : m->alone;
    brain_reset(e->mind);
    memcpy(brain_reference(e->mind), m->healthy, m->nhealthy * sizeof(float));
    pilot_plan plan = {
        .limits = gate_from_config(&cfg), .ramp_s = 0.2, .blend_s = 0.05, .hold_s = -1, .automatic = true};
    plan.settle_s = 0.02;
    plan.limits.remote_s = 0.04;
    plan.limits.tilt = 1.5;
    memcpy(plan.first, brain_first(e->mind), sizeof plan.first);
    for (int i = 0; i < HRC_JOINTS; i++) e->robot.q[i] = (double)plan.first[i] + 0.05;
    pilot_init(&e->p, &plan);
    e->in.robot.battery = 90;
    e->since = INT64_MAX;
}

static bool faulty(const episode *e)
{
    return e->tick >= e->since;
}

static void sense(episode *e)
{
    toybot_step(&e->robot, e->sent ? &e->command : NULL, 0);
    e->past[e->tick % PAST] = e->robot.state;
    if (e->tick == e->since) e->frozen = e->seen, e->frozen_ns = e->in.robot.now_ns;
    bool lost = faulty(e) && e->v == DROPPED && e->c <= DQ;
    if (!lost) {
        e->seen = e->robot.state;
        e->in.robot.states++;
        e->in.robot.state_ns = e->robot.ns;
        if (faulty(e)) spoil_state(e);
    }
    e->in.robot.state = &e->seen;
    e->in.robot.now_ns = faulty(e) && e->c == CLOCK ? spoiled_clock(e, e->robot.ns) : e->robot.ns;
}

static void think(episode *e, const minds *m)
{
    uint32_t epoch = pilot_wants(&e->p);
    if (!epoch || e->tick % 10) return;
    if (faulty(e) && e->c == REFERENCE) spoil_reference(e, m);
    bool late = faulty(e) && e->c == PLAN && (e->v == DROPPED || (e->v == DELAYED && rng_below(&e->dice, 3)));
    if (e->have_request && !late) {
        brain_think(e->mind, &e->request, e->robot.ns, &e->plan);
        e->given = e->plan;
        e->have_request = false;
        if (faulty(e) && e->c == PLAN) spoil_plan(e);
    }
    brain_input in = {&e->seen, e->in.robot.states, epoch, e->in.robot.now_ns,
                      e->given.epoch ? &e->given : NULL};
    brain_step(e->mind, &in, &e->out);
    if (brain_wants(e->mind, &e->request)) e->have_request = true;
}

static void tick(episode *e, const minds *m)
{
    sense(e);
    think(e, m);
    e->in.target = e->out.target.seq ? &e->out.target : NULL;
    e->sent = pilot_tick(&e->p, &e->in, &e->command);
    const char *what = e->sent ? promise_broken(&e->kept, &e->command, &e->seen, &e->p.plan.limits) : NULL;
    if (what)
        test_fail(__FILE__, __LINE__, "%s %s, tick %d after the fault: a command left that has %s",
                  VERB[e->v], CHANNEL[e->c], (int)(e->tick - e->since), what);
    e->tick++;
}

static bool damping(const episode *e)
{
    if (e->c == REMOTE && e->p.mode == PILOT_LOWER) return true;
    return (e->p.mode == PILOT_TRIPPED || e->p.mode == PILOT_DAMP) && promise_damping(&e->command);
}

static void play(episode *e, const minds *m, verb v, channel c, uint64_t seed)
{
    begin(e, m, v, c, seed);
    for (int n = 0; n < READY; n++) tick(e, m);
    if (e->p.mode != PILOT_POLICY)
        test_fail(__FILE__, __LINE__, "a healthy robot was not flown: %s, %s", pilot_mode_name(e->p.mode),
                  trip_text(e->p.why));
    e->since = e->tick + (int64_t)(seed % 10);
    for (int n = 0; n < INJECTED; n++) {
        tick(e, m);
        if (SEEN[v][c] && e->tick - e->since > REACT && !damping(e))
            test_fail(__FILE__, __LINE__, "%s %s: no damping %d ms after the fault, %s", VERB[v], CHANNEL[c],
                      2 * (int)(e->tick - e->since), pilot_mode_name(e->p.mode));
    }
}

static void load(minds *m)
{
    hrc_error err;
    static hrc_model *follow, *plan;
    static config cfg;
    clip motion;
    cfg = config_default();
    small_tracker("t.safetensors", "reference"); /* so that a spoiled reference reaches the gate */
    small_planner("p.safetensors", 35);
    hrc_model_free(follow); /* of the test before */
    hrc_model_free(plan);
    ENSURE_OK(hrc_model_load(&follow, test_path("t.safetensors"), &err));
    ENSURE_OK(hrc_model_load(&plan, test_path("p.safetensors"), &err));
    synthetic_turn(&motion, 100, 50);
    ENSURE_OK(clip_save(&motion, test_path("m.safetensors"), &err));
    clip_free(&motion);
    char path[3][512];
    snprintf(path[0], 512, "%s", test_path("t.safetensors"));
    snprintf(path[1], 512, "%s", test_path("p.safetensors"));
    snprintf(path[2], 512, "%s", test_path("m.safetensors"));
    brain_setup setup = {.tracker = follow, .tracker_path = path[0], .motion = path[2], .cfg = &cfg};
    ENSURE_OK(brain_create(&m->alone, &setup, &err));
    setup.planner = plan, setup.planner_path = path[1];
    ENSURE_OK(brain_create(&m->planned, &setup, &err));
    m->nhealthy = (size_t)brain_frames(m->alone) * HRC_NQ;
    m->healthy = malloc(m->nhealthy * sizeof(float));
    ENSURE(m->healthy);
    memcpy(m->healthy, brain_reference(m->alone), m->nhealthy * sizeof(float));
}

static void test_matrix(void)
{
    static minds m;
    static episode e;
    int64_t injected = 0;
    load(&m);
    for (int v = 0; v < VERBS; v++)
        for (int c = 0; c < CHANNELS; c++)
            for (int n = 0; n < EPISODES; n++) {
                play(&e, &m, (verb)v, (channel)c, (uint64_t)(1 + n + 100 * (v * CHANNELS + c)));
                injected += e.tick - e.since;
            }
    ENSURE(injected >= 1000000);
    brain_free(m.alone);
    brain_free(m.planned);
    free(m.healthy);
}

/* Healthy robots are not tripped: the matrix above would be worth nothing if they were. */
static void test_healthy(void)
{
    static minds m;
    static episode e;
    load(&m);
    for (int n = 0; n < 40; n++) {
        begin(&e, &m, DELAYED, REFERENCE, (uint64_t)n);
        for (int i = 0; i < 1000; i++) tick(&e, &m);
        if (e.p.mode != PILOT_POLICY)
            test_fail(__FILE__, __LINE__, "flight %d: %s, %s", n, pilot_mode_name(e.p.mode),
                      trip_text(e.p.why));
    }
    brain_free(m.alone);
    brain_free(m.planned);
    free(m.healthy);
}

TEST_TABLE({"faults.healthy", test_healthy}, {"faults.matrix", test_matrix})
