/* The reference a robot follows: a motion, where in it the robot is, and where on the floor it was placed.
 * A placed frame is the motion's own, turned about the vertical and moved. */
#ifndef HRC_CONTROL_FOLLOW_H
#define HRC_CONTROL_FOLLOW_H

#include <stdbool.h>

#include "robot/g1.h"

/* Frames appended behind a motion while it is followed: a ring at HRC_RATE_HZ, filled by a resampler. Made
 * once; appending never allocates. */
typedef struct {
    int capacity;      /* frames */
    hrc_frame *frames; /* (capacity): frame k lies at k % capacity */
    int n;             /* appended since stream_begin; the last `capacity` of them are there */
    float before[HRC_NQ], last[HRC_NQ]; /* newest two poses at HRC_RATE_HZ, the motion's own at first */
    float source[HRC_NQ];               /* newest pose as it came */
    double next; /* of the next frame at HRC_RATE_HZ, in seconds after the pose `source` */
} stream;

hrc_status stream_create(stream **out, int capacity, hrc_error *err);
void stream_free(stream *s); /* NULL is fine */

/* Nothing appended; goes on from this pose. */
void stream_begin(stream *s, const float qpos[HRC_NQ]);

static inline const hrc_frame *stream_frame(const stream *s, int k)
{
    return &s->frames[k % s->capacity];
}

/* Poses (n, HRC_NQ) at fps; `used`: frames that may be overwritten. On error nothing was appended. */
hrc_status stream_append(stream *s, const float *qpos, int n, double fps, int used, hrc_error *err);

typedef struct {
    hrc_motion motion;  /* n = 0: none */
    const stream *more; /* frames behind its own; NULL: none */
    int frame;          /* at the robot's time */
    bool to_place;      /* at the next step, when the robot's state is known */
    bool waiting;       /* at the first frame, for the robot */
    int waited;         /* steps */
    bool placed;
    float turn[4], from[2], to[2]; /* position on the floor = turn (p - from) + to */
} follower;

int follow_length(const follower *f); /* frames, with those of the stream */

void follow_begin(follower *f, const hrc_motion *motion, int first, int how);
void follow_place(follower *f, const float qpos[HRC_NQ]); /* the present frame where this robot is */

/* The robot is farther from the present frame, or heads further away, than the leash: bring the reference
 * along. 0: never. */
void follow_leash(follower *f, const float qpos[HRC_NQ], float metres, float radians);

/* The frame that lies `ahead` frames after the robot's time. Past the motion's end it is the last one; once
 * the end itself is reached, or while waiting, at rest. */
void follow_frame(const follower *f, int ahead, hrc_frame *out);

/* Is the robot where the present frame is: posture, height, tilt and heading? */
bool follow_reached(const follower *f, const float qpos[HRC_NQ]);

void follow_advance(follower *f);

#endif
