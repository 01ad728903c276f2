#include "learn/rehearse.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/rng.h"
#include "learn/trial.h"
#include "robot/posture.h"
#include "robot/state.h"
#include "track/observe.h"
#include "track/tracker.h"

#define KNOT 5 /* periods between knots of an offset; straight lines between them */
#define MOST_KNOTS (REHEARSE_HORIZON / KNOT + 2)
#define AHEAD_MOST 5 /* frames by which what the tracker is shown may run ahead */
#define ARMS 15      /* the first joint of them; legs and waist come before */
#define ELITE 6      /* samples that are varied further */
#define NEAR_M 0.12  /* where the tracker alone stays as near as this, it is let alone */
#define NEAR_RAD 0.5
#define OFFSET_COST 0.01 /* of a squared offset of one action, in a period */
#define CHANGE_COST 0.02 /* of a squared change of one action */
#define LOST_M 0.23      /* a frame in which the robot is farther off than this ... */
#define LOST_RAD 1.0
#define LOST_COST 40 /* ... costs so much that a clumsy leap is better than none */

const rehearse_options REHEARSE_DEFAULT = {.beam = 4, .samples = 96, .horizon = 60};

/* What all that follows depends on. */
typedef struct {
    sim_world sim;
    obs_history history;
    bool begun;
    float action[HRC_JOINTS];
    float knots[MOST_KNOTS][HRC_JOINTS]; /* offsets of the actions from here on */
    int ahead;                           /* frames by which it is shown the reference early */
    double cost;                         /* so far */
} moment;

/* What a robot did between two choices, the states being those after each period. */
typedef struct {
    int parent; /* where it was in the beam */
    float qpos[REHEARSE_STEP][HRC_NQ], qvel[REHEARSE_STEP][HRC_NV], target[REHEARSE_STEP][HRC_JOINTS];
} stretch;

typedef struct {
    moment from;    /* where it began */
    moment at;      /* after REHEARSE_STEP periods */
    double outlook; /* cost up to there and over the horizon */
    bool fine;      /* nothing to be mended within the horizon */
    stretch did;
} sample;

/* Of one thread. */
typedef struct {
    tracker *runner;
    moment *beam;    /* (REHEARSE_BEAM) */
    sample *samples; /* (REHEARSE_SAMPLES) */
} bench;

struct rehearser {
    arena memory;
    const track_model *model;
    sim *physics;
    int threads;
    bench *benches; /* (threads) */
};

/* ---- Create ---- */

static hrc_status bench_create(bench *b, arena *memory, const track_model *m, hrc_error *err)
{
    b->beam = ARENA_NEW(memory, moment, REHEARSE_BEAM);
    b->samples = ARENA_NEW(memory, sample, REHEARSE_SAMPLES);
    if (!b->beam || !b->samples) return fail(err, HRC_ENOMEM, "rehearsal: out of memory");
    return tracker_create(&b->runner, m, NN_FLOAT, err);
}

hrc_status rehearser_create(rehearser **out, const track_model *m, const config *cfg, pool *threads,
                            hrc_error *err)
{
    const config exact = trial_physics(cfg);
    rehearser *r = calloc(1, sizeof *r);
    if (!r) return fail(err, HRC_ENOMEM, "rehearsal: out of memory");
    r->model = m, r->threads = pool_threads(threads);
    hrc_status status = sim_create(&r->physics, &exact, threads, err);
    r->benches = ARENA_NEW(&r->memory, bench, r->threads);
    if (status == HRC_OK && !r->benches) status = fail(err, HRC_ENOMEM, "rehearsal: out of memory");
    for (int i = 0; status == HRC_OK && i < r->threads; i++)
        status = bench_create(&r->benches[i], &r->memory, m, err);
    if (status < 0)
        rehearser_free(r);
    else
        *out = r;
    return status;
}

void rehearser_free(rehearser *r)
{
    if (!r) return;
    for (int i = 0; r->benches && i < r->threads; i++) tracker_free(r->benches[i].runner);
    sim_free(r->physics);
    arena_free(&r->memory);
    free(r);
}

/* ---- One copy ---- */

static const ref_frame *frame_at(const ref_clip *c, int frame)
{
    return &c->frames[frame < 0 ? 0 : frame < c->n ? frame : c->n - 1];
}

static double square(float x)
{
    return (double)x * (double)x;
}

/* Returns what they cost: what is not needed is not to be learned. */
static double add_offsets(moment *m, int since)
{
    const int knot = since / KNOT;
    const float part = (float)(since % KNOT) / KNOT;
    double cost = 0;
    for (int i = 0; i < HRC_JOINTS; i++) {
        const float by = (1 - part) * m->knots[knot][i] + part * m->knots[knot + 1][i];
        m->action[i] += by;
        cost += OFFSET_COST * square(by);
    }
    return cost;
}

/* One period; since: periods since the moment's offsets began. */
static void act(const rehearser *r, moment *m, double target[HRC_JOINTS], const ref_clip *c, int frame,
                int since, int worker)
{
    const track_model *model = r->model;
    g1_state state;
    obs_frame frames[OBS_FRAMES];
    float p[OBS_P], window[OBS_WINDOW], before[HRC_JOINTS];
    double q0[HRC_JOINTS];
    g1_state_read(&state, m->sim.qpos, m->sim.qvel);
    for (int i = 0; i < HRC_JOINTS; i++) q0[i] = G1_JOINT[i].q0;
    obs_proprio(p, &state, q0, m->action);
    if (m->begun)
        obs_history_push(&m->history, p);
    else
        obs_history_fill(&m->history, p);
    m->begun = true;
    for (int i = 0; i < OBS_FRAMES; i++) {
        const ref_frame *f = frame_at(c, frame + m->ahead + model->lead + i);
        frames[i] = (obs_frame){f->qpos, f->qvel};
    }
    obs_window(window, frames, state.quat, model->rotation);
    memcpy(before, m->action, sizeof before);
    tracker_infer(r->benches[worker].runner, m->action, &m->history.p[0][0], window);
    m->cost += add_offsets(m, since);
    for (int i = 0; i < HRC_JOINTS; i++) m->cost += CHANGE_COST * square(m->action[i] - before[i]);
    action_target(target, model->basis, m->action, frames[action_frame(model->basis)].qpos + 7, NULL);
    sim_step_one(r->physics, &m->sim, target, worker);
}

/* sqrt(1 + x^2) - 1: a square near nothing, then straight. */
static double bent(double x)
{
    return sqrt(1 + x * x) - 1;
}

/* Of the root, m/s: the reference's turned to where the robot heads, which is not its to choose. */
static double velocity_error(const sim_world *w, const ref_frame *f, double turned)
{
    const double c = cos(turned), s = sin(turned), vx = (double)f->qvel[0], vy = (double)f->qvel[1],
                 e[3] = {w->qvel[0] - (c * vx - s * vy), w->qvel[1] - (s * vx + c * vy),
                         w->qvel[2] - (double)f->qvel[2]};
    return sqrt(e[0] * e[0] + e[1] * e[1] + e[2] * e[2]);
}

/* What a frame costs but for what was done; near: it needs no mending. */
static double judge(const sim_world *w, const ref_frame *f, bool *near)
{
    g1_state state;
    float quat[4];
    g1_state_read(&state, w->qpos, w->qvel);
    for (int k = 0; k < 4; k++) quat[k] = (float)state.quat[k];
    const tracking_error e = tracking_error_of(&state, f->qpos);
    const double turned = (double)heading_between(f->qpos + 3, quat);
    const bool lost = w->diverged || !(e.height <= LOST_M) || !(e.tilt <= LOST_RAD);
    *near &= !w->diverged && e.height < NEAR_M && e.tilt < NEAR_RAD;
    return bent(e.joint / 0.8) + bent(e.height / 0.06) + 2 * bent(e.tilt / 0.25) +
           bent(velocity_error(w, f, turned) / 0.4) + 0.5 * bent(turned / 0.5) + (lost ? LOST_COST : 0);
}

/* A rehearsal under way. */
typedef struct {
    const rehearser *r;
    bench *b;
    const ref_clip *c;
    const rehearse_options *o;
    int worker, frame;
    int robots; /* in the beam */
    rng dice;
} run;

static void run_sample(const run *j, sample *s)
{
    moment now = s->from;
    const int left = j->c->n - 1 - j->frame, most = left < j->o->horizon ? left : j->o->horizon;
    s->fine = true;
    for (int t = 0; t < most; t++) {
        double target[HRC_JOINTS];
        act(j->r, &now, target, j->c, j->frame + t, t, j->worker);
        now.cost += judge(&now.sim, frame_at(j->c, j->frame + t + 1), &s->fine);
        if (t >= REHEARSE_STEP) continue;
        for (int i = 0; i < HRC_NQ; i++) s->did.qpos[t][i] = (float)now.sim.qpos[i];
        for (int i = 0; i < HRC_NV; i++) s->did.qvel[t][i] = (float)now.sim.qvel[i];
        for (int i = 0; i < HRC_JOINTS; i++) s->did.target[t][i] = (float)target[i];
        s->at = now;
    }
    s->outlook = now.cost;
}

/* ---- What is tried ---- */

static void shift_knots(moment *m)
{
    const int by = REHEARSE_STEP / KNOT;
    memmove(m->knots, m->knots[by], sizeof *m->knots * (size_t)(MOST_KNOTS - by));
    memset(m->knots[MOST_KNOTS - by], 0, sizeof *m->knots * (size_t)by);
}

/* A hop: both legs bend further and push off, at a time of its own. One side may do more of it. */
static void vary_hop(moment *m, rng *r, int knots)
{
    static const float BEND[6] = {-0.5f, 0, 0, 1, -0.5f, 0}; /* rad, of a leg */
    const int bends = (int)rng_below(r, 4), pushes = 1 + (int)rng_below(r, 3),
              first = (int)rng_below(r, (uint32_t)(knots - pushes > 1 ? knots - pushes : 1));
    const float bend = rng_uniform(r, 0, 0.8f), push = rng_uniform(r, 0.5f, 3.5f),
                side = rng_below(r, 3) ? 0 : rng_uniform(r, -1, 1);
    for (int k = first - bends; k < first + pushes && k < knots; k++)
        for (int leg = 0; k >= 0 && leg < 2; leg++)
            for (int i = 0; i < 6; i++) {
                const float by = (k < first ? bend : -push) * (1 + (leg ? side : -side));
                m->knots[k][6 * leg + i] += by * BEND[i] / (float)G1_JOINT[6 * leg + i].action_scale;
            }
}

/* Offsets of a few sizes, on all joints, legs or arms, half of them alike on both sides. */
static void vary(moment *m, rng *r, double size, int knots, bool hop)
{
    const double sizes[] = {0.25, 0.5, 1, 2};
    const float by = (float)(size * sizes[rng_below(r, 4)]);
    const uint32_t group = rng_below(r, 4), both = rng_below(r, 2);
    m->ahead = rng_below(r, 2) ? m->ahead : (int)rng_below(r, AHEAD_MOST + 1);
    if (hop && rng_below(r, 4) == 0) vary_hop(m, r, knots);
    for (int k = 0; k < knots; k++) {
        float d[HRC_JOINTS];
        for (int i = 0; i < HRC_JOINTS; i++) {
            const bool arm = i >= ARMS;
            d[i] = rng_normal(r) * (group == 0 && arm ? 0 : group == 1 && !arm ? 0 : by);
        }
        for (int i = 0; both && i < HRC_JOINTS; i++) {
            double sign;
            const int twin = g1_mirror_joint(i, &sign);
            if (twin < i) d[i] = (float)sign * d[twin];
        }
        for (int i = 0; i < HRC_JOINTS; i++) m->knots[k][i] += d[i];
    }
}

/* ---- The beam ---- */

static int better(const void *a, const void *b)
{
    const sample *x = a, *y = b;
    return x->outlook < y->outlook ? -1 : x->outlook > y->outlook;
}

static void begin(run *j)
{
    const ref_frame *f = &j->c->frames[0];
    moment *m = &j->b->beam[0];
    double qpos[HRC_NQ], qvel[HRC_NV];
    for (int i = 0; i < HRC_NQ; i++) qpos[i] = (double)f->qpos[i];
    for (int i = 0; i < HRC_NV; i++) qvel[i] = (double)f->qvel[i];
    *m = (moment){0};
    sim_reset(j->r->physics, &m->sim, qpos, qvel);
}

/* Samples from `first` on are tried; then all up to them are in order, the best first. */
static void try_samples(run *j, int first, int end)
{
    for (int i = first; i < end; i++) run_sample(j, &j->b->samples[i]);
    qsort(j->b->samples, (size_t)end, sizeof *j->b->samples, better);
}

/* As the tracker alone would go on. */
static void nothing_added(moment *m)
{
    memset(m->knots, 0, sizeof m->knots);
    m->ahead = 0;
}

/* Half of the samples vary what the beam was about to do, a quarter the best of these, a quarter the best of
 * all. */
static void search(run *j)
{
    sample *s = j->b->samples;
    const int knots = j->o->horizon / KNOT + 1, all = j->o->samples, ends[] = {all / 2, all * 3 / 4, all};
    for (int i = 0; i < ends[0]; i++) {
        const int parent = i % j->robots, turn = i / j->robots;
        s[i] = (sample){.from = j->b->beam[parent], .did.parent = parent};
        if (turn == 0) nothing_added(&s[i].from);
        if (turn > 1) vary(&s[i].from, &j->dice, 1, knots, true); /* the second time as it was planned */
    }
    try_samples(j, 0, ends[0]);
    for (int round = 1; round < COUNT(ends); round++) {
        for (int i = ends[round - 1]; i < ends[round]; i++) {
            const sample *elite = &s[rng_below(&j->dice, ELITE)];
            s[i] = (sample){.from = elite->from, .did.parent = elite->did.parent};
            vary(&s[i].from, &j->dice, round == 1 ? 0.5 : 0.25, knots, false);
        }
        try_samples(j, ends[round - 1], ends[round]);
    }
}

/* One choice: the best robot alone where that will do, else all with variations. */
static void choose(run *j, stretch *out)
{
    sample *s = j->b->samples;
    s[0] = (sample){.from = j->b->beam[0]};
    nothing_added(&s[0].from);
    run_sample(j, &s[0]);
    const bool searched = !s[0].fine;
    if (searched) search(j);
    j->robots = searched ? j->o->beam : 1;
    for (int i = 0; i < j->robots; i++) {
        j->b->beam[i] = s[i].at;
        shift_knots(&j->b->beam[i]);
        out[i] = s[i].did;
    }
}

/* Back from the best robot at the end to where it came from. */
static void trace(const rehearsed *did, const stretch *stretches, int steps, const ref_clip *c)
{
    memcpy(did->qpos, c->frames[0].qpos, sizeof c->frames[0].qpos);
    memcpy(did->qvel, c->frames[0].qvel, sizeof c->frames[0].qvel);
    for (int k = steps - 1, robot = 0; k >= 0; k--) {
        const stretch *s = &stretches[(size_t)k * REHEARSE_BEAM + (size_t)robot];
        for (int t = 0, at = k * REHEARSE_STEP; t < REHEARSE_STEP && at + 1 < c->n; t++, at++) {
            memcpy(did->qpos + (size_t)(at + 1) * HRC_NQ, s->qpos[t], sizeof s->qpos[t]);
            memcpy(did->qvel + (size_t)(at + 1) * HRC_NV, s->qvel[t], sizeof s->qvel[t]);
            memcpy(did->target + (size_t)at * HRC_JOINTS, s->target[t], sizeof s->target[t]);
        }
        robot = s->parent;
    }
    for (int t = 0; t < c->n; t++)
        memcpy(did->ref + (size_t)t * HRC_NQ, c->frames[t].qpos, sizeof c->frames[t].qpos);
    for (int i = 0; i < HRC_JOINTS; i++)
        did->target[(size_t)(c->n - 1) * HRC_JOINTS + (size_t)i] =
            did->target[(size_t)(c->n - 2) * HRC_JOINTS + (size_t)i];
}

rehearsal rehearsal_count(const float *qpos, const float *ref, int n)
{
    rehearsal out = {.frames = n - 1};
    bool lost = false;
    for (int t = 1; t < n; t++) {
        double q[HRC_NQ], v[HRC_NV] = {0};
        g1_state state;
        for (int i = 0; i < HRC_NQ; i++) q[i] = (double)qpos[(size_t)t * HRC_NQ + (size_t)i];
        g1_state_read(&state, q, v);
        const tracking_error e = tracking_error_of(&state, ref + (size_t)t * HRC_NQ);
        const bool bad = !(e.height <= FOLLOWS_HEIGHT_M) || !(e.tilt <= FOLLOWS_TILT_RAD);
        lost |= bad;
        out.within += !bad, out.until += !lost;
        out.joint_rad += e.joint / (n - 1);
    }
    return out;
}

hrc_status rehearse(const rehearser *r, const ref_clip *c, const rehearse_options *o, int worker,
                    const rehearsed *did, hrc_error *err)
{
    const int steps = (c->n - 1 + REHEARSE_STEP - 1) / REHEARSE_STEP;
    stretch *stretches = calloc((size_t)steps * REHEARSE_BEAM, sizeof *stretches);
    run j = {r,      &r->benches[worker],
             c,      o,
             worker, 0,
             1,      rng_make(o->seed, hash_bytes(HASH_START, c->name, strlen(c->name)))};
    if (o->samples < 4 * o->beam || o->samples < 2 * ELITE) {
        free(stretches);
        return fail(err, HRC_EINVAL, "rehearsal: %d copies, expected at least %d and four times the beam, %d",
                    o->samples, 2 * ELITE, 4 * o->beam);
    }
    if (!stretches) return fail(err, HRC_ENOMEM, "%s: out of memory for its rehearsal", c->name);
    begin(&j);
    for (int k = 0; k < steps; k++, j.frame += REHEARSE_STEP)
        choose(&j, stretches + (size_t)k * REHEARSE_BEAM);
    trace(did, stretches, steps, c);
    free(stretches);
    return HRC_OK;
}
