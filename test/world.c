/* The world model and training through it, in double: every gradient against central differences. */
#define NN_DOUBLE
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "base/rot.h"
#include "robot/fk.h"
#include "test.h"

#include "learn/imagine.c"
#include "learn/imagine_loss.c"
#include "learn/imagine_observe.c"
#include "learn/mlp_pass.c"
#include "learn/world.c"
#include "learn/world_fit.c"
#include "learn/world_points.c"
#include "learn/world_state.c"
#include "nn/mlp.c"
#include "nn/ops.c"
#include "nn/params.c"
#include "track/policy.c"
#include "track/quantize.c"

static rng dice;

static double noise(double scale)
{
    return scale * (double)rng_normal(&dice);
}

static void random_motion(double qpos[HRC_NQ], double qvel[HRC_NV])
{
    double turn[4], axis[3];
    g1_default_qpos(qpos);
    for (int k = 0; k < 3; k++) qpos[k] += noise(0.1), axis[k] = noise(0.5);
    quat_exp(turn, axis);
    quat_mul(qpos + 3, turn, qpos + 3);
    for (int i = 0; i < HRC_JOINTS; i++) qpos[7 + i] += noise(0.3);
    for (int i = 0; i < HRC_NV; i++) qvel[i] = noise(1);
}

static void random_state(double s[WS])
{
    double qpos[HRC_NQ], qvel[HRC_NV];
    random_motion(qpos, qvel);
    world_state_of(s, qpos, qvel);
}

static void compare(const char *what, int i, double gradient, double numeric, double scale)
{
    if (!(fabs(gradient - numeric) < 2e-5 * (fabs(numeric) + 1e-2 * scale) + 1e-9))
        test_fail(__FILE__, __LINE__, "%s[%d]: gradient %.9g, differences say %.9g", what, i, gradient,
                  numeric);
}

/* x[i] moved up and down by h. */
static double slope(double *x, double (*value)(void *), void *ctx)
{
    const double keep = *x, h = 1e-6;
    *x = keep + h;
    double up = value(ctx);
    *x = keep - h;
    double down = value(ctx);
    *x = keep;
    return (up - down) / (2 * h);
}

static void check_all(const char *what, const double *gradient, double *x, int n, double (*value)(void *),
                      void *ctx, int stride)
{
    double scale = 0;
    for (int i = 0; i < n; i++) scale = fmax(scale, fabs(gradient[i]));
    if (!(scale > 0)) test_fail(__FILE__, __LINE__, "%s: the gradient is 0 throughout", what);
    for (int i = 0; i < n; i += stride) compare(what, i, gradient[i], slope(&x[i], value, ctx), scale);
}

/* ---- One period ---- */

typedef struct {
    double s[WS], o[WO], r[WS];
} period;

static double period_value(void *ctx)
{
    period *c = ctx;
    double next[WS], sum = 0;
    world_advance(next, c->s, c->o);
    for (int i = 0; i < WS; i++) sum += c->r[i] * next[i];
    return sum;
}

static void test_advance_gradient(void)
{
    dice = rng_make(1, 0);
    period c;
    double next[WS], ds[WS] = {0}, d_o[WO];
    random_state(c.s);
    for (int i = 0; i < WO; i++) c.o[i] = noise(0.5);
    for (int i = 0; i < WS; i++) c.r[i] = noise(1);
    world_advance(next, c.s, c.o);
    world_advance_back(ds, d_o, c.r, c.s, next, c.o);
    check_all("state", ds, c.s, WS, period_value, &c, 1);
    check_all("output", d_o, c.o, WO, period_value, &c, 1);
}

/* The outputs that were read off a step give the step again. */
static void test_outputs_invert(void)
{
    dice = rng_make(2, 0);
    double s[WS], next[WS], again[WS], o[WO];
    random_state(s);
    for (int i = 0; i < WO; i++) o[i] = noise(0.3);
    world_advance(next, s, o);
    world_outputs_of(o, s, next);
    world_advance(again, s, o);
    for (int i = 0; i < WS; i++) ENSURE_NEAR(again[i], next[i], 2e-4);
}

/* ---- Points ---- */

typedef struct {
    world_point points[WORLD_POINTS];
    double s[WS], rh[WORLD_POINTS], ru[WORLD_POINTS], rr[WORLD_POINTS][3];
} skin;

static void skin_of(const skin *c, world_pose *pose, world_per_point h, world_per_point u, world_lanes lanes)
{
    world_to_lanes(lanes, c->s, 1);
    world_pose_of(pose, c->points, (const real(*)[WORLD_LANES])lanes);
    world_heights(h, u, pose, c->points, (const real(*)[WORLD_LANES])lanes);
}

static double skin_value(void *ctx)
{
    const skin *c = ctx;
    world_pose pose;
    world_per_point h, u;
    world_lanes lanes;
    double sum = 0;
    skin_of(c, &pose, h, u, lanes);
    for (int i = 0; i < WORLD_POINTS; i++) {
        sum += c->rh[i] * h[i][0] + c->ru[i] * u[i][0];
        for (int k = 0; k < 3; k++) sum += c->rr[i][k] * pose.r[i][k][0];
    }
    return sum;
}

static void test_points_gradient(void)
{
    dice = rng_make(3, 0);
    skin c;
    world_pose pose;
    world_per_point h, u, dh = {{0}}, du = {{0}};
    world_vectors dr;
    world_lanes lanes, ds;
    double gradient[WS];
    memset(dr, 0, sizeof dr);
    memset(ds, 0, sizeof ds);
    world_points_make(c.points);
    random_state(c.s);
    for (int i = 0; i < WORLD_POINTS; i++) {
        dh[i][0] = c.rh[i] = noise(1);
        du[i][0] = c.ru[i] = noise(1);
        for (int k = 0; k < 3; k++) dr[i][k][0] = c.rr[i][k] = noise(1);
    }
    skin_of(&c, &pose, h, u, lanes);
    world_points_back(ds, &pose, c.points, (const real(*)[WORLD_LANES])lanes, (const real(*)[WORLD_LANES])dh,
                      (const real(*)[WORLD_LANES])du, (const real(*)[3][WORLD_LANES])dr);
    for (int i = 0; i < WS; i++) gradient[i] = ds[i][0];
    check_all("state", gradient, c.s, WS, skin_value, &c, 1);
}

/* Heights are those of the robot's own kinematics. */
static void test_points_heights(void)
{
    dice = rng_make(4, 0);
    skin c;
    world_pose pose;
    world_per_point h, u;
    world_lanes lanes;
    double qpos[HRC_NQ], qvel[HRC_NV], later[HRC_NQ], at[3], soon[3];
    fk_pose now, then;
    world_points_make(c.points);
    random_motion(qpos, qvel);
    world_state_of(c.s, qpos, qvel);
    skin_of(&c, &pose, h, u, lanes);
    const double dt = 1e-6;
    double turn[4], axis[3];
    for (int k = 0; k < 3; k++) later[k] = qpos[k] + dt * qvel[k], axis[k] = dt * qvel[3 + k];
    quat_exp(turn, axis);
    quat_mul(later + 3, qpos + 3, turn);
    for (int i = 0; i < HRC_JOINTS; i++) later[7 + i] = qpos[7 + i] + dt * qvel[6 + i];
    fk(&now, qpos);
    fk(&then, later);
    for (int i = 0; i < WORLD_POINTS; i++) {
        fk_point(at, &now, c.points[i].link, c.points[i].local);
        fk_point(soon, &then, c.points[i].link, c.points[i].local);
        ENSURE_NEAR(h[i][0], at[2] - c.points[i].radius, 1e-9);
        ENSURE_NEAR(u[i][0], (soon[2] - at[2]) / dt, 1e-4);
    }
}

/* ---- The model's own loss ---- */

typedef struct {
    world_model m;
    world_fit fit;
    double *params, *grads;
} fitting;

static double fitting_value(void *ctx)
{
    fitting *c = ctx;
    return world_fit_gradient(&c->fit, c->grads, c->params).loss;
}

static void random_scales(world_model *m)
{
    for (int i = 0; i < WI; i++) m->in_shift[i] = noise(0.1), m->in_scale[i] = 1 + fabs(noise(0.2));
    for (int i = 0; i < WO; i++) m->out_shift[i] = noise(0.01), m->out_scale[i] = 0.1 + fabs(noise(0.05));
    for (int i = 0; i < WS; i++) m->error_scale[i] = 2 + fabs(noise(1));
}

static void test_fit_gradient(void)
{
    dice = rng_make(5, 0);
    pool *threads;
    hrc_error err;
    fitting c;
    const int hidden[2] = {7, 5};
    ENSURE_OK(pool_create(&threads, 2, &err));
    world_init(&c.m, hidden, 2);
    random_scales(&c.m);
    ENSURE_OK(world_fit_create(&c.fit, &c.m, nn_ops_at(NN_PLAIN), threads, 3, 3, &err));
    c.params = calloc(c.m.layout.count, sizeof *c.params);
    c.grads = calloc(c.m.layout.count, sizeof *c.grads);
    double *kept = calloc(c.m.layout.count, sizeof *kept);
    for (size_t i = 0; i < c.m.layout.count; i++) c.params[i] = noise(0.2);
    for (int r = 0; r < 4 * 3; r++) random_state(c.fit.truth + r * WS);
    for (int i = 0; i < 9 * HRC_JOINTS; i++) c.fit.target[i] = noise(0.4);
    world_fit_gradient(&c.fit, kept, c.params);
    check_all("weight", kept, c.params, (int)c.m.layout.count, fitting_value, &c, 37);
    world_fit_free(&c.fit);
    pool_free(threads);
    free(c.params), free(c.grads), free(kept);
}

/* ---- Imagined rollouts ---- */

enum { SEQUENCES = 3, FRAMES = 30 };

typedef struct {
    world_model m;
    policy net;
    imagine *g;
    imagine_options o;
    bool anchored; /* all rollouts but one */
    double *world, *params, *grads;
} dreaming;

static float clip_qpos[FRAMES][HRC_NQ], clip_qvel[FRAMES][HRC_NV];
static obs_frame clip_frames[FRAMES], other_frames[FRAMES]; /* the second: shown instead of the first */

static void make_clip(void)
{
    for (int f = 0; f < FRAMES; f++) {
        double qpos[HRC_NQ], qvel[HRC_NV];
        random_motion(qpos, qvel);
        for (int i = 0; i < HRC_NQ; i++) clip_qpos[f][i] = (float)qpos[i];
        for (int i = 0; i < HRC_NV; i++) clip_qvel[f][i] = (float)qvel[i];
        clip_frames[f] = (obs_frame){clip_qpos[f], clip_qvel[f]};
    }
    for (int f = 0; f < FRAMES; f++) other_frames[f] = clip_frames[(f + 7) % FRAMES];
}

static double dreaming_value(void *ctx)
{
    dreaming *c = ctx;
    imagine_result r = imagine_gradient(c->g, c->grads, c->params, NULL, c->world);
    const double plain = r.tracking + c->o.action_weight * r.action + c->o.rate_weight * r.rate;
    if (c->o.knee > 0)
        ENSURE(r.objective > 0 && r.objective < 0.9 * plain);
    else
        ENSURE_NEAR(r.objective, plain, 1e-9 * plain);
    return r.objective + c->o.rec_weight * r.reconstruction;
}

static void near_reference(double qpos[HRC_NQ], obs_frame f, int which);

static void start_near(double s[WS], obs_frame f, int which)
{
    double qpos[HRC_NQ], qvel[HRC_NV];
    random_motion(qpos, qvel);
    near_reference(qpos, f, which);
    world_state_of(s, qpos, qvel);
}

static void dream_create(dreaming *c, pool *threads)
{
    hrc_error err;
    const int hidden[2] = {6, 5};
    const policy_shape shape = {.window = OBS_WINDOW,
                                .proprio = OBS_PROPRIO,
                                .actions = HRC_JOINTS,
                                .encoder = {1, {6}},
                                .reconstruction = {1, {5}},
                                .action = {2, {6, 5}},
                                .activation = ACT_ELU,
                                .token = {.kind = QUANT_IFSQ, .dim = 4, .levels = 17, .smooth = true}};
    make_clip();
    world_init(&c->m, hidden, 2);
    random_scales(&c->m);
    ENSURE_OK(policy_init(&c->net, &shape, &err));
    ENSURE_OK(imagine_create(&c->g, &c->o, &c->net, &c->m, nn_ops_at(NN_PLAIN), threads, &err));
    c->world = calloc(c->m.layout.count, sizeof *c->world);
    c->params = calloc(c->net.layout.count, sizeof *c->params);
    c->grads = calloc(c->net.layout.count, sizeof *c->grads);
    for (size_t i = 0; i < c->m.layout.count; i++) c->world[i] = noise(0.2);
    policy_fresh(c->params, &c->net, 3, 1, 1);
    imagine_start *s = imagine_starts(c->g);
    for (int b = 0; b < SEQUENCES; b++) {
        s[b].frames = clip_frames, s[b].n = FRAMES, s[b].frame = b == 2 ? FRAMES - 3 : 5 * b;
        s[b].shown = b == 0 ? other_frames : NULL;
        s[b].anchored = c->anchored && b != 1;
        random_state(s[b].s);
        if (c->anchored) start_near(s[b].s, (s[b].shown ? s[b].shown : s[b].frames)[s[b].frame], b % 3);
        for (int k = 0; k < OBS_HISTORY; k++)
            for (int i = 0; i < OBS_P; i++) s[b].history[k][i] = noise(0.5);
    }
}

static void dream_check(imagine_options o, bool anchored)
{
    pool *threads;
    hrc_error err;
    dreaming c = {.o = o, .anchored = anchored};
    ENSURE_OK(pool_create(&threads, 2, &err));
    dream_create(&c, threads);
    double *kept = calloc(c.net.layout.count, sizeof *kept);
    imagine_gradient(c.g, kept, c.params, NULL, c.world);
    for (int i = 0; i < c.net.layout.n; i++) {
        const nn_tensor *t = &c.net.layout.tensors[i];
        if (t->offset == c.net.log_std || (o.rec_steps == 0 && strstr(t->name, "reconstruction"))) continue;
        check_all(t->name, kept + t->offset, c.params + t->offset, (int)t->count, dreaming_value, &c,
                  1 + (int)t->count / 29);
    }
    imagine_free(c.g);
    pool_free(threads);
    free(c.world), free(c.params), free(c.grads), free(kept);
}

static void check_bases(bool anchored)
{
    const action_basis bases[] = {BASIS_DEFAULT, BASIS_REFERENCE, BASIS_AHEAD};
    for (int i = 0; i < COUNT(bases); i++)
        dream_check((imagine_options){.batch = SEQUENCES,
                                      .steps = anchored ? 5 : 4,
                                      .lead = 1,
                                      .basis = bases[i],
                                      .action_weight = 0.3,
                                      .rate_weight = 0.7,
                                      .knee = i == 2 ? 1.5 : 0},
                    anchored);
}

static void test_imagine_gradient(void)
{
    dice = rng_make(6, 0);
    check_bases(false);
}

/* Also through the state in which the plan was made: window and aim. */
static void test_imagine_shown(void)
{
    dice = rng_make(10, 0);
    check_bases(true);
}

/* A rollout that the world model takes out of this world teaches nothing, and the others as much as without
 * it. */
static void test_imagine_wild(void)
{
    pool *threads;
    hrc_error err;
    dice = rng_make(9, 0);
    dreaming c = {.o = {.batch = SEQUENCES, .steps = 3, .lead = 1, .state_clip = 100}};
    ENSURE_OK(pool_create(&threads, 1, &err));
    dream_create(&c, threads);
    imagine_start *s = imagine_starts(c.g);
    for (int b = 0; b < SEQUENCES; b++) s[b].s[WS_V] = b ? 1e30 : 11;
    ENSURE(dreaming_value(&c) == 0);
    for (size_t i = 0; i < c.net.layout.count; i++) ENSURE(c.grads[i] == 0);
    s[1].s[WS_V] = 0;
    ENSURE(dreaming_value(&c) > 0);
    for (size_t i = 0; i < c.net.layout.count; i++) ENSURE(isfinite(c.grads[i]));
    imagine_free(c.g);
    pool_free(threads);
    free(c.world), free(c.params), free(c.grads);
}

/* The reconstruction's target counts as a constant, so only the first period can be checked. */
static void test_imagine_reconstruction(void)
{
    dice = rng_make(7, 0);
    dream_check(
        (imagine_options){.batch = SEQUENCES, .steps = 1, .rec_steps = 1, .lead = 1, .rec_weight = 0.8},
        false);
}

/* An imagined state is seen as the real one is. */
static void test_imagine_sees(void)
{
    dice = rng_make(8, 0);
    double qpos[HRC_NQ], qvel[HRC_NV], s[WS], p[OBS_P], m[OBS_M], action[HRC_JOINTS], q0[HRC_JOINTS];
    float a[HRC_JOINTS], want_p[OBS_P], want_m[OBS_M];
    g1_state robot;
    make_clip();
    random_motion(qpos, qvel);
    world_state_of(s, qpos, qvel);
    g1_state_read(&robot, qpos, qvel);
    for (int i = 0; i < HRC_JOINTS; i++)
        a[i] = (float)noise(1), action[i] = (double)a[i], q0[i] = G1_JOINT[i].q0;
    obs_proprio(want_p, &robot, q0, a);
    obs_reference(want_m, clip_frames[4], robot.quat, OBS_BODY);
    imagine_proprio(p, s, action);
    imagine_reference(m, s, clip_frames[4]);
    for (int i = 0; i < OBS_P; i++) ENSURE_NEAR(p[i], (double)want_p[i], 2e-6);
    for (int i = 0; i < OBS_M; i++) ENSURE_NEAR(m[i], (double)want_m[i], 2e-6);
}

/* Not lost: off in joints, tilt or height. */
static void near_reference(double qpos[HRC_NQ], obs_frame f, int which)
{
    double turn[4], axis[3];
    for (int i = 0; i < HRC_NQ; i++) qpos[i] = (double)f.qpos[i];
    for (int i = 7; i < HRC_NQ; i++) qpos[i] += noise(which == 0 ? 0.3 : 0.02);
    for (int k = 0; k < 3; k++) axis[k] = noise(which == 1 ? 0.3 : 0.01);
    quat_exp(turn, axis);
    quat_mul(qpos + 3, turn, qpos + 3);
    qpos[2] += which == 2 ? 0.2 : 0;
}

/* Of the anchored window too; also of robots that face the other way. */
static void test_anchor_sees(void)
{
    dice = rng_make(11, 0);
    make_clip();
    for (int n = 0; n < 200; n++) {
        double then[HRC_NQ], now[HRC_NQ], qvel[HRC_NV], s0[WS], s[WS], m[OBS_M], about[4];
        float state[HRC_NQ], qpos[HRC_NQ], vel[HRC_NV], want[OBS_M];
        const int ahead = n % 13;
        const obs_frame from = clip_frames[n % 5], to = clip_frames[5 + n % 5];
        plan_offset a;
        imagine_offset b;
        random_motion(then, qvel);
        random_motion(now, qvel);
        if (n % 4 == 1) near_reference(then, from, n / 4 % 3);
        quat_from_yaw(about, n % 3 ? 0 : 3.1 + 0.08 * rng_double(&dice));
        quat_mul(then + 3, about, then + 3);
        world_state_of(s0, then, qvel);
        world_state_of(s, now, qvel);
        for (int i = 0; i < HRC_NQ; i++) state[i] = (float)then[i];
        plan_offset_set(&a, state, from.qpos);
        plan_offset_frame(qpos, vel, &a, to.qpos, to.qvel, (float)ahead / 50);
        obs_reference(want, (obs_frame){qpos, vel}, now + 3, OBS_BODY);
        imagine_offset_set(&b, s0, from);
        if (quat_anglef(state + 3, from.qpos + 3) > 3.1f) continue; /* the way round is any */
        imagine_shown(m, s, &b, to, imagine_offset_left(ahead));
        for (int i = 0; i < OBS_M; i++) ENSURE_NEAR(m[i], (double)want[i], 1e-4);
    }
}

typedef struct {
    double then[WS], now[WS], r[OBS_M];
    obs_frame from, to;
    double left;
} showing;

static double showing_value(void *ctx)
{
    showing *c = ctx;
    imagine_offset a;
    double m[OBS_M], sum = 0;
    imagine_offset_set(&a, c->then, c->from);
    imagine_shown(m, c->now, &a, c->to, c->left);
    for (int i = 0; i < OBS_M; i++) sum += c->r[i] * m[i];
    return sum;
}

/* By the state now and by that of the plan, whichever of joints, tilt and height is what is most off. */
static void test_shown_gradient(void)
{
    dice = rng_make(12, 0);
    make_clip();
    for (int n = 0; n < 12; n++) {
        showing c = {.from = clip_frames[n % 5], .to = clip_frames[5 + n % 5]};
        double qpos[HRC_NQ], qvel[HRC_NV], dthen[WS] = {0}, dnow[WS] = {0};
        imagine_offset a, da = {0};
        c.left = imagine_offset_left(n % 8);
        random_motion(qpos, qvel);
        if (n > 2) near_reference(qpos, c.from, n % 3);
        world_state_of(c.then, qpos, qvel);
        random_state(c.now);
        for (int i = 0; i < OBS_M; i++) c.r[i] = noise(1);
        imagine_offset_set(&a, c.then, c.from);
        imagine_shown_back(dnow, &da, c.r, c.now, &a, c.to, c.left);
        imagine_offset_back(dthen, &da, c.then, c.from);
        check_all("state of the plan", dthen, c.then, WS, showing_value, &c, 1);
        check_all("state now", dnow, c.now, WS, showing_value, &c, 1);
    }
}

TEST_TABLE({"world.advance_gradient", test_advance_gradient}, {"world.outputs_invert", test_outputs_invert},
           {"world.points_gradient", test_points_gradient}, {"world.points_heights", test_points_heights},
           {"world.fit_gradient", test_fit_gradient}, {"world.imagine_gradient", test_imagine_gradient},
           {"world.imagine_wild", test_imagine_wild}, {"world.imagine_shown", test_imagine_shown},
           {"world.anchor_sees", test_anchor_sees}, {"world.shown_gradient", test_shown_gradient},
           {"world.imagine_reconstruction", test_imagine_reconstruction},
           {"world.imagine_sees", test_imagine_sees})
