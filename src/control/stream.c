#include "control/stream.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "robot/bounds.h"
#include "robot/state.h"

#define SOONEST 1e-9    /* s: two instants that are one */
#define MOST 1000000000 /* frames of a stream: 231 days */

hrc_status stream_create(stream **out, int capacity, hrc_error *err)
{
    stream *s = calloc(1, sizeof *s);
    if (s) s->frames = calloc((size_t)capacity + 1, sizeof *s->frames);
    if (!s || !s->frames) {
        stream_free(s);
        return fail(err, HRC_ENOMEM, "stream: out of memory for %d frames", capacity);
    }
    s->capacity = capacity;
    for (int i = 0; i < capacity; i++) s->frames[i].qpos[3] = 1; /* no page is touched first when it counts */
    *out = s;
    return HRC_OK;
}

void stream_free(stream *s)
{
    if (!s) return;
    free(s->frames);
    free(s);
}

void stream_begin(stream *s, const float qpos[HRC_NQ])
{
    s->n = 0;
    memcpy(s->before, qpos, sizeof s->before);
    memcpy(s->last, qpos, sizeof s->last);
    memcpy(s->source, qpos, sizeof s->source);
    s->next = 1.0 / HRC_RATE_HZ;
}

/* What is being appended: a stream that is not committed yet. */
typedef struct {
    stream s;
    int committed, used, number; /* frames that were there; that may be overwritten; of the caller's pose */
    float seam[HRC_NV];          /* the last committed frame's velocity, now that there is one after it */
} adding;

static hrc_status emit(adding *a, const float pose[HRC_NQ], hrc_error *err)
{
    stream *s = &a->s;
    float poses[3][HRC_NQ], speeds[3][HRC_NV];
    if (s->n - a->used >= s->capacity || s->n >= MOST)
        return fail(err, HRC_EFULL, "append: pose %d finds %d frames ahead of the robot, expected at most %d",
                    a->number, s->n - a->used, s->capacity);
    memcpy(poses[0], s->before, sizeof poses[0]);
    memcpy(poses[1], s->last, sizeof poses[1]);
    memcpy(poses[2], pose, sizeof poses[2]);
    g1_velocities(speeds[0], poses[0], 3, HRC_RATE_HZ);
    TRY(bounds_motion_frame(a->number, pose, speeds[2], err));
    hrc_frame *frame = &s->frames[s->n % s->capacity];
    memcpy(frame->qpos, pose, sizeof frame->qpos);
    memcpy(frame->qvel, speeds[2], sizeof frame->qvel);
    if (s->n == a->committed)
        memcpy(a->seam, speeds[1], sizeof a->seam);
    else
        memcpy(s->frames[(s->n - 1) % s->capacity].qvel, speeds[1], sizeof speeds[1]);
    memcpy(s->before, poses[1], sizeof s->before);
    memcpy(s->last, poses[2], sizeof s->last);
    s->n++;
    return HRC_OK;
}

/* The frames at HRC_RATE_HZ up to a pose that comes `period` seconds after the one before. */
static hrc_status advance(adding *a, const float pose[HRC_NQ], double period, hrc_error *err)
{
    stream *s = &a->s;
    static const float at_rest[HRC_NV];
    TRY(bounds_motion_frame(a->number, pose, at_rest, err));
    for (; s->next <= period + SOONEST; s->next += 1.0 / HRC_RATE_HZ) {
        float between[HRC_NQ];
        if (s->next > period - SOONEST)
            memcpy(between, pose, sizeof between);
        else
            g1_pose_between(between, s->source, pose, s->next / period);
        TRY(emit(a, between, err));
    }
    s->next -= period;
    memcpy(s->source, pose, sizeof s->source);
    return HRC_OK;
}

hrc_status stream_append(stream *s, const float *qpos, int n, double fps, int used, hrc_error *err)
{
    adding a = {.s = *s, .committed = s->n, .used = used};
    for (; a.number < n; a.number++) TRY(advance(&a, qpos + (size_t)a.number * HRC_NQ, 1 / fps, err));
    if (a.s.n > a.committed && a.committed > used)
        memcpy(s->frames[(a.committed - 1) % s->capacity].qvel, a.seam, sizeof a.seam);
    *s = a.s;
    return HRC_OK;
}
