#include "learn/rises.h"

#include <string.h>

#include "motion/phases.h"

#define LONGEST 600 /* frames: of a longer stay only its end is of use */
#define AFTER 50    /* frames of standing at the end */
#define LYING 30    /* frames: who lies for less rolls, dances or kneels */

typedef struct {
    int clip, first, last;
} stretch;

static int lying_frames(const phase *p, int first, int last)
{
    int n = 0;
    for (int i = first; i <= last; i++)
        if (p[i].posture >= POSTURE_SUPINE && p[i].posture <= POSTURE_SIDE_RIGHT)
            n += p[i].last - p[i].first + 1;
    return n;
}

/* The stays of one clip; returns how many. */
static int stretches_of(stretch *out, const phase *p, int nphases, const clip *c, int which)
{
    int n = 0;
    for (int a = 0, b; a < nphases; a = b + 1) {
        for (b = a; b + 1 < nphases && p[b + 1].kind == p[a].kind;) b++;
        if (p[a].kind != PHASE_DOWN || lying_frames(p, a, b) < LYING) continue;
        int stands = b + 1;
        if (stands < nphases && p[stands].kind == PHASE_GETTING_UP) stands++;
        if (stands >= nphases || p[stands].kind != PHASE_STANDING) continue;
        int last = p[stands].first + AFTER < c->n ? p[stands].first + AFTER : c->n - 1;
        int first = last - LONGEST > p[a].first ? last - LONGEST : p[a].first;
        out[n++] = (stretch){which, first, last};
    }
    return n;
}

static hrc_status copy(getups *out, const clip *c, const stretch *s, arena *scratch, hrc_error *err)
{
    const size_t length = (size_t)(s->last - s->first + 1);
    float *qvel = ARENA_NEW(scratch, float, (size_t)c->n *HRC_NV);
    if (!qvel) return fail(err, HRC_ENOMEM, "%s: out of memory", c->name);
    clip_velocities(qvel, c);
    memcpy(out->qpos[out->frames], clip_frame(c, s->first), sizeof *out->qpos * length);
    memcpy(out->qvel[out->frames], qvel + (size_t)s->first * HRC_NV, sizeof *out->qvel * length);
    out->length[out->n++] = (int32_t)length;
    out->frames += (int)length;
    return HRC_OK;
}

static hrc_status find(getups *out, const clip *const *clips, int n, arena *memory, arena *scratch,
                       hrc_error *err)
{
    int frames = 0, count = 0, most = 0;
    for (int i = 0; i < n; i++) most += clips[i]->n;
    stretch *all = ARENA_NEW(scratch, stretch, most + 1);
    if (!all) return fail(err, HRC_ENOMEM, "getting up: out of memory");
    for (int i = 0; i < n; i++) {
        phase *p;
        int nphases;
        TRY(phases_find(scratch, &p, &nphases, clips[i], err));
        int found = stretches_of(all + count, p, nphases, clips[i], i);
        for (int k = count; k < count + found; k++) frames += all[k].last - all[k].first + 1;
        count += found;
    }
    out->length = ARENA_NEW(memory, int32_t, count + 1);
    out->qpos = arena_alloc(memory, (size_t)frames + 1, sizeof *out->qpos);
    out->qvel = arena_alloc(memory, (size_t)frames + 1, sizeof *out->qvel);
    if (!out->length || !out->qpos || !out->qvel) return fail(err, HRC_ENOMEM, "getting up: out of memory");
    for (int k = 0; k < count; k++) TRY(copy(out, clips[all[k].clip], &all[k], scratch, err));
    return HRC_OK;
}

hrc_status rises_find(getups *out, const clip *const *clips, int n, arena *memory, hrc_error *err)
{
    arena scratch = {0};
    *out = (getups){0};
    hrc_status status = find(out, clips, n, memory, &scratch, err);
    arena_free(&scratch);
    return status;
}
