#include "play/recorder.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FRAMES (RECORDER_S * HRC_RATE_HZ)
#define EVENTS 256
#define CHUNK 50 /* frames that are copied under one hold of the lock: about 80 kB */
#define ARRAYS (ROLLOUT_REF | ROLLOUT_TARGET | ROLLOUT_TORQUE | ROLLOUT_SIGNALS | ROLLOUT_PLAN)

typedef struct {
    int64_t frame;
    char text[96];
} note;

struct recorder {
    pthread_mutex_t lock;
    rollout ring[RECORDER_ROBOTS]; /* frame i is at i % FRAMES */
    int robots;
    int64_t count;  /* frames so far */
    int64_t marked; /* -1: not */
    note notes[EVENTS];
    int64_t nnotes; /* note i is at i % EVENTS */
};

hrc_status recorder_create(recorder **out, hrc_error *err)
{
    recorder *r = calloc(1, sizeof *r);
    if (!r) return fail(err, HRC_ENOMEM, "recorder: out of memory");
    pthread_mutex_init(&r->lock, NULL);
    r->robots = 1;
    r->marked = -1;
    for (int i = 0; i < RECORDER_ROBOTS; i++) {
        hrc_status status = rollout_create(&r->ring[i], FRAMES, HRC_RATE_HZ, "ring", ARRAYS, 0, err);
        if (status == HRC_OK) continue;
        recorder_free(r);
        return status;
    }
    *out = r;
    return HRC_OK;
}

void recorder_free(recorder *r)
{
    if (!r) return;
    for (int i = 0; i < RECORDER_ROBOTS; i++) rollout_free(&r->ring[i]);
    pthread_mutex_destroy(&r->lock);
    free(r);
}

void recorder_clear(recorder *r, int robots)
{
    pthread_mutex_lock(&r->lock);
    r->robots = robots;
    r->count = r->nnotes = 0;
    if (r->marked >= 0) r->marked = 0;
    pthread_mutex_unlock(&r->lock);
}

void recorder_add(recorder *r, int robot, const float qpos[HRC_NQ], const hrc_target *target,
                  const double torque[HRC_JOINTS], const hrc_report *report)
{
    rollout *o = &r->ring[robot];
    pthread_mutex_lock(&r->lock);
    const size_t i = (size_t)(r->count % FRAMES);
    memcpy(o->qpos + i * HRC_NQ, qpos, HRC_NQ * sizeof *qpos);
    for (int k = 0; k < HRC_JOINTS; k++) {
        o->target[i * HRC_JOINTS + k] = (float)target->q[k];
        o->torque[i * HRC_JOINTS + k] = (float)torque[k];
    }
    memset(o->plan + i * HRC_KEYFRAMES * HRC_NQ, 0, sizeof(float) * HRC_KEYFRAMES * HRC_NQ);
    rollout_control(o, (int)i, report);
    pthread_mutex_unlock(&r->lock);
}

void recorder_next(recorder *r)
{
    pthread_mutex_lock(&r->lock);
    r->count++;
    pthread_mutex_unlock(&r->lock);
}

void recorder_note(recorder *r, const char *text)
{
    pthread_mutex_lock(&r->lock);
    note *n = &r->notes[r->nnotes++ % EVENTS];
    n->frame = r->count;
    snprintf(n->text, sizeof n->text, "%s", text);
    pthread_mutex_unlock(&r->lock);
}

void recorder_mark(recorder *r, bool on)
{
    pthread_mutex_lock(&r->lock);
    r->marked = on ? r->count : -1;
    pthread_mutex_unlock(&r->lock);
}

/* The first frame that may be asked for; the lock is held. */
static int64_t first_frame(const recorder *r)
{
    const int64_t oldest = r->count > FRAMES ? r->count - FRAMES : 0;
    return r->marked > oldest ? r->marked : oldest;
}

recorder_status recorder_state(recorder *r)
{
    pthread_mutex_lock(&r->lock);
    recorder_status s = {.robots = r->robots,
                         .seconds = (double)(r->count - first_frame(r)) / HRC_RATE_HZ,
                         .marked = r->marked >= 0};
    pthread_mutex_unlock(&r->lock);
    return s;
}

static void copy_frame(rollout *out, int to, const rollout *ring, size_t from)
{
    memcpy(out->qpos + (size_t)to * HRC_NQ, ring->qpos + from * HRC_NQ, HRC_NQ * sizeof(float));
#define X(name, width)                                                                                       \
    memcpy(out->name + (size_t)to * (width), ring->name + from * (width), (width) * sizeof(float));
    ROLLOUT_ARRAYS(X)
#undef X
}

/* Frames first .. first + out->n - 1; those that were overwritten meanwhile become their successors. */
static void copy_frames(recorder *r, int robot, int64_t first, rollout *out)
{
    for (int i = 0; i < out->n;) {
        pthread_mutex_lock(&r->lock);
        const int64_t oldest = r->count > FRAMES ? r->count - FRAMES : 0;
        for (int end = i + CHUNK; i < out->n && i < end; i++) {
            const int64_t frame = first + i > oldest ? first + i : oldest;
            copy_frame(out, i, &r->ring[robot], (size_t)(frame % FRAMES));
        }
        pthread_mutex_unlock(&r->lock);
    }
}

static void copy_notes(recorder *r, int64_t first, rollout *out)
{
    pthread_mutex_lock(&r->lock);
    for (int64_t k = r->nnotes > EVENTS ? r->nnotes - EVENTS : 0; k < r->nnotes; k++) {
        const note *n = &r->notes[k % EVENTS];
        if (n->frame < first || n->frame >= first + out->n) continue;
        const char *kept = arena_strdup(&out->memory, n->text);
        if (kept)
            out->events[out->nevents++] = (rollout_event){(double)(n->frame - first) / HRC_RATE_HZ, kept};
    }
    pthread_mutex_unlock(&r->lock);
}

hrc_status recorder_take(recorder *r, int robot, const char *name, rollout *out, hrc_error *err)
{
    pthread_mutex_lock(&r->lock);
    const int64_t first = first_frame(r), n = r->count - first;
    const int robots = r->robots;
    pthread_mutex_unlock(&r->lock);
    if (robot < 0 || robot >= robots)
        return fail(err, HRC_EINVAL, "recording: robot %d, expected 0 to %d", robot, robots - 1);
    if (n < 2) return fail(err, HRC_EINVAL, "recording: there are %d frames, expected at least 2", (int)n);
    TRY(rollout_create(out, (int)n, HRC_RATE_HZ, name, ARRAYS, EVENTS, err));
    copy_frames(r, robot, first, out);
    copy_notes(r, first, out);
    return HRC_OK;
}
