#include "learn/blurs.h"

#include <string.h>

#include "motion/vary.h"
#include "robot/posture.h"

#define FPS 50

hrc_status blurs_create(blurs *b, int rollouts, int length, arena *memory, hrc_error *err)
{
    const size_t n = (size_t)rollouts * (size_t)length;
    *b = (blurs){length, ARENA_NEW(memory, float, n *HRC_NQ), ARENA_NEW(memory, obs_frame, n)};
    return b->qpos && b->frames ? HRC_OK
                                : fail(err, HRC_ENOMEM, "blurred motions: out of memory for %zu frames", n);
}

static bool on_ground(const imagine_start *s, int n)
{
    for (int i = 0; i < n; i++)
        if (s->frames[s->frame + i].qpos[2] < POSTURE_DOWN_M) return true;
    return false;
}

void blurs_show(const blurs *b, int which, imagine_start *start, double ground, double standing, rng *dice)
{
    const int left = start->n - start->frame, n = left < b->length ? left : b->length;
    const double most = on_ground(start, n) ? ground : standing;
    if (!(most > 0)) return;
    const size_t at = (size_t)which * (size_t)b->length;
    clip seen = {.n = n, .fps = FPS, .qpos = b->qpos + at * HRC_NQ};
    for (int i = 0; i < n; i++)
        memcpy(clip_frame(&seen, i), start->shown[start->frame + i].qpos, HRC_NQ * sizeof(float));
    const double by = most * rng_double(dice);
    clip_blur(&seen, by, by, dice);
    for (int i = 0; i < n; i++)
        b->frames[at + (size_t)i] = (obs_frame){clip_frame(&seen, i), start->shown[start->frame + i].qvel};
    start->shown = b->frames + at;
    start->shown_first = start->frame;
}
