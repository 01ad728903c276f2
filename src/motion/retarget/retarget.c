#include "motion/retarget/retarget.h"

#include <math.h>
#include <string.h>

#include "base/rot.h"
#include "motion/retarget/bandsolve.h"
#include "motion/retarget/refine.h"
#include "motion/support.h"

/* ---- Balance ---- */

/* Balance. A person's path of the hips is not one that carries the robot: its mass is elsewhere, its feet are
 * smaller. Where the floor's force would have to act beside what touches (support.h), body and arms are moved
 * over the floor while the feet stay, by the smoothest path d(t) after which it can act where it should:
 *
 *   c + d - l (c'' + d'') = a point of the hull,  l = height / (g + vertical acceleration)
 *
 * Since d answers to what it has to reach later, the weight shifts before a leg is lifted, as it has to. */
#define MARGIN_M 0.02 /* inside of the hull */
#define MOST_M 0.25   /* farther than that nothing is asked for: the pose itself is not to be carried */
#define ROUNDS 4      /* of solving and looking again which frames are outside */
#define INSIDE 0.1    /* weight of a point that is where it may be, against one that is not */
#define STAY 0.01     /* weight of d itself */
#define FLIGHT 1e4    /* weight of d'' = 0 in free fall, in the scale of the others */

typedef struct {
    support_hull hull;
    double at[2], lever; /* the force's point before any shift */
    bool carried;
} moment;

typedef struct {
    int n;
    double fps;
    moment *moments;    /* (n) */
    double (*shift)[2]; /* (n) d */
    double (*a)[3], *b; /* equations */
} balance;

static hrc_status look(balance *w, const motion_problem *p, arena *memory, hrc_error *err)
{
    *w = (balance){.n = p->n, .fps = p->fps};
    double(*com)[3] = arena_alloc(memory, (size_t)p->n, sizeof *com);
    w->moments = ARENA_NEW(memory, moment, p->n);
    w->shift = arena_alloc(memory, (size_t)p->n, sizeof *w->shift);
    w->a = arena_alloc(memory, (size_t)p->n, sizeof *w->a);
    w->b = ARENA_NEW(memory, double, p->n);
    if (!com || !w->moments || !w->shift || !w->a || !w->b)
        return fail(err, HRC_ENOMEM, "out of memory for the balance of %d frames", p->n);
    for (int i = 0; i < p->n; i++) {
        fk_pose pose;
        capsule c[G1_GEOMS];
        fk(&pose, p->qpos[i]);
        fk_com(com[i], &pose);
        capsules_place(c, &pose);
        support_find(&w->moments[i].hull, c);
    }
    for (int i = 0; i < p->n; i++) {
        moment *m = &w->moments[i];
        m->carried = support_point(m->at, &m->lever, com, p->n, i, support_half(p->fps), p->fps) &&
                     m->hull.n > 0 && !p->g->airborne[i];
    }
    return HRC_OK;
}

/* How far d has moved the force's point. */
static void moved_by(double out[2], const balance *w, int i)
{
    for (int k = 0; k < 2; k++) {
        double second = (w->shift[i - 1][k] - 2 * w->shift[i][k] + w->shift[i + 1][k]) * w->fps * w->fps;
        out[k] = w->shift[i][k] - w->moments[i].lever * second;
    }
}

/* By how much the point should be moved, and the weight of that. */
static double wanted(double out[2], const balance *w, int i)
{
    const moment *m = &w->moments[i];
    double now[2], there[2], middle[2] = {0, 0};
    moved_by(out, w, i);
    for (int k = 0; k < 2; k++) now[k] = m->at[k] + out[k];
    double gap = support_nearest(&m->hull, now, there);
    if (gap == 0) return INSIDE;
    for (int c = 0; c < m->hull.n; c++)
        for (int k = 0; k < 2; k++) middle[k] += m->hull.corner[c][k] / m->hull.n;
    double inward = hypot(middle[0] - there[0], middle[1] - there[1]), size;
    for (int k = 0; k < 2 && inward > 1e-6; k++)
        there[k] += (middle[k] - there[k]) * fmin(1, MARGIN_M / inward);
    for (int k = 0; k < 2; k++) out[k] = there[k] - m->at[k];
    size = hypot(out[0], out[1]);
    for (int k = 0; k < 2 && size > MOST_M; k++) out[k] *= MOST_M / size;
    return 1;
}

static void solve(balance *w, double (*want)[2], const double *weight, int k)
{
    const double rate = w->fps * w->fps;
    for (int i = 0; i < w->n; i++) w->a[i][0] = STAY, w->a[i][1] = w->a[i][2] = 0, w->b[i] = 0;
    for (int i = 1; i + 1 < w->n; i++) {
        const double lever = w->moments[i].carried ? w->moments[i].lever : 0;
        const double row[3] = {-lever * rate, 1 + 2 * lever * rate, -lever * rate}, bend[3] = {1, -2, 1};
        if (w->moments[i].carried)
            penta_add(w->a, w->b, i, row, want[i][k], weight[i]);
        else
            penta_add(w->a, w->b, i, bend, 0, FLIGHT);
    }
    penta_solve(w->a, w->b, w->n);
    for (int i = 0; i < w->n; i++) w->shift[i][k] = w->b[i];
}

/* Feet stay, knees go half the way, everything else hangs on the root. */
static void move_targets(targets *t, const balance *w)
{
    static const struct {
        int body;
        double share;
    } STAYS[] = {{BODY_LEFT_FOOT, 1}, {BODY_RIGHT_FOOT, 1}, {BODY_LEFT_SHIN, 0.5}, {BODY_RIGHT_SHIN, 0.5}};
    for (int i = 0; i < w->n; i++)
        for (int k = 0; k < 2; k++) {
            t->root[i][k] += w->shift[i][k];
            for (int s = 0; s < COUNT(STAYS); s++)
                t->point[i][STAYS[s].body][k] -= STAYS[s].share * w->shift[i][k];
        }
}

/* Moves the targets t (of the problem) for another refine; the poses of p are those of the first. */
static hrc_status balance_targets(targets *t, const motion_problem *p, arena *memory, hrc_error *err)
{
    balance w;
    TRY(look(&w, p, memory, err));
    double(*want)[2] = arena_alloc(memory, (size_t)p->n, sizeof *want);
    double *weight = ARENA_NEW(memory, double, p->n);
    if (!want || !weight) return fail(err, HRC_ENOMEM, "out of memory for the balance of %d frames", p->n);
    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 1; i + 1 < p->n; i++)
            if (w.moments[i].carried) weight[i] = wanted(want[i], &w, i);
        for (int k = 0; k < 2; k++) solve(&w, want, weight, k);
    }
    move_targets(t, &w);
    return HRC_OK;
}

#define RATE_HZ 50.0
#define CUTOFF_HZ 8.0 /* motion of people is slower; what is faster in a capture is noise of the markers */

/* Mean over frames and over the bodies whose place the map wants. */
static double key_point_error(const motion_problem *p)
{
    const robot_body *r = robot_bodies();
    double sum = 0;
    int count = 0;
    for (int i = 0; i < p->n; i++) {
        fk_pose pose;
        fk(&pose, p->qpos[i]);
        for (int b = 0; b < BODIES; b++) {
            if (!(p->map->bodies[b].position[1] > 0)) continue;
            double d[3];
            for (int k = 0; k < 3; k++)
                d[k] = pose.pos[r[b].point_link][k] - p->t->root[i][k] - p->t->point[i][b][k];
            sum += vec_norm(d), count++;
        }
    }
    return count ? sum / count : 0;
}

/* The whole chain; everything but the clip is in `memory`. */
static hrc_status run(motion_problem *p, retarget_report *report, const bvh *b, const char *path,
                      const retarget_options *o, arena *memory, hrc_error *err)
{
    human h;
    contacts c;
    touches touching;
    targets t;
    ground g;
    TRY(human_create(&h, b, p->map, p->fps, CUTOFF_HZ, path, memory, err));
    TRY(contacts_find(&c, &h, memory, err));
    contacts_level_feet(&h, &c);
    TRY(touches_find(&touching, &h, &c, memory, err));
    TRY(targets_create(&t, &h, memory, err));
    p->n = h.n, p->t = &t, p->c = &c, p->touching = &touching, p->g = &g;
    p->qpos = arena_alloc(memory, (size_t)h.n, sizeof *p->qpos);
    if (!p->qpos) return fail(err, HRC_ENOMEM, "%s: out of memory for %d frames", path, h.n);
    TRY(follow_targets(p, err));
    TRY(ground_find(&g, &t, p->qpos, &h, &c, &touching, o->floor, memory, err));
    TRY(refine(p, memory, err));
    TRY(balance_targets(&t, p, memory, err));
    TRY(refine(p, memory, err));
    report->leg_scale = t.leg_scale, report->arm_scale = t.arm_scale, report->torso_scale = t.torso_scale;
    report->plants = c.nplants, report->flights = g.nflights;
    report->key_error = key_point_error(p);
    return HRC_OK;
}

hrc_status retarget(clip *out, retarget_report *report, const bvh *b, const char *path,
                    const retarget_options *options, hrc_error *err)
{
    skeleton_map map;
    bvh turned = *b; /* shares its arrays; only the axis that is up may differ from what the caller knew */
    arena memory = {0};
    retarget_report found = {0};
    *out = (clip){0};
    if (options->map)
        map = *options->map;
    else
        TRY(skeleton_map_find(&map, b, path, err));
    turned.up = map.up;
    memcpy(found.skeleton, map.name, sizeof found.skeleton);
    motion_problem p = {.map = &map, .fps = options->fps > 0 ? options->fps : RATE_HZ};
    hrc_status status = run(&p, &found, &turned, path, options, &memory, err);
    if (status >= 0) status = clip_create(out, p.n, p.fps, b->name, err);
    for (int i = 0; status >= 0 && i < p.n; i++)
        for (int k = 0; k < HRC_NQ; k++) clip_frame(out, i)[k] = (float)p.qpos[i][k];
    if (status >= 0) status = clip_check(out, path, err);
    if (status >= 0) *report = found;
    arena_free(&memory);
    return status;
}
