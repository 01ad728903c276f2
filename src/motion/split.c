#include "motion/split.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/rng.h"
#include "motion/split_quotas.h"

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
