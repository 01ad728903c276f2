/* The closed loop (paper 3.4), one path without modes: every `replan` steps a plan from the robot's state and
 * the reference; at every step ten dense frames of the plan, or of the reference where the guard refused it,
 * to the tracker. */
#include "control/controller.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "control/library.h"
#include "plan/guard.h"
#include "robot/bounds.h"

#define STREAM_MOST 100000
#define OLDEST_PLAN (2 * PLAN_H) /* control steps: what is led straight on for longer leads nowhere */

struct hrc_controller {
    hrc_options options;
    hrc_tracker *track;
    hrc_planner *plan; /* NULL: none, or elsewhere */
    bool can_plan, use_planner;
    bool position; /* the planner sees the root's height */
    int horizon;   /* of its plans, frames */
    follower reference;
    stream *more;    /* what was appended to it */
    follower *guide; /* NULL but in practice */
    bool have_plan;  /* `curve` is a plan that passed the guard */
    int age;         /* control steps since it was made */
    int asked;       /* control steps since a plan was made or asked for */
    bool wanted;     /* `request` was not told yet */
    hrc_plan_request request;
    plan_curve curve;        /* of the plan's difference from the reference */
    double last[HRC_JOINTS]; /* targets */
    hrc_report report;
};

hrc_options hrc_defaults(void)
{
    return (hrc_options){.plan = hrc_plan_defaults(),
                         .replan = 2,
                         .leash_m = 0.5,
                         .leash_rad = 0.7,
                         .wait_s = 5,
                         .stream = 250};
}

hrc_options control_options(const config *cfg, uint64_t seed)
{
    return (hrc_options){.plan = {.seed = seed,
                                  .steps = cfg->control_steps,
                                  .t_start = (float)cfg->control_t_start,
                                  .noise = (float)cfg->control_noise,
                                  .cold = !strcmp(cfg->control_warm_start, "off"),
                                  .threads = 1},
                         .replan = cfg->control_replan,
                         .leash_m = cfg->control_leash,
                         .leash_rad = cfg->control_leash_rad,
                         .wait_s = cfg->control_wait,
                         .stream = hrc_defaults().stream};
}

static hrc_status check_options(const hrc_options *o, hrc_error *err)
{
    if (o->replan < 1 || o->replan > PLAN_H)
        return fail(err, HRC_EINVAL, "controller: a plan every %d steps, expected 1 to %d", o->replan,
                    PLAN_H);
    if (!(o->leash_m >= 0) || !(o->leash_rad >= 0) || !(o->wait_s >= 0))
        return fail(err, HRC_EINVAL, "controller: leash %g m and %g rad, wait %g s, expected at least 0",
                    o->leash_m, o->leash_rad, o->wait_s);
    if (o->stream < 0 || o->stream > STREAM_MOST)
        return fail(err, HRC_EINVAL, "controller: a stream of %d frames, expected 0 to %d", o->stream,
                    STREAM_MOST);
    return HRC_OK;
}

hrc_status hrc_controller_create(hrc_controller **out, const hrc_model *tracker, const hrc_model *planner,
                                 const hrc_options *options, hrc_error *err)
{
    NEED(out);
    NEED(tracker);
    const hrc_options o = options ? *options : hrc_defaults();
    TRY(check_options(&o, err));
    hrc_controller *c = calloc(1, sizeof *c);
    if (!c) return fail(err, HRC_ENOMEM, "controller: out of memory");
    c->options = o;
    hrc_status status = hrc_tracker_create(&c->track, tracker, err);
    if (status == HRC_OK && planner && !o.apart) status = hrc_planner_create(&c->plan, planner, &o.plan, err);
    if (status == HRC_OK) status = stream_create(&c->more, o.stream, err);
    if (status < 0) {
        hrc_controller_free(c);
        return status;
    }
    c->can_plan = c->use_planner = planner != NULL;
    c->position = !planner || planner->plan.layout.position;
    c->horizon = planner ? planner->plan.layout.horizon : PLAN_H;
    hrc_controller_reset(c);
    *out = c;
    return HRC_OK;
}

void hrc_controller_free(hrc_controller *c)
{
    if (!c) return;
    hrc_tracker_free(c->track);
    hrc_planner_free(c->plan);
    stream_free(c->more);
    free(c);
}

void hrc_controller_reset(hrc_controller *c)
{
    if (!c) return;
    hrc_tracker_reset(c->track);
    c->have_plan = c->wanted = false;
    c->asked = c->options.replan; /* due */
    c->guide = NULL;
    c->report = (hrc_report){0};
    for (int i = 0; i < HRC_JOINTS; i++) c->last[i] = G1_JOINT[i].q0;
}

void hrc_controller_use_planner(hrc_controller *c, int on)
{
    if (!c) return;
    on = on && c->can_plan;
    if (on == c->use_planner) return;
    c->use_planner = on;
    c->have_plan = false;
    c->asked = c->options.replan;
}

const hrc_report *hrc_controller_report(const hrc_controller *c)
{
    return c ? &c->report : NULL;
}

static hrc_status check_motion(const hrc_motion *m, int first, hrc_error *err)
{
    if (m->n < 1 || !m->qpos || !m->qvel)
        return fail(err, HRC_EINVAL, "motion: %d frames, expected at least 1 with poses and velocities",
                    m->n);
    if (first < 0 || first >= m->n)
        return fail(err, HRC_EINVAL, "motion: first frame %d, expected 0 to %d", first, m->n - 1);
    return bounds_motion(m, err);
}

hrc_status hrc_follow(hrc_controller *c, const hrc_motion *motion, int first, int how, hrc_error *err)
{
    NEED(c);
    NEED(motion);
    TRY(check_motion(motion, first, err));
    follow_begin(&c->reference, motion, first, how);
    c->reference.more = c->more;
    stream_begin(c->more, motion->qpos + (size_t)(motion->n - 1) * HRC_NQ);
    c->asked = c->options.replan; /* the plan under way leads elsewhere */
    return HRC_OK;
}

/* ---- Appending ---- */

/* Appended frames that lie behind the robot's time. */
static int used_frames(const hrc_controller *c)
{
    const int used = c->reference.frame - c->reference.motion.n;
    return used > 0 ? used : 0;
}

hrc_status hrc_append(hrc_controller *c, const float *qpos, int n, double fps, hrc_error *err)
{
    NEED(c);
    NEED(qpos);
    if (c->reference.motion.n < 1)
        return fail(err, HRC_EINVAL, "append: there is no motion to append to, call hrc_follow first");
    if (n < 0 || !(fps >= 1 && fps <= 10000))
        return fail(err, HRC_EINVAL, "append: %d poses at %g fps, expected 0 or more at 1 to 10000", n, fps);
    return stream_append(c->more, qpos, n, fps, used_frames(c), err);
}

int hrc_ahead(const hrc_controller *c)
{
    return !c || c->reference.motion.n < 1 ? 0 : follow_length(&c->reference) - 1 - c->reference.frame;
}

int hrc_room(const hrc_controller *c)
{
    return c ? c->more->capacity - (c->more->n - used_frames(c)) : 0;
}

/* ---- Practice ---- */

void controller_lead(hrc_controller *c, follower *guide)
{
    c->guide = guide;
}

void controller_question(const hrc_controller *c, plan_question *out)
{
    question_of(out, &c->request);
}

void controller_vary(hrc_controller *c, uint64_t seed, float noise, float share)
{
    if (c->plan) plan_vary(c->plan, seed, noise, share);
}

/* ---- One step ---- */

/* Place, wait and pull along, by where the robot is. */
static void settle_reference(hrc_controller *c, const float qpos[HRC_NQ])
{
    follower *f = &c->reference;
    const double waited_s = (double)f->waited / HRC_RATE_HZ;
    if (f->to_place) follow_place(f, qpos);
    if (f->waiting && (!c->use_planner || waited_s >= c->options.wait_s || follow_reached(f, qpos)))
        f->waiting = false;
    follow_leash(f, qpos, (float)c->options.leash_m, (float)c->options.leash_rad);
}

/* What the tracker is shown, `ahead` frames from now. */
static void shown_frame(const hrc_controller *c, int ahead, hrc_frame *out)
{
    follow_frame(c->guide ? c->guide : &c->reference, ahead, out);
    if (c->have_plan && !c->guide) plan_difference_add(out, &c->curve, (float)(c->age + ahead) / HRC_RATE_HZ);
}

static void ask(hrc_controller *c, const hrc_state *now)
{
    hrc_frame frame;
    c->request.step = c->report.step;
    c->request.now = *now;
    for (int i = 0; i <= c->horizon; i++) {
        follow_frame(&c->reference, i, &frame);
        memcpy(c->request.reference[i], frame.qpos, sizeof frame.qpos);
    }
    shown_frame(c, 0, &frame);
    for (int i = 0; i < HRC_NQ; i++)
        c->request.under_way[i] = c->have_plan || c->guide ? frame.qpos[i] : (float)now->qpos[i];
    c->asked = 0;
}

static void take(hrc_controller *c, int age)
{
    c->have_plan = true;
    c->age = age;
    plan_difference_fit(&c->curve, (const float(*)[HRC_NQ])c->report.plan.qpos,
                        (const float(*)[HRC_NQ])c->request.reference, c->horizon);
}

static hrc_status replan(hrc_controller *c, hrc_error *err)
{
    hrc_report *r = &c->report;
    double begin = 1e3 * clock_s();
    hrc_status status = hrc_plan(c->plan, &c->request, &r->plan, &r->verdict, err);
    TRY(status);
    c->have_plan = false;
    if (status == HRC_OK) take(c, 0);
    r->plan_ms = 1e3 * clock_s() - begin;
    r->plans++;
    r->verdicts[r->verdict]++;
    r->replanned = 1;
    return HRC_OK;
}

int hrc_plan_wanted(hrc_controller *c, hrc_plan_request *out)
{
    if (!c || !out || !c->wanted) return 0;
    *out = c->request;
    c->wanted = false;
    return 1;
}

void hrc_plan_give(hrc_controller *c, int64_t step, const hrc_keyframes *plan)
{
    if (!c) return;
    hrc_report *r = &c->report;
    c->have_plan = false;
    if (!plan) return;
    hrc_keyframes own = *plan;
    r->verdict = (hrc_verdict)plan_guard(own.qpos, (float)c->horizon / PLAN_FPS / (PLAN_K - 1));
    r->plans++;
    r->verdicts[r->verdict]++;
    if (r->verdict != HRC_FINE || step != c->request.step || r->step - step > OLDEST_PLAN) return;
    r->plan = own;
    if (c->use_planner) take(c, (int)(r->step - step));
}

static hrc_status think(hrc_controller *c, const hrc_state *now, hrc_error *err)
{
    c->report.replanned = 0;
    if (!c->use_planner || c->asked < c->options.replan) return HRC_OK;
    ask(c, now);
    if (c->guide) {
        c->have_plan = false;
        c->report.replanned = 1;
        return HRC_OK;
    }
    c->wanted = c->options.apart;
    return c->options.apart ? HRC_OK : replan(c, err);
}

static void describe(hrc_controller *c, const float qpos[HRC_NQ])
{
    hrc_report *r = &c->report;
    const int lead = hrc_tracker_lead(c->track);
    r->frame = c->reference.frame;
    r->frames = follow_length(&c->reference);
    r->waiting = c->reference.waiting;
    r->planned = c->have_plan;
    r->plan_age_s = (double)c->age / HRC_RATE_HZ;
    follow_frame(&c->reference, 0, &r->reference);
    r->gap_rad = g1_joint_distance(qpos, r->reference.qpos);
    r->off = (double)plan_off(qpos, r->reference.qpos, c->position);
    r->rewrite_rad = 0;
    for (int i = 0; i < HRC_WINDOW && r->planned; i++) {
        hrc_frame ahead;
        follow_frame(&c->reference, lead + i, &ahead);
        r->rewrite_rad += g1_joint_distance(r->window[i].qpos, ahead.qpos) / HRC_WINDOW;
    }
    r->token = tracker_token_of(c->track, &r->ntoken);
    r->step++;
}

static hrc_status ready(const hrc_controller *c, const hrc_state *now, hrc_error *err)
{
    if (c->reference.motion.n < 1)
        return fail(err, HRC_EINVAL, "controller: there is no motion to follow, call hrc_follow first");
    return bounds_reading(now, err);
}

static void show(hrc_controller *c)
{
    const int lead = hrc_tracker_lead(c->track);
    for (int i = 0; i < HRC_WINDOW; i++) shown_frame(c, lead + i, &c->report.window[i]);
}

static hrc_status control(hrc_controller *c, const hrc_state *now, hrc_target *out, hrc_error *err)
{
    float qpos[HRC_NQ];
    for (int i = 0; i < HRC_NQ; i++) qpos[i] = (float)now->qpos[i];
    settle_reference(c, qpos);
    TRY(think(c, now, err));
    if (c->age > OLDEST_PLAN) c->have_plan = false;
    show(c);
    if (c->have_plan && bounds_window(c->report.window, HRC_WINDOW, NULL) < 0) {
        c->have_plan = false; /* across a leap of the reference a plan may be faster than a tracker may see */
        show(c);
    }
    TRY(hrc_step(c->track, now, c->report.window, out, err));
    describe(c, qpos);
    follow_advance(&c->reference);
    if (c->guide) follow_advance(c->guide);
    c->age++, c->asked++;
    return HRC_OK;
}

hrc_status hrc_control(hrc_controller *c, const hrc_state *now, hrc_target *out, hrc_error *err)
{
    NEED(c);
    NEED(now);
    NEED(out);
    hrc_status status = ready(c, now, err);
    if (status == HRC_OK) {
        const hrc_controller before = *c;
        status = control(c, now, out, err);
        if (status < 0) *c = before; /* the tracker has undone its own part */
    }
    if (status < 0)
        target_damped(out, c->last);
    else
        memcpy(c->last, out->q, sizeof c->last);
    return status;
}
