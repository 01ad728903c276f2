#include "learn/replay.h"

#include <math.h>
#include <string.h>

hrc_status replay_create(replay *r, int worlds, int length, hrc_error *err)
{
    *r = (replay){.worlds = worlds, .length = length};
    r->steps = ARENA_NEW(&r->memory, replay_step, (size_t)worlds * (size_t)length);
    if (!r->steps)
        return fail(err, HRC_ENOMEM, "replay: out of memory for %d steps of %d worlds", length, worlds);
    return HRC_OK;
}

void replay_free(replay *r)
{
    arena_free(&r->memory);
}

static bool shown_fine(const replay_step *s, const references *refs)
{
    if (s->shown_clip == -1) return true;
    return s->shown_clip >= 0 && s->shown_clip < refs->n && s->shown_at >= 0 && s->shown_at < 1e9f &&
           isfinite(s->shown_pace) && isfinite(s->shown_yaw) &&
           (s->shown_mirrored == 0 || (s->shown_mirrored == 1 && refs->clips[s->shown_clip].mirrored));
}

static bool step_fine(const replay_step *s, const references *refs)
{
    const float *const numbers[] = {s->s, s->p, s->target};
    const int counts[] = {WS, OBS_P, HRC_JOINTS};
    for (int k = 0; k < COUNT(counts); k++)
        for (int i = 0; i < counts[k]; i++)
            if (!isfinite(numbers[k][i])) return false;
    return s->clip >= 0 && s->clip < refs->n && s->at >= 0 && s->at < (float)refs->clips[s->clip].n &&
           (s->mirrored == 0 || (s->mirrored == 1 && refs->clips[s->clip].mirrored)) && shown_fine(s, refs) &&
           s->age >= 0 && s->link >= LINK_BROKEN && s->link <= LINK_FAILED;
}

static hrc_status check_steps(const void *ctx, const void *data, int64_t bytes, hrc_error *err)
{
    const replay *r = ctx;
    for (int64_t i = 0; i < bytes / (int64_t)sizeof(replay_step); i++) {
        replay_step s;
        memcpy(&s, (const char *)data + (size_t)i * sizeof s, sizeof s);
        if (!step_fine(&s, r->refs))
            return fail(err, HRC_EFORMAT, "has a step, %lld, that no run with these motions can have",
                        (long long)i);
    }
    return HRC_OK;
}

void replay_state(replay *r, const references *refs, state_list *l, const char *prefix)
{
    r->refs = refs;
    state_add(l, prefix, "replay.n", DT_I64, &r->n, 1);
    state_bulky(l);
    state_add(l, prefix, "replay.steps", DT_U8, r->steps,
              sizeof *r->steps * (size_t)r->worlds * (size_t)r->length);
    state_examine(l, check_steps, r);
    state_bulky(l);
}

static replay_step *slot(const replay *r, int world, int64_t step)
{
    return &r->steps[(size_t)world * (size_t)r->length + (size_t)(step % r->length)];
}

replay_step *replay_next(replay *r, int world)
{
    return slot(r, world, r->n);
}

void replay_advance(replay *r)
{
    r->n++;
}

const replay_step *replay_at(const replay *r, int world, int64_t step)
{
    return slot(r, world, step);
}

bool replay_draw(const replay *r, rng *dice, int horizon, int recent, int *world, int64_t *step)
{
    const int64_t there = r->n < r->length ? r->n : r->length;
    int64_t span = there - horizon;
    if (recent && span > recent) span = recent;
    for (int tries = 0; span > 0 && tries < 1000; tries++) {
        const int w = (int)rng_below(dice, (uint32_t)r->worlds);
        const int64_t at = r->n - 1 - horizon - rng_below(dice, (uint32_t)span);
        bool whole = true;
        for (int i = 0; whole && i < horizon; i++) whole = slot(r, w, at + i)->link == LINK_WHOLE;
        if (!whole) continue;
        *world = w, *step = at;
        return true;
    }
    return false;
}

bool replay_fails(const replay *r, int world, int64_t step, int least, int most)
{
    const int age = slot(r, world, step)->age;
    for (int i = 0; i <= most && step + i < r->n; i++) {
        const replay_step *at = slot(r, world, step + i);
        if (at->age != age + i) return false; /* another episode */
        if (at->lost || at->link == LINK_FAILED) return i >= least;
    }
    return false;
}

void replay_history(const replay *r, float out[OBS_HISTORY][OBS_P], int world, int64_t step)
{
    const int64_t oldest = r->n > r->length ? r->n - r->length : 0;
    int64_t first = step - slot(r, world, step)->age;
    if (first < oldest) first = oldest;
    for (int k = 0; k < OBS_HISTORY; k++) {
        int64_t at = step - (OBS_HISTORY - 1 - k);
        memcpy(out[k], slot(r, world, at < first ? first : at)->p, sizeof out[k]);
    }
}
