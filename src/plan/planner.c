#include "plan/planner.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "base/rot.h"
#include "plan/baseline.h"
#include "plan/flow.h"

/* Motion on its feet changes height and tilt of the root by less than FALLEN_NEAR of these within 0.2 s (98 %
 * of the corpus: 0.18 m); that far off, a target takes longer to reach. */
#define FALLEN_DROP 0.4f /* m */
#define FALLEN_TILT 1.2f /* rad */
#define FALLEN_NEAR 0.45f

#define VERIFY_TOLERANCE 1e-3f /* rad, m: other processors sum in another order */

struct planner {
    const plan_model *model;
    planner_options options;
    infer *net;
    float due_s; /* 0: as long as people need */
    float noise[PLAN_K * PLAN_D_MAX], x[PLAN_K * PLAN_D_MAX], v[PLAN_K * PLAN_D_MAX];
};

planner_options planner_defaults(void)
{
    return (planner_options){.precision = NN_FLOAT, .steps = 5, .t_start = 0.9f, .warm_start = true};
}

static void draw_noise(planner *p)
{
    rng r = rng_make(p->options.seed, 0);
    float size = p->options.noise > 0 ? p->options.noise : PLANNER_NOISE;
    for (int i = 0; i < PLAN_K * PLAN_D_MAX; i++) p->noise[i] = size * rng_normal(&r);
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
    if (!options->warm_start) p->options.t_start = 1;
    float times[INFER_MAX_STEPS];
    for (int i = 0; i < options->steps && i < INFER_MAX_STEPS; i++)
        times[i] = p->options.t_start * (1 - (float)i / (float)options->steps);
    hrc_status status = infer_create(&p->net, &m->net, m->params, options->precision, times, options->steps,
                                     options->threads, err);
    if (status < 0) {
        free(p);
        return status;
    }
    draw_noise(p);
    *out = p;
    return HRC_OK;
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
    draw_noise(p);
}

void planner_due(planner *p, float seconds)
{
    p->due_s = seconds;
}

/* How upright, and how high if that is known, the root is against the target's: 0 alike, 1 lying against
 * standing. */
static float fallen(const float state[HRC_NQ], const float target[HRC_NQ], bool has_position)
{
    const float vertical[3] = {0, 0, 1};
    float a[3], b[3];
    quat_rotate_invf(a, state + 3, vertical);
    quat_rotate_invf(b, target + 3, vertical);
    float tilt = acosf(fminf(1, fmaxf(-1, a[0] * b[0] + a[1] * b[1] + a[2] * b[2])));
    float drop = has_position ? fabsf(target[2] - state[2]) : 0;
    return fminf(1, fmaxf(tilt / FALLEN_TILT, drop / FALLEN_DROP));
}

static float due_frames(const planner *p, const float *state, const float *target)
{
    float due_s = p->due_s;
    if (due_s <= 0) {
        float far = fallen(state, target, plan_has_position(plan_model_dims(p->model)));
        float late = fmaxf(0, (far - FALLEN_NEAR) / (1 - FALLEN_NEAR));
        due_s = PLAN_SPAN + late * (PLAN_MAX_DUE_S - PLAN_SPAN);
    }
    return fminf(fmaxf(due_s, PLAN_SPAN), PLAN_MAX_DUE_S) * PLAN_FPS;
}

/* x = (1-t) straight line to the target + t noise, normalised. A timed planner counts from the line that it
 * was told: there the straight line is 0. Keyframe 0 stays at the state: residual 0. */
static void start_flow(planner *p, const float *state, const float *target, int D)
{
    const float t = p->options.t_start;
    const bool line = p->options.warm_start && !plan_model_timed(p->model);
    for (int k = 0; k < PLAN_K; k++)
        for (int d = 0; d < D; d++) {
            int i = k * D + d;
            float straight =
                (float)k / (PLAN_K - 1) * (target[d] - state[d]) / p->model->scales.residual_std[i];
            p->x[i] = (1 - t) * (line && k > 0 ? straight : 0) + t * p->noise[i];
        }
}

/* Euler from t_start to 0. */
static void run_flow(planner *p, int D)
{
    const int n = p->options.steps;
    const float dt = p->options.t_start / (float)n;
    for (int i = 0; i < n; i++) {
        float t = p->options.t_start * (1 - (float)i / (float)n), next = t - dt;
        float skip = flow_skip(t), gain = flow_gain(t);
        infer_step(p->net, p->v, p->x, i);
        for (int j = 0; j < PLAN_K * D; j++) p->x[j] -= dt * (skip * p->x[j] + gain * p->v[j]);
        /* pinned: (1 - t_next) 0 + t_next noise, the path on which keyframe 0 was trained */
        for (int d = 0; d < D; d++) p->x[d] = next * p->noise[d];
    }
}

void planner_plan(planner *p, const float state[HRC_NQ], const float target[HRC_NQ],
                  float keyframes[PLAN_K][HRC_NQ])
{
    const plan_scales *s = &p->model->scales;
    const int D = plan_model_dims(p->model), C = p->model->net.shape.cond;
    const bool timed = plan_model_timed(p->model);
    float cond[PLAN_COND_MAX], scaled[PLAN_COND_MAX];
    plan_frame frame = plan_frame_of(state);
    plan_encode(cond, D, &frame, state);
    plan_encode(cond + D, D, &frame, target);
    const float due = timed ? due_frames(p, state, target) : PLAN_H;
    if (timed) cond[2 * D] = logf(due / PLAN_H);
    for (int c = 0; c < C; c++) scaled[c] = (cond[c] - s->cond_mean[c]) / s->cond_std[c];
    start_flow(p, cond, cond + D, D);
    infer_begin(p->net, scaled);
    run_flow(p, D);
    plan_baseline base = plan_baseline_of(timed, due);
    for (int k = 0; k < PLAN_K; k++) {
        float pose[PLAN_D_MAX];
        for (int d = 0; d < D; d++)
            pose[d] = cond[d] + base.way[k] * (cond[D + d] - cond[d]) +
                      base.unit[k] * p->x[k * D + d] * s->residual_std[k * D + d];
        memcpy(keyframes[k], state, 3 * sizeof(float));
        plan_decode(keyframes[k], D, &frame, pose);
    }
    memcpy(keyframes[0], state, sizeof keyframes[0]); /* exactly, not by way of the 6D rotation */
}

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
    plan_pair pair;
    planner *p;
    planner_options options = planner_defaults();
    float keyframes[PLAN_K][HRC_NQ];
    TRY(plan_model_pair(&pair, m->path, err));
    TRY(planner_create(&p, m, &options, err));
    planner_plan(p, pair.state, pair.target, keyframes);
    planner_free(p);
    float error = difference((const float(*)[HRC_NQ])keyframes, (const float(*)[HRC_NQ])pair.keyframes);
    if (!(error <= VERIFY_TOLERANCE))
        return fail(err, HRC_EFORMAT, "%s: the recorded plan comes out %g off, expected at most %g", m->path,
                    (double)error, (double)VERIFY_TOLERANCE);
    return HRC_OK;
}

hrc_status planner_record(plan_pair *out, const plan_model *m, hrc_error *err)
{
    double stance[HRC_NQ];
    planner *p;
    planner_options options = planner_defaults();
    TRY(planner_create(&p, m, &options, err));
    g1_default_qpos(stance);
    for (int i = 0; i < HRC_NQ; i++) out->state[i] = out->target[i] = (float)stance[i];
    out->target[0] += 0.3f; /* one step ahead, one knee bent, a little turned */
    out->target[7 + 3] += 0.4f;
    quat_from_yawf(out->target + 3, 0.2f);
    planner_plan(p, out->state, out->target, out->keyframes);
    planner_free(p);
    return HRC_OK;
}
