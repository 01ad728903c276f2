#include "deploy/deploy.h"

#include <math.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include "base/json.h"
#include "deploy/clock.h"
#include "deploy/slot.h"
#include "deploy/watchdog.h"
#include "deploy/wire.h"

/* ---- Times ---- */

void times_add(times *t, int64_t ns)
{
    double us = 1e-3 * (double)ns;
    int bin = us > 1 ? (int)(8 * log2(us)) : 0;
    t->bin[bin < TIMES_BINS ? bin : TIMES_BINS - 1]++;
    t->n++;
    if (us > t->max_us) t->max_us = us;
}

double times_quantile(const times *t, double share)
{
    int64_t below = 0;
    for (int i = 0; i < TIMES_BINS; i++) {
        below += t->bin[i];
        if (t->n && (double)below >= share * (double)t->n) return fmin(t->max_us, exp2((i + 1) / 8.0));
    }
    return 0;
}

/* ---- Taking over from the robot's own controller ---- */

/* The robot's own motion service must let go before it obeys the commands of another program. */
#define ANSWER_MS 2000
#define TRIES 10
#define BETWEEN_MS 500

/* The mode that owns the robot; "" when released. */
static hrc_status owner(wire *w, char name[64], hrc_error *err)
{
    int code;
    char reply[WIRE_REPLY];
    TRY(wire_call(w, SWITCHER_CHECK, "{}", ANSWER_MS, &code, reply, err));
    if (code != 0)
        return fail(err, HRC_EFILE,
                    "motion switcher: asked for the service that owns the robot, it answered with error %d",
                    code);
    json_t *said = json_loads(reply, 0, NULL);
    const char *text = json_string_value(json_object_get(said, "name"));
    hrc_status status = HRC_OK;
    if (text)
        snprintf(name, 64, "%s", text);
    else
        status = fail(err, HRC_EFORMAT, "motion switcher: answered \"%.80s\", expected an object with a name",
                      reply);
    json_decref(said);
    return status;
}

static hrc_status takeover(wire *w, hrc_error *err)
{
    char name[64] = "", reply[WIRE_REPLY];
    int code;
    for (int i = 0; i < TRIES; i++) {
        TRY(owner(w, name, err));
        if (!name[0]) return HRC_OK;
        TRY(wire_call(w, SWITCHER_RELEASE, "{}", ANSWER_MS, &code, reply, err));
        if (code != 0)
            return fail(err, HRC_EFILE, "motion switcher: mode %s was to let go, it answered with error %d",
                        name, code);
        TRY(owner(w, name, err));
        if (!name[0]) return HRC_OK;
        clock_sleep_until(clock_now_ns() + BETWEEN_MS * NS_PER_MS);
    }
    return fail(err, HRC_EFILE, "motion switcher: mode %s does not let go of the robot", name);
}

#define POLICY_MS 20 /* of the robot's clock */
#define FREEZE_STEPS 50
#define GONE_S 5      /* no state for so long: the robot is gone */
#define RATE_S 0.5    /* how long the rate of states is measured before the start */
#define LAST_TICKS 10 /* of damping, after which the writer ends */

enum { WRITER, POLICY, PLANNER, THREADS };
static const int PRIORITY[THREADS] = {80, 70, 60};
static const char *const NAME[THREADS] = {"writer", "policy", "planner"}; /* in top -H and gdb */

struct deploy {
    deploy_options o;
    brain *b;
    wire *net;
    watchdog *dog; /* NULL: not armed, or in lockstep */
    pilot p;       /* the writer's */
    slot to_writer, to_policy, targets, requests, plans, statuses;
    record_state memory_writer[3], memory_policy[3];
    brain_output memory_targets[3];
    brain_request memory_requests[3];
    brain_plan memory_plans[3];
    deploy_status memory_statuses[3];
    _Atomic uint32_t states, bad, others, wants, asks, plans_made;
    _Atomic int battery;
    atomic_bool stop, started, no_priority, damp;
    sem_t policy_due, planner_due, state_due;
    uint32_t period; /* of the policy, by the listener; in lockstep: the last state's tick */
    pthread_t thread[THREADS];
    int running;
    robot_command last; /* sent */
    bool left;          /* the middleware took it */
    deploy_report report;
    deploy_status now; /* the writer's, handed to deploy_look through statuses */
    int64_t rate_ns;
    uint32_t rate_states;
};

/* ---- Listener ---- */

static void on_state(void *ctx, const robot_state *s)
{
    deploy *d = ctx;
    if (d->o.lockstep && s->tick == d->period) { /* a repeated state: our answer was lost */
        sem_post(&d->state_due);
        return;
    }
    record_state r = {.number = atomic_load(&d->states) + 1, .state = *s};
    r.ns = d->o.lockstep ? (int64_t)s->tick * NS_PER_MS : clock_now_ns();
    slot_write(&d->to_writer, &r);
    slot_write(&d->to_policy, &r);
    atomic_store(&d->states, r.number);
    if (atomic_load(&d->started)) record(d->o.recording, RING_LISTENER, RECORD_STATE, r.ns, &r);
    if (d->o.lockstep) {
        d->period = s->tick;
        sem_post(&d->state_due);
    } else if (s->tick / POLICY_MS != d->period) {
        d->period = s->tick / POLICY_MS;
        sem_post(&d->policy_due);
    }
}

static void on_bad_state(void *ctx)
{
    atomic_fetch_add(&((deploy *)ctx)->bad, 1);
}

static void on_battery(void *ctx, int percent)
{
    atomic_store(&((deploy *)ctx)->battery, percent);
}

static void on_other_writer(void *ctx)
{
    atomic_fetch_add(&((deploy *)ctx)->others, 1);
}

/* ---- One piece of work of each thread ---- */

/* False: the policy is not wanted. */
static bool policy_work(deploy *d, int64_t now_ns)
{
    const record_state *s = slot_read(&d->to_policy);
    const brain_plan *plan = slot_read(&d->plans);
    uint32_t epoch = atomic_load(&d->wants);
    brain_output out;
    brain_request request;
    if (!epoch) return false;
    int64_t begun = clock_now_ns();
    brain_step(d->b, &(brain_input){&s->state, s->number, epoch, now_ns, plan->epoch ? plan : NULL}, &out);
    slot_write(&d->targets, &out);
    int64_t done = clock_now_ns();
    times_add(&d->report.policy, done - begun);
    if (!d->o.lockstep) times_add(&d->report.react, done - s->ns);
    record(d->o.recording, RING_POLICY, RECORD_TARGET, now_ns, &out);
    if (brain_wants(d->b, &request)) {
        slot_write(&d->requests, &request);
        sem_post(&d->planner_due);
    }
    return true;
}

static void planner_work(deploy *d, int64_t now_ns)
{
    const brain_request *request = slot_read(&d->requests);
    brain_plan plan;
    if (!request->epoch) return;
    brain_think(d->b, request, now_ns, &plan);
    slot_write(&d->plans, &plan);
    atomic_fetch_add(&d->plans_made, 1);
    times_add(&d->report.plan, plan.took_ns);
    record(d->o.recording, RING_PLANNER, RECORD_PLAN, now_ns, &plan);
}

static void describe(deploy *d, const record_tick *t, const record_state *s, const brain_output *out)
{
    deploy_status *n = &d->now;
    n->mode = d->p.mode, n->why = d->p.why, n->joint = d->p.joint, n->refused = d->p.refused;
    n->states = t->states, n->bad_states = t->bad_states, n->other_commands = t->other_commands;
    n->battery = t->battery, n->epoch = d->p.epoch, n->gate = d->p.counts;
    n->policy_steps = out->target.seq, n->plans = atomic_load(&d->plans_made);
    n->frame = out->frame, n->planned = out->planned;
    if (out->misses > n->misses) n->missed_plans++;
    n->misses = out->misses;
    n->ended = d->p.ended_ns != 0;
    n->gone = t->now_ns - t->state_ns > GONE_S * NS_PER_S;
    n->in_mode_s = 1e-9 * (double)(t->now_ns - d->p.since_ns);
    if (t->now_ns - d->rate_ns >= NS_PER_S) {
        n->state_hz = (double)(t->states - d->rate_states) / (1e-9 * (double)(t->now_ns - d->rate_ns));
        d->rate_ns = t->now_ns, d->rate_states = t->states;
    }
    n->hottest = n->largest_torque = 0;
    for (int i = 0; i < HRC_JOINTS; i++) {
        n->hottest = fmaxf(n->hottest, fmaxf(s->state.temp[2 * i], s->state.temp[2 * i + 1]));
        n->largest_torque = fmaxf(n->largest_torque, fabsf(s->state.tau[i]) / (float)G1_JOINT[i].effort);
    }
    slot_write(&d->statuses, n);
}

static uint32_t asked(deploy *d, int64_t now_ns)
{
    uint32_t asks = atomic_exchange(&d->asks, 0);
    if (atomic_load(&d->damp)) asks |= ASK_DAMP;
    return watchdog_lost(d->dog, now_ns) ? asks | ASK_TRIP : asks;
}

static void send(deploy *d, const record_tick *t)
{
    robot_command c = t->command;
    if (!d->o.lockstep) c.tick = 0; /* a field that the robot does not know */
    /* Stopped since the supervisor looked, and continued: this command is of another time. */
    bool stale = !(t->asks & ASK_TRIP) && watchdog_took_over(d->dog);
    d->left = !stale && wire_send_command(d->net, &c);
    if (d->left) watchdog_beat(d->dog, c.q, clock_now_ns());
    d->last = c;
    d->now.sent += d->left, d->now.unsent += !d->left;
}

static void writer_work(deploy *d, int64_t now_ns)
{
    const record_state *s = slot_read(&d->to_writer);
    const brain_output *out = slot_read(&d->targets);
    record_tick t = {.now_ns = now_ns,
                     .state_ns = s->ns,
                     .states = s->number,
                     .bad_states = atomic_load(&d->bad),
                     .other_commands = atomic_load(&d->others),
                     .battery = atomic_load(&d->battery),
                     .target = out->target.seq,
                     .asks = asked(d, now_ns)};
    pilot_input in = record_input(&t, s, &out->target);
    t.sent = pilot_tick(&d->p, &in, &t.command);
    t.mode = d->p.mode, t.why = d->p.why, t.joint = d->p.joint;
    atomic_store(&d->wants, pilot_wants(&d->p));
    if (t.sent && d->o.armed) send(d, &t);
    record(d->o.recording, RING_WRITER, RECORD_TICK, now_ns, &t);
    describe(d, &t, s, out);
}

/* ---- Threads ---- */

static int64_t page_faults(void)
{
    struct rusage r;
    getrusage(RUSAGE_THREAD, &r);
    return r.ru_minflt + r.ru_majflt;
}

/* What this thread has taken since `mark`; the first call sets it. */
typedef struct {
    bool begun;
    int64_t faults, allocations;
} mark;

static void mark_now(mark *m, const deploy *d)
{
    if (m->begun) return;
    m->begun = true;
    m->faults = page_faults();
    m->allocations = d->o.allocations ? d->o.allocations() : 0;
}

static void mark_report(const mark *m, deploy *d, int which)
{
    d->report.faults[which] = m->begun ? page_faults() - m->faults : 0;
    d->report.allocations[which] = !d->o.allocations ? -1
                                   : m->begun        ? d->o.allocations() - m->allocations
                                                     : 0;
}

static void introduce(deploy *d, int which)
{
    pthread_setname_np(pthread_self(), NAME[which]);
    if (d->o.realtime && !realtime_take(PRIORITY[which])) atomic_store(&d->no_priority, true);
}

static void *writer_thread(void *arg)
{
    deploy *d = arg;
    mark m = {0};
    introduce(d, WRITER);
    int last = LAST_TICKS;
    for (int64_t next = clock_now_ns(), n = 0; last > 0; next += TICK_NS, n++) {
        if (atomic_load(&d->stop)) atomic_store(&d->damp, true), last--;
        clock_sleep_until(next);
        int64_t woke = clock_now_ns();
        writer_work(d, woke);
        int64_t done = clock_now_ns();
        times_add(&d->report.wake, woke - next);
        times_add(&d->report.tick, done - woke);
        d->now.late_ticks += done - next > TICK_NS;
        if (done - next > 10 * TICK_NS) next = done; /* after a long pause no burst to catch up */
        if (n == ROBOT_HZ) mark_now(&m, d);
    }
    if (d->left) watchdog_over(d->dog); /* it was damping */
    mark_report(&m, d, WRITER);
    return NULL;
}

static void *policy_thread(void *arg)
{
    deploy *d = arg;
    mark m = {0};
    introduce(d, POLICY);
    for (int steps = 0; sem_wait(&d->policy_due) == 0 || !atomic_load(&d->stop);) {
        if (atomic_load(&d->stop)) break;
        steps += policy_work(d, clock_now_ns());
        if (steps == 2) mark_now(&m, d);
        while (d->o.freeze_policy && steps > FREEZE_STEPS && !atomic_load(&d->stop))
            clock_sleep_until(clock_now_ns() + 10 * NS_PER_MS);
    }
    mark_report(&m, d, POLICY);
    return NULL;
}

static void *planner_thread(void *arg)
{
    deploy *d = arg;
    mark m = {0};
    introduce(d, PLANNER);
    for (int n = 0; sem_wait(&d->planner_due) == 0 || !atomic_load(&d->stop); n++) {
        if (atomic_load(&d->stop)) break;
        planner_work(d, clock_now_ns());
        if (n == 1) mark_now(&m, d);
    }
    mark_report(&m, d, PLANNER);
    return NULL;
}

/* In lockstep: all three for each state, in this order; a plan comes to the next step of the policy. */
static void *lockstep_thread(void *arg)
{
    deploy *d = arg;
    uint32_t period = UINT32_MAX, done = 0;
    while (!atomic_load(&d->stop)) {
        struct timespec until;
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_sec += GONE_S;
        if (sem_timedwait(&d->state_due, &until)) {
            d->now.gone = true;
            slot_write(&d->statuses, &d->now);
            continue;
        }
        if (atomic_load(&d->stop)) break;
        const record_state *s = slot_read(&d->to_writer);
        if (s->number == done) {
            wire_send_command(d->net, &d->last);
            continue;
        }
        done = s->number;
        int64_t now_ns = s->ns;
        bool due = s->state.tick / POLICY_MS != period;
        period = s->state.tick / POLICY_MS;
        if (due) policy_work(d, now_ns);
        while (sem_trywait(&d->planner_due) == 0) planner_work(d, now_ns);
        writer_work(d, now_ns);
    }
    return NULL;
}

/* ---- Open, start, stop ---- */

static void make_slots(deploy *d)
{
    slot_init(&d->to_writer, d->memory_writer, sizeof(record_state));
    slot_init(&d->to_policy, d->memory_policy, sizeof(record_state));
    slot_init(&d->targets, d->memory_targets, sizeof(brain_output));
    slot_init(&d->requests, d->memory_requests, sizeof(brain_request));
    slot_init(&d->plans, d->memory_plans, sizeof(brain_plan));
    slot_init(&d->statuses, d->memory_statuses, sizeof(deploy_status));
    sem_init(&d->policy_due, 0, 0);
    sem_init(&d->planner_due, 0, 0);
    sem_init(&d->state_due, 0, 0);
    atomic_store(&d->battery, -1);
}

static hrc_status wait_for_robot(deploy *d, hrc_error *err)
{
    int64_t until = clock_now_ns() + (int64_t)(d->o.patience_s * NS_PER_S);
    while (!atomic_load(&d->states) || !wire_peers(d->net)) {
        if (clock_now_ns() > until)
            return fail(err, HRC_EFILE,
                        "no state of a robot on %s, domain %d, within %g s (%u came with a wrong check sum)",
                        d->o.at.net, d->o.at.domain, d->o.patience_s, atomic_load(&d->bad));
        clock_sleep_until(clock_now_ns() + NS_PER_MS);
    }
    if (d->o.lockstep) return HRC_OK;
    uint32_t before = atomic_load(&d->states);
    int64_t begun = clock_now_ns();
    clock_sleep_until(begun + (int64_t)(RATE_S * NS_PER_S));
    d->now.state_hz = (atomic_load(&d->states) - before) / (1e-9 * (double)(clock_now_ns() - begun));
    return HRC_OK;
}

static hrc_status check_robot(deploy *d, hrc_error *err)
{
    const record_state *s = slot_read(&d->to_writer);
    if ((int)s->state.mode_machine != d->o.machine)
        return fail(
            err, HRC_EINVAL,
            "mode_machine is %u, expected %d: this robot has other gears or joints than the model's gains are for",
            s->state.mode_machine, d->o.machine);
    if (!d->o.armed) return HRC_OK;
    if (!d->o.lockstep && fabs(d->now.state_hz - ROBOT_HZ) > 0.1 * ROBOT_HZ)
        return fail(err, HRC_EINVAL, "the robot's states come %.0f times a second, expected %d",
                    d->now.state_hz, ROBOT_HZ);
    if (atomic_load(&d->others))
        return fail(err, HRC_EINVAL,
                    "another program sends commands to this robot: %u came while none was expected",
                    atomic_load(&d->others));
    return HRC_OK;
}

hrc_status deploy_open(deploy **out, brain *b, const deploy_options *o, hrc_error *err)
{
    deploy *d = calloc(1, sizeof *d);
    if (!d) return fail(err, HRC_ENOMEM, "deploy: out of memory");
    d->o = *o, d->b = b;
    memcpy(d->o.course.first, brain_first(b), sizeof d->o.course.first);
    pilot_init(&d->p, &d->o.course);
    d->now.frames = brain_frames(b);
    d->now.joint = -1;
    atomic_store(&d->started, o->lockstep);
    make_slots(d);
    wire_controller handlers = {.ctx = d,
                                .state = on_state,
                                .bad_state = on_bad_state,
                                .battery = on_battery,
                                .other_writer = on_other_writer};
    hrc_status status = HRC_OK;
    if (o->armed && !o->lockstep) status = watchdog_start(&d->dog, &o->at, o->machine, o->damp_s, err);
    if (status == HRC_OK) status = wire_open_controller(&d->net, &o->at, &handlers, err);
    if (status == HRC_OK) status = wait_for_robot(d, err);
    if (status == HRC_OK) status = check_robot(d, err);
    if (status < 0) {
        deploy_close(d);
        return status;
    }
    brain_warm(b, &((const record_state *)slot_read(&d->to_policy))->state, &d->report.warm_step_ms,
               &d->report.warm_plan_ms);
    *out = d;
    return HRC_OK;
}

static hrc_status run_threads(deploy *d, hrc_error *err)
{
    void *(*const live[THREADS])(void *) = {writer_thread, policy_thread, planner_thread};
    void *(*const step[1])(void *) = {lockstep_thread};
    int n = d->o.lockstep ? 1 : THREADS;
    for (; d->running < n; d->running++)
        if (pthread_create(&d->thread[d->running], NULL, d->o.lockstep ? step[0] : live[d->running], d))
            return fail(err, HRC_ENOMEM, "deploy: no thread number %d", d->running);
    return HRC_OK;
}

/* States are recorded from here on, and the first tick must find one that was. */
static hrc_status start_recording(deploy *d, hrc_error *err)
{
    if (d->o.lockstep) return HRC_OK; /* from the first one */
    uint32_t before = atomic_load(&d->states);
    atomic_store(&d->started, true);
    for (int64_t until = clock_now_ns() + NS_PER_S; atomic_load(&d->states) < before + 2;) {
        if (clock_now_ns() > until)
            return fail(err, HRC_EFILE, "the robot on %s, domain %d, has fallen silent", d->o.at.net,
                        d->o.at.domain);
        clock_sleep_until(clock_now_ns() + NS_PER_MS);
    }
    return HRC_OK;
}

hrc_status deploy_start(deploy *d, hrc_error *err)
{
    if (d->dog) TRY(watchdog_ready(d->dog, d->net, d->o.patience_s, err));
    if (d->o.armed && !d->o.no_switcher) TRY(takeover(d->net, err));
    if (d->o.realtime) d->report.memory_locked = mlockall(MCL_CURRENT | MCL_FUTURE) == 0;
    TRY(start_recording(d, err));
    return run_threads(d, err);
}

void deploy_ask(deploy *d, uint32_t asks)
{
    atomic_fetch_or(&d->asks, asks);
}

void deploy_damp(deploy *d)
{
    atomic_store(&d->damp, true);
}

void deploy_crash(deploy *d)
{
    watchdog_alarm(d->dog);
}

deploy_status deploy_look(deploy *d)
{
    return *(const deploy_status *)slot_read(&d->statuses);
}

void deploy_stop(deploy *d, deploy_report *report)
{
    atomic_store(&d->stop, true);
    sem_post(&d->policy_due);
    sem_post(&d->planner_due);
    sem_post(&d->state_due);
    for (; d->running > 0; d->running--) pthread_join(d->thread[d->running - 1], NULL);
    if (d->report.memory_locked) munlockall();
    d->report.priorities = d->o.realtime && !atomic_load(&d->no_priority);
    if (report) *report = d->report;
}

void deploy_close(deploy *d)
{
    if (!d) return;
    deploy_stop(d, NULL);
    watchdog_stop(d->dog);
    wire_close(d->net);
    sem_destroy(&d->policy_due);
    sem_destroy(&d->planner_due);
    sem_destroy(&d->state_due);
    free(d);
}
