#include "sim/reference.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/rot.h"
#include "motion/clip.h"
#include "robot/fk.h"
#include "robot/posture.h"

#define FPS 50.0

static void fill_frame(ref_frame *out, const float *qpos, const float *qvel)
{
    double p[HRC_NQ], v[HRC_NV];
    fk_pose pose;
    fk_velocity velocity;
    for (int i = 0; i < HRC_NQ; i++) p[i] = (double)(out->qpos[i] = qpos[i]);
    for (int i = 0; i < HRC_NV; i++) v[i] = (double)(out->qvel[i] = qvel[i]);
    fk(&pose, p);
    fk_velocities(&velocity, &pose, v);
    for (int b = 0; b < G1_TRACKED; b++) {
        int link = G1_TRACKED_LINK[b];
        for (int k = 0; k < 4; k++) out->quat[b][k] = (float)pose.quat[link][k];
        for (int k = 0; k < 3; k++) {
            out->pos[b][k] = (float)pose.pos[link][k];
            out->lin[b][k] = (float)velocity.lin[link][k];
            out->ang[b][k] = (float)velocity.ang[link][k];
        }
    }
}

static hrc_status fill_clip(ref_frame *out, const clip *c, hrc_error *err)
{
    float *qvel = malloc(sizeof(float) * HRC_NV * (size_t)c->n);
    if (!qvel) return fail(err, HRC_ENOMEM, "%s: out of memory for %d frames", c->name, c->n);
    clip_velocities(qvel, c);
    for (int i = 0; i < c->n; i++) fill_frame(&out[i], clip_frame(c, i), qvel + (size_t)i * HRC_NV);
    free(qvel);
    return HRC_OK;
}

static hrc_status fill_mirrored(ref_frame *out, const clip *c, hrc_error *err)
{
    clip copy;
    TRY(clip_cut(&copy, c, 0, c->n - 1, err));
    clip_mirror(&copy);
    hrc_status status = fill_clip(out, &copy, err);
    clip_free(&copy);
    return status;
}

/* ---- Which paces a motion allows ---- */

#define LEAP_M 0.2

bool ref_flies(const ref_frame *f)
{
    for (int b = 0; b < G1_TRACKED; b++)
        if (f->pos[b][2] < (float)LEAP_M) return false;
    return true;
}

bool ref_leaps(const ref_clip *c, int first, int end)
{
    for (int i = first, flight = 0; i < end && i < c->n; i++) {
        flight = ref_flies(&c->frames[i]) ? flight + 1 : 0;
        if (flight >= REF_LEAP_FRAMES) return true;
    }
    return false;
}

static void find_paces(ref_clip *c)
{
    c->leaps = ref_leaps(c, 0, c->n);
    c->fastest = INFINITY;
    for (int i = 0; i < c->n; i++)
        for (int j = 0; j < HRC_JOINTS; j++)
            c->fastest =
                fmin(c->fastest, G1_JOINT[j].velocity / fmax(fabs((double)c->frames[i].qvel[6 + j]), 1e-3));
    c->fastest = c->leaps ? 1 : fmax(1, c->fastest);
}

typedef struct {
    references *r;
    const clip *clips;
    hrc_status *status;
    hrc_error *errors;
} build;

static void build_clip(void *ctx, int item, int worker)
{
    (void)worker;
    build *b = ctx;
    ref_clip *out = &b->r->clips[item];
    b->status[item] = fill_clip(out->frames, &b->clips[item], &b->errors[item]);
    if (b->status[item] == HRC_OK && out->mirrored)
        b->status[item] = fill_mirrored(out->mirrored, &b->clips[item], &b->errors[item]);
    if (b->status[item] == HRC_OK) find_paces(out);
}

static hrc_status make_room(references *r, const clip *clips, bool mirror, hrc_error *err)
{
    r->clips = ARENA_NEW(&r->memory, ref_clip, r->n);
    if (!r->clips) return fail(err, HRC_ENOMEM, "references: out of memory for %d clips", r->n);
    for (int i = 0; i < r->n; i++) {
        const clip *c = &clips[i];
        if (c->n < 2 || fabs(c->fps - FPS) > 1e-6)
            return fail(err, HRC_EINVAL, "%s: %d frames at %g Hz, expected at least 2 at %g", c->name, c->n,
                        c->fps, FPS);
        r->clips[i] = (ref_clip){.name = arena_strdup(&r->memory, c->name), .n = c->n, .original = -1};
        r->clips[i].frames = ARENA_NEW(&r->memory, ref_frame, c->n);
        if (mirror) r->clips[i].mirrored = ARENA_NEW(&r->memory, ref_frame, c->n);
        if (!r->clips[i].name || !r->clips[i].frames || (mirror && !r->clips[i].mirrored))
            return fail(err, HRC_ENOMEM, "%s: out of memory for %d frames", c->name, c->n);
    }
    return HRC_OK;
}

hrc_status references_build(references *r, const clip *clips, int n, bool mirror, pool *threads,
                            hrc_error *err)
{
    *r = (references){.n = n};
    if (n < 1) return fail(err, HRC_EINVAL, "references: no clips, expected at least 1");
    build b = {r, clips, calloc((size_t)n, sizeof *b.status), calloc((size_t)n, sizeof *b.errors)};
    hrc_status status = b.status && b.errors ? make_room(r, clips, mirror, err)
                                             : fail(err, HRC_ENOMEM, "references: out of memory");
    if (status == HRC_OK) pool_items(threads, n, build_clip, &b);
    for (int i = 0; i < n && status == HRC_OK; i++)
        if (b.status[i] < 0) status = fail(err, b.status[i], "%s", b.errors[i].text);
    free(b.status);
    free(b.errors);
    if (status < 0) references_free(r);
    return status;
}

hrc_status references_pair(references *r, int rehearsal, int original, hrc_error *err)
{
    ref_clip *c = &r->clips[rehearsal], *of = &r->clips[original];
    if (c->n > of->n)
        return fail(err, HRC_EINVAL, "%s: its rehearsal has %d frames, expected at most its own %d", of->name,
                    c->n, of->n);
    c->original = original;
    of->rehearsed = true;
    return HRC_OK;
}

/* ---- Between frames ---- */

typedef struct {
    const ref_frame *a, *b;
    float part; /* of the way from a to b */
} ref_moment;

static ref_moment moment_at(const ref_clip *c, bool mirrored, double at)
{
    const ref_frame *frames = mirrored ? c->mirrored : c->frames;
    const int last = c->n - 1, i = at < last ? (int)at : last;
    return (ref_moment){&frames[i], &frames[i < last ? i + 1 : last], i < last ? (float)(at - i) : 0};
}

static void mix(float *out, const float *a, const float *b, int n, float part, float scale)
{
    for (int i = 0; i < n; i++) out[i] = scale * (a[i] + part * (b[i] - a[i]));
}

/* Neighbours are 20 ms apart: the straight way between two quaternions is as good as the round one. */
static void mix_quat(float out[4], const float a[4], const float b[4], float part)
{
    float other[4], dot = 0;
    for (int k = 0; k < 4; k++) dot += a[k] * b[k];
    for (int k = 0; k < 4; k++) other[k] = dot < 0 ? -b[k] : b[k];
    mix(out, a, other, 4, part, 1);
    quat_normalizef(out);
}

static void mix_pose(float qpos[HRC_NQ], float qvel[HRC_NV], ref_moment m, float pace)
{
    mix(qpos, m.a->qpos, m.b->qpos, HRC_NQ, m.part, 1);
    if (m.part > 0) mix_quat(qpos + 3, m.a->qpos + 3, m.b->qpos + 3, m.part);
    mix(qvel, m.a->qvel, m.b->qvel, HRC_NV, m.part, pace);
}

void ref_pose_between(float qpos[HRC_NQ], float qvel[HRC_NV], const ref_clip *c, bool mirrored, double at,
                      double pace)
{
    mix_pose(qpos, qvel, moment_at(c, mirrored, at), (float)pace);
}

void ref_between(ref_frame *out, const ref_clip *c, bool mirrored, double at, double pace)
{
    const ref_moment m = moment_at(c, mirrored, at);
    mix_pose(out->qpos, out->qvel, m, (float)pace);
    mix(out->pos[0], m.a->pos[0], m.b->pos[0], 3 * G1_TRACKED, m.part, 1);
    mix(out->lin[0], m.a->lin[0], m.b->lin[0], 3 * G1_TRACKED, m.part, (float)pace);
    mix(out->ang[0], m.a->ang[0], m.b->ang[0], 3 * G1_TRACKED, m.part, (float)pace);
    memcpy(out->quat, m.a->quat, sizeof out->quat);
    for (int b = 0; m.part > 0 && b < G1_TRACKED; b++)
        mix_quat(out->quat[b], m.a->quat[b], m.b->quat[b], m.part);
}

void ref_turn(float qpos[HRC_NQ], float qvel[HRC_NV], double yaw)
{
    float turn[4];
    quat_from_yawf(turn, (float)yaw);
    quat_mulf(qpos + 3, turn, qpos + 3);
    quat_rotatef(qvel, turn, qvel); /* the angular velocity is in the root's own frame */
}

void references_free(references *r)
{
    arena_free(&r->memory);
    *r = (references){0};
}

int ref_stands_in(const ref_clip *c, int frame, int within)
{
    for (int i = frame; i < c->n && i < frame + within; i++)
        if (c->frames[i].qpos[2] > POSTURE_STAND_M) return i - frame;
    return -1;
}
