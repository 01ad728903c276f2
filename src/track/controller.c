/* The closed loop (paper 3.4): every `replan` steps a plan from the robot's state toward the reference, at
 * every step ten dense frames of the plan, or of the reference where there is none, to the tracker. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "plan/densify.h"
#include "track/follow.h"
#include "track/known.h"
#include "track/library.h"
#include "track/recover.h"

struct hrc_controller {
    hrc_options options;
    hrc_tracker *track;
    hrc_planner *plan; /* NULL: none, or elsewhere */
    bool can_plan, use_planner;
    bool lost; /* options.when_lost: the planner's turn */
    follower reference;
    recovery up;    /* options.recover: off the ground */
    known usual;    /* options.known: on the ground, as the tracker does it */
    bool have_plan; /* curve is a plan that passed the guard */
    int age;        /* control steps since it was made */
    int asked;      /* control steps since a plan was made or asked for */
    bool wanted;    /* `request` was not told yet */
    hrc_plan_request request;
    plan_curve curve;
    double last[HRC_JOINTS]; /* targets */
    hrc_report report;
};

hrc_options hrc_defaults(void)
{
    return (hrc_options){.plan = hrc_plan_defaults(),
                         .replan = 2,
                         .look_ahead = PLAN_H,
                         .ahead = 5,
                         .leash_m = 0.5,
                         .wait_s = 5,
                         .when_lost = HRC_WHEN_FALLEN,
                         .recover = 1,
                         .known = 1};
}

hrc_options control_options(const config *cfg, uint64_t seed)
{
    return (hrc_options){.plan = {.seed = seed,
                                  .steps = cfg->control_steps,
                                  .t_start = (float)cfg->control_t_start,
                                  .cold = !strcmp(cfg->control_warm_start, "off"),
                                  .bf16 = !strcmp(cfg->control_precision, "bf16"),
                                  .threads = 1},
                         .replan = cfg->control_replan,
                         .look_ahead = cfg->control_look_ahead,
                         .ahead = cfg->control_ahead,
                         .leash_m = cfg->control_leash,
                         .wait_s = cfg->control_wait,
                         .when_lost = !strcmp(cfg->control_plan, "when-lost")     ? HRC_WHEN_LOST
                                      : !strcmp(cfg->control_plan, "when-fallen") ? HRC_WHEN_FALLEN
                                                                                  : 0,
                         .recover = !strcmp(cfg->control_recover, "on"),
                         .known = !strcmp(cfg->control_known, "on")};
}

static hrc_status check_options(const hrc_options *o, hrc_error *err)
{
    if (o->replan < 1 || o->replan > PLAN_H)
        return fail(err, HRC_EINVAL, "controller: a plan every %d steps, expected 1 to %d", o->replan,
                    PLAN_H);
    if (o->look_ahead < 0 || o->look_ahead > 1000)
        return fail(err, HRC_EINVAL, "controller: look-ahead is %d frames, expected 0 to 1000",
                    o->look_ahead);
    if (o->ahead < 0 || o->ahead >= PLAN_H)
        return fail(err, HRC_EINVAL, "controller: plans are seen %d frames ahead, expected 0 to %d", o->ahead,
                    PLAN_H - 1);
    if (!(o->leash_m >= 0) || !(o->wait_s >= 0))
        return fail(err, HRC_EINVAL, "controller: leash %g m and wait %g s, expected at least 0", o->leash_m,
                    o->wait_s);
    return HRC_OK;
}

hrc_status hrc_controller_create(hrc_controller **out, const hrc_model *tracker, const hrc_model *planner,
                                 const hrc_options *options, hrc_error *err)
{
    const hrc_options o = options ? *options : hrc_defaults();
    TRY(check_options(&o, err));
    hrc_controller *c = calloc(1, sizeof *c);
    if (!c) return fail(err, HRC_ENOMEM, "controller: out of memory");
    c->options = o;
    hrc_status status = hrc_tracker_create(&c->track, tracker, err);
    if (status == HRC_OK && planner && !o.apart) status = hrc_planner_create(&c->plan, planner, &o.plan, err);
    if (status == HRC_OK && planner && o.recover) status = recovery_create(&c->up, &planner->plan.ups, err);
    if (status == HRC_OK && planner && o.known) status = known_create(&c->usual, &planner->plan.known, err);
    if (status < 0) {
        hrc_controller_free(c);
        return status;
    }
    c->can_plan = c->use_planner = planner != NULL;
    hrc_controller_reset(c);
    *out = c;
    return HRC_OK;
}

void hrc_controller_free(hrc_controller *c)
{
    if (!c) return;
    hrc_tracker_free(c->track);
    hrc_planner_free(c->plan);
    recovery_free(&c->up);
    known_free(&c->usual);
    free(c);
}

void hrc_controller_reset(hrc_controller *c)
{
    hrc_tracker_reset(c->track);
    c->have_plan = false;
    c->asked = c->options.replan; /* due */
    c->wanted = c->lost = false;
    recovery_reset(&c->up);
    known_restart(&c->usual);
    c->usual.active = false;
    c->report = (hrc_report){0};
    for (int i = 0; i < HRC_JOINTS; i++) c->last[i] = G1_JOINT[i].q0;
}

static void drop_plan(hrc_controller *c)
{
    c->have_plan = false;
    c->asked = c->options.replan; /* at once */
}

void hrc_controller_use_planner(hrc_controller *c, int on)
{
    on = on && c->can_plan;
    if (on == c->use_planner) return;
    c->use_planner = on;
    drop_plan(c);
}

const hrc_report *hrc_controller_report(const hrc_controller *c)
{
    return &c->report;
}

static hrc_status check_motion(const hrc_motion *m, int first, hrc_error *err)
{
    if (m->n < 1 || !m->qpos || !m->qvel)
        return fail(err, HRC_EINVAL, "motion: %d frames, expected at least 1 with poses and velocities",
                    m->n);
    if (first < 0 || first >= m->n)
        return fail(err, HRC_EINVAL, "motion: first frame %d, expected 0 to %d", first, m->n - 1);
    for (size_t i = 0; i < (size_t)m->n * HRC_NQ; i++)
        if (!isfinite(m->qpos[i]))
            return fail(err, HRC_ENONFINITE, "motion: frame %zu, qpos[%zu] is not finite", i / HRC_NQ,
                        i % HRC_NQ);
    for (size_t i = 0; i < (size_t)m->n * HRC_NV; i++)
        if (!isfinite(m->qvel[i]))
            return fail(err, HRC_ENONFINITE, "motion: frame %zu, qvel[%zu] is not finite", i / HRC_NV,
                        i % HRC_NV);
    return HRC_OK;
}

hrc_status hrc_follow(hrc_controller *c, const hrc_motion *motion, int first, int how, hrc_error *err)
{
    TRY(check_motion(motion, first, err));
    follow_begin(&c->reference, motion, first, how);
    known_restart(&c->usual);
    c->asked = c->options.replan; /* the old plan leads elsewhere */
    return HRC_OK;
}

/* ---- One step ---- */

static double now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return 1e3 * (double)t.tv_sec + 1e-6 * (double)t.tv_nsec;
}

/* What the robot is to do now: its reference, that as it knows it, or a way up from the ground. */
static follower *guide(hrc_controller *c)
{
    return c->up.active ? &c->up.way : c->usual.active ? &c->usual.way : &c->reference;
}

static void guide_frame(hrc_controller *c, int ahead, hrc_frame *out)
{
    if (c->usual.active && !c->up.active)
        known_frame(&c->usual, ahead, out);
    else
        follow_frame(guide(c), ahead, out);
}

/* Off the ground first; who stands again finds the reference where it is now. */
static void recover(hrc_controller *c, const float qpos[HRC_NQ])
{
    hrc_frame now;
    follow_frame(&c->reference, 0, &now);
    if (!recovery_step(&c->up, qpos, &now)) return;
    drop_plan(c);
    c->lost = false;
    c->usual.active = false;
    if (!c->up.active) c->reference.to_place = true;
}

/* On the ground as it is known. Who gets back to the reference finds that where it is now. */
static void do_as_known(hrc_controller *c, const float qpos[HRC_NQ])
{
    known_look(&c->usual, &c->reference);
    if (c->up.active || !known_step(&c->usual, &c->reference, qpos)) return;
    drop_plan(c);
    c->lost = false;
    if (!c->usual.active) c->reference.to_place = true;
}

static void choose_guide(hrc_controller *c, const float qpos[HRC_NQ])
{
    if (!c->use_planner) {
        c->up.active = c->usual.active = false;
        return;
    }
    recover(c, qpos);
    do_as_known(c, qpos);
}

/* Place, wait and pull along, by where the robot is. */
static void settle_reference(hrc_controller *c, const float qpos[HRC_NQ])
{
    follower *f = &c->reference;
    const double waited_s = (double)f->waited / HRC_RATE_HZ;
    if (f->to_place) follow_place(f, qpos);
    if (f->waiting && (!c->use_planner || waited_s >= c->options.wait_s || follow_reached(f, qpos)))
        f->waiting = false;
    if (c->options.leash_m > 0) follow_leash(f, qpos, (float)c->options.leash_m);
}

/* Whose turn it is: the planner's always, or from when the robot is lost until it is back; when_lost may
 * leave that to ways up and ways to the next motion. */
static bool planners_turn(hrc_controller *c, const float qpos[HRC_NQ])
{
    if (!c->use_planner || !c->options.when_lost) return c->use_planner;
    const bool before = c->lost,
               may = c->options.when_lost != HRC_WHEN_FALLEN || c->up.active || c->reference.waiting;
    c->lost = may && (before ? !follow_reached(guide(c), qpos) : follow_lost(guide(c), qpos));
    if (c->lost != before) drop_plan(c);
    return c->lost;
}

static hrc_status replan(hrc_controller *c, const hrc_state *now, hrc_error *err)
{
    hrc_report *r = &c->report;
    hrc_frame target;
    double begin = now_ms();
    guide_frame(c, c->options.look_ahead, &target);
    hrc_status status = hrc_plan(c->plan, now, target.qpos, &r->plan, &r->verdict, err);
    TRY(status);
    c->have_plan = status == HRC_OK;
    c->age = c->asked = 0;
    if (c->have_plan) plan_curve_fit(&c->curve, r->plan.qpos);
    r->plan_ms = now_ms() - begin;
    r->plans++;
    r->verdicts[r->verdict]++;
    r->replanned = 1;
    return HRC_OK;
}

static void ask(hrc_controller *c, const hrc_state *now)
{
    hrc_frame target;
    guide_frame(c, c->options.look_ahead, &target);
    c->request = (hrc_plan_request){.step = c->report.step, .now = *now};
    memcpy(c->request.target, target.qpos, sizeof c->request.target);
    c->wanted = true;
    c->asked = 0;
}

int hrc_plan_wanted(hrc_controller *c, hrc_plan_request *out)
{
    if (!c->wanted) return 0;
    *out = c->request;
    c->wanted = false;
    return 1;
}

void hrc_plan_give(hrc_controller *c, int64_t step, const hrc_keyframes *plan)
{
    hrc_report *r = &c->report;
    c->have_plan = plan && c->use_planner && (!c->options.when_lost || c->lost);
    if (!plan) return;
    c->age = (int)(r->step - step);
    r->plan = *plan;
    r->plans++;
    plan_curve_fit(&c->curve, r->plan.qpos);
}

static void fill_window(hrc_controller *c, hrc_frame window[HRC_WINDOW])
{
    const int lead = hrc_tracker_lead(c->track);
    for (int i = 0; i < HRC_WINDOW; i++) {
        if (c->have_plan)
            plan_curve_beyond(window[i].qpos, window[i].qvel, &c->curve,
                              (float)(c->age + lead + i + c->options.ahead) / HRC_RATE_HZ);
        else
            guide_frame(c, lead + i, &window[i]);
    }
}

static double joint_distance(const float *a, const float *b)
{
    double square = 0;
    for (int i = 7; i < HRC_NQ; i++) square += (double)(a[i] - b[i]) * (double)(a[i] - b[i]);
    return sqrt(square);
}

static void describe(hrc_controller *c, const float qpos[HRC_NQ])
{
    hrc_report *r = &c->report;
    const int lead = hrc_tracker_lead(c->track);
    r->frame = c->reference.frame;
    r->frames = c->reference.motion.n;
    r->waiting = c->reference.waiting;
    r->planned = c->have_plan;
    r->recovering = c->up.active;
    r->known = c->usual.active && !c->up.active;
    r->recoveries = c->up.count;
    r->plan_age_s = (double)c->age / HRC_RATE_HZ;
    follow_frame(&c->reference, 0, &r->reference);
    r->gap_rad = joint_distance(qpos, r->reference.qpos);
    r->rewrite_rad = 0;
    for (int i = 0; i < HRC_WINDOW && (r->planned || r->recovering || r->known); i++) {
        hrc_frame ahead;
        follow_frame(&c->reference, lead + i, &ahead);
        r->rewrite_rad += joint_distance(r->window[i].qpos, ahead.qpos) / HRC_WINDOW;
    }
    r->token = tracker_token_of(c->track, &r->ntoken);
    r->step++;
}

static hrc_status control(hrc_controller *c, const hrc_state *now, hrc_target *out, hrc_error *err)
{
    float qpos[HRC_NQ];
    if (c->reference.motion.n < 1)
        return fail(err, HRC_EINVAL, "controller: there is no motion to follow, call hrc_follow first");
    TRY(state_check(now, err));
    for (int i = 0; i < HRC_NQ; i++) qpos[i] = (float)now->qpos[i];
    choose_guide(c, qpos);
    settle_reference(c, qpos);
    c->report.replanned = 0;
    if (planners_turn(c, qpos) && c->asked >= c->options.replan) {
        if (c->options.apart)
            ask(c, now);
        else
            TRY(replan(c, now, err));
    }
    fill_window(c, c->report.window);
    TRY(hrc_step(c->track, now, c->report.window, out, err));
    describe(c, qpos);
    follow_advance(&c->reference);
    if (c->up.active) follow_advance(&c->up.way);
    if (c->usual.active) known_advance(&c->usual);
    c->age++, c->asked++;
    return HRC_OK;
}

hrc_status hrc_control(hrc_controller *c, const hrc_state *now, hrc_target *out, hrc_error *err)
{
    hrc_status status = control(c, now, out, err);
    if (status < 0)
        target_damped(out, c->last);
    else
        memcpy(c->last, out->q, sizeof c->last);
    return status;
}
