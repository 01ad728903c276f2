#include <math.h>
#include <stdatomic.h>
#include <string.h>

#include "learn/room.h"

#define TRIAL_HEAPS 1000 /* at the most */
#define TRIAL_SEED 4096  /* the same in every round: all rounds teach the same ways */
#define TRIAL_S 6.0      /* what takes longer is of little worth */
#define MOST_TRIED 120   /* ways, evenly among all: of hundreds that rise alike a part will do */
#define FIRST_TRIALS 8   /* robots that these are tried on; the rest is for the best ones */
#define FINALISTS 8
#define WORTH_S 10.0f    /* a way that takes as long is worth nothing */
#define WORTH_MORE 0.02f /* what another way must add to the mean worth */

typedef struct {
    const practice *p;
    const situation *heaps;
    int nheaps, first, count; /* of the heaps these are tried now ... */
    const int *ways;          /* ... with these ways */
    float *worth;             /* (nways, nheaps): 1 - seconds / WORTH_S, 0 when it did not help */
    atomic_bool failed;
} contest;

static void try_way(void *ctx, int item, int worker)
{
    contest *c = ctx;
    const int way = c->ways[item / c->count], heap = c->first + item % c->count;
    practice alone = *c->p;
    attempt a = {.by = BY_TEACHER};
    hrc_error err;
    alone.ways = teacher_only(&c->p->ways, way);
    alone.o.attempt_s = fmin(alone.o.attempt_s, TRIAL_S);
    if (attempt_run(&a, &alone, &c->heaps[heap], 0, 0, worker, &err) < 0) atomic_store(&c->failed, true);
    c->worth[way * c->nheaps + heap] = a.back ? fmaxf(0, 1 - (float)a.back_s / WORTH_S) : 0;
    lessons_free(&a.made);
}

/* What the heaps gain, in all, by a way beside the best of those that are chosen. */
static float gain_of(const float *worth, const float *best, int nheaps)
{
    float sum = 0;
    for (int h = 0; h < nheaps; h++) sum += fmaxf(0, worth[h] - best[h]);
    return sum;
}

/* The way that gains most, or -1. */
static int most_gain(const contest *c, const int *ways, int n, const float *best, float *gain)
{
    int which = -1;
    *gain = 0;
    for (int i = 0; i < n; i++) {
        const float g = gain_of(c->worth + ways[i] * c->nheaps, best, c->nheaps);
        if (g > *gain) *gain = g, which = i;
    }
    return which;
}

/* The best of all ways by themselves; returns how many. */
static int finalists(int *out, const contest *c, int nways, arena *scratch)
{
    float *none = ARENA_NEW(scratch, float, c->nheaps);
    bool *taken = ARENA_NEW(scratch, bool, nways);
    int n = 0;
    if (!none || !taken) return 0;
    for (; n < FINALISTS && n < nways; n++) {
        float most = -1;
        for (int w = 0; w < nways; w++) {
            const float g = gain_of(c->worth + w * c->nheaps, none, c->nheaps);
            if (!taken[w] && g > most) most = g, out[n] = w;
        }
        taken[out[n]] = true;
    }
    return n;
}

/* Greedily: the best way alone, then what adds most to it. */
static void choose_order(practice *p, const contest *c, const int *ways, int n, float *best)
{
    teacher *t = &p->ways;
    for (float gain; t->norder < TEACHER_ORDER;) {
        const int which = most_gain(c, ways, n, best, &gain);
        if (which < 0 || (t->norder && gain < WORTH_MORE * (float)c->nheaps)) break;
        const float *worth = c->worth + ways[which] * c->nheaps;
        int up = 0;
        for (int h = 0; h < c->nheaps; h++) up += worth[h] > 0, best[h] = fmaxf(best[h], worth[h]);
        p->found.up[t->norder] = (float)up / (float)c->nheaps;
        t->order[t->norder++] = ways[which];
    }
    p->found.used = t->norder;
}

static hrc_status run_trials(practice *p, arena *scratch, hrc_error *err)
{
    const int nways = p->ways.nways, nheaps = p->o.trials < TRIAL_HEAPS ? p->o.trials : TRIAL_HEAPS;
    situation *heaps = ARENA_NEW(scratch, situation, nheaps);
    int *ways = ARENA_NEW(scratch, int, nways), best[FINALISTS];
    float *worth = ARENA_NEW(scratch, float, (size_t)nways *nheaps),
          *sofar = ARENA_NEW(scratch, float, nheaps);
    if (!heaps || !ways || !worth || !sofar) return fail(err, HRC_ENOMEM, "practice: out of memory");
    for (int h = 0; h < nheaps; h++) {
        rng dice = rng_make(TRIAL_SEED, (uint64_t)h);
        heaps[h] = (situation){.kind = SITUATION_LYING, .motion = &p->stand, .push_at = -1};
        TRY(situation_lying(&heaps[h], p, FRESH_VARIANT - 1 - h, &dice, 0, err));
    }
    const int tried = nways < MOST_TRIED ? nways : MOST_TRIED;
    for (int i = 0; i < tried; i++) ways[i] = (int)((int64_t)i * nways / tried);
    contest c = {.p = p, .heaps = heaps, .nheaps = nheaps, .ways = ways, .worth = worth};
    c.count = nheaps < FIRST_TRIALS ? nheaps : FIRST_TRIALS;
    pool_items(p->threads, tried * c.count, try_way, &c);
    const int n = finalists(best, &c, nways, scratch);
    c.ways = best, c.first = c.count, c.count = nheaps - c.count;
    pool_items(p->threads, n * c.count, try_way, &c);
    if (atomic_load(&c.failed) || !n)
        return fail(err, HRC_ENOMEM, "practice: the ways up could not be tried");
    choose_order(p, &c, best, n, sofar);
    return HRC_OK;
}

hrc_status contest_run(practice *p, hrc_error *err)
{
    arena scratch = {0};
    p->found.known = p->ways.nways;
    hrc_status status = run_trials(p, &scratch, err);
    arena_free(&scratch);
    return status;
}
