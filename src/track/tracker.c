#include "track/tracker.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "nn/packed_mlp.h"

#define VERIFY_TOLERANCE 1e-3f /* other processors sum in another order */
#define PAIR_MARGIN 1e-3       /* the recorded token must not hang on the last bit */
#define PAIR_DRAWS 1000

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
    if (status == HRC_OK && (!t->z || !t->inputs || !t->scratch || !t->index))
        status = fail(err, HRC_ENOMEM, "tracker: out of memory for a token of %zu numbers", d);
    if (status < 0) {
        tracker_free(t);
        return status;
    }
    *out = t;
    return HRC_OK;
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

void tracker_infer(tracker *t, float action[HRC_JOINTS], const float *proprio, const float *window)
{
    const track_model *m = t->model;
    const quant *q = &m->net.shape.token;
    normal_apply(&m->window, t->window, window, OBS_FRAMES);
    packed_mlp_run(&t->encoder, t->z, t->window);
    quant_forward(q, t->encoder.ops, t->inputs, t->index, t->scratch, t->z, m->codebook, 1);
    normal_apply(&m->proprio, t->inputs + q->dim, proprio, OBS_HISTORY);
    packed_mlp_run(&t->action, action, t->inputs);
}

void tracker_step(tracker *t, double target[HRC_JOINTS], const g1_state *s,
                  const obs_frame frames[OBS_FRAMES])
{
    float p[OBS_P], window[OBS_WINDOW];
    double q0[HRC_JOINTS];
    for (int i = 0; i < HRC_JOINTS; i++) q0[i] = G1_JOINT[i].q0;
    obs_proprio(p, s, q0, t->last);
    if (t->begun)
        obs_history_push(&t->history, p);
    else
        obs_history_fill(&t->history, p);
    t->begun = true;
    obs_window(window, frames, s->quat, t->model->rotation);
    tracker_infer(t, t->last, &t->history.p[0][0], window);
    action_target(target, t->model->basis, t->last, frames[action_frame(t->model->basis)].qpos + 7, NULL);
}

const float *tracker_action(const tracker *t)
{
    return t->last;
}

const float *tracker_token(const tracker *t)
{
    return t->inputs;
}

const int32_t *tracker_index(const tracker *t)
{
    return t->index;
}

/* ---- The recorded pair ---- */

static hrc_status verify(const track_model *m, hrc_error *err)
{
    tracker *t;
    track_pair *pair = malloc(sizeof *pair);
    if (!pair) return fail(err, HRC_ENOMEM, "%s: out of memory", m->path);
    hrc_status status = track_model_pair(pair, m->path, err);
    if (status == HRC_OK) status = tracker_create(&t, m, NN_FLOAT, err);
    if (status == HRC_OK) {
        float action[HRC_JOINTS];
        tracker_infer(t, action, pair->proprio, pair->window);
        for (int i = 0; i < HRC_JOINTS && status == HRC_OK; i++)
            if (!(fabsf(action[i] - pair->action[i]) <= VERIFY_TOLERANCE * (1 + fabsf(pair->action[i]))))
                status = fail(err, HRC_EFORMAT,
                              "%s: the recorded observation gives %g for %s, expected the recorded %g",
                              m->path, (double)action[i], G1_JOINT[i].name, (double)pair->action[i]);
        tracker_free(t);
    }
    free(pair);
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

static hrc_status record(track_pair *pair, const track_model *m, hrc_error *err)
{
    tracker *t;
    rng r = rng_make(1, 0);
    TRY(tracker_create(&t, m, NN_FLOAT, err));
    for (int i = 0; i < PAIR_DRAWS; i++) {
        draw(pair->proprio, &m->proprio, OBS_HISTORY, &r);
        draw(pair->window, &m->window, OBS_FRAMES, &r);
        tracker_infer(t, pair->action, pair->proprio, pair->window);
        if (quant_margin(&m->net.shape.token, t->z, m->codebook) > PAIR_MARGIN) break;
    }
    tracker_free(t);
    return HRC_OK;
}

hrc_status tracker_save(track_model *m, bool bf16, const char *path, hrc_error *err)
{
    track_pair *pair = malloc(sizeof *pair);
    if (!pair) return fail(err, HRC_ENOMEM, "%s: out of memory", path);
    if (bf16) track_model_round(m);
    hrc_status status = record(pair, m, err);
    if (status == HRC_OK) status = track_model_save(m, pair, bf16, path, err);
    free(pair);
    return status;
}
