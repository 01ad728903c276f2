#include "play/playground.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/rot.h"
#include "control/follow.h"
#include "control/library.h"
#include "eval/course.h"
#include "plan/anchor.h"
#include "robot/state.h"

#define PUNCH_S 0.08
#define DRAG_S 0.12
#define REST_S 0.5 /* at a motion's end before the next begins */

typedef struct {
    hrc_controller *control; /* NULL: PD control alone, by `alone` */
    follower alone;
} control_loop;

struct playground {
    playground_resources resources;
    play_scene scene;
    play_robot robots[PLAY_ROBOTS];
    control_loop loops[PLAY_ROBOTS]; /* only the first has the planner */
    course motion;
    int rested; /* steps at the motion's end */
    double lying[POSTURE_COUNT][HRC_NQ];
    play_run run;    /* this one, so far */
    play_run script; /* a run that is repeated; n 0: none */
    int at;          /* its next order */
};

/* ---- Create ---- */

static hrc_status create_loop(control_loop *m, const playground_resources *resources, bool planner,
                              uint64_t seed, hrc_error *err)
{
    const hrc_options options = control_options(resources->cfg, seed);
    if (!resources->tracker) return HRC_OK;
    return hrc_controller_create(&m->control, resources->tracker, planner ? resources->planner : NULL,
                                 &options, err);
}

static hrc_status find_postures(playground *p, hrc_error *err)
{
    for (int i = 0; i < POSTURE_COUNT; i++)
        TRY(posture_lying(p->lying[i], POSTURE_NAME[i], 0, 0, p->resources.physics, 0, err));
    return HRC_OK;
}

static void restart(playground *p);

static hrc_status set_up(playground *p, hrc_error *err)
{
    for (int i = 0; i < PLAY_ROBOTS; i++)
        TRY(create_loop(&p->loops[i], &p->resources, i == 0, p->resources.seed, err));
    TRY(find_postures(p, err));
    TRY(catalog_course(p->resources.motions, p->scene.motion, &p->motion, err));
    restart(p);
    return HRC_OK;
}

hrc_status playground_create(playground **out, const playground_resources *resources, int first,
                             hrc_error *err)
{
    playground *p = calloc(1, sizeof *p);
    if (!p) return fail(err, HRC_ENOMEM, "playground: out of memory");
    p->resources = *resources;
    p->scene = (play_scene){.robots = 1,
                            .planner = resources->tracker && resources->planner,
                            .repeat = true, /* who opens the page later sees it move */
                            .friction = sim_nominal(resources->physics).friction,
                            .strength = 1,
                            .seed = resources->seed,
                            .posture = -1,
                            .motion = first};
    hrc_status status = set_up(p, err);
    if (status < 0)
        playground_free(p);
    else
        *out = p;
    return status;
}

void playground_free(playground *p)
{
    if (!p) return;
    for (int i = 0; i < PLAY_ROBOTS; i++) hrc_controller_free(p->loops[i].control);
    course_free(&p->motion);
    free(p);
}

const play_scene *playground_scene(const playground *p)
{
    return &p->scene;
}

const play_run *playground_run(const playground *p)
{
    return &p->run;
}

const play_robot *playground_robot(const playground *p, int i)
{
    return &p->robots[i];
}

static void say(playground *p, const char *text)
{
    snprintf(p->scene.event, sizeof p->scene.event, "%s", text);
    p->scene.event_number++;
    tape_note(p->resources.record, p->scene.event);
}

/* ---- Robots and their motion ---- */

static void follow(playground *p, int how)
{
    const hrc_motion motion = course_motion(&p->motion);
    for (int i = 0; i < PLAY_ROBOTS; i++) {
        control_loop *m = &p->loops[i];
        if (m->control)
            hrc_follow(m->control, &motion, 0, how, NULL); /* no course is refused */
        else
            follow_begin(&m->alone, &motion, 0, how & HRC_PLACE);
    }
    p->rested = 0;
}

static void apply_settings(playground *p)
{
    for (int i = 0; i < PLAY_ROBOTS; i++) {
        sim_params *q = &p->robots[i].world.params;
        q->friction = p->scene.friction;
        q->payload = p->scene.payload;
        q->strength = p->scene.strength;
        p->robots[i].planner = i == 0 && p->scene.planner;
        if (p->loops[i].control) hrc_controller_use_planner(p->loops[i].control, p->robots[i].planner);
    }
}

/* Where a scene begins: the motion's first frame, or lying there with its heading. */
static void first_pose(const playground *p, double qpos[HRC_NQ], double qvel[HRC_NV])
{
    const float *frame = clip_frame(&p->motion.motion, 0);
    for (int i = 0; i < HRC_NQ; i++) qpos[i] = (double)frame[i];
    for (int i = 0; i < HRC_NV; i++) qvel[i] = (double)p->motion.qvel[i];
    if (p->scene.posture < 0) return;
    const double x = qpos[0], y = qpos[1], heading = quat_yaw(qpos + 3);
    double turn[4];
    memcpy(qpos, p->lying[p->scene.posture], sizeof p->lying[0]);
    qpos[0] = x, qpos[1] = y;
    quat_from_yaw(turn, heading);
    quat_mul(qpos + 3, turn, qpos + 3);
    memset(qvel, 0, HRC_NV * sizeof *qvel);
}

static void restart(playground *p)
{
    double qpos[HRC_NQ], qvel[HRC_NV];
    first_pose(p, qpos, qvel);
    for (int i = 0; i < PLAY_ROBOTS; i++) {
        p->robots[i] = (play_robot){0};
        sim_reset(p->resources.physics, &p->robots[i].world, qpos, qvel);
        if (p->loops[i].control) hrc_controller_reset(p->loops[i].control);
    }
    apply_settings(p);
    follow(p, p->scene.posture < 0 ? 0 : HRC_PLACE | HRC_WAIT);
    p->scene.robots = p->scene.pair ? 2 : 1;
    p->scene.step = 0;
    p->run.scene = p->scene;
    p->run.n = 0;
    p->run.whole = true;
}

static hrc_status change_motion(playground *p, int index, hrc_error *err)
{
    course next;
    TRY(catalog_course(p->resources.motions, index, &next, err));
    course old = p->motion;
    p->motion = next;
    p->scene.motion = index;
    follow(p, HRC_PLACE | HRC_WAIT);
    course_free(&old);
    say(p, next.name);
    return HRC_OK;
}

/* ---- Orders ---- */

/* In the heading frame of the robot that was aimed at, so that the other gets the same. */
static void hit(playground *p, const play_order *o, double seconds)
{
    disturbance d = {.kind = DISTURB_PUNCH, .link = o->link, .seconds = seconds};
    double back[4];
    char words[80];
    quat_from_yaw(back, -quat_yaw(p->robots[o->robot].world.qpos + 3));
    quat_rotate(d.xyz, back, o->xyz);
    for (int i = 0; i < PLAY_ROBOTS; i++) disturb_apply(&d, &p->robots[i].world);
    if (o->kind == PLAY_drag) return;
    disturb_describe(&d, words, sizeof words);
    say(p, words);
}

static void push(playground *p, const play_order *o)
{
    disturbance d = {.kind = DISTURB_PUSH};
    char words[80];
    memcpy(d.xyz, o->xyz, sizeof d.xyz);
    for (int i = 0; i < PLAY_ROBOTS; i++) disturb_apply(&d, &p->robots[i].world);
    disturb_describe(&d, words, sizeof words);
    say(p, words);
}

static hrc_status enqueue(playground *p, int index, hrc_error *err)
{
    if (p->scene.queued == PLAY_QUEUE)
        return fail(err, HRC_EINVAL, "the queue is full: it holds %d motions", PLAY_QUEUE);
    p->scene.queue[p->scene.queued++] = index;
    return HRC_OK;
}

static hrc_status reseed(playground *p, uint64_t seed, hrc_error *err)
{
    control_loop fresh = {0};
    TRY(create_loop(&fresh, &p->resources, true, seed, err));
    hrc_controller_free(p->loops[0].control);
    p->loops[0] = fresh;
    p->scene.seed = seed;
    return HRC_OK;
}

static void set(playground *p, const play_order *o)
{
    char words[96];
    double *const place = o->kind == PLAY_friction  ? &p->scene.friction
                          : o->kind == PLAY_payload ? &p->scene.payload
                                                    : &p->scene.strength;
    *place = o->value;
    apply_settings(p);
    if (o->kind == PLAY_friction) snprintf(words, sizeof words, "friction %.3g", o->value);
    if (o->kind == PLAY_payload) snprintf(words, sizeof words, "payload %.3g kg", o->value);
    if (o->kind == PLAY_strength) snprintf(words, sizeof words, "motors at %.0f %%", 100 * o->value);
    say(p, words);
}

static hrc_status set_planner(playground *p, bool on, hrc_error *err)
{
    if (on && !(p->resources.tracker && p->resources.planner))
        return fail(err, HRC_EINVAL, "there is no planner: start with --planner FILE and a tracker");
    p->scene.planner = on;
    apply_settings(p);
    say(p, on ? "planner on" : "planner off");
    return HRC_OK;
}

static hrc_status begin(playground *p, const play_order *o, hrc_error *err)
{
    if (o->kind == PLAY_seed) TRY(reseed(p, (uint64_t)o->value, err));
    if (o->kind == PLAY_pair) p->scene.pair = o->value != 0;
    if (p->scene.pair) p->scene.planner = p->resources.tracker && p->resources.planner;
    if (o->kind == PLAY_posture || o->kind == PLAY_restart)
        p->scene.posture = o->kind == PLAY_posture ? (int)o->value : -1;
    if (o->kind == PLAY_pair) tape_clear(p->resources.record, p->scene.pair ? 2 : 1);
    restart(p);
    say(p, o->kind == PLAY_posture ? "put on the floor" : "restart");
    return HRC_OK;
}

static hrc_status apply(playground *p, const play_order *o, hrc_error *err)
{
    if (play_begins(o->kind)) return begin(p, o, err);
    switch (o->kind) {
    case PLAY_motion:
        TRY(change_motion(p, o->index, err));
        p->scene.queued = 0;
        break;
    case PLAY_queue: TRY(enqueue(p, o->index, err)); break;
    case PLAY_clear: p->scene.queued = 0; break;
    case PLAY_repeat: p->scene.repeat = o->value != 0; break;
    case PLAY_push: push(p, o); break;
    case PLAY_punch: hit(p, o, PUNCH_S); break;
    case PLAY_drag: hit(p, o, DRAG_S); break;
    case PLAY_planner: TRY(set_planner(p, o->value != 0, err)); break;
    default: set(p, o); break;
    }
    if (p->run.n == PLAY_KEPT)
        p->run.whole = false;
    else
        p->run.orders[p->run.n++] = (play_kept){p->scene.step, *o};
    return HRC_OK;
}

hrc_status playground_order(playground *p, const play_order *o, hrc_error *err)
{
    TRY(apply(p, o, err));
    p->script.n = p->at = 0; /* from here on it is another run */
    p->scene.scripted = false;
    return HRC_OK;
}

/* ---- One step ---- */

/* Joints to where the reference's next frame has them, no balance feedback. */
static void follow_alone(play_robot *r, follower *f, sim *physics, int worker)
{
    hrc_frame next;
    float qpos[HRC_NQ];
    for (int k = 0; k < HRC_NQ; k++) qpos[k] = (float)r->world.qpos[k];
    if (f->to_place) follow_place(f, qpos);
    follow_frame(f, 0, &r->report.reference);
    follow_frame(f, 1, &next);
    for (int k = 0; k < HRC_JOINTS; k++) r->target.q[k] = (double)next.qpos[7 + k];
    r->report.gap_rad = g1_joint_distance(qpos, r->report.reference.qpos);
    r->report.off = (double)plan_off(qpos, r->report.reference.qpos, true);
    r->report.frame = f->frame;
    r->report.frames = f->motion.n;
    follow_advance(f);
    sim_step_one(physics, &r->world, r->target.q, worker);
}

static void step_robot(void *ctx, int i, int worker)
{
    playground *p = ctx;
    play_robot *r = &p->robots[i];
    control_loop *m = &p->loops[i];
    double before[HRC_NQ];
    hrc_error err;
    if (*r->problem) return;
    memcpy(before, r->world.qpos, sizeof before);
    if (!m->control)
        follow_alone(r, &m->alone, p->resources.physics, worker);
    else if (loop_step(m->control, p->resources.physics, &r->world, worker, &r->target, &err) < 0)
        snprintf(r->problem, sizeof r->problem, "%.190s", err.text);
    else
        r->report = *hrc_controller_report(m->control);
    if (r->world.diverged)
        snprintf(r->problem, sizeof r->problem, "the physics gave numbers that are not finite: restart");
    r->nforces = sim_forces(p->resources.physics, worker, r->forces, PLAY_FORCES);
    tape_add(p->resources.record, i, before, &r->target, r->world.torque, &r->report);
}

/* At the end of the motion, of all robots: the next of the queue, or the same again. */
static void go_on(playground *p)
{
    play_scene *s = &p->scene;
    bool ended = true;
    for (int i = 0; i < s->robots; i++) ended &= p->robots[i].report.frame >= p->motion.motion.n - 1;
    p->rested = ended ? p->rested + 1 : 0;
    if (p->rested < REST_S * HRC_RATE_HZ || (!s->queued && !s->repeat)) return;
    const int next = s->queued ? s->queue[0] : s->motion;
    if (s->queued) memmove(s->queue, s->queue + 1, sizeof *s->queue * (size_t)--s->queued);
    change_motion(p, next, NULL);
}

static void play_script(playground *p)
{
    while (p->at < p->script.n && p->script.orders[p->at].step <= p->scene.step)
        apply(p, &p->script.orders[p->at++].order, NULL);
    p->scene.scripted = p->at < p->script.n;
}

void playground_step(playground *p)
{
    play_script(p);
    pool_items(p->resources.threads, p->scene.robots, step_robot, p);
    tape_next(p->resources.record);
    p->scene.step++;
    go_on(p);
}

/* ---- A run again ---- */

static hrc_status adopt(playground *p, const play_scene *s, hrc_error *err)
{
    course motion;
    if (s->planner && !(p->resources.tracker && p->resources.planner))
        return fail(err, HRC_EINVAL, "this run had a planner, and there is none here");
    TRY(catalog_course(p->resources.motions, s->motion, &motion, err));
    hrc_status status = s->seed == p->scene.seed ? HRC_OK : reseed(p, s->seed, err);
    if (status < 0) {
        course_free(&motion);
        return status;
    }
    const int64_t events = p->scene.event_number;
    const bool pair = p->scene.pair;
    course old = p->motion;
    p->motion = motion;
    p->scene = *s;
    p->scene.event_number = events;
    if (pair != s->pair) tape_clear(p->resources.record, s->pair ? 2 : 1);
    restart(p);
    course_free(&old);
    say(p, "a run of a link");
    return HRC_OK;
}

hrc_status playground_restore(playground *p, const play_run *run, hrc_error *err)
{
    TRY(adopt(p, &run->scene, err));
    p->script = *run;
    p->at = 0;
    p->scene.scripted = run->n > 0;
    return HRC_OK;
}
