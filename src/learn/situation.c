#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "control/controller.h"
#include "eval/course.h"
#include "eval/posture.h"
#include "learn/room.h"
#include "plan/planner.h"

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

bool situation_in_bounds(const sim_world *w, const hrc_report *r)
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
        out = situation_in_bounds(&w, hrc_controller_report(c)) ? 0 : out + 1;
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
