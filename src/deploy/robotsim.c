#include "deploy/robotsim.h"

#include <pthread.h>
#include <string.h>

#include "deploy/clock.h"

#define BATTERY_EVERY 250 /* ticks: twice a second */
#define BATTERY_FLAT 5    /* per cent */
#define FRAME_EVERY 10    /* 50 Hz */
#define PRIORITY 78
#define LOOK_MS 100 /* how often a waiting robot looks for a controller */

typedef struct {
    simbot *robot;
    const robotsim_options *options;
    robotsim_report *report;
    wire *net;
    pthread_mutex_t lock; /* of the robot and of `answered` */
    pthread_cond_t came;
    uint32_t answered; /* tick of the state that the last order answers */
} robotsim;

static void on_order(void *ctx, const wire_order *order)
{
    robotsim *r = ctx;
    pthread_mutex_lock(&r->lock);
    bool again = r->options->lockstep && order->command.tick == r->answered;
    if (!again) simbot_order(r->robot, order);
    r->answered = order->command.tick;
    pthread_cond_signal(&r->came);
    pthread_mutex_unlock(&r->lock);
}

static int on_request(void *ctx, int64_t api, const char *parameter, char *reply, size_t size)
{
    robotsim *r = ctx;
    pthread_mutex_lock(&r->lock);
    int code = simbot_request(r->robot, api, parameter, reply, size);
    pthread_mutex_unlock(&r->lock);
    return code;
}

static bool stopped(const robotsim *r)
{
    return r->options->stop && r->options->stop();
}

/* In lockstep nothing begins before a controller is there to answer. */
static hrc_status wait_for_controller(robotsim *r, hrc_error *err)
{
    int64_t until = clock_now_ns() + (int64_t)(r->options->patience_s * NS_PER_S);
    while (wire_peers(r->net) == 0 && !stopped(r)) {
        if (clock_now_ns() > until)
            return fail(err, HRC_EFILE, "robot-sim: no controller on %s, domain %d, within %g s",
                        r->options->at.net, r->options->at.domain, r->options->patience_s);
        clock_sleep_until(clock_now_ns() + NS_PER_MS);
    }
    return HRC_OK;
}

/* Until the order for this state has come. What is sent before the two sides have wholly discovered each
 * other gets lost, so the state is said again now and then. False: the controller has left. */
static bool wait_for_order(robotsim *r, const robot_state *s)
{
    int64_t until = clock_now_ns() + (int64_t)(r->options->patience_s * NS_PER_S);
    bool there = true;
    pthread_mutex_lock(&r->lock);
    while (r->answered != s->tick && there && clock_now_ns() < until) {
        struct timespec look = clock_spec(clock_now_ns() + LOOK_MS * NS_PER_MS);
        if (!pthread_cond_timedwait(&r->came, &r->lock, &look)) continue;
        there = wire_peers(r->net) > 0 && !stopped(r);
        wire_send_state(r->net, s);
    }
    r->report->unanswered += there && r->answered != s->tick;
    pthread_mutex_unlock(&r->lock);
    return there;
}

static void keep_frame(const robotsim *r, rollout *frames, int64_t tick)
{
    int64_t i = tick / FRAME_EVERY;
    if (!frames || tick % FRAME_EVERY || i >= frames->n) return;
    const double *qpos = simbot_look(r->robot).qpos;
    for (int k = 0; k < HRC_NQ; k++) frames->qpos[i * HRC_NQ + k] = (float)qpos[k];
    if (frames->target)
        memcpy(frames->target + i * HRC_JOINTS, simbot_look(r->robot).target, sizeof(float) * HRC_JOINTS);
}

static void publish(robotsim *r, int64_t tick, const robot_state *s)
{
    float quat[4], gyro[3];
    simbot_torso(r->robot, quat, gyro);
    wire_send_torso(r->net, quat, gyro);
    double flat_s = r->options->flat_at_s;
    bool flat = flat_s > 0 && (double)tick >= flat_s * ROBOT_HZ;
    if (tick % BATTERY_EVERY == 0) wire_send_battery(r->net, flat ? BATTERY_FLAT : 100);
    r->report->states += wire_send_state(r->net, s);
}

/* False: in lockstep, the controller has left. */
static bool one_tick(robotsim *r, int64_t tick, rollout *frames)
{
    robot_state s;
    const robotsim_options *o = r->options;
    pthread_mutex_lock(&r->lock);
    bool through = simbot_step(r->robot, &s);
    keep_frame(r, frames, tick);
    pthread_mutex_unlock(&r->lock);
    if (o->bad_states && tick == (int64_t)(o->bad_at_s * ROBOT_HZ)) wire_corrupt(r->net, o->bad_states);
    if (through) publish(r, tick, &s);
    return !through || !o->lockstep || wait_for_order(r, &s);
}

/* In real time its own lateness would look like the network's. */
static void run(robotsim *r, rollout *frames)
{
    const robotsim_options *o = r->options;
    if (!o->lockstep && o->at.realtime) realtime_take(PRIORITY);
    int64_t start = clock_now_ns(),
            ticks = o->seconds > 0 ? (int64_t)(o->seconds * ROBOT_HZ + 0.5) : INT64_MAX, n = 0;
    for (int64_t next = start; n < ticks && !stopped(r); n++, next += TICK_NS) {
        if (!o->lockstep) clock_sleep_until(next);
        r->report->late += !o->lockstep && clock_now_ns() - next > TICK_NS;
        if (!one_tick(r, n, frames)) break;
    }
    r->report->wall_s = 1e-9 * (double)(clock_now_ns() - start);
    r->report->robot_s = (double)n / ROBOT_HZ;
    if (frames && n / FRAME_EVERY < frames->n) frames->n = (int)(n / FRAME_EVERY);
}

hrc_status robotsim_run(simbot *b, const robotsim_options *options, rollout *frames, robotsim_report *report,
                        hrc_error *err)
{
    robotsim r = {.robot = b, .options = options, .report = report, .lock = PTHREAD_MUTEX_INITIALIZER};
    pthread_condattr_t attributes;
    memset(report, 0, sizeof *report);
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&r.came, &attributes);
    pthread_condattr_destroy(&attributes);
    r.answered = UINT32_MAX;
    hrc_status status = wire_open_robot(&r.net, &options->at, &(wire_robot){&r, on_order, on_request}, err);
    if (status == HRC_OK && options->ready) options->ready(options->ctx);
    if (status == HRC_OK && options->lockstep) status = wait_for_controller(&r, err);
    if (status == HRC_OK) run(&r, frames);
    wire_close(r.net);
    pthread_cond_destroy(&r.came);
    return status;
}
