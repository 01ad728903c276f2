#include "learn/trial.h"

#include <stdlib.h>
#include <string.h>

#include "eval/course.h"
#include "robot/posture.h"
#include "robot/state.h"
#include "track/tracker.h"

#define FPS 50

const trial_options TRIAL_DEFAULT = {.height = FOLLOWS_HEIGHT_M, .tilt = FOLLOWS_TILT_RAD};

struct trials {
    sim *physics;
    const references *refs;
    pool *threads;
};

config trial_physics(const config *cfg)
{
    config c = *cfg, plain = config_default();
    c.sim_timestep = plain.sim_timestep, c.sim_substeps = plain.sim_substeps;
    memcpy(c.sim_feet, plain.sim_feet, sizeof c.sim_feet);
    memcpy(c.sim_self_collision, plain.sim_self_collision, sizeof c.sim_self_collision);
    memcpy(c.sim_damping, plain.sim_damping, sizeof c.sim_damping);
    return c;
}

hrc_status trials_create(trials **out, const config *cfg, const references *refs, pool *threads,
                         hrc_error *err)
{
    trials *t = calloc(1, sizeof *t);
    if (!t) return fail(err, HRC_ENOMEM, "trials: out of memory");
    t->refs = refs, t->threads = threads;
    hrc_status status = sim_create(&t->physics, cfg, threads, err);
    if (status < 0) {
        trials_free(t);
        return status;
    }
    *out = t;
    return HRC_OK;
}

void trials_free(trials *t)
{
    if (!t) return;
    sim_free(t->physics);
    free(t);
}

/* ---- Run ---- */

typedef struct {
    const trials *t;
    const track_model *model;
    const trial_start *starts;
    const trial_options *options;
    trial *out;
    int n;
    tracker **runners; /* (threads) */
    int64_t *use;      /* (threads, numbers of a count), or NULL */
    size_t use_size;
} job;

static const ref_frame *frame_at(const ref_clip *c, int frame)
{
    return &c->frames[frame < c->n ? frame : c->n - 1];
}

static void step(const job *j, sim_world *w, const ref_clip *c, int frame, int worker)
{
    tracker *runner = j->runners[worker];
    g1_state state;
    obs_frame window[OBS_FRAMES];
    double target[HRC_JOINTS];
    g1_state_read(&state, w->qpos, w->qvel);
    for (int i = 0; i < OBS_FRAMES; i++) {
        const ref_frame *f = frame_at(c, frame + j->model->lead + i);
        window[i] = (obs_frame){f->qpos, f->qvel};
    }
    if (!tracker_step(runner, target, &state, window)) {
        w->diverged = true;
        return;
    }
    if (j->use)
        quant_count(&j->model->net.shape.token, j->use + (size_t)worker * j->use_size, tracker_index(runner),
                    1);
    sim_step_one(j->t->physics, w, target, worker);
}

/* The frame after a start is the first that is judged; what diverges fails to the end. */
static void run_one(void *ctx, int item, int worker)
{
    const job *j = ctx;
    const trial_options *o = j->options;
    const trial_start *start = &j->starts[item];
    const ref_clip *c = &j->t->refs->clips[start->clip];
    const int left = c->n - 1 - start->frame, most = (int)(o->longest_s * FPS + 0.5);
    trial *r = &j->out[item];
    *r = (trial){.clip = start->clip, .first = start->frame, .frames = most && most < left ? most : left};
    sim_world w;
    tally sums = {0};
    world_on_frame(&w, j->t->physics, c->frames[start->frame].qpos, c->frames[start->frame].qvel);
    tracker_reset(j->runners[worker]);
    while (sums.frames < r->frames && !w.diverged && (!sums.failed || o->go_on)) {
        step(j, &w, c, start->frame + sums.frames, worker);
        const ref_frame *f = frame_at(c, start->frame + sums.frames + 1);
        frame_error e = frame_compare(&w, f->qpos, f->qvel);
        e.complete = !w.diverged && e.height_m < o->height && e.ori_rad < o->tilt;
        tally_add(&sums, &e);
    }
    const double n = sums.frames ? sums.frames : 1;
    r->joint = sums.sum.joint_rad / n, r->height = sums.sum.height_m / n, r->tilt = sums.sum.ori_rad / n;
    r->good = sums.until_failure;
    r->success = r->good == r->frames;
    r->progress = r->frames ? (double)r->good / r->frames : 1;
    r->completion = r->frames ? (double)sums.complete / r->frames : 1;
}

static hrc_status run_all(job *j, int64_t *use, hrc_error *err)
{
    const int threads = pool_threads(j->t->threads);
    for (int i = 0; i < threads; i++) TRY(tracker_create(&j->runners[i], j->model, NN_FLOAT, err));
    pool_items(j->t->threads, j->n, run_one, j);
    for (int i = 0; use && i < threads; i++)
        for (size_t k = 0; k < j->use_size; k++) use[k] += j->use[(size_t)i * j->use_size + k];
    return HRC_OK;
}

hrc_status trials_run(trials *t, const track_model *m, const trial_start *starts, int n,
                      const trial_options *o, trial *out, int64_t *use, hrc_error *err)
{
    const quant *q = &m->net.shape.token;
    const size_t threads = (size_t)pool_threads(t->threads);
    job j = {t, m, starts, o, out, n, NULL, NULL, (size_t)quant_indices(q) * (size_t)quant_values(q)};
    j.runners = calloc(threads, sizeof *j.runners);
    if (use) j.use = calloc(threads * j.use_size + 1, sizeof *j.use);
    hrc_status status =
        j.runners && (j.use || !use) ? run_all(&j, use, err) : fail(err, HRC_ENOMEM, "trials: out of memory");
    for (size_t i = 0; j.runners && i < threads; i++) tracker_free(j.runners[i]);
    free(j.runners);
    free(j.use);
    return status;
}

/* ---- Starts ---- */

void trial_starts_spread(trial_start *out, const references *refs, int which, int n)
{
    for (int i = 0; i < n; i++)
        out[i] = (trial_start){which, (int)((int64_t)i * (refs->clips[which].n - 1) / n)};
}

int trial_starts_every(trial_start *out, const references *refs, double seconds)
{
    const int every = seconds * FPS < 1 ? 1 : (int)(seconds * FPS + 0.5);
    int n = 0;
    for (int c = 0; c < refs->n; c++) {
        if (refs->clips[c].original >= 0) continue; /* a rehearsal: its original is what is asked for */
        for (int at = 0; at == 0 || at + every / 2 < refs->clips[c].n - 1; at += every, n++)
            if (out) out[n] = (trial_start){c, at};
    }
    return n;
}

/* ---- Summary ---- */

trial_summary trial_summarise(const trial *list, int n, const int *marks, int mark)
{
    trial_summary s = {0};
    for (int i = 0; i < n; i++) {
        const trial *r = &list[i];
        if (marks && marks[r->clip] != mark) continue;
        s.n++;
        s.success += r->success, s.progress += r->progress, s.completion += r->completion;
        s.joint += r->joint, s.height += r->height, s.tilt += r->tilt;
    }
    double *const means[] = {&s.success, &s.progress, &s.completion, &s.joint, &s.height, &s.tilt};
    for (int i = 0; i < COUNT(means); i++) *means[i] /= s.n ? s.n : 1;
    return s;
}

/* ---- What a tracker fails on ---- */

static hrc_status run_trials(trial *results, const references *refs, const track_model *m, const config *cfg,
                             pool *threads, hrc_error *err)
{
    const config exact = trial_physics(cfg);
    trial_start *starts = calloc((size_t)refs->n, sizeof *starts);
    trial_options o = TRIAL_DEFAULT;
    trials *t = NULL;
    o.longest_s = 0, o.height = FAILING_HEIGHT_M;
    hrc_status status = starts ? HRC_OK : fail(err, HRC_ENOMEM, "trials: out of memory");
    for (int i = 0; starts && i < refs->n; i++) starts[i] = (trial_start){i, 0};
    if (status == HRC_OK) status = trials_create(&t, &exact, refs, threads, err);
    if (t) status = trials_run(t, m, starts, refs->n, &o, results, NULL, err);
    trials_free(t);
    free(starts);
    return status;
}

hrc_status failing_clips(bool *fails, const clip *clips, int n, const track_model *m, const config *cfg,
                         pool *threads, hrc_error *err)
{
    references refs;
    trial *results = calloc((size_t)n, sizeof *results);
    if (!results) return fail(err, HRC_ENOMEM, "trials: out of memory");
    hrc_status status = references_build(&refs, clips, n, false, threads, err);
    if (status == HRC_OK) {
        status = run_trials(results, &refs, m, cfg, threads, err);
        references_free(&refs);
    }
    for (int i = 0; status == HRC_OK && i < n; i++) fails[i] = !results[i].success;
    free(results);
    return status;
}
