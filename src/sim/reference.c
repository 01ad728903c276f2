#include "sim/reference.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "motion/edit.h"
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
        r->clips[i] = (ref_clip){.name = arena_strdup(&r->memory, c->name), .n = c->n};
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

static hrc_status fill_shown(ref_shown *out, const clip *c, bool still, hrc_error *err)
{
    float *qvel = malloc(sizeof(float) * HRC_NV * (size_t)c->n);
    if (!qvel) return fail(err, HRC_ENOMEM, "%s: out of memory for %d frames", c->name, c->n);
    clip_velocities(qvel, c);
    for (int i = 0; i < c->n; i++) {
        memcpy(out[i].qpos, clip_frame(c, i), sizeof out[i].qpos);
        if (still)
            memset(out[i].qvel, 0, sizeof out[i].qvel);
        else
            memcpy(out[i].qvel, qvel + (size_t)i * HRC_NV, sizeof out[i].qvel);
    }
    free(qvel);
    return HRC_OK;
}

hrc_status references_show(references *r, int which, const clip *shown, bool still, hrc_error *err)
{
    ref_clip *c = &r->clips[which];
    clip copy;
    if (shown->n != c->n)
        return fail(err, HRC_EINVAL, "%s: %d frames to show, expected %d", c->name, shown->n, c->n);
    c->shown = ARENA_NEW(&r->memory, ref_shown, c->n);
    if (c->mirrored) c->shown_mirrored = ARENA_NEW(&r->memory, ref_shown, c->n);
    if (!c->shown || (c->mirrored && !c->shown_mirrored))
        return fail(err, HRC_ENOMEM, "%s: out of memory for %d frames", c->name, c->n);
    TRY(fill_shown(c->shown, shown, still, err));
    if (!c->mirrored) return HRC_OK;
    TRY(clip_cut(&copy, shown, 0, shown->n - 1, err));
    clip_mirror(&copy);
    const hrc_status status = fill_shown(c->shown_mirrored, &copy, still, err);
    clip_free(&copy);
    return status;
}

obs_frame ref_show(const ref_clip *c, bool mirrored, int frame)
{
    const int i = frame < c->n ? frame : c->n - 1;
    if (c->shown) {
        const ref_shown *s = &(mirrored ? c->shown_mirrored : c->shown)[i];
        return (obs_frame){s->qpos, s->qvel};
    }
    const ref_frame *f = &(mirrored ? c->mirrored : c->frames)[i];
    return (obs_frame){f->qpos, f->qvel};
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
