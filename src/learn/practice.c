#include "learn/practice.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "learn/room.h"
#include "motion/edit.h"

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
