#include "play/live.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"

#define BOX 64
#define PERIOD_S (1.0 / HRC_RATE_HZ)
#define DEBT_S 0.2   /* this far behind, the clock is set back instead of hurrying */
#define WINDOW_S 1.0 /* over which the pace is measured */

struct live {
    playground *scene;
    void (*wake)(void *);
    void *ctx;
    pthread_t thread;

    pthread_mutex_t lock; /* for all of the following */
    bool stop, paused, single;
    double speed;
    int norders;
    play_order orders[BOX];
    bool restore;
    play_run run; /* to restore */
    float frame[LIVE_FRAME];
    int nframe;
    int64_t frames; /* made so far */
    live_status status;
    play_run done; /* the run so far */
    live_counts counts;

    /* of the thread alone */
    double deadline_s, window_from_s, pace, busy_ms;
    int window_steps;
};

/* ---- A frame ---- */

static float *put_doubles(float *to, const double *from, int n)
{
    for (int i = 0; i < n; i++) *to++ = (float)from[i];
    return to;
}

static float *put_floats(float *to, const float *from, int n)
{
    memcpy(to, from, sizeof *from * (size_t)n);
    return to + n;
}

static float *put_robot(float *at, const play_robot *r)
{
    const hrc_report *p = &r->report;
    const float signals[LIVE_SIGNALS] = {
        [LIVE_GAP] = (float)p->gap_rad,
        [LIVE_REWRITE] = (float)p->rewrite_rad,
        [LIVE_PLANNED] = (float)p->planned,
        [LIVE_REFUSED] = r->planner && p->verdict != HRC_FINE,
        [LIVE_PLAN_MS] = (float)p->plan_ms,
        [LIVE_AT] = (float)p->frame,
        [LIVE_FRAMES] = (float)p->frames,
        [LIVE_WAITING] = (float)p->waiting,
        [LIVE_PLANNER] = r->planner,
        [LIVE_STUCK] = *r->problem != 0,
        [LIVE_HIT] = r->world.punch.left_s > 0,
        [LIVE_OFF] = (float)p->off,
        [LIVE_FORCES] = (float)r->nforces,
    };
    at = put_doubles(at, r->world.qpos, HRC_NQ);
    at = put_floats(at, p->reference.qpos, HRC_NQ);
    at = put_floats(at, p->plan.qpos[HRC_KEYFRAMES / 2], HRC_NQ);
    at = put_floats(at, p->plan.qpos[HRC_KEYFRAMES - 1], HRC_NQ);
    at = put_floats(at, signals, LIVE_SIGNALS);
    for (int i = 0; i < PLAY_FORCES; i++) {
        static const sim_force NONE;
        const sim_force *f = i < r->nforces ? &r->forces[i] : &NONE;
        at = put_doubles(at, f->pos, 3);
        at = put_doubles(at, f->force, 3);
    }
    return at;
}

static int make_frame(const live *l, float out[LIVE_FRAME])
{
    const play_scene *s = playground_scene(l->scene);
    memset(out, 0, sizeof *out * LIVE_HEAD);
    out[LIVE_STEP] = (float)s->step;
    out[LIVE_ROBOTS] = (float)s->robots;
    out[LIVE_PACE] = (float)l->pace;
    out[LIVE_BUSY_MS] = (float)l->busy_ms;
    float *at = out + LIVE_HEAD;
    for (int i = 0; i < s->robots; i++) at = put_robot(at, playground_robot(l->scene, i));
    return (int)(at - out);
}

/* ---- The thread ---- */

static void refuse(live *l, const char *why)
{
    pthread_mutex_lock(&l->lock);
    snprintf(l->status.refusal, sizeof l->status.refusal, "%.199s", why);
    l->status.refusals++;
    l->status.version++;
    pthread_mutex_unlock(&l->lock);
}

/* Follows what lies in the box; true: there was something. */
static bool obey(live *l, bool *paused, bool *single, double *speed)
{
    play_order orders[BOX];
    static const hrc_error NOTHING;
    hrc_error err = NOTHING;
    pthread_mutex_lock(&l->lock);
    const int n = l->norders;
    const bool restore = l->restore;
    memcpy(orders, l->orders, sizeof *orders * (size_t)n);
    *paused = l->paused, *single = l->single, *speed = l->speed;
    l->norders = 0;
    l->single = false;
    pthread_mutex_unlock(&l->lock);
    if (restore) { /* the run is not written while the flag is up */
        if (playground_restore(l->scene, &l->run, &err) < 0) refuse(l, err.text);
        pthread_mutex_lock(&l->lock);
        l->restore = false;
        pthread_mutex_unlock(&l->lock);
    }
    for (int i = 0; i < n; i++)
        if (playground_order(l->scene, &orders[i], &err) < 0) refuse(l, err.text);
    return n > 0 || restore || *single;
}

/* What viewers may read; only copies are made under the lock. */
static void publish(live *l)
{
    float frame[LIVE_FRAME];
    const int n = make_frame(l, frame);
    play_scene scene = *playground_scene(l->scene);
    const int64_t step = scene.step;
    pthread_mutex_lock(&l->lock);
    memcpy(l->frame, frame, sizeof *frame * (size_t)n);
    l->nframe = n;
    l->frames++;
    live_status *s = &l->status, old = *s;
    scene.step = old.scene.step;
    s->scene = scene;
    s->paused = l->paused, s->speed = l->speed;
    for (int i = 0; i < PLAY_ROBOTS; i++)
        memcpy(s->problem[i], playground_robot(l->scene, i)->problem, sizeof s->problem[i]);
    const bool changed = memcmp(&old, s, sizeof old);
    s->version += changed;
    if (changed || playground_run(l->scene)->n != l->done.n) l->done = *playground_run(l->scene);
    s->scene.step = step;
    pthread_mutex_unlock(&l->lock);
    l->wake(l->ctx);
}

static void count(live *l, double begun_s, double speed)
{
    const double now = clock_s(), window = now - l->window_from_s;
    const double ms = 1e3 * (now - begun_s);
    l->busy_ms += 0.05 * (ms - l->busy_ms);
    l->window_steps++;
    if (window >= WINDOW_S) {
        l->pace = l->window_steps * PERIOD_S / (speed * window);
        l->window_from_s = now;
        l->window_steps = 0;
    }
    pthread_mutex_lock(&l->lock);
    l->counts.steps++;
    l->counts.busy_ms += (ms - l->counts.busy_ms) / (double)l->counts.steps;
    pthread_mutex_unlock(&l->lock);
}

static void wait_for_next(live *l, double speed, bool paused)
{
    const double now = clock_s();
    l->deadline_s += PERIOD_S / (paused ? 1 : speed);
    if (now > l->deadline_s + DEBT_S) {
        l->deadline_s = now;
        pthread_mutex_lock(&l->lock);
        l->counts.late++;
        pthread_mutex_unlock(&l->lock);
    }
    if (paused) l->window_from_s = now, l->window_steps = 0, l->pace = 1;
    clock_sleep_until((int64_t)(1e9 * l->deadline_s));
}

static bool stopped(live *l)
{
    pthread_mutex_lock(&l->lock);
    const bool yes = l->stop;
    pthread_mutex_unlock(&l->lock);
    return yes;
}

static void *live_main(void *argument)
{
    live *l = argument;
    double last_speed = 1;
    bool was_paused = false;
    publish(l);
    l->deadline_s = l->window_from_s = clock_s();
    for (bool paused, single; !stopped(l); was_paused = paused) {
        double speed;
        const bool asked = obey(l, &paused, &single, &speed);
        if (speed != last_speed) l->window_from_s = clock_s(), l->window_steps = 0;
        const bool news = asked || speed != last_speed || paused != was_paused;
        last_speed = speed;
        if (!paused || single) {
            const double begun = clock_s();
            playground_step(l->scene);
            count(l, begun, speed);
        }
        if (!paused || news) publish(l);
        wait_for_next(l, speed, paused);
    }
    return NULL;
}

hrc_status live_start(live **out, playground *p, void (*wake)(void *), void *ctx, hrc_error *err)
{
    live *l = calloc(1, sizeof *l);
    if (!l) return fail(err, HRC_ENOMEM, "playground: out of memory");
    l->scene = p, l->wake = wake, l->ctx = ctx;
    l->speed = l->pace = 1;
    pthread_mutex_init(&l->lock, NULL);
    if (pthread_create(&l->thread, NULL, live_main, l) != 0) {
        free(l);
        return fail(err, HRC_ENOMEM, "playground: cannot start its thread");
    }
    *out = l;
    return HRC_OK;
}

void live_free(live *l)
{
    if (!l) return;
    pthread_mutex_lock(&l->lock);
    l->stop = true;
    pthread_mutex_unlock(&l->lock);
    pthread_join(l->thread, NULL);
    pthread_mutex_destroy(&l->lock);
    free(l);
}

/* ---- From other threads ---- */

bool live_order(live *l, const play_order *o)
{
    pthread_mutex_lock(&l->lock);
    const bool room = l->norders < BOX;
    if (room) l->orders[l->norders++] = *o;
    pthread_mutex_unlock(&l->lock);
    return room;
}

void live_restore(live *l, const play_run *run)
{
    pthread_mutex_lock(&l->lock);
    if (!l->restore) l->run = *run;
    l->restore = true;
    pthread_mutex_unlock(&l->lock);
}

void live_pause(live *l, bool on)
{
    pthread_mutex_lock(&l->lock);
    l->paused = on;
    pthread_mutex_unlock(&l->lock);
}

void live_speed(live *l, double speed)
{
    pthread_mutex_lock(&l->lock);
    l->speed = speed;
    pthread_mutex_unlock(&l->lock);
}

void live_single(live *l)
{
    pthread_mutex_lock(&l->lock);
    l->single = true;
    pthread_mutex_unlock(&l->lock);
}

int live_frame(live *l, float out[LIVE_FRAME], int64_t *seen)
{
    pthread_mutex_lock(&l->lock);
    const int n = l->frames > *seen ? l->nframe : 0;
    memcpy(out, l->frame, sizeof *out * (size_t)n);
    *seen = l->frames;
    pthread_mutex_unlock(&l->lock);
    return n;
}

live_status live_state(live *l)
{
    pthread_mutex_lock(&l->lock);
    const live_status s = l->status;
    pthread_mutex_unlock(&l->lock);
    return s;
}

void live_run(live *l, play_run *out)
{
    pthread_mutex_lock(&l->lock);
    *out = l->done;
    pthread_mutex_unlock(&l->lock);
}

live_counts live_count(live *l)
{
    pthread_mutex_lock(&l->lock);
    const live_counts c = l->counts;
    pthread_mutex_unlock(&l->lock);
    return c;
}
