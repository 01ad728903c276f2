#include "learn/imitate.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "robot/state.h"
#include "track/observe.h"

#define CONTEST 4    /* draws of which the one that was farthest off is taken */
#define UNASKED 1e6f /* the loss of what was never in a batch: sooner than all others */

/* One side of a demonstration. */
typedef struct {
    const demonstration *of;
    bool mirrored;
    size_t first; /* among the rows of all; the last frame has none, nothing came of its target */
    int n;
} part;

struct imitation {
    arena memory;
    const references *refs;
    const track_model *model;
    policy_pass *pass;
    int batch, nparts;
    part *parts;
    size_t rows;
    float *proprio; /* (rows, OBS_P), raw: as the policy sees the robot, with the actions that were done */
    float *quat;    /* (rows, 4): of the root */
    float *action;  /* (rows, HRC_JOINTS) that are to be done */
    float *loss;    /* (rows) when last asked */
    size_t *drawn;  /* (batch) */
    float *history, *window, *dmean; /* (batch, ...) of the batch under way */
};

/* ---- What was seen and done ---- */

static void mirror_joints(float *q)
{
    float was[HRC_JOINTS];
    memcpy(was, q, sizeof was);
    for (int k = 0; k < HRC_JOINTS; k++) {
        double sign;
        const int other = g1_mirror_joint(k, &sign);
        q[other] = sign < 0 ? -was[k] : was[k];
    }
}

/* Row t of a side: state and targets, left and right exchanged on the other one. */
static void state_at(float qpos[HRC_NQ], float qvel[HRC_NV], float target[HRC_JOINTS], const part *p, int t)
{
    memcpy(qpos, p->of->qpos + (size_t)t * HRC_NQ, sizeof(float) * HRC_NQ);
    memcpy(qvel, p->of->qvel + (size_t)t * HRC_NV, sizeof(float) * HRC_NV);
    memcpy(target, p->of->target + (size_t)t * HRC_JOINTS, sizeof(float) * HRC_JOINTS);
    if (!p->mirrored) return;
    qpos[1] = -qpos[1], qpos[4] = -qpos[4], qpos[6] = -qpos[6];
    qvel[1] = -qvel[1], qvel[3] = -qvel[3], qvel[5] = -qvel[5];
    mirror_joints(qpos + 7);
    mirror_joints(qvel + 6);
    mirror_joints(target);
}

static const ref_frame *shown_at(const imitation *im, const part *p, int frame)
{
    const ref_clip *c = &im->refs->clips[p->of->original];
    const ref_frame *frames = p->mirrored ? c->mirrored : c->frames;
    return &frames[frame < c->n ? frame : c->n - 1];
}

/* The inverse of action_target. */
static void action_of(float action[HRC_JOINTS], const imitation *im, const part *p, int t,
                      const float target[HRC_JOINTS])
{
    const track_model *m = im->model;
    const ref_frame *f = shown_at(im, p, t + m->lead + action_frame(m->basis));
    double base[HRC_JOINTS];
    action_target(base, m->basis, (const float[HRC_JOINTS]){0}, f->qpos + 7, NULL);
    for (int i = 0; i < HRC_JOINTS; i++)
        action[i] = (float)(((double)target[i] - base[i]) / G1_JOINT[i].action_scale);
}

static void fill_part(imitation *im, const part *p)
{
    double q0[HRC_JOINTS];
    const float none[HRC_JOINTS] = {0};
    for (int i = 0; i < HRC_JOINTS; i++) q0[i] = G1_JOINT[i].q0;
    for (int t = 0; t < p->n; t++) {
        const size_t row = p->first + (size_t)t;
        float qpos[HRC_NQ], qvel[HRC_NV], target[HRC_JOINTS];
        double q[HRC_NQ], v[HRC_NV];
        g1_state state;
        state_at(qpos, qvel, target, p, t);
        for (int i = 0; i < HRC_NQ; i++) q[i] = (double)qpos[i];
        for (int i = 0; i < HRC_NV; i++) v[i] = (double)qvel[i];
        g1_state_read(&state, q, v);
        obs_proprio(im->proprio + row * OBS_P, &state, q0, t ? im->action + (row - 1) * HRC_JOINTS : none);
        for (int k = 0; k < 4; k++) im->quat[row * 4 + (size_t)k] = qpos[3 + k];
        action_of(im->action + row * HRC_JOINTS, im, p, t, target);
        im->loss[row] = UNASKED;
    }
}

/* ---- Create ---- */

static hrc_status list_parts(imitation *im, const demonstrations *d, hrc_error *err)
{
    im->parts = ARENA_NEW(&im->memory, part, 2 * d->n);
    if (!im->parts) return fail(err, HRC_ENOMEM, "imitation: out of memory");
    for (int i = 0; i < d->n; i++)
        for (int side = 0; side < (im->refs->clips[d->list[i].original].mirrored ? 2 : 1); side++) {
            im->parts[im->nparts++] = (part){&d->list[i], side, im->rows, d->list[i].n - 1};
            im->rows += (size_t)d->list[i].n - 1;
        }
    return HRC_OK;
}

static hrc_status make_rows(imitation *im, hrc_error *err)
{
    const size_t n = (size_t)im->batch;
    im->proprio = ARENA_NEW(&im->memory, float, im->rows *OBS_P);
    im->quat = ARENA_NEW(&im->memory, float, im->rows * 4);
    im->action = ARENA_NEW(&im->memory, float, im->rows *HRC_JOINTS);
    im->loss = ARENA_NEW(&im->memory, float, im->rows);
    im->drawn = ARENA_NEW(&im->memory, size_t, n);
    im->history = ARENA_NEW(&im->memory, float, n *OBS_PROPRIO);
    im->window = ARENA_NEW(&im->memory, float, n *OBS_WINDOW);
    im->dmean = ARENA_NEW(&im->memory, float, n *HRC_JOINTS);
    if (im->proprio && im->quat && im->action && im->loss && im->drawn && im->history && im->window &&
        im->dmean)
        return HRC_OK;
    return fail(err, HRC_ENOMEM, "imitation: out of memory for %zu frames", im->rows);
}

hrc_status imitation_create(imitation **out, const demonstrations *d, const references *refs,
                            const track_model *m, const nn_ops *ops, pool *threads, int batch, hrc_error *err)
{
    imitation *im = calloc(1, sizeof *im);
    if (!im) return fail(err, HRC_ENOMEM, "imitation: out of memory");
    im->refs = refs, im->model = m, im->batch = batch;
    hrc_status status = list_parts(im, d, err);
    if (status == HRC_OK) status = make_rows(im, err);
    if (status == HRC_OK) status = policy_pass_create(&im->pass, &m->net, ops, threads, batch, err);
    for (int i = 0; status == HRC_OK && i < im->nparts; i++) fill_part(im, &im->parts[i]);
    if (status < 0)
        imitation_free(im);
    else
        *out = im;
    return status;
}

void imitation_free(imitation *im)
{
    if (!im) return;
    policy_pass_free(im->pass);
    arena_free(&im->memory);
    free(im);
}

/* ---- A batch ---- */

static size_t draw_row(const imitation *im, rng *r)
{
    return (size_t)rng_below(r, (uint32_t)im->rows);
}

static size_t draw_far(const imitation *im, rng *r)
{
    size_t best = draw_row(im, r);
    for (int i = 1; i < CONTEST; i++) {
        const size_t row = draw_row(im, r);
        if (im->loss[row] > im->loss[best]) best = row;
    }
    return best;
}

static const part *part_of(const imitation *im, size_t row)
{
    int lo = 0, hi = im->nparts - 1; /* the last part that begins no later */
    while (lo < hi) {
        const int middle = (lo + hi + 1) / 2;
        if (im->parts[middle].first <= row)
            lo = middle;
        else
            hi = middle - 1;
    }
    return &im->parts[lo];
}

/* As the policy is shown them: normalised history and window. */
static void observe(imitation *im, int i)
{
    const size_t row = im->drawn[i];
    const part *p = part_of(im, row);
    const int t = (int)(row - p->first);
    float *history = im->history + (size_t)i * OBS_PROPRIO, *window = im->window + (size_t)i * OBS_WINDOW;
    obs_frame frames[OBS_FRAMES];
    double quat[4];
    for (int k = 0; k < OBS_HISTORY; k++) {
        const int back = OBS_HISTORY - 1 - k;
        memcpy(history + (size_t)k * OBS_P, im->proprio + (row - (size_t)(back < t ? back : t)) * OBS_P,
               sizeof(float) * OBS_P);
    }
    for (int k = 0; k < OBS_FRAMES; k++) {
        const ref_frame *f = shown_at(im, p, t + im->model->lead + k);
        frames[k] = (obs_frame){f->qpos, f->qvel};
    }
    for (int k = 0; k < 4; k++) quat[k] = (double)im->quat[row * 4 + (size_t)k];
    obs_window(window, frames, quat, im->model->rotation);
    normal_apply(&im->model->proprio, history, history, OBS_HISTORY);
    normal_apply(&im->model->window, window, window, OBS_FRAMES);
}

/* Of one sample, and where it goes. */
static double compare(float *dmean, const float *mean, const float *wanted, double weight)
{
    double loss = 0;
    for (int k = 0; k < HRC_JOINTS; k++) {
        const double e = (double)(mean[k] - wanted[k]), root = sqrt(1 + e * e);
        loss += root - 1;
        dmean[k] = (float)(weight * e / root);
    }
    return loss;
}

double imitation_gradient(imitation *im, float *grads, const float *params, double weight, rng *r)
{
    double sum = 0;
    for (int i = 0; i < im->batch; i++) {
        im->drawn[i] = i % 2 ? draw_far(im, r) : draw_row(im, r);
        observe(im, i);
    }
    const policy_batch batch = {im->batch, im->history, im->window};
    const policy_outputs out = policy_forward(im->pass, params, im->model->codebook, &batch, false);
    for (int i = 0; i < im->batch; i++) {
        const double loss = compare(im->dmean + (size_t)i * HRC_JOINTS, out.mean + (size_t)i * HRC_JOINTS,
                                    im->action + im->drawn[i] * HRC_JOINTS, weight / im->batch);
        im->loss[im->drawn[i]] = (float)loss;
        sum += loss;
    }
    policy_backward(im->pass, grads, params, im->dmean, 0, NULL, NULL);
    return sum / im->batch;
}

void imitation_state(imitation *im, state_list *l, const char *prefix)
{
    state_add_growing(l, prefix, "loss", DT_F32, im->loss, im->rows);
}
