#include "motion/vary.h"

#include <math.h>

#include "motion/fix.h"
#include "robot/capsules.h"

#define KNOT_S 1.5     /* between the bends that were drawn */
#define BENT_M 0.45    /* with a pelvis under this limbs bend as drawn ... */
#define KEPT_M 0.65    /* ... over this not at all */
#define TOUCHES_M 0.02 /* a limb that is so near the floor may carry the robot: it stays ... */
#define FREE_M 0.17    /* ... and from here on it is free */

enum { LEFT_LEG, RIGHT_LEG, WAIST, LEFT_ARM, RIGHT_ARM, LIMBS };

static const int FIRST_JOINT[LIMBS + 1] = {0, 6, 12, 15, 22, HRC_JOINTS};

static double smoothstep(double from, double to, double x)
{
    const double s = fmin(fmax((x - from) / (to - from), 0), 1);
    return s * s * (3 - 2 * s);
}

/* How much each limb of a pose may bend, 0 to 1. The waist carries the arms with it. */
static void freedom(double out[LIMBS], const float *frame)
{
    double qpos[HRC_NQ], low[LIMBS];
    fk_pose pose;
    capsule c[G1_GEOMS];
    for (int k = 0; k < HRC_NQ; k++) qpos[k] = (double)frame[k];
    fk(&pose, qpos);
    capsules_place(c, &pose);
    for (int limb = 0; limb < LIMBS; limb++) low[limb] = INFINITY;
    for (int i = 0; i < G1_GEOMS; i++)
        for (int limb = 0; limb < LIMBS; limb++)
            if (c[i].link > FIRST_JOINT[limb] && c[i].link <= FIRST_JOINT[limb + 1])
                low[limb] = fmin(low[limb], capsules_lowest(c, i, 1).z);
    low[WAIST] = fmin(low[WAIST], fmin(low[LEFT_ARM], low[RIGHT_ARM]));
    for (int limb = 0; limb < LIMBS; limb++)
        out[limb] = smoothstep(TOUCHES_M, FREE_M, low[limb]) * smoothstep(KEPT_M, BENT_M, qpos[2]);
}

/* Bends of standard deviation 1 at the knots around a frame. */
typedef struct {
    double before[HRC_JOINTS], after[HRC_JOINTS];
    int knot;
} bends;

static void draw(double out[HRC_JOINTS], rng *dice)
{
    for (int j = 0; j < HRC_JOINTS; j++) out[j] = (double)rng_normal(dice);
}

static void bend_frame(float *frame, const bends *b, double along, double bend)
{
    double may[LIMBS];
    freedom(may, frame);
    for (int limb = 0; limb < LIMBS; limb++)
        for (int j = FIRST_JOINT[limb]; j < FIRST_JOINT[limb + 1]; j++)
            frame[7 + j] += (float)(bend * may[limb] * (b->before[j] + (b->after[j] - b->before[j]) * along));
}

hrc_status clip_vary(clip *out, const clip *in, double pace, double bend, rng *dice, hrc_error *err)
{
    clip faster = *in;
    bends b = {.knot = 0};
    faster.fps *= pace;
    TRY(clip_resample(out, &faster, in->fps, err));
    const double knot = KNOT_S * out->fps;
    draw(b.before, dice);
    draw(b.after, dice);
    for (int i = 0; i < out->n; i++) {
        for (; i >= (b.knot + 1) * knot; b.knot++) {
            for (int j = 0; j < HRC_JOINTS; j++) b.before[j] = b.after[j];
            draw(b.after, dice);
        }
        bend_frame(clip_frame(out, i), &b, smoothstep(0, 1, i / knot - b.knot), bend);
    }
    fix_clamp(out);
    const hrc_status status = fix_lift(out, err);
    if (status < 0) clip_free(out);
    return status;
}
