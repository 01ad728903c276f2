#include "motion/retarget/touch.h"

#include <math.h>

#include "motion/stats.h"

#define FLOOR_WINDOW_S 1.0
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
