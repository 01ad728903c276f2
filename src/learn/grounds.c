#include "learn/grounds.h"

#include <string.h>

#include "robot/posture.h"

#define BESIDE 50 /* frames before and after a stay */
#define STAY 15   /* frames: who is down for less ducks */

typedef struct {
    int first, last; /* frames, both included; last < first: none */
} stretch;

/* The next stay from frame `at` on, with what is beside it; stays that are near each other are one. */
static stretch next_stay(const clip *c, int at)
{
    stretch s = {c->n, -1};
    int down = 0;
    for (int i = at; i < c->n && !(s.last >= 0 && i > s.last + 2 * BESIDE); i++) {
        down = clip_frame(c, i)[2] < POSTURE_DOWN_M ? down + 1 : 0;
        if (down < STAY) continue;
        if (s.last < 0) s.first = i - STAY + 1;
        s.last = i;
    }
    if (s.last < 0) return s;
    s.first = s.first > BESIDE ? s.first - BESIDE : 0;
    s.last = s.last + BESIDE < c->n ? s.last + BESIDE : c->n - 1;
    return s;
}

static void add(motion_store *out, const clip *c, const stretch *s)
{
    const int n = s->last - s->first + 1;
    memcpy(out->qpos[out->frames], clip_frame(c, s->first), sizeof *out->qpos * (size_t)n);
    out->length[out->n++] = n;
    out->frames += n;
}

hrc_status grounds_find(motion_store *out, const clip *const *clips, int n, arena *memory, hrc_error *err)
{
    int frames = 0, count = 0;
    *out = (motion_store){0};
    for (int pass = 0; pass < 2; pass++) {
        for (int i = 0; i < n; i++)
            for (stretch s = next_stay(clips[i], 0); s.last >= 0; s = next_stay(clips[i], s.last + 1)) {
                if (pass) add(out, clips[i], &s);
                frames += s.last - s.first + 1, count++;
            }
        if (pass) break;
        out->length = ARENA_NEW(memory, int32_t, count + 1);
        out->qpos = arena_alloc(memory, (size_t)frames + 1, sizeof *out->qpos);
        if (!out->length || !out->qpos) return fail(err, HRC_ENOMEM, "motions on the ground: out of memory");
    }
    return HRC_OK;
}
