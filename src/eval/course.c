#include "eval/course.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/rot.h"
#include "robot/bounds.h"
#include "robot/fk.h"
#include "robot/posture.h"
#include "robot/state.h"

/* ---- Figures ---- */

const figure_info FIGURE[FIGURE_COUNT] = {
#define X(name, heading, unit, more) {#name, heading, unit, more},
    FIGURES(X)
#undef X
};

static double distance(const double a[3], const double b[3])
{
    const double d[3] = {a[0] - b[0], a[1] - b[1], a[2] - b[2]};
    return vec_norm(d);
}

/* Mean over the tracked links but the root, whose local error is 0. */
static void compare_links(frame_error *out, const double *qpos, const double *ref)
{
    fk_pose a, b;
    fk(&a, qpos);
    fk(&b, ref);
    for (int k = 0; k < G1_TRACKED; k++) {
        const int link = G1_TRACKED_LINK[k];
        double x[3], y[3];
        for (int i = 0; i < 3; i++) x[i] = a.pos[link][i] - qpos[i], y[i] = b.pos[link][i] - ref[i];
        out->mpjpe_local_mm += 1e3 * distance(x, y) / G1_TRACKED;
        out->mpjpe_global_mm += 1e3 * distance(a.pos[link], b.pos[link]) / G1_TRACKED;
    }
}

frame_error frame_compare(const sim_world *w, const float ref_qpos[HRC_NQ], const float ref_qvel[HRC_NV])
{
    double rq[HRC_NQ], rv[HRC_NV];
    g1_state a, b;
    for (int i = 0; i < HRC_NQ; i++) rq[i] = (double)ref_qpos[i];
    for (int i = 0; i < HRC_NV; i++) rv[i] = (double)ref_qvel[i];
    g1_state_read(&a, w->qpos, w->qvel);
    g1_state_read(&b, rq, rv);
    const tracking_error t = tracking_error_of(&a, ref_qpos);
    frame_error e = {.joint_rad = t.joint,
                     .height_m = t.height,
                     .ori_rad = t.tilt,
                     .linvel_mps = distance(a.lin_vel, b.lin_vel)};
    e.complete = !w->diverged && e.height_m < FOLLOWS_HEIGHT_M && e.ori_rad < FOLLOWS_TILT_RAD;
    e.strict =
        !w->diverged && e.height_m < STRICT_HEIGHT && fabs(a.gravity[2] - b.gravity[2]) < STRICT_GRAVITY;
    compare_links(&e, w->qpos, rq);
    return e;
}

void tally_add(tally *t, const frame_error *e)
{
    t->frames++;
    t->complete += e->complete;
    t->failed |= !e->complete;
    t->broke_strict |= !e->strict;
    t->until_failure += !t->failed;
    t->sum.joint_rad += e->joint_rad;
    t->sum.height_m += e->height_m;
    t->sum.ori_rad += e->ori_rad;
    t->sum.linvel_mps += e->linvel_mps;
    t->sum.mpjpe_local_mm += e->mpjpe_local_mm;
    t->sum.mpjpe_global_mm += e->mpjpe_global_mm;
}

bool tally_judge(tally *t, const sim_world *w, const float ref_qpos[HRC_NQ], const float ref_qvel[HRC_NV],
                 rollout *record, double t_s)
{
    const frame_error e = frame_compare(w, ref_qpos, ref_qvel);
    if (!e.complete && !t->failed && record) rollout_note(record, t_s, "lost the reference");
    tally_add(t, &e);
    return e.complete;
}

void tally_figures(figures *out, const tally *t)
{
    const double n = t->frames;
    *out = (figures){.cr = t->complete / n,
                     .joint_rad = t->sum.joint_rad / n,
                     .height_m = t->sum.height_m / n,
                     .ori_rad = t->sum.ori_rad / n,
                     .linvel_mps = t->sum.linvel_mps / n,
                     .progress = t->until_failure / n,
                     .success = !t->broke_strict,
                     .mpjpe_local_mm = t->sum.mpjpe_local_mm / n,
                     .mpjpe_global_mm = t->sum.mpjpe_global_mm / n};
}

#define TICK 25 /* frames between calls of `tick` */

/* ---- Disturbances ---- */

void disturb_apply(const disturbance *d, sim_world *w)
{
    static const double NO_TURN[3];
    double yaw[4], world[3];
    quat_from_yaw(yaw, quat_yaw(w->qpos + 3));
    quat_rotate(world, yaw, d->xyz);
    if (d->kind == DISTURB_PUSH)
        sim_push(w, world, NO_TURN);
    else
        sim_hit(w, d->link, world, d->seconds);
}

void disturb_describe(const disturbance *d, char *out, size_t size)
{
    static const char *const TO[8] = {"ahead", "ahead and left", "to the left",  "back and left",
                                      "back",  "back and right", "to the right", "ahead and right"};
    const double strength = vec_norm(d->xyz), angle = atan2(d->xyz[1], d->xyz[0]);
    const int eighth = ((int)lrint(angle / (M_PI / 4)) + 8) % 8;
    if (d->kind == DISTURB_PUSH)
        snprintf(out, size, "push %.3g m/s %s", strength, TO[eighth]);
    else
        snprintf(out, size, "punch %.3g N for %.3g s %s", strength, d->seconds, TO[eighth]);
}

bool disturb_due(const disturbance *list, int n, int *next, double t_s, sim_world *w, rollout *record)
{
    const int before = *next;
    for (; *next < n && list[*next].t_s <= t_s + 1e-9; ++*next) {
        char words[80];
        disturb_apply(&list[*next], w);
        disturb_describe(&list[*next], words, sizeof words);
        if (record) rollout_note(record, t_s, words);
    }
    return *next > before;
}

/* ---- Courses ---- */

/* What a controller would refuse to follow is no course. */
static hrc_status check_motion(const course *t, hrc_error *err)
{
    hrc_error why;
    const hrc_motion motion = course_motion(t);
    hrc_status status = bounds_motion(&motion, &why);
    return status < 0 ? fail(err, status, "%s: %.400s", t->name, why.text) : status;
}

hrc_status course_create(course *t, const char *name, const char *category, clip *motion, bool held,
                         int first, double limit_s, hrc_error *err)
{
    *t = (course){.motion = *motion, .first = first, .description = ""};
    *motion = (clip){0};
    clip *c = &t->motion;
    t->name = arena_strdup(&c->memory, name);
    t->category = arena_strdup(&c->memory, category);
    t->qvel = ARENA_NEW(&c->memory, float, (size_t)c->n *HRC_NV);
    hrc_status status = HRC_OK;
    if (!t->name || !t->category || !t->qvel)
        status = fail(err, HRC_ENOMEM, "%s: out of memory", name);
    else if (fabs(c->fps - HRC_RATE_HZ) > 1e-6 || c->n - first < 2 || first < 0)
        status = fail(err, HRC_EINVAL, "%s: %d frames at %g Hz from frame %d on, expected at least 2 at %d",
                      name, c->n, c->fps, first, HRC_RATE_HZ);
    if (status == HRC_OK && !held) clip_velocities(t->qvel, c);
    if (status == HRC_OK) status = check_motion(t, err);
    if (status < 0) {
        course_free(t);
        return status;
    }
    const int longest = (int)lrint(limit_s * HRC_RATE_HZ);
    t->frames = c->n - 1 - first < longest ? c->n - 1 - first : longest;
    return HRC_OK;
}

hrc_status course_describe(course *t, const char *description, hrc_error *err)
{
    const char *own = arena_strdup(&t->motion.memory, description);
    if (!own) return fail(err, HRC_ENOMEM, "%s: out of memory", t->name);
    t->description = own;
    return HRC_OK;
}

void course_free(course *t)
{
    clip_free(&t->motion);
    *t = (course){0};
}

hrc_motion course_motion(const course *t)
{
    return (hrc_motion){t->motion.n, t->motion.qpos, t->qvel};
}

/* ---- Running ---- */

hrc_status loop_step(hrc_controller *c, sim *physics, sim_world *w, int worker, hrc_target *target,
                     hrc_error *err)
{
    hrc_state state;
    memcpy(state.qpos, w->qpos, sizeof state.qpos);
    memcpy(state.qvel, w->qvel, sizeof state.qvel);
    hrc_status status = hrc_control(c, &state, target, err);
    if (status < 0 && bounds_reading(&state, NULL) < 0) { /* physics that no robot has */
        w->diverged = true;
        return HRC_OK;
    }
    TRY(status);
    for (int i = 0; i < HRC_JOINTS; i++) { /* ours: exactly 1 */
        w->params.kp[i] = target->kp[i] / G1_JOINT[i].kp;
        w->params.kd[i] = target->kd[i] / G1_JOINT[i].kd;
    }
    sim_step_one(physics, w, target->q, worker);
    return HRC_OK;
}

typedef struct {
    const course *t;
    const course_means *m;
    sim_world world;
    hrc_target target;
    rollout *record;
    tally sums;
    int next_disturbance;
    int calm;  /* frames on the reference without a break */
    bool left; /* was out of bounds since the last disturbance */
    double calm_from_s;
    course_result *out;
} running;

void world_on_frame(sim_world *w, const sim *physics, const float qpos[HRC_NQ], const float qvel[HRC_NV])
{
    double q[HRC_NQ], v[HRC_NV];
    for (int i = 0; i < HRC_NQ; i++) q[i] = (double)qpos[i];
    for (int i = 0; i < HRC_NV; i++) v[i] = (double)qvel[i];
    *w = (sim_world){0};
    sim_reset(physics, w, q, v);
}

void course_world(const course *c, const double *start, const sim *physics, sim_world *w)
{
    world_on_frame(w, physics, clip_frame(&c->motion, c->first), c->qvel + (size_t)c->first * HRC_NV);
    if (start) sim_reset(physics, w, start, NULL);
}

static hrc_status act(running *r, int i, hrc_error *err)
{
    const float *ref = clip_frame(&r->t->motion, r->t->first + i);
    double before[HRC_NQ];
    memcpy(before, r->world.qpos, sizeof before);
    if (r->m->control) {
        TRY(loop_step(r->m->control, r->m->physics, &r->world, r->m->worker, &r->target, err));
    } else {
        for (int k = 0; k < HRC_JOINTS; k++)
            r->target.q[k] = (double)ref[HRC_NQ + 7 + k]; /* of the next frame */
        sim_step_one(r->m->physics, &r->world, r->target.q, r->m->worker);
    }
    if (!r->record) return HRC_OK;
    rollout_robot(r->record, i, before, &r->target, r->world.torque);
    if (r->m->control)
        rollout_control(r->record, i, hrc_controller_report(r->m->control));
    else
        memcpy(r->record->ref + (size_t)i * HRC_NQ, ref, HRC_NQ * sizeof *ref);
    return HRC_OK;
}

static void judge(running *r, int i)
{
    const course *t = r->t;
    const size_t frame = (size_t)(t->first + i);
    const double t_s = (double)i / HRC_RATE_HZ;
    const bool complete = tally_judge(&r->sums, &r->world, t->motion.qpos + frame * HRC_NQ,
                                      t->qvel + frame * HRC_NV, r->record, t_s);
    if (!complete) r->calm = 0, r->left = true, r->out->stands_s = -1;
    if (complete && r->calm++ == 0) r->calm_from_s = t_s;
    if (r->calm < STANDS_S * HRC_RATE_HZ) return;
    const double since = r->next_disturbance ? t->disturb[r->next_disturbance - 1].t_s : 0;
    if (r->out->stands_s < 0) r->out->stands_s = r->calm_from_s - since;
    if (r->out->back_s < 0 && r->left) r->out->back_s = r->calm_from_s - since;
}

static hrc_status run(running *r, hrc_error *err)
{
    const course *t = r->t;
    double plan_ms = 0;
    course_world(t, t->own_start ? t->start : NULL, r->m->physics, &r->world);
    if (r->m->control) {
        const hrc_motion motion = course_motion(t);
        hrc_controller_reset(r->m->control);
        TRY(hrc_follow(r->m->control, &motion, t->first, t->how, err));
    }
    for (int i = 0; i < t->frames; i++) {
        if (disturb_due(t->disturb, t->ndisturb, &r->next_disturbance, (double)i / HRC_RATE_HZ, &r->world,
                        r->record))
            r->calm = 0, r->left = false, r->out->stands_s = r->out->back_s = -1;
        TRY(act(r, i, err));
        judge(r, i + 1);
        if (r->m->control && hrc_controller_report(r->m->control)->replanned)
            plan_ms += hrc_controller_report(r->m->control)->plan_ms;
        if (r->m->tick && i % TICK == 0) r->m->tick(r->m->ctx, i);
    }
    if (!r->left) r->out->back_s = 0;
    tally_figures(&r->out->figures, &r->sums);
    r->out->frames = t->frames;
    r->out->diverged = r->world.diverged;
    if (!r->m->control) return HRC_OK;
    const hrc_report *report = hrc_controller_report(r->m->control);
    r->out->plans = report->plans;
    memcpy(r->out->verdicts, report->verdicts, sizeof r->out->verdicts);
    r->out->plan_ms = report->plans ? plan_ms / (double)report->plans : 0;
    return HRC_OK;
}

hrc_status course_run(const course *t, const course_means *means, course_result *out, rollout *record_to,
                      hrc_error *err)
{
    const int arrays = ROLLOUT_REF | ROLLOUT_TORQUE | ROLLOUT_SIGNALS | (means->plans ? ROLLOUT_PLAN : 0);
    running r = {.t = t, .m = means, .record = record_to, .out = out};
    *out = (course_result){.stands_s = -1, .back_s = -1};
    if (record_to)
        TRY(rollout_create(record_to, t->frames, HRC_RATE_HZ, t->name, arrays, t->ndisturb + 1, err));
    hrc_status status = run(&r, err);
    if (status < 0 && record_to) rollout_free(record_to);
    return status;
}

/* ---- Lying on the floor ---- */

#define DROP_HEIGHT 0.35 /* m: nothing touches the floor yet */
#define SETTLE_STEPS 100 /* control periods: 2 s */
#define LEAN_RAD 0.25    /* of variants, about each axis: standard deviation ... */
#define BENT_RAD 0.4     /* ... and of each joint */

const char *const POSTURE_NAME[] = {"lying-back", "lying-front", "lying-left", "lying-right"};

/* Rotation vectors from standing. */
static const double TURN[POSTURE_COUNT][3] = {
    {0, -M_PI / 2, 0}, {0, M_PI / 2, 0}, {-M_PI / 2, 0, 0}, {M_PI / 2, 0, 0}};

/* Limbs bent at random, within the joints' soft limits. */
static void bend(double qpos[HRC_NQ], rng *dice)
{
    double lean[3], tilt[4];
    for (int k = 0; k < 3; k++) lean[k] = LEAN_RAD * (double)rng_normal(dice);
    quat_exp(tilt, lean);
    quat_mul(qpos + 3, tilt, qpos + 3);
    for (int j = 0; j < HRC_JOINTS; j++) {
        const double bent = qpos[7 + j] + BENT_RAD * (double)rng_normal(dice);
        qpos[7 + j] = fmin(fmax(bent, G1_JOINT[j].soft_lo), G1_JOINT[j].soft_hi);
    }
}

hrc_status posture_heap(double qpos[HRC_NQ], int side, double heading, rng *dice, sim *s, int worker,
                        hrc_error *err)
{
    double start[HRC_NQ], yaw[4], tilt[4];
    sim_world w = {0};
    g1_default_qpos(start);
    quat_from_yaw(yaw, heading);
    quat_exp(tilt, TURN[side]);
    quat_mul(start + 3, yaw, tilt);
    start[2] = DROP_HEIGHT;
    if (dice) bend(start, dice);
    sim_reset(s, &w, start, NULL);
    for (int i = 0; i < SETTLE_STEPS; i++) sim_step_one(s, &w, start + 7, worker);
    if (w.diverged) return fail(err, HRC_EINVAL, "posture %s: the simulation diverged", POSTURE_NAME[side]);
    memcpy(qpos, w.qpos, sizeof w.qpos);
    qpos[0] = qpos[1] = 0;
    return HRC_OK;
}

hrc_status posture_lying(double qpos[HRC_NQ], const char *name, double heading, int variant, sim *s,
                         int worker, hrc_error *err)
{
    int side = 0;
    while (side < POSTURE_COUNT && strcmp(POSTURE_NAME[side], name) != 0) side++;
    if (side == POSTURE_COUNT)
        return fail(err, HRC_EINVAL, "there is no posture \"%.40s\", expected one of " LYING_STARTS, name);
    rng dice = rng_make((uint64_t)variant, (uint64_t)side);
    return posture_heap(qpos, side, heading, variant ? &dice : NULL, s, worker, err);
}
