#include "learn/practice.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "base/rot.h"
#include "control/controller.h"
#include "control/library.h"
#include "eval/course.h"
#include "eval/posture.h"
#include "learn/teacher.h"

#define CALM_S 1.0      /* on the reference for as long: back */
#define LONGEST_STEPS 3000 /* control steps of an attempt: a minute */
#define STAND_S 12.0    /* of reference for a robot that lies */
#define SEARCH_S 10.0   /* for a failure */
#define SNAP_EVERY 5    /* control steps between snapshots of that search */
#define FAILED 10       /* control steps out of bounds: a failure */
#define FRESH_VARIANT 4096 /* heaps that no suite has */
#define RESTS_RAD 0.5f  /* L1 over joints in a plan: people rest before they rise, and who copies rest rests for ever */
#define FAR 0.6f        /* ... when the robot is this far off (plan_off) */
#define NEAR 0.25f      /* as near, plans hardly matter: only one moment in NEAR_EVERY is kept */
#define NEAR_EVERY 4
#define RISE_S 3.0       /* before a robot is back: what it did earlier by itself did not help */
#define BASE_BONUS_S 1.0 /* what the base alone may be slower */

const char *const SITUATION_WORDS[SITUATIONS] = {
#define X(name, words) [SITUATION_##name] = words,
    SITUATION_LIST(X)
#undef X
};

const char *const LESSON_POSTURE[LESSON_POSTURES] = {"standing", "low",          "on the back",
                                                     "on the front", "on the left", "on the right"};

/* How often each kind comes, of the sum. */
static const int SHARE[SITUATIONS] = {5, 3, 6, 4, 2};

/* What may be tried, in the order in which it is. */
typedef enum { BY_BASE, BY_OWN, BY_NOISE, BY_SWITCH, BY_TEACHER, BY_OTHER_WAY } approach;

enum { APPROACHES = 6 };
static const approach FROM_GROUND[APPROACHES] = {BY_OWN,     BY_NOISE,     BY_SWITCH,
                                                 BY_TEACHER, BY_OTHER_WAY, BY_OTHER_WAY};
static const approach FROM_FEET[APPROACHES] = {BY_OWN, BY_BASE, BY_NOISE, BY_NOISE, BY_SWITCH, BY_TEACHER};

/* In the first rounds, always the same way first: a planner that is shown many ways from one place learns their
 * mean. */
static const approach GUIDED_FROM_GROUND[APPROACHES] = {BY_TEACHER,   BY_SWITCH,    BY_SWITCH,
                                                        BY_OTHER_WAY, BY_OTHER_WAY, BY_OWN};
static const approach GUIDED_FROM_FEET[APPROACHES] = {BY_BASE,   BY_TEACHER, BY_SWITCH,
                                                      BY_SWITCH, BY_NOISE,   BY_OWN};

struct practice {
    practice_options o;
    int nclips;
    hrc_motion *motions; /* (nclips) */
    int *ground;         /* clips that go to the ground */
    int nground;
    hrc_motion stand;
    arena memory;
    teacher ways;
    pool *threads;
    sim *physics;
    hrc_controller **controls; /* one a thread */
    int horizon;
};

/* ---- Create ---- */

static bool goes_down(const clip *c)
{
    for (int i = 0; i < c->n; i++)
        if (clip_frame(c, i)[2] < POSTURE_DOWN_M) return true;
    return false;
}

static hrc_status take_clips(practice *p, const clip *const *clips, int n, hrc_error *err)
{
    p->motions = ARENA_NEW(&p->memory, hrc_motion, n);
    p->ground = ARENA_NEW(&p->memory, int, n);
    if (!p->motions || !p->ground) return fail(err, HRC_ENOMEM, "practice: out of memory for %d clips", n);
    for (int i = 0; i < n; i++) {
        if (clips[i]->n < 2 * HRC_RATE_HZ) continue;
        float *qvel = ARENA_NEW(&p->memory, float, (size_t)clips[i]->n *HRC_NV);
        if (!qvel) return fail(err, HRC_ENOMEM, "practice: out of memory for %d clips", n);
        clip_velocities(qvel, clips[i]);
        if (goes_down(clips[i])) p->ground[p->nground++] = p->nclips;
        p->motions[p->nclips++] = (hrc_motion){clips[i]->n, clips[i]->qpos, qvel};
    }
    if (!p->nclips)
        return fail(err, HRC_EINVAL, "practice: none of %d clips is longer than 2 s", n);
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

hrc_status practice_create(practice **out, const config *cfg, const hrc_model *tracker, const hrc_model *planner,
                           const clip *const *clips, int nclips, const practice_options *options, pool *threads,
                           hrc_error *err)
{
    practice *p = calloc(1, sizeof *p);
    if (!p) return fail(err, HRC_ENOMEM, "practice: out of memory");
    p->o = *options;
    p->threads = threads;
    p->horizon = planner->plan.layout.horizon;
    hrc_status status = set_up(p, cfg, tracker, planner, clips, nclips, err);
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

/* ---- Situations ---- */

typedef struct {
    situation_kind kind;
    const hrc_motion *motion;
    int first, how; /* of hrc_follow */
    sim_world start;
    int push_at; /* control step; -1: none */
    double push[3];
    int judged_from; /* control step after which being calm counts */
} situation;

static bool from_ground(situation_kind kind)
{
    return kind == SITUATION_LYING || kind == SITUATION_BEHIND;
}

static situation_kind draw_kind(const practice *p, rng *dice)
{
    int sum = 0, kind = 0;
    for (int k = 0; k < SITUATIONS; k++) sum += SHARE[k];
    int at = (int)rng_below(dice, (uint32_t)sum);
    while (at >= SHARE[kind]) at -= SHARE[kind++];
    return kind == SITUATION_GROUND && !p->nground ? SITUATION_PUSHED : (situation_kind)kind;
}

/* A clip, and a frame of it with some of it left. */
static void draw_motion(situation *s, const practice *p, rng *dice)
{
    const bool ground = s->kind == SITUATION_GROUND;
    const int among = ground ? p->nground : p->nclips, any = (int)rng_below(dice, (uint32_t)among);
    s->motion = &p->motions[ground ? p->ground[any] : any];
    s->first = (int)rng_below(dice, (uint32_t)(s->motion->n - HRC_RATE_HZ));
}

static void start_on_reference(situation *s, const practice *p)
{
    double qpos[HRC_NQ], qvel[HRC_NV];
    for (int i = 0; i < HRC_NQ; i++) qpos[i] = (double)s->motion->qpos[(size_t)s->first * HRC_NQ + (size_t)i];
    for (int i = 0; i < HRC_NV; i++) qvel[i] = (double)s->motion->qvel[(size_t)s->first * HRC_NV + (size_t)i];
    s->start = (sim_world){0};
    sim_reset(p->physics, &s->start, qpos, qvel);
}

static hrc_status start_lying(situation *s, const practice *p, int number, rng *dice, int worker, hrc_error *err)
{
    double qpos[HRC_NQ];
    const int side = (int)rng_below(dice, POSTURE_COUNT);
    const int variant = FRESH_VARIANT + (int)((p->o.seed * 7919 + (uint64_t)number) % 1000000000u);
    TRY(posture_lying(qpos, POSTURE_NAME[side], (double)rng_uniform(dice, -3.14f, 3.14f), variant, p->physics,
                      worker, err));
    s->start = (sim_world){0};
    sim_reset(p->physics, &s->start, qpos, NULL);
    s->how = HRC_PLACE;
    return HRC_OK;
}

static bool in_bounds(const sim_world *w, const hrc_report *r)
{
    frame_error e;
    frame_compare(&e, w->qpos, w->qvel, r->reference.qpos, r->reference.qvel);
    return e.complete && !w->diverged;
}

/* Follows a clip until the robot fails, and begins 0.3 to 1.5 s before that. False when it does not fail. */
static bool start_before_failure(situation *s, const practice *p, rng *dice, int worker)
{
    enum { STEPS = (int)(SEARCH_S * HRC_RATE_HZ), SNAPS = STEPS / SNAP_EVERY + 1 };
    hrc_controller *c = p->controls[worker];
    sim_world *snaps = malloc(sizeof *snaps * SNAPS);
    hrc_target target;
    int out = 0, step = 0;
    if (!snaps) return false;
    start_on_reference(s, p);
    sim_world w = s->start;
    controller_vary(c, p->o.seed, 0.1f, 1);
    hrc_controller_reset(c);
    bool goes = hrc_follow(c, s->motion, s->first, 0, NULL) == HRC_OK;
    for (; goes && step < STEPS && out < FAILED && s->first + step < s->motion->n; step++) {
        if (step % SNAP_EVERY == 0) snaps[step / SNAP_EVERY] = w;
        goes = loop_step(c, p->physics, &w, worker, &target, NULL) == HRC_OK;
        out = in_bounds(&w, hrc_controller_report(c)) ? 0 : out + 1;
    }
    const int before = (int)(rng_uniform(dice, 0.3f, 1.5f) * HRC_RATE_HZ) + FAILED;
    const bool failed = goes && out >= FAILED && step > before;
    if (failed) {
        const int snap = (step - before) / SNAP_EVERY;
        s->start = snaps[snap];
        s->first += snap * SNAP_EVERY;
        s->how = HRC_PLACE;
    }
    free(snaps);
    return failed;
}

/* False: there is nothing to practise in it. */
static hrc_status make_situation(situation *s, const practice *p, int number, rng *dice, int worker, bool *made,
                                 hrc_error *err)
{
    *s = (situation){.kind = draw_kind(p, dice), .push_at = -1};
    *made = true;
    draw_motion(s, p, dice);
    switch (s->kind) {
    case SITUATION_LYING: s->motion = &p->stand, s->first = 0; /* fall through */
    case SITUATION_BEHIND: return start_lying(s, p, number, dice, worker, err);
    case SITUATION_PUSHED: {
        if (rng_uniform(dice, 0, 1) < 0.25f) s->motion = &p->stand, s->first = 0;
        const double angle = (double)rng_uniform(dice, -3.14f, 3.14f), speed = (double)rng_uniform(dice, 1, 6);
        s->push_at = (int)(rng_uniform(dice, 0.2f, 1.0f) * HRC_RATE_HZ);
        s->push[0] = speed * cos(angle), s->push[1] = speed * sin(angle);
        s->judged_from = s->push_at + 2 * HRC_RATE_HZ;
        start_on_reference(s, p);
        return HRC_OK;
    }
    case SITUATION_FAILING:
        s->judged_from = 3 * HRC_RATE_HZ;
        *made = start_before_failure(s, p, dice, worker);
        return HRC_OK;
    default:
        s->judged_from = 3 * HRC_RATE_HZ;
        start_on_reference(s, p);
        return HRC_OK;
    }
}

/* ---- Attempts ---- */

typedef struct {
    lessons made;
    bool back;
    double back_s; /* when it came back */
    approach by;
} attempt;

static int posture_class(const float qpos[HRC_NQ])
{
    const posture p = posture_of(qpos);
    if (p.height > POSTURE_STAND_M) return 0;
    if (p.up[2] > 0.7f || p.height > POSTURE_DOWN_M) return 1;
    if (fabsf(p.up[0]) > fabsf(p.up[1])) return p.up[0] > 0 ? 2 : 3; /* chest up: on the back */
    return p.up[1] > 0 ? 5 : 4;                                      /* left side up: on the right */
}

static float moves(const float (*guide)[HRC_NQ])
{
    float sum = 0;
    for (int i = 7; i < HRC_NQ; i++) sum += fabsf(guide[PLAN_K - 1][i] - guide[0][i]);
    return sum;
}

/* What led from here: the plan, or the way that leads. */
static void guide_of(lesson *one, const hrc_controller *c, const teaching *t, int horizon)
{
    hrc_frame frame;
    float window[PLAN_MAX_H + 1][HRC_NQ];
    if (!t->leads) {
        memcpy(one->guide, hrc_controller_report(c)->plan.qpos, sizeof one->guide);
        return;
    }
    for (int i = 0; i <= horizon; i++) {
        follow_frame(&t->way, i - 1, &frame); /* the step that is over has advanced it */
        memcpy(window[i], frame.qpos, sizeof frame.qpos);
    }
    for (int k = 0; k < PLAN_K; k++)
        plan_window_at(one->guide[k], (const float(*)[HRC_NQ])window, (float)(k * horizon) / (PLAN_K - 1),
                       horizon);
}

static hrc_status note(attempt *a, const hrc_controller *c, const teaching *t, situation_kind kind, int horizon,
                       hrc_error *err)
{
    const hrc_report *r = hrc_controller_report(c);
    plan_question q;
    lesson one;
    if (!r->replanned || (!t->leads && !r->planned)) return HRC_OK;
    controller_question(c, &q);
    memcpy(one.state, q.state, sizeof one.state);
    memcpy(one.qvel, q.qvel, sizeof one.qvel);
    memcpy(one.under_way, q.under_way, sizeof one.under_way);
    for (int i = 0; i < LESSON_WINDOW; i++)
        memcpy(one.reference[i], q.reference[i * horizon / (LESSON_WINDOW - 1)], sizeof one.reference[i]);
    guide_of(&one, c, t, horizon);
    const float off = plan_off(q.state, q.reference[0], true);
    if (off > FAR && moves((const float(*)[HRC_NQ])one.guide) < RESTS_RAD) return HRC_OK;
    if (off < NEAR && r->step / 2 % NEAR_EVERY) return HRC_OK;
    return lessons_add(&a->made, &one, kind * LESSON_POSTURES + posture_class(one.state), 0, err);
}

static void vary(const practice *p, hrc_controller *c, approach by, uint64_t seed, rng *dice)
{
    const float noise = by == BY_NOISE ? rng_uniform(dice, 0.1f, p->o.noise) : 0.1f;
    controller_vary(c, by == BY_OWN ? p->o.seed : seed, noise, by == BY_BASE ? 0 : 1);
}

/* Only what came after the first n lessons. */
static void forget(lessons *l, int n)
{
    memmove(l->list, l->list + n, sizeof *l->list * (size_t)(l->n - n));
    memmove(l->label, l->label + n, sizeof *l->label * (size_t)(l->n - n));
    l->n -= n;
}

static hrc_status try_once(attempt *a, const practice *p, const situation *s, uint64_t seed, int rank, int worker,
                           hrc_error *err)
{
    hrc_controller *c = p->controls[worker];
    rng dice = rng_make(p->o.seed, seed);
    teaching lead = {.knows = &p->ways, .rank = rank};
    sim_world w = s->start;
    hrc_target target;
    vary(p, c, a->by, seed, &dice);
    const bool taught = a->by >= BY_SWITCH;
    const int lead_from = a->by == BY_SWITCH ? (int)(rng_uniform(&dice, 0.5f, 4) * HRC_RATE_HZ) : 0;
    const int steps = (int)fmin(LONGEST_STEPS, p->o.attempt_s * HRC_RATE_HZ), calm_steps = (int)(CALM_S * HRC_RATE_HZ);
    int calm = 0, led_from = -1, made[LONGEST_STEPS + 1];
    hrc_controller_reset(c);
    TRY(hrc_follow(c, s->motion, s->first, s->how, err));
    for (int step = 0; step < steps && !w.diverged; step++) {
        if (step == s->push_at) sim_push(&w, s->push, (const double[3]){0});
        if (taught && step >= lead_from) {
            float qpos[HRC_NQ];
            for (int i = 0; i < HRC_NQ; i++) qpos[i] = (float)w.qpos[i];
            if (teaching_step(&lead, qpos, hrc_controller_report(c)->reference.qpos)) {
                controller_lead(c, lead.leads ? &lead.way : NULL);
                if (lead.leads) a->made.n = 0, led_from = step; /* what was done before did not help */
            }
        }
        made[step] = a->made.n;
        TRY(loop_step(c, p->physics, &w, worker, &target, err));
        TRY(note(a, c, &lead, s->kind, p->horizon, err));
        calm = in_bounds(&w, hrc_controller_report(c)) && !lead.leads ? calm + 1 : 0;
        if (step < s->judged_from || calm < calm_steps) continue;
        a->back = true;
        a->back_s = (double)(step + 1 - calm) / HRC_RATE_HZ;
        const int rise = step + 1 - calm - (int)(RISE_S * HRC_RATE_HZ);
        if (led_from < 0 && rise > 0) forget(&a->made, made[rise]);
        break;
    }
    controller_lead(c, NULL);
    return HRC_OK;
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
    TRY(make_situation(&s, p, number, &dice, worker, &o->made, err));
    o->kind = s.kind;
    if (!o->made) return HRC_OK;
    const approach *ways = from_ground(s.kind) ? p->o.guided ? GUIDED_FROM_GROUND : FROM_GROUND
                           : p->o.guided       ? GUIDED_FROM_FEET
                                               : FROM_FEET;
    const int most = p->o.kept < MOST_KEPT ? p->o.kept : MOST_KEPT;
    int successes = 0;
    for (int i = 0; i < p->o.attempts && i < APPROACHES && successes < most; i++) {
        attempt a = {.by = ways[i]};
        const int rank = a.by == BY_OTHER_WAY ? 1 + (int)rng_below(&dice, 5) : 0;
        const uint64_t seed = ((uint64_t)number << 8) + (uint64_t)i + 1;
        if (a.by >= BY_SWITCH && !p->o.taught) continue;
        hrc_status status = try_once(&a, p, &s, seed, rank, worker, err);
        if (status < 0) {
            lessons_free(&a.made);
            return status;
        }
        if (a.by == BY_OWN) o->own = a.back, o->own_s = a.back_s;
        successes += a.back;
        rank_attempt(o, &a, most);
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

static hrc_status collect(const outcome_of_situation *o, int number, lessons *out, practice_counts *counts, hrc_error *err)
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
