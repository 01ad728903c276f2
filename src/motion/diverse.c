#include "motion/diverse.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/rot.h"

#define FPS 50
#define HALF 15  /* frames from a moment's beginning to its middle, and on to its end */
#define EVERY 25 /* frames */
#define SPEED 0.5f
#define TURNING 1.0f /* rad/s */

static const float *frame_at(const clip *c, int i)
{
    return clip_frame(c, i < c->n ? i : c->n - 1);
}

static void features_of(float out[MOMENT_FEATURES], const clip *c, int first)
{
    const float *begin = frame_at(c, first), *end = frame_at(c, first + 2 * HALF);
    const float seconds = 2.0f * HALF / FPS;
    for (int k = 0; k < 3; k++) {
        const posture p = posture_of(frame_at(c, first + k * HALF));
        posture_features(out + k * POSTURE_FEATURES, &p);
    }
    for (int k = 0; k < 3 * POSTURE_FEATURES; k++) out[k] /= sqrtf(3);
    float way[3] = {end[0] - begin[0], end[1] - begin[1], 0}, yaw[4], tilt[4], turn[4];
    quat_split_yawf(yaw, tilt, frame_at(c, first + HALF) + 3);
    quat_rotate_invf(way, yaw, way);
    heading_turn(turn, begin + 3, end + 3);
    float *rest = out + 3 * POSTURE_FEATURES;
    rest[0] = way[0] / seconds / SPEED, rest[1] = way[1] / seconds / SPEED;
    rest[2] = quat_yawf(turn) / seconds / TURNING;
}

hrc_status moments_add(moments *m, const clip *c, hrc_error *err)
{
    const int last = c->n - 1 - 2 * HALF, more = last > 0 ? last / EVERY + 1 : 1;
    if (m->n + more > m->room) {
        const int room = 2 * (m->n + more);
        void *grown = realloc(m->features, (size_t)room * sizeof *m->features);
        if (!grown) return fail(err, HRC_ENOMEM, "%s: out of memory for %d moments", c->name, room);
        m->features = grown, m->room = room;
    }
    for (int i = 0; i < more; i++) features_of(m->features[m->n++], c, i * EVERY);
    return HRC_OK;
}

void moments_free(moments *m)
{
    free(m->features);
    *m = (moments){0};
}

/* Stops as soon as the sum is beyond the bound: most pairs are far apart. */
static bool within(const float *a, const float *b, float squared)
{
    enum { STRIDE = 34 };
    float sum = 0;
    for (int k = 0; k < MOMENT_FEATURES && sum <= squared; k += STRIDE)
        for (int i = k; i < k + STRIDE; i++) sum += (a[i] - b[i]) * (a[i] - b[i]);
    return sum <= squared;
}
_Static_assert(MOMENT_FEATURES % 34 == 0, "the strides of within() cover all features");

double moments_new(const moments *a, const moments *b, double near)
{
    const float squared = (float)(near * near);
    int fresh = 0;
    for (int i = 0; i < a->n; i++) {
        bool known = false;
        for (int k = 0; k < b->n && !known; k++) known = within(a->features[i], b->features[k], squared);
        fresh += !known;
    }
    return a->n ? (double)fresh / a->n : 0;
}
