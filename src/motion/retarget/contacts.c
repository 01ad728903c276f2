#include "motion/retarget/contacts.h"

#include <math.h>

#include "base/rot.h"
#include "motion/stats.h"

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

double touch_rise(const capsule *c, const double share[TOUCH_PARTS])
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
