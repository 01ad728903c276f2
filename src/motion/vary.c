#include "motion/vary.h"

#include <math.h>

#include "base/rot.h"
#include "motion/fix.h"
#include "robot/capsules.h"

#define KNOT_S 1.5     /* between what was drawn */
#define BENT_M 0.45    /* with a pelvis under this limbs bend as drawn ... */
#define KEPT_M 0.65    /* ... over this not at all */
#define TOUCHES_M 0.02 /* a limb that is so near the floor may carry the robot: it stays ... */
#define FREE_M 0.17    /* ... and from here on it is free */

#define DRIFTS (HRC_JOINTS + 3) /* joints, and the root about its axes */

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

/* Numbers of standard deviation 1 that change smoothly with time: drawn every KNOT_S. */
typedef struct {
    double before[DRIFTS], after[DRIFTS];
    int n, knot;
    double every; /* frames */
    rng *dice;
} drift;

static void draw(double *out, const drift *d)
{
    for (int k = 0; k < d->n; k++) out[k] = (double)rng_normal(d->dice);
}

static void drift_begin(drift *d, int n, double fps, rng *dice)
{
    *d = (drift){.n = n, .every = KNOT_S * fps, .dice = dice};
    draw(d->before, d);
    draw(d->after, d);
}

/* At a frame; frames come in order. */
static void drift_to(drift *d, double *out, int frame)
{
    for (; frame >= (d->knot + 1) * d->every; d->knot++) {
        for (int k = 0; k < d->n; k++) d->before[k] = d->after[k];
        draw(d->after, d);
    }
    const double along = smoothstep(0, 1, frame / d->every - d->knot);
    for (int k = 0; k < d->n; k++) out[k] = d->before[k] + (d->after[k] - d->before[k]) * along;
}

static void bend_frame(float *frame, const double *by, double bend)
{
    double may[LIMBS];
    freedom(may, frame);
    for (int limb = 0; limb < LIMBS; limb++)
        for (int j = FIRST_JOINT[limb]; j < FIRST_JOINT[limb + 1]; j++)
            frame[7 + j] += (float)(bend * may[limb] * by[j]);
}

hrc_status clip_vary(clip *out, const clip *in, double pace, double bend, rng *dice, hrc_error *err)
{
    clip faster = *in;
    drift d;
    double by[DRIFTS];
    faster.fps *= pace;
    TRY(clip_resample(out, &faster, in->fps, err));
    drift_begin(&d, HRC_JOINTS, out->fps, dice);
    for (int i = 0; i < out->n; i++) {
        drift_to(&d, by, i);
        bend_frame(clip_frame(out, i), by, bend);
    }
    fix_clamp(out);
    const hrc_status status = fix_lift(out, err);
    if (status < 0) clip_free(out);
    return status;
}

void clip_blur(clip *c, double joints, double turn, rng *dice)
{
    drift d;
    double by[DRIFTS];
    drift_begin(&d, DRIFTS, c->fps, dice);
    for (int i = 0; i < c->n; i++) {
        float *frame = clip_frame(c, i), axis[3], turned[4];
        drift_to(&d, by, i);
        for (int j = 0; j < HRC_JOINTS; j++) frame[7 + j] += (float)(joints * by[j]);
        for (int k = 0; k < 3; k++) axis[k] = (float)(turn * by[HRC_JOINTS + k]);
        quat_expf(turned, axis);
        quat_mulf(frame + 3, frame + 3, turned);
    }
    fix_clamp(c);
}
