/* heracles.h: models, planner, tracker. The controller is in controller.c. */
#include "control/library.h"

#include <stdlib.h>
#include <string.h>

#include "base/tensorfile.h"
#include "motion/import/formats.h"
#include "plan/planner.h"
#include "robot/bounds.h"
#include "track/tracker.h"

_Static_assert(HRC_KEYFRAMES == PLAN_K && HRC_RATE_HZ == PLAN_FPS && HRC_WINDOW == OBS_FRAMES, "one size");
_Static_assert((int)HRC_TOO_FAST == (int)PLAN_TOO_FAST && (int)HRC_VERDICTS == (int)PLAN_VERDICTS,
               "one list");
_Static_assert(HRC_PLAN_FRAMES == PLAN_MAX_H, "one size");

/* ---- Plain data ---- */

void hrc_velocities(float *qvel, const float *qpos, int n)
{
    g1_velocities(qvel, qpos, n, HRC_RATE_HZ);
}

/* The robot's own gains; q is left as it is. */
static void target_stiff(hrc_target *out)
{
    for (int i = 0; i < HRC_JOINTS; i++) out->kp[i] = G1_JOINT[i].kp, out->kd[i] = G1_JOINT[i].kd;
}

void target_damped(hrc_target *out, const double q[HRC_JOINTS])
{
    target_stiff(out);
    memcpy(out->q, q, sizeof out->q);
    memset(out->kp, 0, sizeof out->kp);
}

/* ---- Models ---- */

static hrc_status find_kind(hrc_kind *out, const char *path, hrc_error *err)
{
    tensorfile file;
    TRY(tensorfile_open(&file, path, err));
    const char *format = tensorfile_text(&file, "format", "(missing)");
    hrc_status status = HRC_OK;
    if (!strcmp(format, TRACK_FORMAT))
        *out = HRC_TRACKER;
    else if (!strcmp(format, PLAN_FORMAT))
        *out = HRC_PLANNER;
    else
        status = fail(err, HRC_EFORMAT,
                      "%s: format is \"%.60s\", expected \"" TRACK_FORMAT "\" or \"" PLAN_FORMAT "\"", path,
                      format);
    tensorfile_close(&file);
    return status;
}

static bool is_onnx(const char *path)
{
    const size_t n = strlen(path);
    return n > 5 && !strcmp(path + n - 5, ".onnx");
}

static hrc_status load(hrc_model *m, const char *path, hrc_error *err)
{
    if (is_onnx(path)) return others_load(&m->others, path, err);
    if (m->kind == HRC_TRACKER) return tracker_load(&m->track, path, err);
    TRY(plan_model_load(&m->plan, path, err));
    return planner_verify(&m->plan, err);
}

hrc_status hrc_model_load(hrc_model **out, const char *path, hrc_error *err)
{
    NEED(out);
    NEED(path);
    hrc_kind kind = HRC_TRACKER;
    if (!is_onnx(path)) TRY(find_kind(&kind, path, err));
    hrc_model *m = calloc(1, sizeof *m);
    if (!m) return fail(err, HRC_ENOMEM, "%s: out of memory", path);
    m->kind = kind;
    hrc_status status = load(m, path, err);
    if (status < 0)
        hrc_model_free(m);
    else
        *out = m;
    return status;
}

void hrc_model_free(hrc_model *m)
{
    if (!m) return;
    track_model_free(&m->track);
    plan_model_free(&m->plan);
    others_model_free(&m->others);
    free(m);
}

hrc_kind hrc_model_kind(const hrc_model *m)
{
    return m->kind;
}

const char *hrc_model_trained(const hrc_model *m)
{
    if (!m) return "";
    if (model_of_others(m)) return m->others.about;
    return m->kind == HRC_TRACKER ? m->track.trained : m->plan.trained;
}

/* ---- Planner ---- */

struct hrc_planner {
    const hrc_model *model;
    planner *plan;
    pool *threads;
};

hrc_plan_options hrc_plan_defaults(void)
{
    planner_options o = planner_defaults();
    return (hrc_plan_options){.steps = o.steps, .t_start = o.t_start, .noise = o.noise, .threads = 1};
}

const char *hrc_verdict_name(hrc_verdict verdict)
{
    return plan_verdict_name((plan_verdict)verdict);
}

hrc_status hrc_planner_create(hrc_planner **out, const hrc_model *m, const hrc_plan_options *options,
                              hrc_error *err)
{
    NEED(out);
    NEED(m);
    if (m->kind != HRC_PLANNER)
        return fail(err, HRC_EINVAL, "%s: is a tracker, expected a planner", m->track.path);
    const hrc_plan_options o = options ? *options : hrc_plan_defaults();
    hrc_planner *p = calloc(1, sizeof *p);
    if (!p) return fail(err, HRC_ENOMEM, "planner: out of memory");
    p->model = m;
    hrc_status status = o.threads > 1 ? pool_create(&p->threads, o.threads, err) : HRC_OK;
    if (status == HRC_OK)
        status = planner_create(&p->plan, &m->plan,
                                &(planner_options){.precision = o.bf16 ? NN_BF16 : NN_FLOAT,
                                                   .steps = o.steps,
                                                   .t_start = o.t_start,
                                                   .warm_start = !o.cold,
                                                   .noise = o.noise,
                                                   .seed = o.seed,
                                                   .threads = p->threads},
                                err);
    if (status < 0)
        hrc_planner_free(p);
    else
        *out = p;
    return status;
}

void hrc_planner_free(hrc_planner *p)
{
    if (!p) return;
    planner_free(p->plan);
    pool_free(p->threads);
    free(p);
}

void plan_vary(hrc_planner *p, uint64_t seed, float noise, float share)
{
    planner_vary(p->plan, seed, noise, share);
}

void question_of(plan_question *out, const hrc_plan_request *request)
{
    for (int i = 0; i < HRC_NQ; i++) out->state[i] = (float)request->now.qpos[i];
    for (int i = 0; i < HRC_NV; i++) out->qvel[i] = (float)request->now.qvel[i];
    memcpy(out->reference, request->reference, sizeof out->reference);
    memcpy(out->under_way, request->under_way, sizeof out->under_way);
}

hrc_status hrc_plan(hrc_planner *p, const hrc_plan_request *request, hrc_keyframes *out, hrc_verdict *verdict,
                    hrc_error *err)
{
    NEED(p);
    NEED(request);
    NEED(out);
    const int horizon = p->model->plan.layout.horizon;
    const float span = (float)horizon / PLAN_FPS;
    float made[PLAN_K][HRC_NQ];
    plan_question q;
    TRY(bounds_reading(&request->now, err));
    for (int i = 0; i <= horizon; i++) TRY(bounds_aim(request->reference[i], err));
    TRY(bounds_aim(request->under_way, err));
    question_of(&q, request);
    planner_plan(p->plan, &q, made);
    plan_verdict found = plan_guard(made, span / (PLAN_K - 1));
    if (verdict) *verdict = (hrc_verdict)found;
    if (found != PLAN_FINE) return HRC_REFUSED;
    memcpy(out->qpos, made, sizeof made);
    out->span_s = (double)span;
    return HRC_OK;
}

void hrc_sample(const hrc_keyframes *k, double t, hrc_frame *out)
{
    plan_curve curve;
    plan_curve_fit(&curve, k->qpos, (float)k->span_s);
    plan_curve_beyond(out->qpos, out->qvel, &curve, (float)t);
}

/* ---- Tracker ---- */

struct hrc_tracker {
    const hrc_model *model;
    tracker *track;          /* NULL where */
    others_runner *others;   /* runs a policy of another project */
    double last[HRC_JOINTS]; /* targets */
};

hrc_status hrc_tracker_create(hrc_tracker **out, const hrc_model *m, hrc_error *err)
{
    NEED(out);
    NEED(m);
    if (m->kind != HRC_TRACKER)
        return fail(err, HRC_EINVAL, "%s: is a planner, expected a tracker", m->plan.path);
    hrc_tracker *t = calloc(1, sizeof *t);
    if (!t) return fail(err, HRC_ENOMEM, "tracker: out of memory");
    t->model = m;
    hrc_status status = model_of_others(m) ? others_create(&t->others, &m->others, err)
                                           : tracker_create(&t->track, &m->track, NN_FLOAT, err);
    if (status < 0) {
        hrc_tracker_free(t);
        return status;
    }
    hrc_tracker_reset(t);
    *out = t;
    return HRC_OK;
}

void hrc_tracker_free(hrc_tracker *t)
{
    if (!t) return;
    tracker_free(t->track);
    others_free(t->others);
    free(t);
}

void hrc_tracker_reset(hrc_tracker *t)
{
    if (!t) return;
    if (t->others)
        others_reset(t->others);
    else
        tracker_reset(t->track);
    for (int i = 0; i < HRC_JOINTS; i++) t->last[i] = G1_JOINT[i].q0;
}

int hrc_tracker_lead(const hrc_tracker *t)
{
    if (!t) return 0;
    return t->others ? t->model->others.lead : t->model->track.lead;
}

const float *tracker_token_of(const hrc_tracker *t, int *n)
{
    if (t->others) return others_token(t->others, n);
    *n = t->model->track.net.shape.token.dim;
    return tracker_token(t->track);
}

static bool act(hrc_tracker *t, double target[HRC_JOINTS], const g1_state *s, const hrc_frame *window)
{
    obs_frame frames[OBS_FRAMES];
    if (t->others) return others_step(t->others, target, s, window);
    for (int i = 0; i < OBS_FRAMES; i++) frames[i] = (obs_frame){window[i].qpos, window[i].qvel};
    return tracker_step(t->track, target, s, frames);
}

static hrc_status step(hrc_tracker *t, const hrc_state *now, const hrc_frame *window, hrc_error *err)
{
    g1_state s;
    double target[HRC_JOINTS];
    TRY(bounds_reading(now, err));
    TRY(bounds_window(window, HRC_WINDOW, err));
    g1_state_read(&s, now->qpos, now->qvel);
    if (!act(t, target, &s, window) || !bounds_target(target))
        return fail(err, HRC_ENONFINITE, "%s: the tracker's action is not finite or beyond all use",
                    t->others ? t->model->others.file.path : t->model->track.path);
    memcpy(t->last, target, sizeof t->last);
    return HRC_OK;
}

hrc_status hrc_step(hrc_tracker *t, const hrc_state *now, const hrc_frame window[HRC_WINDOW], hrc_target *out,
                    hrc_error *err)
{
    NEED(t);
    NEED(now);
    NEED(window);
    NEED(out);
    hrc_status status = step(t, now, window, err);
    if (status < 0) {
        target_damped(out, t->last);
        return status;
    }
    memcpy(out->q, t->last, sizeof out->q);
    target_stiff(out);
    if (!t->others) return HRC_OK;
    memcpy(out->kp, t->model->others.kp, sizeof out->kp);
    memcpy(out->kd, t->model->others.kd, sizeof out->kd);
    return HRC_OK;
}

/* ---- Motions, from files and from poses of any rate ---- */

/* One block holds poses and velocities, so that hrc_motion needs no third pointer. */
static hrc_status motion_of(hrc_motion *out, const clip *c, hrc_error *err)
{
    const size_t n = (size_t)c->n;
    float *block = malloc(n * (HRC_NQ + HRC_NV) * sizeof *block);
    if (!block) return fail(err, HRC_ENOMEM, "%s: out of memory for %d frames", c->name, c->n);
    memcpy(block, c->qpos, n * HRC_NQ * sizeof *block);
    clip_velocities(block + n * HRC_NQ, c);
    out->n = c->n;
    out->qpos = block;
    out->qvel = block + n * HRC_NQ;
    return HRC_OK;
}

static hrc_status at_control_rate(hrc_motion *out, const clip *c, hrc_error *err)
{
    clip resampled;
    if (c->fps == HRC_RATE_HZ) return motion_of(out, c, err);
    TRY(clip_resample(&resampled, c, HRC_RATE_HZ, err));
    hrc_status status = motion_of(out, &resampled, err);
    clip_free(&resampled);
    return status;
}

static void describe(hrc_motion_source *out, const clip *c, const clip_decisions *why)
{
    _Static_assert(sizeof out->rate == sizeof why->fps && sizeof out->format == sizeof why->format,
                   "one size");
    *out = (hrc_motion_source){.fps = c->fps, .frames = c->n};
    memcpy(out->format, why->format, sizeof out->format);
    memcpy(out->rate, why->fps, sizeof out->rate);
    memcpy(out->joints, why->joints, sizeof out->joints);
    memcpy(out->quaternion, why->quat, sizeof out->quaternion);
}

hrc_status hrc_motion_load(hrc_motion *out, const char *path, double fps, hrc_motion_source *source,
                           hrc_error *err)
{
    clip c;
    file_view bytes;
    clip_decisions why = {0};
    NEED(out);
    NEED(path);
    TRY(file_map(path, &bytes, err));
    hrc_status status = plain_parse(&c, path, bytes, &(clip_options){.fps = fps}, &why, err);
    file_unmap(&bytes);
    TRY(status);
    clip_decisions_tame(&why);
    status = at_control_rate(out, &c, err);
    if (status == HRC_OK && source) describe(source, &c, &why);
    clip_free(&c);
    return status;
}

hrc_status hrc_motion_resample(hrc_motion *out, const float *qpos, int n, double fps, hrc_error *err)
{
    clip c;
    NEED(out);
    NEED(qpos);
    TRY(clip_create(&c, n, fps, "motion", err));
    memcpy(c.qpos, qpos, (size_t)n * HRC_NQ * sizeof *qpos);
    hrc_status status = clip_check(&c, "motion", err);
    if (status == HRC_OK) status = at_control_rate(out, &c, err);
    clip_free(&c);
    return status;
}

void hrc_motion_free(hrc_motion *m)
{
    if (!m) return;
    free((void *)m->qpos);
    *m = (hrc_motion){0};
}
