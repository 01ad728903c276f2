#include "motion/retarget/ground.h"

#include <math.h>

#include "base/rot.h"
#include "motion/retarget/bandsolve.h"
#include "motion/stats.h"
#include "robot/capsules.h"

/* ---- Contacts ---- */

#define STANDS_MPS 0.65    /* a point slower and lower than these stands ... */
#define STANDS_OVER_M 0.07 /* over its height at rest */
#define REST_MPS 0.3       /* ... if some time in between it is as slow and low as these */
#define REST_OVER_M 0.05
#define CALM_MPS 0.2 /* frames slower and lower than these tell how high a point is at rest */
#define CALM_M 0.13
#define CALM_FRAMES 5
#define CALM_SHARE 0.4 /* the percentile of them */
#define CALM_HEEL 0.05 /* m, when there are too few */
#define SHORTEST_S 0.06
#define STRAY_M 0.03     /* a slow point that creeps this far from where it stood begins a new plant */
#define FLOOR_WINDOW_S 1 /* longer than a flight or a swing, shorter than drifts of the floor */
#define SWING_MPS 0.3    /* a foot that travels ... */
#define OVER_M 0.02      /* ... higher than the other by this, or while the other stands */
#define FLYING_MPS 0.8   /* any foot that is as fast as this */
#define LEVEL_FRAMES 5   /* fewer flat frames do not tell how a sole lies */
#define LEVEL_MOST 0.6   /* rad: a larger correction would be a sole that never was flat */

static const double *end_point(const human *h, int end, int i)
{
    return end % 2 ? h->toe[i][end / 2] : h->heel[i][end / 2];
}

static double point_speed(const human *h, int end, int i)
{
    int a = i > 0 ? i - 1 : i, b = i + 1 < h->n ? i + 1 : i;
    double d[3];
    if (a == b) return 0;
    for (int k = 0; k < 3; k++) d[k] = end_point(h, end, b)[k] - end_point(h, end, a)[k];
    return vec_norm(d) * h->fps / (b - a);
}

/* The lower of both toes, lowest over a window around each frame. */
static void find_floor(contacts *c, const human *h)
{
    int half = (int)(FLOOR_WINDOW_S * h->fps);
    for (int i = 0; i < h->n; i++) {
        double low = INFINITY;
        for (int k = i - half < 0 ? 0 : i - half; k <= i + half && k < h->n; k++)
            low = fmin(low, fmin(h->toe[k][0][2], h->toe[k][1][2]));
        c->floor[i] = low;
    }
}

/* How high a point is over the floor level when it stands: floors sag under toes that push off, and soles
 * differ from what a rest pose says, so it comes from the slow and low frames of the clip. */
static void find_rest(contacts *c, const human *h, int end, double *scratch)
{
    int n = 0;
    for (int i = 0; i < h->n; i++) {
        double height = end_point(h, end, i)[2] - c->floor[i];
        if (point_speed(h, end, i) < CALM_MPS && height < CALM_M) scratch[n++] = height;
    }
    c->rest[end] = n >= CALM_FRAMES ? percentile(scratch, n, CALM_SHARE) : end % 2 ? 0 : CALM_HEEL;
}

static double height_over_rest(const contacts *c, const human *h, int end, int i)
{
    return end_point(h, end, i)[2] - c->floor[i] - c->rest[end];
}

/* Frames first..last of one point: cut where it creeps away, drop what is too short or never at rest. */
static void add_plants(contacts *c, const human *h, int end, int first, int last)
{
    int shortest = (int)ceil(SHORTEST_S * h->fps);
    while (first <= last) {
        double sum[2] = {0};
        bool rests = false;
        int i = first;
        for (; i <= last; i++) {
            const double *p = end_point(h, end, i);
            int count = i - first;
            if (count && hypot(p[0] - sum[0] / count, p[1] - sum[1] / count) > STRAY_M) break;
            sum[0] += p[0], sum[1] += p[1];
            if (point_speed(h, end, i) < REST_MPS && height_over_rest(c, h, end, i) < REST_OVER_M)
                rests = true;
        }
        if (rests && i - first >= shortest) {
            for (int k = first; k < i; k++) c->plant[k][end] = c->nplants;
            c->nplants++;
        }
        first = i;
    }
}

static void find_plants(contacts *c, const human *h, int end)
{
    int first = -1;
    for (int i = 0; i <= h->n; i++) {
        bool stands =
            i < h->n && point_speed(h, end, i) < STANDS_MPS && height_over_rest(c, h, end, i) < STANDS_OVER_M;
        if (stands && first < 0) first = i;
        if (!stands && first >= 0) {
            add_plants(c, h, end, first, i - 1);
            first = -1;
        }
    }
}

static bool foot_stands(const contacts *c, int side, int i)
{
    return c->plant[i][2 * side] >= 0 || c->plant[i][2 * side + 1] >= 0;
}

static double foot_height(const human *h, int side, int i)
{
    return fmin(h->toe[i][side][2], h->heel[i][side][2]);
}

/* A foot that travels while something else may carry: the other foot, or nothing in a flight. */
static bool swings(const contacts *c, const human *h, int side, int i)
{
    if (foot_stands(c, side, i)) return false;
    bool free = foot_stands(c, !side, i) || foot_height(h, side, i) > foot_height(h, !side, i) + OVER_M;
    double slower = fmin(point_speed(h, 2 * side, i), point_speed(h, 2 * side + 1, i));
    return slower > (free ? SWING_MPS : FLYING_MPS);
}

hrc_status contacts_find(contacts *c, const human *h, arena *memory, hrc_error *err)
{
    *c = (contacts){.n = h->n};
    c->plant = arena_alloc(memory, (size_t)h->n, sizeof *c->plant);
    c->swing = arena_alloc(memory, (size_t)h->n, sizeof *c->swing);
    c->floor = ARENA_NEW(memory, double, h->n);
    double *scratch = ARENA_NEW(memory, double, h->n);
    if (!c->plant || !c->swing || !c->floor || !scratch)
        return fail(err, HRC_ENOMEM, "out of memory for the contacts of %d frames", h->n);
    for (int i = 0; i < h->n; i++)
        for (int end = 0; end < FOOT_ENDS; end++) c->plant[i][end] = -1;
    find_floor(c, h);
    for (int end = 0; end < FOOT_ENDS; end++) {
        find_rest(c, h, end, scratch);
        find_plants(c, h, end);
    }
    for (int i = 0; i < h->n; i++)
        for (int side = 0; side < 2; side++) c->swing[i][side] = swings(c, h, side, i);
    return HRC_OK;
}

int contacts_level_feet(human *h, const contacts *c)
{
    int frames = 0;
    for (int side = 0; side < 2; side++) {
        int foot = side ? BODY_RIGHT_FOOT : BODY_LEFT_FOOT, count = 0;
        double up[3] = {0}, correction[4];
        static const double Z[3] = {0, 0, 1};
        for (int i = 0; i < h->n; i++) {
            if (c->plant[i][2 * side] < 0 || c->plant[i][2 * side + 1] < 0) continue;
            double v[3];
            quat_rotate_inv(v, h->quat[i][foot], Z); /* the vertical as the foot sees it */
            for (int k = 0; k < 3; k++) up[k] += v[k];
            count++;
        }
        frames += count;
        double norm = vec_norm(up);
        if (count < LEVEL_FRAMES || up[2] < cos(LEVEL_MOST) * norm) continue;
        /* foot * correction takes z to what it saw as vertical */
        for (int k = 0; k < 3; k++) up[k] /= norm;
        correction[0] = 1 + up[2];
        vec_cross(correction + 1, Z, up);
        quat_normalize(correction);
        for (int i = 0; i < h->n; i++) quat_mul(h->quat[i][foot], h->quat[i][foot], correction);
    }
    return frames;
}

#define ON_M 0.04 /* a part this near the floor lies on it: its thickness is only roughly known */
#define OFF_M 0.09
#define TOE_M 0.02 /* from the toe joint to the sole */
#define LEAST 0.3  /* with less than this sum of weights the lowest point of all takes part */

/* How thick a person is about the joint, which capsules the robot has there, and how much it carries. */
typedef struct {
    int body;
    double thick;    /* m */
    int capsules[2]; /* as capsule_info counts: pelvis and hip, torso and upper arm, thigh and shin, ... */
    double weight;
} body_part;

static const body_part PART[TOUCH_FEET] = {
    {BODY_LEFT_THIGH, 0.10, {0, 1}, 2},         {BODY_RIGHT_THIGH, 0.10, {0, 5}, 2},
    {BODY_LEFT_UPPER_ARM, 0.08, {9, 11}, 1},    {BODY_RIGHT_UPPER_ARM, 0.08, {9, 15}, 1},
    {BODY_LEFT_SHIN, 0.06, {2, 3}, 1},          {BODY_RIGHT_SHIN, 0.06, {6, 7}, 1},
    {BODY_LEFT_FOREARM, 0.045, {12, 12}, 0.25}, {BODY_RIGHT_FOREARM, 0.045, {16, 16}, 0.25},
    {BODY_LEFT_HAND, 0.04, {13, 14}, 0.15},     {BODY_RIGHT_HAND, 0.04, {17, 18}, 0.15},
};
static const double FEET_WEIGHT = 2;

static double part_height(const human *h, int i, int part)
{
    if (part < TOUCH_FEET) return h->joint[i][PART[part].body][2] - PART[part].thick;
    double low = INFINITY;
    for (int side = 0; side < 2; side++)
        low = fmin(low, fmin(h->toe[i][side][2] - TOE_M, h->heel[i][side][2]));
    return low;
}

/* The level of the soles while they stand; of their lowest tenth when they never do. */
static double standing_level(const human *h, const contacts *c, double *scratch)
{
    int n = 0;
    for (int i = 0; i < h->n; i++)
        if (contacts_stands(c, i)) scratch[n++] = part_height(h, i, TOUCH_FEET);
    if (n) return median(scratch, n);
    for (int i = 0; i < h->n; i++) scratch[i] = part_height(h, i, TOUCH_FEET);
    return percentile(scratch, h->n, 0.1);
}

/* Skeletons of captures sink: hands and hips that rest come out up to 15 cm under the soles. A part therefore
 * has its own floor, as low as it gets within a second, but not over that of the soles. */
static void find_shares(touches *t, const human *h, int part, double level, double *height)
{
    int half = (int)(FLOOR_WINDOW_S * h->fps);
    for (int i = 0; i < h->n; i++) height[i] = part_height(h, i, part);
    for (int i = 0; i < h->n; i++) {
        double floor = level;
        for (int k = i - half < 0 ? 0 : i - half; k <= i + half && k < h->n; k++)
            floor = fmin(floor, height[k]);
        t->share[i][part] = fmin(fmax((floor + OFF_M - height[i]) / (OFF_M - ON_M), 0), 1);
    }
}

hrc_status touches_find(touches *t, const human *h, const contacts *c, arena *memory, hrc_error *err)
{
    double *scratch = ARENA_NEW(memory, double, h->n);
    *t = (touches){.n = h->n, .share = arena_alloc(memory, (size_t)h->n, sizeof *t->share)};
    if (!scratch || !t->share)
        return fail(err, HRC_ENOMEM, "out of memory for what touches in %d frames", h->n);
    double level = standing_level(h, c, scratch);
    for (int part = 0; part < TOUCH_PARTS; part++) find_shares(t, h, part, level, scratch);
    return HRC_OK;
}

capsule_low touch_lowest(const capsule *c, int part)
{
    if (part == TOUCH_FEET) return capsules_lowest(c, CAPSULE_LEFT_FOOT, 2 * CAPSULE_FOOT);
    capsule_low a = capsules_lowest(c, PART[part].capsules[0], 1),
                b = capsules_lowest(c, PART[part].capsules[1], 1);
    return a.z < b.z ? a : b;
}

/* How far the robot must rise for the parts that touch to be on the floor: their mean, in which the trunk
 * counts more than legs and legs more than arms, for arms bend to where the floor is. */
static double touch_rise(const capsule *c, const double share[TOUCH_PARTS])
{
    double sum = 0, weights = 0;
    for (int k = 0; k < TOUCH_PARTS; k++) {
        double weight = share[k] * (k == TOUCH_FEET ? FEET_WEIGHT : PART[k].weight);
        weights += weight;
        sum -= weight * touch_lowest(c, k).z;
    }
    double rest = fmax(0, LEAST - weights);
    return (sum - rest * capsules_lowest(c, 0, G1_GEOMS).z) / (weights + rest);
}

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
