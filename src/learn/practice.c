#include "learn/practice.h"

#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "learn/room.h"
#include "motion/clip.h"

/* ---- Which ways up lead ---- */

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
        out[n] = 0;
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

/* Tries all ways up on some robots; the few that get up most of them, soonest, become the teacher's order. */
static hrc_status contest_run(practice *p, hrc_error *err)
{
    arena scratch = {0};
    p->found.known = p->ways.nways;
    hrc_status status = run_trials(p, &scratch, err);
    arena_free(&scratch);
    return status;
}

/* ---- Practice ---- */

#define STAND_S 12.0     /* of reference for a robot that lies */
#define BASE_BONUS_S 1.0 /* what the base alone may be slower */
#define HELD_S 0.5       /* of a reference that comes in stills */
#define HELD_EVERY 8     /* clips that stay on their feet, of which one is held, too */

const char *const SITUATION_WORDS[SITUATIONS] = {
#define X(name, words) [SITUATION_##name] = words,
    SITUATION_LIST(X)
#undef X
};

const char *const LESSON_POSTURE[LESSON_POSTURES] = {"standing",     "low",         "on the back",
                                                     "on the front", "on the left", "on the right"};

/* What is tried, in the order in which it is. */
enum { APPROACHES = 6 };
static const approach FROM_GROUND[APPROACHES] = {BY_OWN,     BY_SWITCH, BY_SWITCH,
                                                 BY_TEACHER, BY_NOISE,  BY_OTHER_WAY};
static const approach FROM_FEET[APPROACHES] = {BY_OWN, BY_BASE, BY_NOISE, BY_NOISE, BY_SWITCH, BY_TEACHER};

/* In the first rounds, always the same way first: a planner that is shown many ways from one place learns
 * their mean. */
static const approach GUIDED_FROM_GROUND[APPROACHES] = {BY_TEACHER, BY_SWITCH,    BY_SWITCH,
                                                        BY_SWITCH,  BY_OTHER_WAY, BY_OWN};
static const approach GUIDED_FROM_FEET[APPROACHES] = {BY_BASE,   BY_TEACHER, BY_SWITCH,
                                                      BY_SWITCH, BY_NOISE,   BY_OWN};

/* ---- Create ---- */

static bool goes_down(const clip *c)
{
    for (int i = 0; i < c->n; i++)
        if (clip_frame(c, i)[2] < POSTURE_DOWN_M) return true;
    return false;
}

/* A reference that is held (HELD_S) has no velocities, as in suites (eval/course.h). */
static hrc_status take_clip(practice *p, const clip *c, bool held, hrc_error *err)
{
    const size_t n = (size_t)c->n;
    float *qpos = held ? ARENA_NEW(&p->memory, float, n *HRC_NQ) : c->qpos;
    float *qvel = ARENA_NEW(&p->memory, float, n *HRC_NV);
    if (!qpos || !qvel) return fail(err, HRC_ENOMEM, "practice: out of memory for a clip of %d frames", c->n);
    if (held) {
        clip copy = *c;
        copy.qpos = memcpy(qpos, c->qpos, sizeof *qpos * n * HRC_NQ);
        clip_hold(&copy, HELD_S);
        memset(qvel, 0, sizeof *qvel * n * HRC_NV);
    } else {
        clip_velocities(qvel, c);
    }
    if (goes_down(c)) p->ground[p->nground++] = p->nclips;
    p->motions[p->nclips++] = (hrc_motion){c->n, qpos, qvel};
    return HRC_OK;
}

/* All clips that are long enough; those that go to the ground and some of the others held, too. */
static hrc_status take_clips(practice *p, const clip *const *clips, int n, hrc_error *err)
{
    p->motions = ARENA_NEW(&p->memory, hrc_motion, 2 * (size_t)n);
    p->ground = ARENA_NEW(&p->memory, int, 2 * (size_t)n);
    if (!p->motions || !p->ground) return fail(err, HRC_ENOMEM, "practice: out of memory for %d clips", n);
    for (int i = 0; i < n; i++) {
        if (clips[i]->n < 2 * HRC_RATE_HZ) continue;
        TRY(take_clip(p, clips[i], false, err));
        if (goes_down(clips[i]) || i % HELD_EVERY == 0) TRY(take_clip(p, clips[i], true, err));
    }
    if (!p->nclips) return fail(err, HRC_EINVAL, "practice: none of %d clips is longer than 2 s", n);
    return teacher_create(&p->ways, clips, n, err);
}

static hrc_status make_stand(practice *p, hrc_error *err)
{
    const int n = (int)(STAND_S * HRC_RATE_HZ);
    double stance[HRC_NQ];
    float *qpos = ARENA_NEW(&p->memory, float, n *HRC_NQ), *qvel = ARENA_NEW(&p->memory, float, n *HRC_NV);
    if (!qpos || !qvel) return fail(err, HRC_ENOMEM, "practice: out of memory");
    g1_default_qpos(stance);
    for (int i = 0; i < n * HRC_NQ; i++) qpos[i] = (float)stance[i % HRC_NQ];
    memset(qvel, 0, sizeof(float) * (size_t)n * HRC_NV);
    p->stand = (hrc_motion){n, qpos, qvel};
    return HRC_OK;
}

static hrc_status set_up(practice *p, const config *cfg, const hrc_model *tracker, const hrc_model *planner,
                         const clip *const *clips, int nclips, hrc_error *err)
{
    const hrc_options options = control_options(cfg, p->o.seed);
    TRY(take_clips(p, clips, nclips, err));
    TRY(make_stand(p, err));
    TRY(sim_create(&p->physics, cfg, p->threads, err));
    p->controls = calloc((size_t)pool_threads(p->threads), sizeof *p->controls);
    if (!p->controls) return fail(err, HRC_ENOMEM, "practice: out of memory");
    for (int i = 0; i < pool_threads(p->threads); i++)
        TRY(hrc_controller_create(&p->controls[i], tracker, planner, &options, err));
    return HRC_OK;
}

hrc_status practice_create(practice **out, const config *cfg, const hrc_model *tracker,
                           const hrc_model *planner, const clip *const *clips, int nclips,
                           const practice_options *options, pool *threads, hrc_error *err)
{
    practice *p = calloc(1, sizeof *p);
    if (!p) return fail(err, HRC_ENOMEM, "practice: out of memory");
    p->o = *options;
    p->threads = threads;
    p->horizon = planner->plan.layout.horizon;
    hrc_status status = set_up(p, cfg, tracker, planner, clips, nclips, err);
    if (status == HRC_OK && p->o.taught && p->o.trials > 0 && p->ways.nways) status = contest_run(p, err);
    if (status < 0) {
        practice_free(p);
        return status;
    }
    *out = p;
    return HRC_OK;
}

void practice_free(practice *p)
{
    if (!p) return;
    for (int i = 0; p->controls && i < pool_threads(p->threads); i++) hrc_controller_free(p->controls[i]);
    free(p->controls);
    sim_free(p->physics);
    teacher_free(&p->ways);
    arena_free(&p->memory);
    free(p);
}

practice_ways practice_ways_of(const practice *p)
{
    return p->found;
}

/* ---- One situation ---- */

typedef struct {
    situation_kind kind;
    bool made;
    bool own; /* the first attempt, the planner as in use, came back */
    double own_s;
    int kept;
    attempt best[4]; /* the quickest */
    hrc_status status;
    hrc_error error;
} outcome_of_situation;

enum { MOST_KEPT = 4 };

static bool from_ground(situation_kind kind)
{
    return kind == SITUATION_LYING || kind == SITUATION_BEHIND;
}

static double worth(const attempt *a)
{
    return a->back_s - (a->by == BY_BASE ? BASE_BONUS_S : 0);
}

/* Into the list of the best, which takes its lessons over; what is beaten is dropped. */
static void rank_attempt(outcome_of_situation *o, attempt *a, int most)
{
    int at = o->kept;
    while (at > 0 && worth(a) < worth(&o->best[at - 1])) at--;
    if (!a->back || at >= most) {
        lessons_free(&a->made);
        return;
    }
    if (o->kept == most) lessons_free(&o->best[--o->kept].made);
    memmove(&o->best[at + 1], &o->best[at], sizeof o->best[0] * (size_t)(o->kept - at));
    o->best[at] = *a;
    o->kept++;
}

static hrc_status practise(outcome_of_situation *o, const practice *p, int number, int worker, hrc_error *err)
{
    rng dice = rng_make(p->o.seed, (uint64_t)number);
    situation s;
    TRY(situation_make(&s, p, number, &dice, worker, &o->made, err));
    o->kind = s.kind;
    if (!o->made) return HRC_OK;
    const approach *ways = from_ground(s.kind) ? p->o.guided ? GUIDED_FROM_GROUND : FROM_GROUND
                           : p->o.guided       ? GUIDED_FROM_FEET
                                               : FROM_FEET;
    const int most = p->o.kept < MOST_KEPT ? p->o.kept : MOST_KEPT;
    int successes = 0;
    for (int i = 0; i < p->o.attempts && i < APPROACHES && successes < most; i++) {
        attempt a = {.by = ways[i]};
        const int others = p->ways.norder ? p->ways.norder - 1 : 5;
        const int rank = a.by == BY_OTHER_WAY && others ? 1 + (int)rng_below(&dice, (uint32_t)others) : 0;
        const uint64_t seed = ((uint64_t)number << 8) + (uint64_t)i + 1;
        if (a.by >= BY_SWITCH && !p->o.taught) continue;
        hrc_status status = attempt_run(&a, p, &s, seed, rank, worker, err);
        if (status < 0) {
            lessons_free(&a.made);
            return status;
        }
        if (a.by == BY_OWN) o->own = a.back, o->own_s = a.back_s;
        successes += a.back;
        const bool masters =
            i == 0 && a.by == BY_OWN && a.back && from_ground(s.kind); /* look for what it does not */
        rank_attempt(o, &a, most);
        if (masters) break;
    }
    return HRC_OK;
}

/* ---- Many ---- */

typedef struct {
    const practice *p;
    int first;
    outcome_of_situation *outcomes;
} job;

static void run_one(void *ctx, int item, int worker)
{
    const job *j = ctx;
    outcome_of_situation *o = &j->outcomes[item];
    o->status = practise(o, j->p, j->first + item, worker, &o->error);
}

static hrc_status collect(const outcome_of_situation *o, int number, lessons *out, practice_counts *counts,
                          hrc_error *err)
{
    if (o->status < 0) return fail(err, o->status, "%s", o->error.text);
    if (!o->made) return HRC_OK;
    counts->tried[o->kind]++;
    counts->own[o->kind] += o->own;
    counts->own_s[o->kind] += o->own ? o->own_s : 0;
    counts->returned[o->kind] += o->kept > 0;
    const int kept = o->kept && o->best[0].by == BY_BASE ? 1 : o->kept; /* it suffices */
    for (int k = 0; k < kept; k++)
        for (int i = 0; i < o->best[k].made.n; i++) {
            const int label = o->best[k].made.label[i];
            counts->lessons[label / LESSON_POSTURES][label % LESSON_POSTURES]++;
            TRY(lessons_add(out, &o->best[k].made.list[i], label, number, err));
        }
    return HRC_OK;
}

hrc_status practice_run(practice *p, int first, int n, lessons *out, practice_counts *counts, hrc_error *err)
{
    job j = {p, first, calloc((size_t)n, sizeof *j.outcomes)};
    if (!j.outcomes) return fail(err, HRC_ENOMEM, "practice: out of memory for %d situations", n);
    out->horizon = p->horizon;
    pool_items(p->threads, n, run_one, &j);
    hrc_status status = HRC_OK;
    for (int i = 0; i < n; i++) {
        if (status == HRC_OK) status = collect(&j.outcomes[i], first + i, out, counts, err);
        for (int k = 0; k < j.outcomes[i].kept; k++) lessons_free(&j.outcomes[i].best[k].made);
    }
    free(j.outcomes);
    return status;
}
