#include "eval/performance.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/rot.h"

#define ARRAYS (ROLLOUT_REF | ROLLOUT_TARGET | ROLLOUT_TORQUE | ROLLOUT_SIGNALS | ROLLOUT_PLAN)
#define WAIT_S 6.0 /* more than a controller waits */

typedef struct {
    const performance *p;
    hrc_controller *control;
    sim *physics;
    sim_world world;
    rollout *out;
    course_result *result;
    tally sums;
    int i, next; /* frame of the record; disturbance */
    double plan_ms;
} stage;

static void judge(stage *s, const sim_world *before, const hrc_report *r, double t_s)
{
    frame_error e;
    if (r->waiting) return;
    frame_compare(&e, before->qpos, before->qvel, r->reference.qpos, r->reference.qvel);
    if (before->diverged) e.complete = e.strict = false;
    if (!e.complete && !s->sums.failed) rollout_note(s->out, t_s, "lost the reference");
    tally_add(&s->sums, &e);
}

static void keep(stage *s, const sim_world *before, const hrc_target *target, const hrc_report *r)
{
    rollout *o = s->out;
    const size_t i = (size_t)s->i;
    for (int k = 0; k < HRC_NQ; k++) o->qpos[i * HRC_NQ + k] = (float)before->qpos[k];
    for (int k = 0; k < HRC_JOINTS; k++) {
        o->target[i * HRC_JOINTS + k] = (float)target->q[k];
        o->torque[i * HRC_JOINTS + k] = (float)s->world.torque[k];
    }
    rollout_control(o, s->i, r);
}

static hrc_status step(stage *s, const char *motion, hrc_error *err)
{
    const double t_s = (double)s->i / HRC_RATE_HZ;
    const hrc_report *r = hrc_controller_report(s->control);
    hrc_target target;
    disturb_due(s->p->disturb, s->p->ndisturb, &s->next, t_s, &s->world, s->out);
    const sim_world before = s->world;
    TRY(loop_step(s->control, s->physics, &s->world, 0, &target, err));
    judge(s, &before, r, t_s);
    keep(s, &before, &target, r);
    if (r->replanned) s->plan_ms += r->plan_ms;
    if (s->p->tick && s->i % 10 == 0) s->p->tick(s->p->ctx, t_s, motion, r);
    s->i++;
    return HRC_OK;
}

static hrc_status play(stage *s, int k, hrc_error *err)
{
    const course *c = &s->p->courses[k];
    const hrc_motion motion = course_motion(c);
    const hrc_report *r = hrc_controller_report(s->control);
    const int how = k > 0 || s->p->start ? HRC_PLACE | HRC_WAIT : 0;
    const int held = (int)lrint(s->p->hold_s * HRC_RATE_HZ);
    TRY(hrc_follow(s->control, &motion, c->first, how, err));
    if (k > 0) rollout_note(s->out, (double)s->i / HRC_RATE_HZ, c->name);
    int at_end = 0;
    while (at_end <= held && s->i < s->out->n) {
        TRY(step(s, c->name, err));
        at_end += r->frame >= r->frames - 1;
    }
    return HRC_OK;
}

static hrc_status play_all(stage *s, hrc_error *err)
{
    course_world(&s->p->courses[0], s->p->start, s->physics, &s->world);
    hrc_controller_reset(s->control);
    for (int k = 0; k < s->p->n; k++) TRY(play(s, k, err));
    s->out->n = s->i;
    const hrc_report *r = hrc_controller_report(s->control);
    course_result *result = s->result;
    *result = (course_result){.frames = s->i, .diverged = s->world.diverged, .plans = r->plans};
    if (s->sums.frames) tally_figures(&result->figures, &s->sums);
    memcpy(result->verdicts, r->verdicts, sizeof result->verdicts);
    result->plan_ms = r->plans ? s->plan_ms / (double)r->plans : 0;
    return HRC_OK;
}

hrc_status perform(rollout *out, course_result *result, const performance *p, hrc_controller *c, sim *physics,
                   hrc_error *err)
{
    double seconds = 0;
    for (int k = 0; k < p->n; k++)
        seconds += (double)p->courses[k].motion.n / HRC_RATE_HZ + p->hold_s + WAIT_S;
    stage s = {.p = p, .control = c, .physics = physics, .out = out, .result = result};
    TRY(rollout_create(out, (int)(seconds * HRC_RATE_HZ), HRC_RATE_HZ, p->courses[0].name, ARRAYS,
                       p->ndisturb + p->n + 1, err));
    hrc_status status = play_all(&s, err);
    if (status < 0) rollout_free(out);
    return status;
}
