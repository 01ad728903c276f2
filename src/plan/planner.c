#include "plan/planner.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/rng.h"
#include "base/rot.h"
#include "plan/flow.h"

#define VERIFY_TOLERANCE 1e-3f /* rad, m: other processors sum in another order */

struct planner {
    const plan_model *model;
    planner_options options;
    infer *net;
    float share; /* of what the network writes */
    float noise[PLAN_K * PLAN_D], x[PLAN_K * PLAN_D], v[PLAN_K * PLAN_D];
};

planner_options planner_defaults(void)
{
    return (planner_options){
        .precision = NN_FLOAT, .steps = 5, .t_start = 0.9f, .warm_start = true, .noise = 1};
}

/* Anew for every plan: with one draw for all of them a robot that rests half way up rests for ever. By what
 * the robot does, not by a count: what was planned before leaves no trace, and the same scene elsewhere has
 * the same plan. */
static void draw_noise(planner *p, const plan_question *q)
{
    const uint64_t joints = hash_bytes(HASH_START, q->state + 7, sizeof(float) * HRC_JOINTS);
    rng r = rng_make(p->options.seed, hash_bytes(joints, q->qvel + 6, sizeof(float) * HRC_JOINTS));
    for (int i = 0; i < PLAN_K * PLAN_D; i++) p->noise[i] = p->options.noise * rng_normal(&r);
}

hrc_status planner_create(planner **out, const plan_model *m, const planner_options *options, hrc_error *err)
{
    if (!(options->t_start > 0 && options->t_start <= 1))
        return fail(err, HRC_EINVAL, "planner: t_start is %g, expected over 0 and at most 1",
                    (double)options->t_start);
    planner *p = calloc(1, sizeof *p);
    if (!p) return fail(err, HRC_ENOMEM, "planner: out of memory");
    p->model = m;
    p->options = *options;
    p->share = 1;
    if (!options->warm_start) p->options.t_start = 1;
    float times[INFER_MAX_STEPS];
    for (int i = 0; i < options->steps && i < INFER_MAX_STEPS; i++)
        times[i] = p->options.t_start * (1 - (float)i / (float)options->steps);
    hrc_status status = infer_create(&p->net, &m->net, m->params, options->precision, times, options->steps,
                                     options->threads, err);
    if (status < 0)
        free(p);
    else
        *out = p;
    return status;
}

void planner_free(planner *p)
{
    if (!p) return;
    infer_free(p->net);
    free(p);
}

void planner_seed(planner *p, uint64_t seed)
{
    p->options.seed = seed;
}

void planner_vary(planner *p, uint64_t seed, float noise, float share)
{
    p->options.noise = noise;
    p->share = share;
    planner_seed(p, seed);
}

/* x = (1-t) warm start + t noise, normalised. The anchored form starts at its base, where x is 0; the paper's
 * on the straight line to the target. Keyframe 0 stays at 0. */
static void start_flow(planner *p, const plan_question *q)
{
    const plan_layout *l = &p->model->layout;
    const float t = p->options.t_start, *std = p->model->scales.residual_std;
    float from[PLAN_D], to[PLAN_D] = {0};
    const bool line = p->options.warm_start && l->form == PLAN_PAPER;
    const plan_frame frame = plan_frame_of(q->state);
    plan_token(from, &frame, q->state, q->state);
    if (line) plan_token(to, &frame, q->state, q->reference[l->horizon]);
    for (int k = 0; k < PLAN_K; k++)
        for (int d = 0; d < PLAN_D; d++) {
            const int i = k * PLAN_D + d;
            const float straight = line ? (float)k / (PLAN_K - 1) * (to[d] - from[d]) / std[i] : 0;
            p->x[i] = (1 - t) * straight + t * p->noise[i];
        }
}

/* Euler from t_start to 0. */
static void run_flow(planner *p)
{
    const int n = p->options.steps;
    const float dt = p->options.t_start / (float)n;
    for (int i = 0; i < n; i++) {
        float t = p->options.t_start * (1 - (float)i / (float)n), next = t - dt;
        float skip = flow_skip(t), gain = flow_gain(t);
        infer_step(p->net, p->v, p->x, i);
        for (int j = 0; j < PLAN_K * PLAN_D; j++) p->x[j] -= dt * (skip * p->x[j] + gain * p->v[j]);
        /* pinned: (1 - t_next) 0 + t_next noise, the path on which keyframe 0 was trained */
        for (int d = 0; d < PLAN_D; d++) p->x[d] = next * p->noise[d];
    }
}

void planner_plan(planner *p, const plan_question *q, float keyframes[PLAN_K][HRC_NQ])
{
    const plan_scales *s = &p->model->scales;
    const plan_layout *l = &p->model->layout;
    const int C = plan_condition_size(l);
    float cond[PLAN_COND_MAX], tokens[PLAN_K][PLAN_D];
    plan_condition(cond, l, q);
    for (int c = 0; c < C; c++) cond[c] = (cond[c] - s->cond_mean[c]) / s->cond_std[c];
    draw_noise(p, q);
    start_flow(p, q);
    infer_begin(p->net, cond);
    run_flow(p);
    const float lost = plan_lost(q->state, q->reference[0], l->position),
                unit = p->share * plan_unit(l, lost);
    const plan_frame frame = plan_frame_of(q->state);
    plan_base(tokens, l, q, q->state);
    if (p->share > 0) plan_continue(tokens, l, q, lost);
    for (int k = 0; k < PLAN_K; k++) {
        for (int d = 0; d < PLAN_D; d++) {
            const int i = k * PLAN_D + d;
            tokens[k][d] += unit * s->residual_std[i] * p->x[i];
        }
        plan_pose(keyframes[k], &frame, q->state, tokens[k]);
    }
}

/* ---- Recorded plans ---- */

static float difference(const float (*a)[HRC_NQ], const float (*b)[HRC_NQ])
{
    float worst = 0;
    for (int k = 0; k < PLAN_K; k++)
        for (int i = 0; i < HRC_NQ; i++) {
            float d = fabsf(a[k][i] - b[k][i]);
            worst = d <= worst ? worst : d; /* NaN counts as worst */
        }
    return worst;
}

hrc_status planner_verify(const plan_model *m, hrc_error *err)
{
    planner *p;
    planner_options options = planner_defaults();
    float keyframes[PLAN_K][HRC_NQ], error = 0;
    TRY(planner_create(&p, m, &options, err));
    for (int i = 0; i < PLAN_EXAMPLES; i++) {
        planner_plan(p, &m->examples[i].question, keyframes);
        const float d =
            difference((const float(*)[HRC_NQ])keyframes, (const float(*)[HRC_NQ])m->examples[i].keyframes);
        error = d <= error ? error : d;
    }
    planner_free(p);
    if (!(error <= VERIFY_TOLERANCE))
        return fail(err, HRC_EFORMAT, "%s: a recorded plan comes out %g off, expected at most %g", m->path,
                    (double)error, (double)VERIFY_TOLERANCE);
    return HRC_OK;
}

/* Standing; the reference steps ahead, turns and bends a knee. The robot is the farther off the later the
 * example: at the last it lies on its back. */
static void ask_example(plan_question *q, int number)
{
    const float share = (float)number / (PLAN_EXAMPLES - 1), back[3] = {0, -1.5f * share, 0};
    double stance[HRC_NQ];
    rng r = rng_make(1, (uint64_t)number);
    memset(q, 0, sizeof *q);
    g1_default_qpos(stance);
    for (int i = 0; i < HRC_NQ; i++) q->state[i] = (float)stance[i];
    for (int i = 0; i <= PLAN_MAX_H; i++) {
        memcpy(q->reference[i], q->state, sizeof q->state);
        q->reference[i][0] += 0.01f * (float)i;
        q->reference[i][7 + 3] += 0.02f * (float)i;
        quat_from_yawf(q->reference[i] + 3, 0.01f * (float)i);
    }
    q->state[2] -= 0.6f * share;
    quat_expf(q->state + 3, back);
    for (int i = 7; i < HRC_NQ; i++) q->state[i] += 0.3f * share * rng_normal(&r);
    for (int i = 0; i < HRC_NV; i++) q->qvel[i] = 0.5f * share * rng_normal(&r);
    memcpy(q->under_way, q->state, sizeof q->state);
}

hrc_status planner_record(plan_example out[PLAN_EXAMPLES], const plan_model *m, hrc_error *err)
{
    planner *p;
    planner_options options = planner_defaults();
    TRY(planner_create(&p, m, &options, err));
    for (int i = 0; i < PLAN_EXAMPLES; i++) {
        ask_example(&out[i].question, i);
        planner_plan(p, &out[i].question, out[i].keyframes);
    }
    planner_free(p);
    return HRC_OK;
}
