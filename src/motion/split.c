#include "motion/split.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/rng.h"

const split_quota SPLIT_QUOTA[SPLIT_CATEGORIES] = {
    {"locomotion", 22}, {"dance", 14},         {"martial", 15},
    {"daily", 14},      {"fall_recovery", 16}, {"jumps_acro", 10},
};

/* ---- Groups ---- */

/* The CMU database lists these subjects' recordings twice, under the same numbers; the first stands for all.
 */
static const int SAME_SUBJECT[][3] = {{63, 64},  {70, 73, 123}, {74, 84},  {77, 139}, {78, 102}, {83, 122},
                                      {85, 117}, {90, 121},     {91, 105}, {93, 103}, {106, 141}};

static int first_subject(int subject)
{
    for (int i = 0; i < COUNT(SAME_SUBJECT); i++)
        for (int k = 1; k < 3; k++)
            if (SAME_SUBJECT[i][k] && SAME_SUBJECT[i][k] == subject) return SAME_SUBJECT[i][0];
    return subject;
}

void split_key(char out[SPLIT_KEY], const char *name)
{
    int subject, digits = 0;
    bool numbered = isdigit((unsigned char)*name) && sscanf(name, "%3d%n_", &subject, &digits) == 1 &&
                    name[digits] == '_';
    if (numbered)
        snprintf(out, SPLIT_KEY, "%02d%s", first_subject(subject), name + digits);
    else
        snprintf(out, SPLIT_KEY, "%s", name);
    /* "-7" at the end numbers a piece of one recording */
    size_t end = strlen(out), number = end;
    while (number && isdigit((unsigned char)out[number - 1])) number--;
    if (number > 1 && number < end && out[number - 1] == '-') out[number - 1] = 0;
}

typedef struct {
    char key[SPLIT_KEY], stratum[SPLIT_KEY];
    const char *category;
    uint64_t order; /* shuffled by the seed */
    int sequences;
    int rank; /* place within its stratum */
    bool heldout;
} group;

static uint64_t shuffled(const char *key, uint64_t seed)
{
    rng r = rng_make(seed, hash_bytes(HASH_START, key, strlen(key)));
    uint64_t high = rng_u32(&r);
    return high << 32 | rng_u32(&r);
}

static bool is_fall(const char *category)
{
    return strcmp(category, "fall_recovery") == 0;
}

/* "supine up": the posture that lasts longest, lying before sitting, and whether the robot gets up. */
static void fall_stratum(char out[SPLIT_KEY], const corpus_entry *e)
{
    int frames[POSTURES] = {0}, most = POSTURE_NONE;
    bool rises = false;
    for (int i = 0; i < e->nphases; i++) {
        const phase *p = &e->phases[i];
        phase_posture posture = p->posture == POSTURE_SIDE_RIGHT ? POSTURE_SIDE_LEFT : p->posture;
        int weight = posture != POSTURE_NONE && posture <= POSTURE_SIDE_RIGHT ? 10 : 1;
        frames[posture] += weight * (p->kind == PHASE_DOWN ? p->last - p->first + 1 : 0);
        if (p->kind == PHASE_STANDING && i > 0) rises = true;
    }
    for (int i = 1; i < POSTURES; i++)
        if (frames[i] > frames[most]) most = i;
    snprintf(out, SPLIT_KEY, "%s%s", posture_word((phase_posture)most), rises ? " up" : "");
}

static void stratum_of(char out[SPLIT_KEY], const char *key, const corpus_entry *e)
{
    if (is_fall(e->category))
        fall_stratum(out, e);
    else
        snprintf(out, SPLIT_KEY, "%.*s", (int)strcspn(key, "_"), key);
}

/* Groups of the entries in order of appearance; of[i] is the group of entry i. Returns how many. */
static int make_groups(group *groups, int *of, corpus_entry *const *entries, int n, uint64_t seed)
{
    int count = 0;
    for (int i = 0; i < n; i++) {
        char key[SPLIT_KEY];
        int g = 0;
        split_key(key, entries[i]->name);
        while (g < count && strcmp(groups[g].key, key) != 0) g++;
        if (g == count) {
            group *new = &groups[count++];
            *new = (group){.category = entries[i]->category, .order = shuffled(key, seed)};
            memcpy(new->key, key, sizeof key);
            stratum_of(new->stratum, key, entries[i]);
        }
        if (strcmp(groups[g].category, entries[i]->category) == 0)
            groups[g].sequences += (entries[i]->n + SPLIT_SEQUENCE_FRAMES - 1) / SPLIT_SEQUENCE_FRAMES;
        of[i] = g;
    }
    return count;
}

/* ---- Choice ---- */

static bool same_stratum(const group *a, const group *b)
{
    return strcmp(a->category, b->category) == 0 && strcmp(a->stratum, b->stratum) == 0;
}

/* Its rank, or -1 when its stratum has given its share without it. */
static int rank_in_stratum(const group *groups, int n, int g)
{
    int size = 0, rank = 0;
    for (int i = 0; i < n; i++)
        if (same_stratum(&groups[i], &groups[g])) {
            size++;
            rank += groups[i].order < groups[g].order;
        }
    return rank < (is_fall(groups[g].category) ? size / 2 : (size + 1) / 2) ? rank : -1;
}

/* By rank, then shuffled: that takes from every stratum in turn. */
static int in_turn(const void *a, const void *b)
{
    const group *p = *(group *const *)a, *q = *(group *const *)b;
    if (p->rank != q->rank) return p->rank - q->rank;
    return (p->order > q->order) - (p->order < q->order);
}

static void fill_quota(group *groups, int n, const split_quota *quota, group **candidates)
{
    int count = 0, sequences = 0;
    for (int i = 0; i < n; i++) {
        if (strcmp(groups[i].category, quota->category) != 0) continue;
        groups[i].rank = rank_in_stratum(groups, n, i);
        if (groups[i].rank >= 0) candidates[count++] = &groups[i];
    }
    if (count) qsort(candidates, (size_t)count, sizeof *candidates, in_turn);
    for (int i = 0; i < count && sequences < quota->sequences; i++) {
        candidates[i]->heldout = true;
        sequences += candidates[i]->sequences;
    }
}

hrc_status split_choose(corpus_entry *const *entries, int n, uint64_t seed, hrc_error *err)
{
    arena memory = {0};
    group *groups = ARENA_NEW(&memory, group, n), **candidates = ARENA_NEW(&memory, group *, n);
    int *of = ARENA_NEW(&memory, int, n);
    if (!groups || !candidates || !of) {
        arena_free(&memory);
        return fail(err, HRC_ENOMEM, "out of memory for the split of %d clips", n);
    }
    int count = make_groups(groups, of, entries, n, seed);
    for (int i = 0; i < SPLIT_CATEGORIES; i++) fill_quota(groups, count, &SPLIT_QUOTA[i], candidates);
    for (int i = 0; i < n; i++) entries[i]->split = groups[of[i]].heldout ? CORPUS_HELDOUT : CORPUS_TRAIN;
    arena_free(&memory);
    return HRC_OK;
}

/* The suites of a corpus' held-out clips. */

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
