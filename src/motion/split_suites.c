/* The suites of a corpus' held-out clips. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "motion/split.h"
#include "motion/split_quotas.h"

#define MARGIN 50          /* frames of stillness kept before and after a fall or recovery */
#define SMOKE_SHORTEST 100 /* frames */
#define SMOKE_LONGEST 500
#define LYING_SHORTEST 60 /* frames: less is a roll */
#define RECOVERY_HOLD 0.5 /* s */
#define DISCRETIZED "discretized"

/* Which category the discretized sequences come from, and how long each frame is held. */
static const struct {
    const char *category;
    double hold;
} HELD[] = {
    {"locomotion", 0.2},    {"martial", 0.3}, {"daily", 0.4},         {"dance", 0.5}, {"locomotion", 0.6},
    {"fall_recovery", 0.7}, {"daily", 0.8},   {"fall_recovery", 0.9}, {"martial", 1}, {"locomotion", 0.5},
};

static hrc_status suite_begin(suite *s, int capacity, hrc_error *err)
{
    *s = (suite){0};
    s->sequences = ARENA_NEW(&s->memory, suite_sequence, capacity);
    s->path = "";
    return s->sequences ? HRC_OK
                        : fail(err, HRC_ENOMEM, "out of memory for a suite of %d sequences", capacity);
}

/* The clip's name must outlive the corpus. */
static hrc_status push(suite *s, const char *name, int first, int last, const char *category, double hold,
                       hrc_error *err)
{
    const char *own = arena_strdup(&s->memory, name), *kind = arena_strdup(&s->memory, category);
    if (!own || !kind) return fail(err, HRC_ENOMEM, "out of memory for a suite");
    s->sequences[s->n++] = (suite_sequence){own, kind, first, last, hold};
    return HRC_OK;
}

/* ---- Sequences of up to 20 s ---- */

static int windows_of(const corpus_entry *e)
{
    return (e->n + SPLIT_SEQUENCE_FRAMES - 1) / SPLIT_SEQUENCE_FRAMES;
}

static bool stands_at(const corpus_entry *e, int frame)
{
    for (int i = 0; i < e->nphases; i++)
        if (frame >= e->phases[i].first && frame <= e->phases[i].last)
            return e->phases[i].kind == PHASE_STANDING;
    return false;
}

/* First frame of window w: where the robot stands, as near to an even division as the longest window and
 * those that are left allow. */
static int window_begin(const corpus_entry *e, int w)
{
    int count = windows_of(e);
    if (w == 0 || w == count) return w ? e->n : 0;
    int even = (int)((int64_t)e->n * w / count), earliest = e->n - (count - w) * SPLIT_SEQUENCE_FRAMES,
        latest = window_begin(e, w - 1) + SPLIT_SEQUENCE_FRAMES;
    for (int away = 0; even - away >= earliest || even + away <= latest; away++) {
        if (even - away >= earliest && even - away > window_begin(e, w - 1) && stands_at(e, even - away))
            return even - away;
        if (even + away <= latest && even + away < e->n && stands_at(e, even + away)) return even + away;
    }
    return even < latest ? even : latest;
}

static bool belongs(const corpus_entry *e, const split_quota *quota)
{
    return e->split == CORPUS_HELDOUT && strcmp(e->category, quota->category) == 0;
}

/* Every clip gives its first window before any gives its second, until the quota is filled. */
static hrc_status push_category(suite *s, const corpus *c, const split_quota *quota, hrc_error *err)
{
    int rounds = 0, left = quota->sequences, last_round = 0; /* what the last round may take */
    for (int found = 1; found > 0 && left > 0; left -= found) {
        found = 0;
        for (int i = 0; i < c->nclips; i++)
            found += belongs(&c->clips[i], quota) && windows_of(&c->clips[i]) > rounds;
        rounds++;
        last_round = left;
    }
    for (int i = 0; i < c->nclips; i++) {
        const corpus_entry *e = &c->clips[i];
        if (!belongs(e, quota)) continue;
        int count = windows_of(e);
        if (count >= rounds) count = last_round-- > 0 ? rounds : rounds - 1;
        for (int w = 0; w < count; w++)
            TRY(push(s, e->name, window_begin(e, w), window_begin(e, w + 1) - 1, quota->category, 0, err));
    }
    return HRC_OK;
}

/* Use `use` of `uses` of the n sequences of a category, spread over them; NULL when it has none. */
static const suite_sequence *spread(const suite *s, int n, const char *category, int use, int uses)
{
    int count = 0;
    for (int i = 0; i < n; i++) count += !strcmp(s->sequences[i].category, category);
    int wanted = (2 * use + 1) * count / (2 * uses);
    for (int i = 0; i < n; i++)
        if (!strcmp(s->sequences[i].category, category) && wanted-- == 0) return &s->sequences[i];
    return NULL;
}

static hrc_status push_discretized(suite *s, hrc_error *err)
{
    int continuous = s->n;
    for (int i = 0; i < COUNT(HELD); i++) {
        int use = 0, uses = 0;
        for (int k = 0; k < COUNT(HELD); k++)
            if (!strcmp(HELD[k].category, HELD[i].category)) use += k < i, uses++;
        const suite_sequence *q = spread(s, continuous, HELD[i].category, use, uses);
        if (q) TRY(push(s, q->clip, q->first, q->last, DISCRETIZED, HELD[i].hold, err));
    }
    return HRC_OK;
}

static hrc_status make_heldout(suite *s, const corpus *c, hrc_error *err)
{
    int capacity = COUNT(HELD);
    for (int i = 0; i < c->nclips; i++) capacity += windows_of(&c->clips[i]);
    TRY(suite_begin(s, capacity, err));
    for (int i = 0; i < SPLIT_CATEGORIES; i++) TRY(push_category(s, c, &SPLIT_QUOTA[i], err));
    if (s->n == 0)
        return fail(err, HRC_EINVAL, "%s: holds out no clip of a category that the suites know",
                    c->file.path);
    return push_discretized(s, err);
}

/* ---- Falls and recoveries ---- */

static bool lies(phase_posture posture)
{
    return posture >= POSTURE_SUPINE && posture <= POSTURE_SIDE_RIGHT;
}

static const char *way_up(phase_posture posture)
{
    return posture == POSTURE_SUPINE  ? "lie-to-stand"
           : posture == POSTURE_PRONE ? "prone-to-stand"
                                      : "side-to-stand";
}

static int at_most(int x, int limit)
{
    return x < limit ? x : limit;
}

static hrc_status push_twice(suite *s, const char *name, int first, int last, const char *category,
                             hrc_error *err)
{
    last = at_most(last, first + SPLIT_SEQUENCE_FRAMES - 1);
    TRY(push(s, name, first, last, category, 0, err));
    return push(s, name, first, last, category, RECOVERY_HOLD, err);
}

/* One stay on the ground: phases a .. b are all down. */
static hrc_status push_stay(suite *s, const corpus_entry *e, int a, int b, hrc_error *err)
{
    const phase *p = e->phases, *first = NULL, *longest = NULL;
    for (int i = a; i <= b; i++) {
        if (!lies(p[i].posture) || p[i].last - p[i].first + 1 < LYING_SHORTEST) continue;
        if (!first) first = &p[i];
        if (!longest || p[i].last - p[i].first > longest->last - longest->first) longest = &p[i];
    }
    if (!first) return HRC_OK;
    int stood = a - 1, stands = b + 1;
    if (stood >= 0 && p[stood].kind == PHASE_FALLING) stood--;
    if (stands < e->nphases && p[stands].kind == PHASE_GETTING_UP) stands++;
    if (stood >= 0 && p[stood].kind == PHASE_STANDING) {
        int begin = p[stood].last - MARGIN > p[stood].first ? p[stood].last - MARGIN : p[stood].first;
        TRY(push_twice(s, e->name, begin, at_most(first->last, first->first + 2 * MARGIN), "stand-to-lie",
                       err));
    }
    if (stands < e->nphases && p[stands].kind == PHASE_STANDING) {
        int begin = longest->last - MARGIN > longest->first ? longest->last - MARGIN : longest->first;
        TRY(push_twice(s, e->name, begin, at_most(p[stands].last, p[stands].first + MARGIN),
                       way_up(longest->posture), err));
    }
    return HRC_OK;
}

static hrc_status make_recovery(suite *s, const corpus *c, hrc_error *err)
{
    int capacity = 0;
    for (int i = 0; i < c->nclips; i++) capacity += 4 * c->clips[i].nphases;
    TRY(suite_begin(s, capacity, err));
    for (int i = 0; i < c->nclips; i++) {
        const corpus_entry *e = &c->clips[i];
        if (e->split != CORPUS_HELDOUT || strcmp(e->category, "fall_recovery") != 0) continue;
        for (int a = 0, b; a < e->nphases; a = b + 1) {
            for (b = a; b + 1 < e->nphases && e->phases[b + 1].kind == e->phases[a].kind;) b++;
            if (e->phases[a].kind == PHASE_DOWN) TRY(push_stay(s, e, a, b, err));
        }
    }
    return HRC_OK;
}

/* ---- Smoke ---- */

/* The n-th sequence of the category that is neither too short nor too long; without one, the category's
 * first. */
static hrc_status push_short(suite *s, const suite *from, const char *category, int nth, hrc_error *err)
{
    const suite_sequence *any = NULL, *good = NULL;
    for (int i = 0; i < from->n && !good; i++) {
        const suite_sequence *q = &from->sequences[i];
        int frames = q->last - q->first + 1;
        if (strcmp(q->category, category) != 0) continue;
        if (!any) any = q;
        if (frames >= SMOKE_SHORTEST && frames <= SMOKE_LONGEST && nth-- == 0) good = q;
    }
    if (!good) good = any;
    return good ? push(s, good->clip, good->first, good->last, category, good->hold, err) : HRC_OK;
}

static hrc_status make_smoke(suite *s, const suite *heldout, hrc_error *err)
{
    TRY(suite_begin(s, SPLIT_CATEGORIES + 2, err));
    for (int i = 0; i < SPLIT_CATEGORIES; i++) TRY(push_short(s, heldout, SPLIT_QUOTA[i].category, 0, err));
    TRY(push_short(s, heldout, "fall_recovery", 1, err));
    return push_short(s, heldout, DISCRETIZED, 0, err);
}

void split_suites_free(split_suites *s)
{
    suite_free(&s->heldout);
    suite_free(&s->recovery);
    suite_free(&s->smoke);
}

hrc_status split_make_suites(split_suites *out, const corpus *c, hrc_error *err)
{
    *out = (split_suites){0};
    hrc_status status = make_heldout(&out->heldout, c, err);
    if (status >= 0) status = make_recovery(&out->recovery, c, err);
    if (status >= 0) status = make_smoke(&out->smoke, &out->heldout, err);
    if (status < 0) split_suites_free(out);
    return status;
}
