#include "track/tracker.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "nn/mlp.h"

#define VERIFY_TOLERANCE 1e-3f /* other processors sum in another order */
#define PAIR_MARGIN 1e-3       /* the recorded token must not hang on the last bit */
#define PAIR_DRAWS 1000
#define ACTION_MAX 1e3f /* policies stay under 20; 4 are the motor's whole effort */

struct tracker {
    arena memory;
    const track_model *model;
    packed_mlp encoder, action;
    bool begun;
    obs_history history;
    float last[HRC_JOINTS];
    float window[OBS_WINDOW];    /* normalised */
    float *z, *inputs, *scratch; /* (d), (d + 930), (codes) */
    int32_t *index;              /* (d) */
    float *token;                /* (d) of the last step that was taken */
};

hrc_status tracker_create(tracker **out, const track_model *m, nn_precision precision, hrc_error *err)
{
    tracker *t = calloc(1, sizeof *t);
    if (!t) return fail(err, HRC_ENOMEM, "tracker: out of memory");
    const quant *q = &m->net.shape.token;
    const size_t d = (size_t)q->dim;
    t->model = m;
    hrc_status status =
        packed_mlp_create(&t->encoder, &m->net.encoder, m->params, precision, &t->memory, err);
    if (status == HRC_OK)
        status = packed_mlp_create(&t->action, &m->net.action, m->params, precision, &t->memory, err);
    t->z = ARENA_NEW(&t->memory, float, d);
    t->inputs = ARENA_NEW(&t->memory, float, d + OBS_PROPRIO);
    t->scratch = ARENA_NEW(&t->memory, float, q->kind == QUANT_VQ ? q->codes : 1);
    t->index = ARENA_NEW(&t->memory, int32_t, d);
    t->token = ARENA_NEW(&t->memory, float, d);
    if (status == HRC_OK && (!t->z || !t->inputs || !t->scratch || !t->index || !t->token))
        status = fail(err, HRC_ENOMEM, "tracker: out of memory for a token of %zu numbers", d);
    if (status < 0)
        tracker_free(t);
    else
        *out = t;
    return status;
}

void tracker_free(tracker *t)
{
    if (!t) return;
    arena_free(&t->memory);
    free(t);
}

void tracker_reset(tracker *t)
{
    t->begun = false;
    memset(t->last, 0, sizeof t->last);
}

static void infer_action(tracker *t, float action[HRC_JOINTS], const float *proprio, const float *window)
{
    const track_model *m = t->model;
    const quant *q = &m->net.shape.token;
    normal_apply(&m->window, t->window, window, OBS_FRAMES);
    packed_mlp_run(&t->encoder, t->z, t->window);
    quant_forward(q, t->encoder.ops, t->inputs, t->index, t->scratch, t->z, m->codebook, 1);
    normal_apply(&m->proprio, t->inputs + q->dim, proprio, OBS_HISTORY);
    packed_mlp_run(&t->action, action, t->inputs);
}

static void keep_token(tracker *t)
{
    memcpy(t->token, t->inputs, sizeof *t->token * (size_t)t->model->net.shape.token.dim);
}

void tracker_infer(tracker *t, float action[HRC_JOINTS], const float *proprio, const float *window)
{
    infer_action(t, action, proprio, window);
    keep_token(t);
}

static bool usable(const float action[HRC_JOINTS])
{
    for (int i = 0; i < HRC_JOINTS; i++)
        if (!(fabsf(action[i]) <= ACTION_MAX)) return false; /* nor NaN */
    return true;
}

bool tracker_step(tracker *t, double target[HRC_JOINTS], const g1_state *s,
                  const obs_frame frames[OBS_FRAMES])
{
    float p[OBS_P], window[OBS_WINDOW], action[HRC_JOINTS];
    double q0[HRC_JOINTS];
    obs_history history = t->history;
    for (int i = 0; i < HRC_JOINTS; i++) q0[i] = G1_JOINT[i].q0;
    obs_proprio(p, s, q0, t->last);
    if (t->begun)
        obs_history_push(&history, p);
    else
        obs_history_fill(&history, p);
    obs_window(window, frames, s->quat, t->model->rotation);
    infer_action(t, action, &history.p[0][0], window);
    if (!usable(action)) return false;
    t->begun = true;
    t->history = history;
    memcpy(t->last, action, sizeof t->last);
    keep_token(t);
    action_target(target, t->model->basis, t->last, frames[action_frame(t->model->basis)].qpos + 7, NULL);
    return true;
}

const float *tracker_action(const tracker *t)
{
    return t->last;
}

const float *tracker_token(const tracker *t)
{
    return t->token;
}

const int32_t *tracker_index(const tracker *t)
{
    return t->index;
}

/* ---- The recorded examples ---- */

static hrc_status compare(const track_model *m, const float action[HRC_JOINTS],
                          const float recorded[HRC_JOINTS], hrc_error *err)
{
    for (int i = 0; i < HRC_JOINTS; i++)
        if (!(fabsf(action[i] - recorded[i]) <= VERIFY_TOLERANCE * (1 + fabsf(recorded[i]))))
            return fail(err, HRC_EFORMAT,
                        "%s: a recorded observation gives %g for %s, expected the recorded %g", m->path,
                        (double)action[i], G1_JOINT[i].name, (double)recorded[i]);
    return HRC_OK;
}

static hrc_status verify(const track_model *m, hrc_error *err)
{
    tracker *t;
    float action[HRC_JOINTS];
    track_pairs *pairs = malloc(sizeof *pairs);
    if (!pairs) return fail(err, HRC_ENOMEM, "%s: out of memory", m->path);
    hrc_status status = track_model_pairs(pairs, m->path, err);
    if (status == HRC_OK) status = tracker_create(&t, m, NN_FLOAT, err);
    if (status == HRC_OK) {
        for (int i = 0; i < pairs->n && status == HRC_OK; i++) {
            tracker_infer(t, action, pairs->proprio[i], pairs->window[i]);
            status = compare(m, action, pairs->action[i], err);
        }
        tracker_free(t);
    }
    free(pairs);
    return status;
}

hrc_status tracker_load(track_model *m, const char *path, hrc_error *err)
{
    TRY(track_model_load(m, path, err));
    hrc_status status = verify(m, err);
    if (status < 0) track_model_free(m);
    return status;
}

/* Observations drawn from the normaliser's own statistics. */
static void draw(float *out, const normal *s, int rows, rng *r)
{
    for (int i = 0; i < rows * s->n; i++) {
        int k = i % s->n;
        out[i] = s->shift[k] + sqrtf(normal_variance(s, k)) * rng_normal(r);
    }
}

static hrc_status record(track_pairs *pairs, const track_model *m, const char *path, hrc_error *err)
{
    tracker *t;
    rng r = rng_make(1, 0);
    hrc_status status = HRC_OK;
    TRY(tracker_create(&t, m, NN_FLOAT, err));
    for (pairs->n = 0; pairs->n < TRACK_PAIRS && status == HRC_OK; pairs->n++) {
        for (int i = 0; i < PAIR_DRAWS; i++) {
            draw(pairs->proprio[pairs->n], &m->proprio, OBS_HISTORY, &r);
            draw(pairs->window[pairs->n], &m->window, OBS_FRAMES, &r);
            tracker_infer(t, pairs->action[pairs->n], pairs->proprio[pairs->n], pairs->window[pairs->n]);
            if (quant_margin(&m->net.shape.token, t->z, m->codebook) > PAIR_MARGIN) break;
        }
        if (!usable(pairs->action[pairs->n]))
            status = fail(err, HRC_ENONFINITE, "%s: not written: the tracker's actions are not finite", path);
    }
    tracker_free(t);
    return status;
}

hrc_status tracker_save(track_model *m, bool bf16, const char *path, hrc_error *err)
{
    track_pairs *pairs = malloc(sizeof *pairs);
    if (!pairs) return fail(err, HRC_ENOMEM, "%s: out of memory", path);
    if (bf16) track_model_round(m);
    hrc_status status = record(pairs, m, path, err);
    if (status == HRC_OK) status = track_model_save(m, pairs, bf16, path, err);
    free(pairs);
    return status;
}
