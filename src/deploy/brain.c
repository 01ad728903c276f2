#include "deploy/brain.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/hash.h"
#include "base/rot.h"
#include "control/library.h"
#include "deploy/clock.h"
#include "deploy/lower.h"
#include "motion/clip.h"
#include "plan/anchor.h"
#include "robot/bounds.h"
#include "robot/capsules.h"

#define MISSES_PASS 2
#define MISSES_LATE 25 /* a second */
#define OLDEST_PLAN 5  /* control steps: half of what a plan spans */
#define WARM 10

struct brain {
    hrc_controller *loop;
    hrc_planner *planner; /* the planner's thread alone touches it */
    clip motion;
    float *qvel;
    hrc_motion reference;
    lowering down;
    float first[HRC_JOINTS];
    uint64_t hash[3];
    uint32_t epoch, seq;
    int64_t plan_step; /* of the last plan that came */
    bool outstanding;  /* a request is not answered yet */
    bool asking;       /* `request` is to be told */
    int misses;
    brain_request request;
};

/* ---- Create ---- */

/* FNV-1a over the file, or the corpus that holds the clip. */
static hrc_status hash_file(uint64_t *out, const char *path, hrc_error *err)
{
    char name[1024];
    file_view view;
    snprintf(name, sizeof name, "%s", path);
    if (strchr(name, '#')) *strchr(name, '#') = 0;
    TRY(file_map(name, &view, err));
    *out = hash_words(HASH_START, view.data, view.size);
    file_unmap(&view);
    return HRC_OK;
}

static hrc_status load_motion(brain *b, const char *path, const clip_options *reading, hrc_error *err)
{
    TRY(clip_load_at(&b->motion, path, HRC_RATE_HZ, reading, err));
    b->qvel = calloc((size_t)b->motion.n * HRC_NV, sizeof *b->qvel);
    if (!b->qvel) return fail(err, HRC_ENOMEM, "%s: out of memory", path);
    hrc_velocities(b->qvel, b->motion.qpos, b->motion.n);
    b->reference = (hrc_motion){b->motion.n, b->motion.qpos, b->qvel};
    hrc_error why;
    hrc_status status = bounds_motion(&b->reference, &why);
    if (status < 0) return fail(err, status, "%s: %.400s", path, why.text);
    memcpy(b->first, b->motion.qpos + 7, sizeof b->first);
    return hash_file(&b->hash[2], path, err);
}

static hrc_status load_planner(brain *b, const brain_setup *setup, const hrc_plan_options *o, hrc_error *err)
{
    TRY(hash_file(&b->hash[1], setup->planner_path, err));
    if (setup->planner->kind != HRC_PLANNER)
        return fail(err, HRC_EINVAL, "%s: is a tracker, expected a planner", setup->planner_path);
    if (setup->planner->plan.layout.position)
        return fail(
            err, HRC_EINVAL,
            "%s: a planner of %d numbers needs the robot's position, which encoders and IMU do not give; "
            "expected one of %d, or --planner off",
            setup->planner_path, PLAN_D, PLAN_D_BLIND);
    return hrc_planner_create(&b->planner, setup->planner, o, err);
}

static hrc_status load(brain *b, const brain_setup *setup, hrc_error *err)
{
    hrc_options o = control_options(setup->cfg, setup->seed);
    o.apart = 1;
    o.leash_m = 0; /* where the robot is on the floor is not known */
    TRY(load_motion(b, setup->motion, &setup->reading, err));
    TRY(hash_file(&b->hash[0], setup->tracker_path, err));
    if (setup->planner) TRY(load_planner(b, setup, &o.plan, err));
    return hrc_controller_create(&b->loop, setup->tracker, setup->planner, &o, err);
}

hrc_status brain_create(brain **out, const brain_setup *setup, hrc_error *err)
{
    brain *b = calloc(1, sizeof *b);
    if (!b) return fail(err, HRC_ENOMEM, "controller: out of memory");
    lower_init(&b->down);
    hrc_status status = load(b, setup, err);
    if (status < 0)
        brain_free(b);
    else
        *out = b;
    return status;
}

void brain_free(brain *b)
{
    if (!b) return;
    hrc_controller_free(b->loop);
    hrc_planner_free(b->planner);
    clip_free(&b->motion);
    free(b->qvel);
    free(b);
}

const float *brain_first(const brain *b)
{
    return b->first;
}

int brain_frames(const brain *b)
{
    return b->motion.n;
}

float *brain_reference(brain *b)
{
    return b->motion.qpos;
}

uint64_t brain_hash(const brain *b, int which)
{
    return b->hash[which];
}

/* ---- Step ---- */

void brain_pose(double qpos[HRC_NQ], const robot_state *s)
{
    memset(qpos, 0, sizeof(double) * HRC_NQ);
    for (int i = 0; i < 4; i++) qpos[3 + i] = (double)s->quat[i];
    quat_normalize(qpos + 3);
    for (int i = 0; i < HRC_JOINTS; i++) qpos[7 + i] = (double)s->q[i];
    qpos[2] = -pose_lowest(qpos);
}

static hrc_state state_of(const robot_state *s)
{
    hrc_state out = {0};
    brain_pose(out.qpos, s);
    for (int i = 0; i < 3; i++) out.qvel[3 + i] = (double)s->gyro[i];
    for (int i = 0; i < HRC_JOINTS; i++) out.qvel[6 + i] = (double)s->dq[i];
    return out;
}

/* The motion from its first frame; or, on the way down, from where the reference is, the history kept. */
static hrc_status begin(brain *b, uint32_t epoch)
{
    hrc_motion *motion = &b->reference;
    bool lower = epoch & EPOCH_LOWER;
    if (lower)
        lower_from(&b->down, &hrc_controller_report(b->loop)->reference), motion = &b->down.motion;
    else
        hrc_controller_reset(b->loop);
    b->epoch = epoch;
    b->plan_step = -1;
    b->outstanding = b->asking = false;
    if (!lower) b->misses = 0;
    return hrc_follow(b->loop, motion, 0, HRC_PLACE, NULL);
}

static void take_plan(brain *b, const brain_plan *p, brain_output *out)
{
    if (!p || p->epoch != b->epoch || p->step <= b->plan_step) return;
    int64_t age = hrc_controller_report(b->loop)->step - p->step;
    hrc_keyframes k;
    b->plan_step = p->step;
    b->outstanding = false;
    out->plan_step = p->step, out->plan_epoch = p->epoch;
    if (age > OLDEST_PLAN) return; /* the misses that it caused stay counted */
    b->misses = 0;
    memcpy(k.qpos, p->keyframes, sizeof k.qpos);
    k.span_s = p->span_s;
    hrc_plan_give(b->loop, p->step, p->verdict == HRC_FINE ? &k : NULL);
}

static void ask_plan(brain *b)
{
    hrc_plan_request r;
    if (!hrc_plan_wanted(b->loop, &r)) return;
    if (b->outstanding) {
        b->misses++;
        if (b->misses >= MISSES_PASS) hrc_plan_give(b->loop, 0, NULL);
        return;
    }
    b->request = (brain_request){.epoch = b->epoch, .ask = r};
    b->outstanding = b->asking = true;
}

static uint32_t flags_of(const brain *b, hrc_status status, const hrc_report *r)
{
    return (r->frame >= r->frames - 1 ? TARGET_ENDED : 0) | (b->misses >= MISSES_LATE ? TARGET_LATE : 0) |
           (status < 0 ? TARGET_DAMP : 0);
}

void brain_step(brain *b, const brain_input *in, brain_output *out)
{
    hrc_target target;
    hrc_state now = state_of(in->state);
    const hrc_report *r = hrc_controller_report(b->loop);
    memset(out, 0, sizeof *out);
    hrc_status status = in->epoch == b->epoch ? HRC_OK : begin(b, in->epoch);
    take_plan(b, in->plan, out);
    hrc_status stepped = hrc_control(b->loop, &now, &target, NULL);
    if (stepped < 0) status = stepped;
    if (status >= 0) ask_plan(b);
    pilot_target *t = &out->target;
    t->ns = in->ns, t->seq = ++b->seq, t->epoch = in->epoch, t->state = in->number;
    t->flags = flags_of(b, status, r);
    for (int i = 0; i < HRC_JOINTS; i++) {
        t->q[i] = (float)target.q[i], t->kp[i] = (float)target.kp[i], t->kd[i] = (float)target.kd[i];
        out->reference[i] = r->reference.qpos[7 + i];
    }
    out->frame = r->frame, out->planned = r->planned, out->misses = b->misses;
    out->gap_rad = (float)r->gap_rad, out->rewrite_rad = (float)r->rewrite_rad;
}

bool brain_wants(brain *b, brain_request *out)
{
    if (!b->asking) return false;
    *out = b->request;
    b->asking = false;
    return true;
}

void brain_think(brain *b, const brain_request *request, int64_t ns, brain_plan *out)
{
    hrc_keyframes k = {0};
    hrc_verdict verdict = HRC_FINE;
    int64_t begun = clock_now_ns();
    hrc_status status = hrc_plan(b->planner, &request->ask, &k, &verdict, NULL);
    memset(out, 0, sizeof *out);
    out->step = request->ask.step, out->epoch = request->epoch, out->ns = ns;
    out->verdict = status < 0 ? HRC_NOT_FINITE : (int32_t)verdict;
    memcpy(out->keyframes, k.qpos, sizeof out->keyframes);
    out->span_s = k.span_s;
    out->took_ns = clock_now_ns() - begun;
}

void brain_reset(brain *b)
{
    b->epoch = b->seq = 0;
    b->asking = false;
}

void brain_warm(brain *b, const robot_state *s, double *step_ms, double *plan_ms)
{
    brain_output out;
    brain_request request;
    brain_plan plan = {0};
    *step_ms = *plan_ms = 0;
    for (int i = 0; i < WARM; i++) {
        int64_t begun = clock_now_ns();
        brain_step(b, &(brain_input){s, 1, UINT32_MAX, begun, plan.epoch ? &plan : NULL}, &out);
        *step_ms = fmax(*step_ms, 1e-6 * (double)(clock_now_ns() - begun));
        if (!brain_wants(b, &request)) continue;
        brain_think(b, &request, begun, &plan);
        *plan_ms = fmax(*plan_ms, 1e-6 * (double)plan.took_ns);
    }
    brain_reset(b);
}
