#include "motion/retarget/ground.h"

#include <math.h>

#include "motion/retarget/bandsolve.h"
#include "motion/stats.h"
#include "robot/capsules.h"

#define GRAVITY 9.81
#define FLIGHT_MIN_S 0.1
#define FLIGHT_MAX_S 1.2
#define FLIGHT_CLEAR_M 0.015 /* toes over their floor level */
#define BODY_CLEAR_M 0.0     /* the robot's lowest point over where it is when the feet stand */
#define FREE_FALL_LO -13.5   /* what the fit of a real flight may give: limbs and noise move it */
#define FREE_FALL_HI -6.5
#define FOLLOW_HZ 3.0    /* heights follow the support slower than this, the person's path faster */
#define FLIGHT_STIFF 1e4 /* weight of the fall against that of the support */
#define EDGE_FRAMES 3    /* next to a flight the support holds less: there the speed changes from s v to v */
#define EDGE_SHARE 0.5
#define EDGE_STIFF 0.03 /* ... and its path may bend more */

typedef struct {
    double *low, *com; /* (n) lowest point and centre of mass over the root */
    double *level;     /* (n) height of the root at which what touches is on the floor */
    double *z;         /* (n) the wanted height */
} heights;

static void measure_heights(heights *w, double (*qpos)[HRC_NQ], const touches *t, int n)
{
    for (int i = 0; i < n; i++) {
        fk_pose pose;
        capsule capsules[G1_GEOMS];
        double com[3];
        fk(&pose, qpos[i]);
        capsules_place(capsules, &pose);
        fk_com(com, &pose);
        w->low[i] = capsules_lowest(capsules, 0, G1_GEOMS).z - qpos[i][2];
        w->com[i] = com[2] - qpos[i][2];
        w->level[i] = qpos[i][2] + touch_rise(capsules, t->share[i]);
    }
}

/* How much higher the person's root is than it would be if the body lay, knelt or stood on the floor:
 * `stands` is that difference when the feet stand. */
static double clearance(const heights *w, double scale, const human *h, const contacts *c, int i)
{
    return scale * (h->hips[i][2] - c->floor[i]) + w->low[i];
}

static double standing_clearance(const heights *w, double scale, const human *h, const contacts *c,
                                 double *scratch)
{
    int n = 0;
    for (int i = 0; i < h->n; i++)
        if (contacts_stands(c, i)) scratch[n++] = clearance(w, scale, h, c, i);
    return n ? median(scratch, n) : 0;
}

static bool off_the_ground(const human *h, const contacts *c, int i)
{
    if (contacts_stands(c, i)) return false;
    for (int side = 0; side < 2; side++)
        if (h->toe[i][side][2] < c->floor[i] + c->rest[2 * side + 1] + FLIGHT_CLEAR_M) return false;
    return true;
}

/* Runs without a standing foot, and without another part of the body on the floor, in which the person falls
 * freely. */
static void find_flights(ground *g, const heights *w, double scale, const human *h, const contacts *c,
                         double *scratch)
{
    double stands = standing_clearance(w, scale, h, c, scratch);
    for (int i = 0; i < h->n; i++)
        g->airborne[i] = off_the_ground(h, c, i) && clearance(w, scale, h, c, i) > stands + BODY_CLEAR_M;
    for (int i = 0; i < h->n; i++) w->z[i] = h->hips[i][2] + w->com[i] / scale;
    for (int i = 0; i < h->n; i++) {
        int last = i;
        if (!g->airborne[i]) continue;
        while (last + 1 < h->n && g->airborne[last + 1]) last++;
        double seconds = (last - i) / h->fps;
        double accel = last - i >= 3 ? parabola_acceleration(w->z + i, last - i + 1, 1, 1 / h->fps) : 0;
        bool falls = seconds >= FLIGHT_MIN_S - 1e-9 && seconds <= FLIGHT_MAX_S && accel >= FREE_FALL_LO &&
                     accel <= FREE_FALL_HI;
        if (falls) g->flights[g->nflights++] = (flight){i, last, accel};
        for (int k = i; k <= last; k++) g->airborne[k] = falls;
        i = last;
    }
}

/* A flight that the clip cuts off has support at one end only: at the other, the person's own height over it
 * (not scaled: the robot falls as fast) takes its place. */
static void anchor_cut_flights(double (*a)[3], double *b, const ground *g, const human *h,
                               const double *level)
{
    for (int k = 0; k < g->nflights; k++) {
        int first = g->flights[k].first, last = g->flights[k].last;
        int cut = first == 0 ? 0 : last == h->n - 1 ? last : -1, carried = first == 0 ? last + 1 : first - 1;
        if (cut < 0 || carried < 0 || carried >= h->n) continue;
        a[cut][0] += 1;
        b[cut] += level[carried] + h->hips[cut][2] - h->hips[carried][2];
    }
}

static double support_weight(const ground *g, int i, int n)
{
    if (g->airborne[i]) return 0;
    for (int k = i - EDGE_FRAMES; k <= i + EDGE_FRAMES; k++)
        if (k >= 0 && k < n && g->airborne[k]) return EDGE_SHARE;
    return 1;
}

/* w->z: heights that minimise  sum carried (z - level)^2 + stiff (z'' - wanted z'')^2. */
static void solve_heights(heights *w, const ground *g, double scale, const human *h, double (*a)[3])
{
    static const double SECOND[3] = {1, -2, 1};
    double dt = 1 / h->fps, stiff = pow(2 * M_PI * FOLLOW_HZ * dt, -4);
    for (int i = 0; i < h->n; i++) {
        double weight = support_weight(g, i, h->n);
        a[i][0] = weight + 1e-9, a[i][1] = a[i][2] = 0;
        w->z[i] = weight * w->level[i];
    }
    anchor_cut_flights(a, w->z, g, h, w->level);
    for (int i = 1; i + 1 < h->n; i++) {
        double person = scale * (h->hips[i - 1][2] - 2 * h->hips[i][2] + h->hips[i + 1][2]);
        double limbs = w->com[i - 1] - 2 * w->com[i] + w->com[i + 1];
        bool falls = g->airborne[i];
        bool edge = support_weight(g, i, h->n) < 1;
        penta_add(a, w->z, i, SECOND, falls ? -GRAVITY * dt * dt - limbs : person,
                  stiff * (falls  ? FLIGHT_STIFF
                           : edge ? EDGE_STIFF
                                  : 1));
    }
    penta_solve(a, w->z, h->n);
}

/* With a floor that is given: the person's height over it, up to the constant that the difference of soles
 * and pelvis makes. */
static void level_over(heights *w, const ground *g, double scale, const human *h, double floor,
                       double *scratch)
{
    int n = 0;
    for (int i = 0; i < h->n; i++)
        if (!g->airborne[i]) scratch[n++] = w->level[i] - scale * (h->hips[i][2] - floor);
    double constant = n ? median(scratch, n) : 0;
    for (int i = 0; i < h->n; i++) w->level[i] = scale * (h->hips[i][2] - floor) + constant;
}

hrc_status ground_find(ground *g, targets *t, double (*qpos)[HRC_NQ], const human *h, const contacts *c,
                       const touches *touching, double floor, arena *memory, hrc_error *err)
{
    int n = h->n;
    *g = (ground){0};
    double *room = ARENA_NEW(memory, double, 5 * (size_t)n), *scratch = room + 4 * (size_t)n;
    heights w = {room, room + n, room + 2 * (size_t)n, room + 3 * (size_t)n};
    double(*a)[3] = arena_alloc(memory, (size_t)n, sizeof *a);
    g->flights = ARENA_NEW(memory, flight, n);
    g->airborne = ARENA_NEW(memory, bool, n);
    if (!room || !a || !g->flights || !g->airborne)
        return fail(err, HRC_ENOMEM, "out of memory for the heights of %d frames", n);
    measure_heights(&w, qpos, touching, n);
    find_flights(g, &w, t->leg_scale, h, c, scratch);
    if (!isnan(floor)) level_over(&w, g, t->leg_scale, h, floor, scratch);
    solve_heights(&w, g, t->leg_scale, h, a);
    for (int i = 0; i < n; i++) {
        qpos[i][2] += w.z[i] - t->root[i][2]; /* keeps what the pose needs beside the target */
        t->root[i][2] = w.z[i];
    }
    return HRC_OK;
}
