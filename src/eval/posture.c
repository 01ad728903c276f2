#include "eval/posture.h"

#include <math.h>
#include <string.h>

#include "base/rot.h"

#define DROP_HEIGHT 0.35 /* m: nothing touches the floor yet */
#define SETTLE_STEPS 100 /* control periods: 2 s */
#define LEAN_RAD 0.25    /* of variants, about each axis: standard deviation ... */
#define BENT_RAD 0.4     /* ... and of each joint */

const char *const POSTURE_NAME[] = {"lying-back", "lying-front", "lying-left", "lying-right"};

/* Rotation vectors from standing. */
static const double TURN[POSTURE_COUNT][3] = {
    {0, -M_PI / 2, 0}, {0, M_PI / 2, 0}, {-M_PI / 2, 0, 0}, {M_PI / 2, 0, 0}};

/* Limbs bent at random, within the joints' soft limits. */
static void bend(double qpos[HRC_NQ], rng *dice)
{
    double lean[3], tilt[4];
    for (int k = 0; k < 3; k++) lean[k] = LEAN_RAD * (double)rng_normal(dice);
    quat_exp(tilt, lean);
    quat_mul(qpos + 3, tilt, qpos + 3);
    for (int j = 0; j < HRC_JOINTS; j++) {
        const double bent = qpos[7 + j] + BENT_RAD * (double)rng_normal(dice);
        qpos[7 + j] = fmin(fmax(bent, G1_JOINT[j].soft_lo), G1_JOINT[j].soft_hi);
    }
}

hrc_status posture_heap(double qpos[HRC_NQ], int side, double heading, rng *dice, sim *s, int worker,
                        hrc_error *err)
{
    double start[HRC_NQ], yaw[4], tilt[4];
    sim_world w = {0};
    g1_default_qpos(start);
    quat_from_yaw(yaw, heading);
    quat_exp(tilt, TURN[side]);
    quat_mul(start + 3, yaw, tilt);
    start[2] = DROP_HEIGHT;
    if (dice) bend(start, dice);
    sim_reset(s, &w, start, NULL);
    for (int i = 0; i < SETTLE_STEPS; i++) sim_step_one(s, &w, start + 7, worker);
    if (w.diverged) return fail(err, HRC_EINVAL, "posture %s: the simulation diverged", POSTURE_NAME[side]);
    memcpy(qpos, w.qpos, sizeof w.qpos);
    qpos[0] = qpos[1] = 0;
    return HRC_OK;
}

hrc_status posture_lying(double qpos[HRC_NQ], const char *name, double heading, int variant, sim *s,
                         int worker, hrc_error *err)
{
    int side = 0;
    while (side < POSTURE_COUNT && strcmp(POSTURE_NAME[side], name) != 0) side++;
    if (side == POSTURE_COUNT)
        return fail(err, HRC_EINVAL, "there is no posture \"%.40s\", expected one of " LYING_STARTS, name);
    rng dice = rng_make((uint64_t)variant, (uint64_t)side);
    return posture_heap(qpos, side, heading, variant ? &dice : NULL, s, worker, err);
}
