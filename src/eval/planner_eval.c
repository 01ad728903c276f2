#include "eval/planner_eval.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/rng.h"
#include "base/rot.h"
#include "motion/quality.h"
#include "robot/posture.h"
#include "robot/state.h"

#define CHAINS 24
#define CHAIN_FRAMES 150
#define EXECUTE 2 /* frames between replans: 40 ms */
#define SEEDS 8
#define FALLEN_STARTS 16

const double PLAN_DISTANCE_S[PLAN_DISTANCES] = {0.2, 0.5, 1.0, 2.0};
const char *const PLAN_METHOD[PLAN_METHODS] = {"planner", "base", "hold", "reference"};

typedef float keyframes[PLAN_K][HRC_NQ];

typedef struct {
    int clip, frame;
} place;

typedef struct {
    plan_error sum[PLAN_METHODS], identity;
    int over_limit, plans;
    double seconds;
    long verdicts[PLAN_VERDICTS];
} tally;

typedef struct {
    const clip *clips;
    int nclips, starts;
    planner **planners; /* one per thread */
    int horizon;
    float noise;
    uint64_t seed;
    const place *places; /* (PLAN_DISTANCES, starts) */
    tally *tallies;      /* the same */
} job;

/* ---- Poses ---- */

static void blend(float out[HRC_NQ], const float *a, const float *b, float u)
{
    for (int i = 0; i < HRC_NQ; i++) out[i] = a[i] + u * (b[i] - a[i]);
    quat_slerpf(out + 3, a + 3, b + 3, u);
}

static void clip_pose(float out[HRC_NQ], const clip *c, float frame)
{
    int whole = (int)frame;
    float u = frame - (float)whole;
    if (whole >= c->n - 1)
        memcpy(out, clip_frame(c, c->n - 1), HRC_NQ * sizeof *out);
    else
        blend(out, clip_frame(c, whole), clip_frame(c, whole + 1), u);
}

static float frame_of_keyframe(int k, int horizon)
{
    return (float)(k * horizon) / (PLAN_K - 1);
}

static plan_error compare(const float *a, const float *b)
{
    double far = 0;
    for (int i = 0; i < 3; i++) far += pow((double)(a[i] - b[i]), 2);
    return (plan_error){g1_joint_distance(a, b), 100 * sqrt(far), (double)quat_anglef(a + 3, b + 3)};
}

static void add(plan_error *sum, plan_error e, double weight)
{
    sum->joint_rad += weight * e.joint_rad;
    sum->root_cm += weight * e.root_cm;
    sum->ori_rad += weight * e.ori_rad;
}

/* ---- Questions ---- */

void question_make(plan_question *q, const float state[HRC_NQ], const float qvel[HRC_NV],
                   const float (*window)[HRC_NQ], int horizon)
{
    memcpy(q->state, state, sizeof q->state);
    memcpy(q->qvel, qvel, sizeof q->qvel);
    memcpy(q->reference, window, sizeof *window * (size_t)(horizon + 1));
    memcpy(q->under_way, state, sizeof q->under_way);
}

/* The robot moves as the clip does at `frame`; the reference is the clip from `at` on. */
static void ask(plan_question *q, const clip *c, int frame, int at, int horizon)
{
    float window[PLAN_MAX_H + 1][HRC_NQ], around[3 * HRC_NV];
    const int before = frame > 0 && frame + 1 < c->n ? frame - 1 : frame + 2 < c->n ? frame : c->n - 3;
    g1_velocities(around, clip_frame(c, before), 3, PLAN_FPS);
    for (int i = 0; i <= horizon; i++) clip_pose(window[i], c, (float)(at + i));
    question_make(q, clip_frame(c, frame), around + (frame - before) * HRC_NV, (const float(*)[HRC_NQ])window,
                  horizon);
}

/* ---- One start ---- */

static void rival(keyframes out, int method, const plan_question *q, int horizon)
{
    for (int k = 0; k < PLAN_K; k++)
        if (method == BY_HOLD)
            memcpy(out[k], q->state, sizeof out[k]);
        else
            plan_window_at(out[k], q->reference, frame_of_keyframe(k, horizon), horizon);
}

static void score(plan_error *sum, const keyframes plan, const clip *c, int frame, int horizon)
{
    for (int k = 1; k < PLAN_K; k++) {
        float truth[HRC_NQ];
        clip_pose(truth, c, (float)frame + frame_of_keyframe(k, horizon));
        add(sum, compare(plan[k], truth), 1.0 / (PLAN_K - 1));
    }
}

static bool beyond_limits(const keyframes plan)
{
    for (int k = 1; k < PLAN_K; k++)
        for (int i = 0; i < HRC_JOINTS; i++)
            if (plan[k][7 + i] < (float)G1_JOINT[i].lo || plan[k][7 + i] > (float)G1_JOINT[i].hi) return true;
    return false;
}

static void make_plan(const job *j, planner *p, tally *t, const plan_question *q, keyframes out)
{
    double begin = clock_s();
    planner_plan(p, q, out);
    t->seconds += clock_s() - begin;
    t->plans++;
    t->over_limit += beyond_limits((const float(*)[HRC_NQ])out);
    t->verdicts[plan_guard(out, (float)j->horizon / PLAN_FPS / (PLAN_K - 1))]++;
}

static void evaluate_start(void *ctx, int item, int worker)
{
    job *j = ctx;
    const int distance = item / j->starts, later = (int)(PLAN_DISTANCE_S[distance] * PLAN_FPS + 0.5);
    const place *at = &j->places[item];
    const clip *c = &j->clips[at->clip];
    tally *t = &j->tallies[item];
    planner *p = j->planners[worker];
    plan_question q;
    ask(&q, c, at->frame, at->frame + (later > j->horizon ? later - j->horizon : 0), j->horizon);
    for (int method = 0; method < PLAN_METHODS; method++) {
        keyframes plan;
        planner_vary(p, j->seed + (uint64_t)item, j->noise, method == BY_PLANNER);
        if (method == BY_PLANNER)
            make_plan(j, p, t, &q, plan);
        else if (method == BY_BASE_ALONE)
            planner_plan(p, &q, plan);
        else
            rival(plan, method, &q, j->horizon);
        score(&t->sum[method], (const float(*)[HRC_NQ])plan, c, at->frame, j->horizon);
    }
    planner_vary(p, j->seed, j->noise, 1);
    if (distance == 0) {
        keyframes plan;
        ask(&q, c, at->frame, at->frame, j->horizon);
        make_plan(j, p, t, &q, plan);
        score(&t->identity, (const float(*)[HRC_NQ])plan, c, at->frame, j->horizon);
    }
}

/* ---- Chains ---- */

int planner_chain(planner *p, int horizon, const float start[HRC_NQ],
                  void (*window_at)(void *, int, float (*)[HRC_NQ]), void *ctx, float *qpos, int max_frames)
{
    const float span = (float)horizon / PLAN_FPS;
    float qvel[HRC_NV] = {0}, window[PLAN_MAX_H + 1][HRC_NQ];
    int made = 1;
    memcpy(qpos, start, HRC_NQ * sizeof *qpos);
    while (made < max_frames) {
        keyframes plan;
        plan_curve curve;
        plan_question q;
        window_at(ctx, made - 1, window);
        question_make(&q, qpos + (size_t)(made - 1) * HRC_NQ, qvel, (const float(*)[HRC_NQ])window, horizon);
        planner_plan(p, &q, plan);
        if (plan_guard(plan, span / (PLAN_K - 1)) != PLAN_FINE) return made;
        memcpy(plan[0], q.state, sizeof plan[0]);
        plan_curve_fit(&curve, (const float(*)[HRC_NQ])plan, span);
        for (int i = 1; i <= EXECUTE && made < max_frames; i++, made++)
            plan_curve_at(qpos + (size_t)made * HRC_NQ, qvel, &curve, (float)i / PLAN_FPS);
    }
    return made;
}

typedef struct {
    const clip *c;
    int first, horizon;
} follow;

static void follow_clip(void *ctx, int frame, float (*out)[HRC_NQ])
{
    const follow *f = ctx;
    for (int i = 0; i <= f->horizon; i++) clip_pose(out[i], f->c, (float)(f->first + frame + i));
}

static hrc_status skate_of(double *out, const float *qpos, int n, hrc_error *err)
{
    clip c;
    quality q;
    TRY(clip_create(&c, n, PLAN_FPS, "chain", err));
    memcpy(c.qpos, qpos, sizeof(float) * HRC_NQ * (size_t)n);
    hrc_status status = quality_measure(&q, &c, err);
    clip_free(&c);
    *out = status == HRC_OK ? q.skate_p90 : NAN;
    return status;
}

/* Mean over chains of their feet's slip and of the clips' own over the same frames. */
static hrc_status measure_chains(planner_report *out, job *j, hrc_error *err)
{
    float *qpos = malloc(sizeof(float) * HRC_NQ * CHAIN_FRAMES);
    if (!qpos) return fail(err, HRC_ENOMEM, "eval planner: out of memory");
    hrc_status status = HRC_OK;
    double chain = 0, own = 0;
    int n = 0;
    for (int i = 0; i < CHAINS && status == HRC_OK; i++) {
        const place *at = &j->places[(PLAN_DISTANCES - 1) * j->starts + i * j->starts / CHAINS];
        follow f = {&j->clips[at->clip], at->frame, j->horizon};
        double a = NAN, b = NAN;
        int room = f.c->n - at->frame;
        planner_seed(j->planners[0], j->seed + (uint64_t)i);
        int made = planner_chain(j->planners[0], j->horizon, clip_frame(f.c, at->frame), follow_clip, &f,
                                 qpos, room < CHAIN_FRAMES ? room : CHAIN_FRAMES);
        if (made < 25) continue;
        status = skate_of(&a, qpos, made, err);
        if (status == HRC_OK) status = skate_of(&b, clip_frame(f.c, at->frame), made, err);
        if (isfinite(a) && isfinite(b)) chain += a, own += b, n++;
    }
    free(qpos);
    out->skate_p90 = n ? chain / n : NAN;
    out->skate_clip_p90 = n ? own / n : NAN;
    return status;
}

/* ---- Diversity ---- */

static double spread_over_seeds(planner *p, const plan_question *q)
{
    double mean[HRC_JOINTS] = {0}, square[HRC_JOINTS] = {0}, sum = 0;
    for (int s = 0; s < SEEDS; s++) {
        keyframes plan;
        planner_seed(p, (uint64_t)s);
        planner_plan(p, q, plan);
        for (int i = 0; i < HRC_JOINTS; i++) {
            double at = (double)plan[PLAN_K - 1][7 + i];
            mean[i] += at / SEEDS, square[i] += at * at / SEEDS;
        }
    }
    for (int i = 0; i < HRC_JOINTS; i++) sum += fmax(0, square[i] - mean[i] * mean[i]);
    return sqrt(sum);
}

/* A robot that lies still like this, and is to stand there. */
static void ask_fallen(plan_question *q, const float *state, int horizon)
{
    static const float STILL[HRC_NV];
    float window[PLAN_MAX_H + 1][HRC_NQ];
    double stance[HRC_NQ];
    g1_default_qpos(stance);
    for (int i = 0; i <= horizon; i++)
        for (int k = 0; k < HRC_NQ; k++) window[i][k] = k < 2 ? state[k] : (float)stance[k];
    question_make(q, state, STILL, (const float(*)[HRC_NQ])window, horizon);
}

static void measure_diversity(planner_report *out, job *j)
{
    rng r = rng_make(j->seed, 77);
    plan_question q;
    double fallen = 0, nominal = 0;
    int n = 0;
    for (int tries = 0; tries < 20000 && n < FALLEN_STARTS; tries++) {
        const clip *c = &j->clips[rng_below(&r, (uint32_t)j->nclips)];
        const float *state = clip_frame(c, (int)rng_below(&r, (uint32_t)c->n));
        if (state[2] > POSTURE_LIES_M) continue;
        ask_fallen(&q, state, j->horizon);
        fallen += spread_over_seeds(j->planners[0], &q);
        n++;
    }
    for (int i = 0; i < FALLEN_STARTS; i++) {
        const place *at = &j->places[i * j->starts / FALLEN_STARTS];
        ask(&q, &j->clips[at->clip], at->frame, at->frame, j->horizon);
        nominal += spread_over_seeds(j->planners[0], &q);
    }
    out->diversity_fallen = n ? fallen / n : NAN;
    out->diversity_nominal = nominal / FALLEN_STARTS;
}

/* ---- All ---- */

/* Starts spread evenly over all frames that have the distance before them. */
static hrc_status choose_places(place *out, const job *j, int distance, hrc_error *err)
{
    int ahead = (int)(PLAN_DISTANCE_S[distance] * PLAN_FPS + 0.5);
    if (ahead < j->horizon) ahead = j->horizon;
    long long total = 0;
    for (int i = 0; i < j->nclips; i++) total += j->clips[i].n > ahead ? j->clips[i].n - ahead : 0;
    if (total == 0)
        return fail(err, HRC_EINVAL, "eval planner: no clip is longer than %.1f s",
                    PLAN_DISTANCE_S[distance]);
    for (int s = 0; s < j->starts; s++) {
        long long at = total * s / j->starts + total / (2 * j->starts);
        int c = 0;
        for (; c < j->nclips; c++) {
            int room = j->clips[c].n > ahead ? j->clips[c].n - ahead : 0;
            if (at < room) break;
            at -= room;
        }
        out[s] = (place){c, (int)at};
    }
    return HRC_OK;
}

static void sum_up(planner_report *out, const job *j)
{
    double seconds = 0;
    long plans = 0, over = 0;
    for (int item = 0; item < PLAN_DISTANCES * j->starts; item++) {
        const tally *t = &j->tallies[item];
        for (int m = 0; m < PLAN_METHODS; m++)
            add(&out->error[item / j->starts][m], t->sum[m], 1.0 / j->starts);
        if (item < j->starts) add(&out->identity, t->identity, 1.0 / j->starts);
        for (int v = 0; v < PLAN_VERDICTS; v++) out->verdicts[v] += t->verdicts[v];
        plans += t->plans, over += t->over_limit, seconds += t->seconds;
    }
    out->starts = j->starts;
    out->limit_share = (double)over / (double)plans;
    out->plan_ms = 1e3 * seconds / (double)plans;
}

typedef struct {
    job *j;
    int first;
} slice;

static void evaluate_slice(void *ctx, int item, int worker)
{
    const slice *s = ctx;
    evaluate_start(s->j, s->first + item, worker);
}

static hrc_status evaluate(planner_report *out, job *j, place *places, pool *threads,
                           void (*progress)(void *, double), void *ctx, hrc_error *err)
{
    const int total = PLAN_DISTANCES * j->starts, step = 64;
    for (int d = 0; d < PLAN_DISTANCES; d++) TRY(choose_places(places + d * j->starts, j, d, err));
    for (int first = 0; first < total; first += step) {
        pool_items(threads, total - first < step ? total - first : step, evaluate_slice, &(slice){j, first});
        if (progress) progress(ctx, (double)first / total);
    }
    sum_up(out, j);
    TRY(measure_chains(out, j, err));
    measure_diversity(out, j);
    return HRC_OK;
}

hrc_status planner_evaluate(planner_report *out, const plan_model *m, const planner_options *options,
                            const clip *clips, int nclips, int starts, uint64_t seed, pool *threads,
                            void (*progress)(void *, double), void *ctx, hrc_error *err)
{
    if (nclips == 0)
        return fail(err, HRC_EINVAL,
                    "eval planner: the corpus holds no clip out from training, expected at least one");
    const int n = pool_threads(threads);
    job j = {.clips = clips,
             .nclips = nclips,
             .starts = starts,
             .horizon = m->layout.horizon,
             .noise = options->noise,
             .seed = seed};
    j.planners = calloc((size_t)n, sizeof(void *));
    j.tallies = calloc((size_t)(PLAN_DISTANCES * starts), sizeof *j.tallies);
    place *places = calloc((size_t)(PLAN_DISTANCES * starts), sizeof *places);
    j.places = places;
    memset(out, 0, sizeof *out);
    hrc_status status =
        j.planners && j.tallies && places ? HRC_OK : fail(err, HRC_ENOMEM, "eval planner: out of memory");
    for (int i = 0; i < n && status == HRC_OK; i++) status = planner_create(&j.planners[i], m, options, err);
    if (status == HRC_OK) status = evaluate(out, &j, places, threads, progress, ctx, err);
    for (int i = 0; j.planners && i < n; i++) planner_free(j.planners[i]);
    free(j.planners);
    free(j.tallies);
    free(places);
    return status;
}
