/* Frames appended behind a motion while it is followed: a ring at HRC_RATE_HZ, filled by a resampler. Made
 * once; appending never allocates. */
#ifndef HRC_CONTROL_STREAM_H
#define HRC_CONTROL_STREAM_H

#include "robot/g1.h"

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

#endif
