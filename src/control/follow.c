#include "control/follow.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/rot.h"
#include "robot/bounds.h"
#include "robot/posture.h"
#include "robot/state.h"

/* ---- Appending poses ---- */

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

/* How near the robot must be before a waiting motion begins; trackers hold a stance to about half a radian.
 */
#define NEAR_JOINTS 1.2f /* rad, L2 over 29 */
#define NEAR_HEIGHT 0.1f /* m */
#define NEAR_ANGLE 0.35f /* rad */

void follow_begin(follower *f, const hrc_motion *motion, int first, int how)
{
    *f = (follower){.motion = *motion, .frame = first};
    f->to_place = how & HRC_PLACE;
    f->waiting = how & HRC_WAIT;
}

int follow_length(const follower *f)
{
    return f->motion.n + (f->more ? f->more->n : 0);
}

static int kept_within(const follower *f, int frame)
{
    const int last = follow_length(f) - 1;
    return frame < last ? frame : last;
}

static const float *pose_at(const follower *f, int frame)
{
    const int i = kept_within(f, frame);
    return i < f->motion.n ? f->motion.qpos + (size_t)i * HRC_NQ
                           : stream_frame(f->more, i - f->motion.n)->qpos;
}

void follow_place(follower *f, const float qpos[HRC_NQ])
{
    const float *ref = pose_at(f, f->frame);
    heading_turn(f->turn, ref + 3, qpos + 3);
    for (int i = 0; i < 2; i++) f->from[i] = ref[i], f->to[i] = qpos[i];
    f->placed = true;
    f->to_place = false;
}

static void move(const follower *f, float pos[3])
{
    const float way[3] = {pos[0] - f->from[0], pos[1] - f->from[1], 0};
    float turned[3];
    quat_rotatef(turned, f->turn, way);
    for (int i = 0; i < 2; i++) pos[i] = f->to[i] + turned[i];
}

/* The placement as it is, written about the present frame, so that it can be turned there. */
static void hold_here(follower *f, const hrc_frame *now)
{
    const float *ref = pose_at(f, f->frame);
    if (!f->placed) quat_from_yawf(f->turn, 0);
    for (int i = 0; i < 2; i++) f->from[i] = ref[i], f->to[i] = now->qpos[i];
    f->placed = true;
}

void follow_leash(follower *f, const float qpos[HRC_NQ], float metres, float radians)
{
    hrc_frame now;
    float turn[4];
    follow_frame(f, 0, &now);
    const float away[2] = {qpos[0] - now.qpos[0], qpos[1] - now.qpos[1]}, distance = hypotf(away[0], away[1]);
    const float heads = heading_between(now.qpos + 3, qpos + 3);
    const bool far = metres > 0 && distance > metres, turned = radians > 0 && fabsf(heads) > radians;
    if (!far && !turned) return;
    hold_here(f, &now);
    for (int i = 0; far && i < 2; i++) f->to[i] += away[i] * (1 - metres / distance);
    if (!turned) return;
    quat_from_yawf(turn, heads - copysignf(radians, heads));
    quat_mulf(f->turn, turn, f->turn);
    quat_normalizef(f->turn);
}

static const float *velocity_at(const follower *f, int frame)
{
    const int i = kept_within(f, frame);
    return i < f->motion.n ? f->motion.qvel + (size_t)i * HRC_NV
                           : stream_frame(f->more, i - f->motion.n)->qvel;
}

static void put_in_place(const follower *f, hrc_frame *out)
{
    if (!f->placed) return;
    move(f, out->qpos);
    quat_mulf(out->qpos + 3, f->turn, out->qpos + 3);
    quat_rotatef(out->qvel, f->turn, out->qvel);
}

void follow_frame(const follower *f, int ahead, hrc_frame *out)
{
    const bool rest = f->waiting || f->frame >= follow_length(f) - 1;
    const int frame = f->waiting ? f->frame : f->frame + ahead;
    memcpy(out->qpos, pose_at(f, frame), sizeof out->qpos);
    memcpy(out->qvel, velocity_at(f, frame), sizeof out->qvel);
    if (rest) memset(out->qvel, 0, sizeof out->qvel);
    put_in_place(f, out);
}

bool follow_reached(const follower *f, const float qpos[HRC_NQ])
{
    hrc_frame now;
    float square = 0;
    follow_frame(f, 0, &now);
    for (int i = 7; i < HRC_NQ; i++) square += (qpos[i] - now.qpos[i]) * (qpos[i] - now.qpos[i]);
    return sqrtf(square) < NEAR_JOINTS && fabsf(qpos[2] - now.qpos[2]) < NEAR_HEIGHT &&
           quat_anglef(qpos + 3, now.qpos + 3) < NEAR_ANGLE;
}

void follow_advance(follower *f)
{
    if (f->waiting)
        f->waited++;
    else if (f->frame < follow_length(f) - 1)
        f->frame++;
}
