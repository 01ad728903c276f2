#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "control/controller.h"
#include "eval/course.h"
#include "learn/room.h"
#include "plan/planner.h"

/* ---- Situations ---- */

#define SEARCH_S 10.0 /* for a failure */
#define SEARCHES 4    /* clips that are searched */
#define SNAP_EVERY 5  /* control steps between snapshots of that search */
#define FAILED 10     /* control steps out of bounds: a failure */

/* How often each kind comes, of the sum. */
static const int SHARE[SITUATIONS] = {3, 5, 7, 2, 3};

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
    const size_t at = (size_t)s->first;
    world_on_frame(&s->start, p->physics, s->motion->qpos + at * HRC_NQ, s->motion->qvel + at * HRC_NV);
}

hrc_status situation_lying(situation *s, const practice *p, int variant, rng *dice, int worker,
                           hrc_error *err)
{
    double qpos[HRC_NQ];
    const int side = (int)rng_below(dice, POSTURE_COUNT);
    TRY(posture_lying(qpos, POSTURE_NAME[side], (double)rng_uniform(dice, -3.14f, 3.14f), variant, p->physics,
                      worker, err));
    s->start = (sim_world){0};
    sim_reset(p->physics, &s->start, qpos, NULL);
    s->how = HRC_PLACE;
    return HRC_OK;
}

/* Within the bounds of CR (eval/course.h) of its reference. */
static bool in_bounds(const sim_world *w, const hrc_report *r)
{
    return frame_compare(w, r->reference.qpos, r->reference.qvel).complete;
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
    controller_vary(c, p->o.seed, planner_defaults().noise, 1);
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

hrc_status situation_make(situation *s, const practice *p, int number, rng *dice, int worker, bool *made,
                          hrc_error *err)
{
    *s = (situation){.kind = draw_kind(p, dice), .push_at = -1};
    *made = true;
    draw_motion(s, p, dice);
    switch (s->kind) {
    case SITUATION_LYING: s->motion = &p->stand, s->first = 0; /* fall through */
    case SITUATION_BEHIND:
        return situation_lying(s, p,
                               FRESH_VARIANT + (int)((p->o.seed * 7919 + (uint64_t)number) % 1000000000u),
                               dice, worker, err);
    case SITUATION_PUSHED: {
        if (rng_uniform(dice, 0, 1) < 0.25f) s->motion = &p->stand, s->first = 0;
        const double angle = (double)rng_uniform(dice, -3.14f, 3.14f),
                     speed = (double)rng_uniform(dice, 1, 6.5f);
        s->push_at = (int)(rng_uniform(dice, 0.2f, 1.0f) * HRC_RATE_HZ);
        s->push[0] = speed * cos(angle), s->push[1] = speed * sin(angle);
        s->judged_from = s->push_at + 2 * HRC_RATE_HZ;
        start_on_reference(s, p);
        return HRC_OK;
    }
    case SITUATION_FAILING:
        s->judged_from = 3 * HRC_RATE_HZ;
        *made = start_before_failure(s, p, dice, worker);
        for (int i = 1; i < SEARCHES && !*made; i++) {
            draw_motion(s, p, dice);
            *made = start_before_failure(s, p, dice, worker);
        }
        return HRC_OK;
    default:
        s->judged_from = 3 * HRC_RATE_HZ;
        start_on_reference(s, p);
        return HRC_OK;
    }
}

/* ---- Attempts ---- */

#define CALM_S 1.0         /* on the reference for as long: back */
#define LONGEST_STEPS 3000 /* control steps of an attempt: a minute */
#define CORRECTED 24       /* plans before the teacher takes over that it corrects */
/* L1 over joints in a plan: people rest before they rise, and a planner that copies rest rests for ever. */
#define RESTS_RAD 0.5f
#define NEAR 0.25f /* as near, plans hardly matter: only one moment in NEAR_EVERY is kept */
#define NEAR_EVERY 4
#define RISE_S 3.0 /* before a robot is back: what it did earlier by itself did not help */

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

/* Keyframes along a way, from `later` frames after where it is. */
static void guide_along(float guide[PLAN_K][HRC_NQ], const follower *way, int later, int horizon)
{
    hrc_frame frame;
    float window[PLAN_MAX_H + 1][HRC_NQ];
    for (int i = 0; i <= horizon; i++) {
        follow_frame(way, later + i, &frame);
        memcpy(window[i], frame.qpos, sizeof frame.qpos);
    }
    for (int k = 0; k < PLAN_K; k++)
        plan_window_at(guide[k], (const float(*)[HRC_NQ])window, (float)(k * horizon) / (PLAN_K - 1),
                       horizon);
}

/* What the planner was asked last. */
static void question_of_lesson(lesson *one, const hrc_controller *c, int horizon)
{
    plan_question q;
    controller_question(c, &q);
    memcpy(one->state, q.state, sizeof one->state);
    memcpy(one->qvel, q.qvel, sizeof one->qvel);
    memcpy(one->under_way, q.under_way, sizeof one->under_way);
    for (int i = 0; i < LESSON_WINDOW; i++)
        memcpy(one->reference[i], q.reference[i * horizon / (LESSON_WINDOW - 1)], sizeof one->reference[i]);
}

static hrc_status keep_lesson(attempt *a, const lesson *one, situation_kind kind, hrc_error *err)
{
    return lessons_add(&a->made, one, kind * LESSON_POSTURES + posture_class(one->state), 0, err);
}

static hrc_status note(attempt *a, const hrc_controller *c, const teaching *t, situation_kind kind,
                       int horizon, hrc_error *err)
{
    const hrc_report *r = hrc_controller_report(c);
    lesson one;
    if (!r->replanned || (!t->leads && !r->planned)) return HRC_OK;
    question_of_lesson(&one, c, horizon);
    if (t->leads)
        guide_along(one.guide, &t->way, -1, horizon); /* the step that is over has advanced it */
    else
        memcpy(one.guide, r->plan.qpos, sizeof one.guide);
    const float off = plan_off(one.state, one.reference[0], true);
    if (plan_lost(one.state, one.reference[0], true) > 0 &&
        moves((const float(*)[HRC_NQ])one.guide) < RESTS_RAD)
        return HRC_OK;
    if (off < NEAR && r->step / 2 % NEAR_EVERY) return HRC_OK;
    return keep_lesson(a, &one, kind, err);
}

/* What the planner was asked, the last CORRECTED times. */
typedef struct {
    lesson last[CORRECTED];
    int n;
} recent;

static void remember(recent *r, const hrc_controller *c, int horizon)
{
    if (hrc_controller_report(c)->replanned) question_of_lesson(&r->last[r->n++ % CORRECTED], c, horizon);
}

/* A robot that rests on its way up does so for ever, since each plan goes on from the one before: where the
 * teacher takes over from such plans, they should have gone on as the teacher begins. */
static hrc_status correct(attempt *a, recent *r, const follower *way, situation_kind kind, int horizon,
                          hrc_error *err)
{
    if (!r->n) return HRC_OK;
    const posture now = posture_of(r->last[(r->n - 1) % CORRECTED].state);
    for (int i = 0; i < r->n && i < CORRECTED; i++) {
        lesson one = r->last[i];
        const posture then = posture_of(one.state);
        if (!posture_rests(&then, &now)) continue;
        guide_along(one.guide, way, 0, horizon);
        TRY(keep_lesson(a, &one, kind, err));
    }
    r->n = 0;
    return HRC_OK;
}

static void vary(const practice *p, hrc_controller *c, approach by, uint64_t seed, rng *dice)
{
    const float noise = by == BY_NOISE ? rng_uniform(dice, 0.1f, p->o.noise) : planner_defaults().noise;
    controller_vary(c, by == BY_OWN ? p->o.seed : seed, noise, by == BY_BASE ? 0 : 1);
}

/* Only what came after the first n lessons. */
static void forget(lessons *l, int n)
{
    memmove(l->list, l->list + n, sizeof *l->list * (size_t)(l->n - n));
    memmove(l->label, l->label + n, sizeof *l->label * (size_t)(l->n - n));
    l->n -= n;
}

hrc_status attempt_run(attempt *a, const practice *p, const situation *s, uint64_t seed, int rank, int worker,
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
    const int steps = (int)fmin(LONGEST_STEPS, p->o.attempt_s * HRC_RATE_HZ),
              calm_steps = (int)(CALM_S * HRC_RATE_HZ);
    int calm = 0, led_from = -1, made[LONGEST_STEPS + 1];
    recent asked = {0};
    hrc_controller_reset(c);
    TRY(hrc_follow(c, s->motion, s->first, s->how, err));
    for (int step = 0; step < steps && !w.diverged; step++) {
        if (step == s->push_at) sim_push(&w, s->push, (const double[3]){0});
        if (taught && step >= lead_from) {
            float qpos[HRC_NQ];
            for (int i = 0; i < HRC_NQ; i++) qpos[i] = (float)w.qpos[i];
            if (teaching_step(&lead, qpos, hrc_controller_report(c)->reference.qpos)) {
                controller_lead(c, lead.leads ? &lead.way : NULL);
                if (lead.leads) {
                    a->made.n = 0, led_from = step; /* what was done before did not help */
                    TRY(correct(a, &asked, &lead.way, s->kind, p->horizon, err));
                }
            }
        }
        made[step] = a->made.n;
        TRY(loop_step(c, p->physics, &w, worker, &target, err));
        TRY(note(a, c, &lead, s->kind, p->horizon, err));
        if (a->by != BY_BASE) remember(&asked, c, p->horizon);
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
