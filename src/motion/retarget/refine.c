#include "motion/retarget/refine.h"

#include <math.h>
#include <string.h>

#include "base/rot.h"
#include "motion/retarget/pose_terms.h"
#include "motion/retarget/targets.h"

/* follow_targets */
#define STAGE1_STEPS 2
#define STAGE2_STEPS 3
#define STUCK 10.0  /* cost by which a fresh start must be better: 0.3 rad in a link of weight 10 */
#define LEAP 8.0    /* ... and for each squared radian that it leaps */
#define DAMPING 2.0 /* per frame: keeps a joint that no target needs where it was */

/* refine */
#define WINDOW 512 /* frames solved at once: bounds the memory of the band */
#define AHEAD                                                                                                \
    48 /* frames beyond the window that are solved with it and then again: their influence is gone */
#define STEPS 12
#define SETTLED 3e-4 /* rad: root mean square of a step after which no more are needed */
#define DAMPING_LEAST 0.5
#define DAMPING_MOST 60.0
#define SWINGS 0.03 /* rad: turning back by less is no harm */
#define MOST 0.3    /* rad or m: the largest change of an unknown in a step */

#define SMOOTH_ROOT 60.0  /* second differences of position, m */
#define SMOOTH_TURN 10.0  /* of orientation, rad */
#define SMOOTH_JOINT 16.0 /* rad */
#define SMOOTH_WRIST 18.0 /* hands are the noisiest part of a capture */
#define SPEED 60.0
#define SPEED_SHARE 0.85 /* of the motor's speed, where its term begins */

/* Take the fixed unknowns of one frame out of its own equations. */
static void fix_unknowns(band_matrix h, double *g, const bool *fixed)
{
    for (int k = 0; k < HRC_NV; k++) {
        if (!fixed[k]) continue;
        for (int m = 0; m < BAND_N; m++) h[k][m] = h[m][k] = 0;
        h[k][k] = 1, g[k] = 0;
    }
}

static hrc_status singular(int frame, hrc_error *err)
{
    return fail(err, HRC_ENONFINITE, "frame %d: the equations of the retargeting have no solution", frame);
}

static hrc_status frame_step(const motion_problem *p, double *qpos, int frame, int stage, hrc_error *err)
{
    static const double WHOLE[2] = {1, 1};
    band_matrix h;
    double g[BAND_N];
    bool fixed[HRC_NV];
    fk_pose pose;
    fk(&pose, qpos);
    ik_frame f = {h, g, &pose};
    ik_clear(&f);
    add_target_terms(&f, p, frame, stage, WHOLE);
    add_posture_terms(&f, qpos);
    for (int k = 0; k < HRC_NV; k++) ik_shift(&f, k, 0, DAMPING);
    ik_hold_limits(&f, qpos, fixed);
    fix_unknowns(h, g, fixed);
    if (!band_cholesky(h)) return singular(frame, err);
    band_substitute((const double(*)[BAND_N])h, g);
    ik_move(qpos, g, MOST);
    return HRC_OK;
}

/* Both stages from where qpos is; what is left of the cost. */
static hrc_status frame_solve(const motion_problem *p, double *qpos, int frame, double *cost, hrc_error *err)
{
    for (int k = 0; k < STAGE1_STEPS; k++) TRY(frame_step(p, qpos, frame, 0, err));
    for (int k = 0; k < STAGE2_STEPS; k++) TRY(frame_step(p, qpos, frame, 1, err));
    *cost = target_cost(p, qpos, frame);
    return HRC_OK;
}

/* Squared change of the joint that changes most. */
static double leap(const double *a, const double *b)
{
    double most = 0;
    for (int j = 7; j < HRC_NQ; j++) most = fmax(most, fabs(a[j] - b[j]));
    return most * most;
}

/* Each frame from the one before it, which keeps the motion continuous where the targets leave a choice; and
 * from the orientations alone, which wins where the first is stuck. */
hrc_status follow_targets(const motion_problem *p, hrc_error *err)
{
    for (int i = 0; i < p->n; i++) {
        double *q = p->qpos[i], fresh[HRC_NQ], cost = INFINITY, fresh_cost;
        if (i > 0)
            memcpy(q, p->qpos[i - 1], sizeof p->qpos[i]);
        else
            g1_default_qpos(q);
        guess_pose(fresh, q, p->t, i);
        TRY(frame_solve(p, fresh, i, &fresh_cost, err));
        if (i > 0) {
            memcpy(q, p->t->root[i], 3 * sizeof *q);
            memcpy(q + 3, p->t->quat[i][BODY_PELVIS], 4 * sizeof *q);
            TRY(frame_solve(p, q, i, &cost, err));
        }
        if (i == 0 || fresh_cost + STUCK + LEAP * leap(fresh, p->qpos[i - 1]) < cost)
            memcpy(q, fresh, sizeof fresh);
    }
    return HRC_OK;
}

/* ---- Terms between frames ---- */

typedef struct {
    const motion_problem *p;
    const scene *s;
    band_block *blocks;  /* (WINDOW + AHEAD) */
    double (*g)[BAND_N]; /* right-hand sides, then steps */
    bool (*fixed)[HRC_NV];
    double (*last)[HRC_NV]; /* (n of the clip) the step before */
    double *damping;        /* (n of the clip) */
    int first, n;           /* frames of the window */
} window;

static double smoothness(int unknown)
{
    if (unknown < 3) return SMOOTH_ROOT;
    if (unknown < 6) return SMOOTH_TURN;
    int joint = unknown - 6;
    return (joint >= 19 && joint <= 21) || joint >= 26 ? SMOOTH_WRIST : SMOOTH_JOINT;
}

/* x[i-1] - 2 x[i] + x[i+1] of all unknowns; of the turn, the change of the rotation vector per frame. */
static void second_difference(double out[HRC_NV], double (*q)[HRC_NQ], int i)
{
    double step[4], before[3], after[3];
    quat_turn(step, q[i - 1] + 3, q[i] + 3);
    quat_log(before, step);
    quat_turn(step, q[i] + 3, q[i + 1] + 3);
    quat_log(after, step);
    for (int k = 0; k < 3; k++) {
        out[k] = q[i - 1][k] - 2 * q[i][k] + q[i + 1][k];
        out[3 + k] = after[k] - before[k];
    }
    for (int j = 7; j < HRC_NQ; j++) out[j - 1] = q[i - 1][j] - 2 * q[i][j] + q[i + 1][j];
}

/* Adds weight^2 |r + d0 x[i] + d1 x[i+1] ...|^2 / 2 of one unknown in up to three successive frames, of
 * which those outside of the window are constants. */
static void add_between(window *w, int frame, int unknown, const double *d, int nd, double r, double weight)
{
    double ww = weight * weight;
    for (int a = 0; a < nd; a++) {
        int i = frame + a - w->first;
        if (i < 0 || i >= w->n) continue;
        w->g[i][unknown] -= ww * d[a] * r;
        for (int b = a; b < nd && i + b - a < w->n; b++) {
            band_block *block = &w->blocks[i];
            double(*m)[BAND_N] = b == a ? block->self : b == a + 1 ? block->next : block->after;
            m[unknown][unknown] += ww * d[a] * d[b];
        }
    }
}

static void add_smoothness(window *w)
{
    static const double D[3] = {1, -2, 1};
    const motion_problem *p = w->p;
    for (int i = w->first - 1; i <= w->first + w->n; i++) {
        if (i < 1 || i + 1 >= p->n) continue;
        double r[HRC_NV];
        second_difference(r, p->qpos, i);
        /* The root of a falling body is to accelerate as its target does. */
        if (p->g->airborne[i]) r[2] -= p->t->root[i - 1][2] - 2 * p->t->root[i][2] + p->t->root[i + 1][2];
        for (int k = 0; k < HRC_NV; k++) add_between(w, i - 1, k, D, 3, r[k], smoothness(k));
    }
}

/* One-sided: only speeds near the motor's limit cost. */
static void add_speed_limits(window *w)
{
    static const double D[2] = {-1, 1};
    const motion_problem *p = w->p;
    for (int i = w->first - 1; i < w->first + w->n; i++) {
        if (i < 0 || i + 1 >= p->n) continue;
        for (int j = 0; j < HRC_JOINTS; j++) {
            double step = p->qpos[i + 1][7 + j] - p->qpos[i][7 + j];
            double excess = fabs(step) - SPEED_SHARE * G1_JOINT[j].velocity / p->fps;
            if (excess > 0) add_between(w, i, 6 + j, D, 2, copysign(excess, step), SPEED);
        }
    }
}

static void add_frames(window *w)
{
    const motion_problem *p = w->p;
    for (int i = 0; i < w->n; i++) {
        int frame = w->first + i;
        double share[2];
        fk_pose pose;
        ik_frame f = {w->blocks[i].self, w->g[i], &pose};
        memset(w->blocks[i].next, 0, sizeof w->blocks[i].next);
        memset(w->blocks[i].after, 0, sizeof w->blocks[i].after);
        fk(&pose, p->qpos[frame]);
        ik_clear(&f);
        foot_shares(share, w->s, frame);
        add_target_terms(&f, p, frame, 1, share);
        add_posture_terms(&f, p->qpos[frame]);
        add_scene_terms(&f, w->s, frame);
        for (int k = 0; k < HRC_NV; k++) ik_shift(&f, k, 0, w->damping[frame]);
    }
}

/* Blocks between frames are diagonal before they are factored: one number couples an unknown to itself. */
static void fix_limits(window *w)
{
    for (int i = 0; i < w->n; i++) {
        ik_frame f = {w->blocks[i].self, w->g[i], NULL};
        bool *fixed = w->fixed[i];
        ik_hold_limits(&f, w->p->qpos[w->first + i], fixed);
        fix_unknowns(w->blocks[i].self, w->g[i], fixed);
        for (int k = 0; k < HRC_NV; k++) {
            if (!fixed[k]) continue;
            w->blocks[i].next[k][k] = w->blocks[i].after[k][k] = 0;
            if (i >= 1) w->blocks[i - 1].next[k][k] = 0;
            if (i >= 2) w->blocks[i - 2].after[k][k] = 0;
        }
    }
}

/* Frames whose step turns back on the last one swing about their solution, mostly between two sets of
 * contacts: they are damped more, each for itself, until they come to rest. Returns the size of the step. */
static double adapt_damping(window *w)
{
    double sum = 0;
    for (int i = 0; i < w->n; i++) {
        double *last = w->last[w->first + i], *damping = &w->damping[w->first + i], along = 0, most = 0;
        for (int k = 0; k < HRC_NV; k++) {
            along += last[k] * w->g[i][k];
            most = fmax(most, fabs(w->g[i][k]));
            last[k] = w->g[i][k];
            sum += last[k] * last[k];
        }
        bool swings = along < 0 && most > SWINGS;
        *damping = swings ? fmin(2 * *damping + 2, DAMPING_MOST) : fmax(0.6 * *damping, DAMPING_LEAST);
    }
    return sqrt(sum / (w->n * HRC_NV));
}

static hrc_status window_step(window *w, double *size, hrc_error *err)
{
    add_frames(w);
    add_smoothness(w);
    add_speed_limits(w);
    fix_limits(w);
    if (!band_factor(w->blocks, w->n)) return singular(w->first, err);
    band_solve(w->blocks, w->g, w->n);
    *size = adapt_damping(w);
    for (int i = 0; i < w->n; i++) {
        fk_pose pose;
        fk(&pose, w->p->qpos[w->first + i]);
        scene_settle(w->s, w->first + i, &pose, w->g[i]);
        ik_move(w->p->qpos[w->first + i], w->g[i], MOST);
    }
    return HRC_OK;
}

hrc_status refine(const motion_problem *p, arena *memory, hrc_error *err)
{
    scene s;
    TRY(scene_create(&s, p, memory, err));
    int most = p->n < WINDOW + AHEAD ? p->n : WINDOW + AHEAD;
    window w = {.p = p, .s = &s};
    w.blocks = ARENA_NEW(memory, band_block, most);
    w.g = arena_alloc(memory, (size_t)most, sizeof *w.g);
    w.fixed = arena_alloc(memory, (size_t)most, sizeof *w.fixed);
    w.last = arena_alloc(memory, (size_t)p->n, sizeof *w.last);
    w.damping = ARENA_NEW(memory, double, p->n);
    if (!w.blocks || !w.g || !w.fixed || !w.last || !w.damping)
        return fail(err, HRC_ENOMEM, "out of memory for the equations of %d frames", most);
    for (int i = 0; i < p->n; i++) w.damping[i] = DAMPING_LEAST;
    for (w.first = 0; w.first < p->n; w.first += WINDOW) {
        w.n = p->n - w.first < most ? p->n - w.first : most;
        double size = INFINITY;
        for (int k = 0; k < STEPS && size > SETTLED; k++) TRY(window_step(&w, &size, err));
    }
    return HRC_OK;
}
