#include "motion/vary.h"

#include <math.h>

#include "motion/fix.h"
#include "robot/capsules.h"

#define KNOT_S 1.5  /* between the bends that were drawn */
#define BENT_M 0.45 /* a pelvis under this bends as drawn ... */
#define KEPT_M 0.65 /* ... over this not at all */

static double smoothstep(double s)
{
    s = fmin(fmax(s, 0), 1);
    return s * s * (3 - 2 * s);
}

static void bend_joint(clip *c, int joint, double bend, rng *dice)
{
    const double knot = KNOT_S * c->fps;
    double before = bend * (double)rng_normal(dice), after = bend * (double)rng_normal(dice);
    int k = 0;
    for (int i = 0; i < c->n; i++) {
        float *q = clip_frame(c, i);
        for (; i >= (k + 1) * knot; k++) before = after, after = bend * (double)rng_normal(dice);
        const double drawn = before + (after - before) * smoothstep(i / knot - k);
        q[7 + joint] += (float)(drawn * smoothstep((KEPT_M - (double)q[2]) / (KEPT_M - BENT_M)));
    }
}

static double lowest(const float *frame)
{
    double qpos[HRC_NQ];
    for (int k = 0; k < HRC_NQ; k++) qpos[k] = (double)frame[k];
    return pose_lowest(qpos);
}

hrc_status clip_vary(clip *out, const clip *in, double pace, double bend, rng *dice, hrc_error *err)
{
    clip faster = *in, plain;
    faster.fps *= pace;
    TRY(clip_resample(out, &faster, in->fps, err));
    hrc_status status = clip_cut(&plain, out, 0, out->n - 1, err);
    if (status < 0) {
        clip_free(out);
        return status;
    }
    for (int j = 0; j < HRC_JOINTS; j++) bend_joint(out, j, bend, dice);
    fix_clamp(out);
    for (int i = 0; i < out->n; i++)
        clip_frame(out, i)[2] += (float)(lowest(clip_frame(&plain, i)) - lowest(clip_frame(out, i)));
    clip_free(&plain);
    return HRC_OK;
}
