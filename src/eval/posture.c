#include "eval/posture.h"

#include <math.h>
#include <string.h>

#include "base/rot.h"

#define DROP_HEIGHT 0.35 /* m: nothing touches the floor yet */
#define SETTLE_STEPS 100 /* control periods: 2 s */

typedef struct {
    const char *name;
    double turn[3]; /* rotation vector from standing */
} lying;

static const lying LYING[] = {
    {"lying-back", {0, -M_PI / 2, 0}},
    {"lying-front", {0, M_PI / 2, 0}},
    {"lying-left", {-M_PI / 2, 0, 0}},
    {"lying-right", {M_PI / 2, 0, 0}},
};

hrc_status posture(double qpos[HRC_NQ], const char *name, double heading, sim *s, hrc_error *err)
{
    const lying *found = NULL;
    for (int i = 0; i < COUNT(LYING); i++)
        if (!strcmp(LYING[i].name, name)) found = &LYING[i];
    if (!found)
        return fail(err, HRC_EINVAL, "there is no posture \"%.40s\", expected one of " POSTURES, name);
    double start[HRC_NQ], yaw[4], tilt[4];
    sim_world w = {0};
    g1_default_qpos(start);
    quat_from_yaw(yaw, heading);
    quat_exp(tilt, found->turn);
    quat_mul(start + 3, yaw, tilt);
    start[2] = DROP_HEIGHT;
    sim_reset(s, &w, start, NULL);
    for (int i = 0; i < SETTLE_STEPS; i++) sim_step_one(s, &w, start + 7, 0);
    if (w.diverged) return fail(err, HRC_EINVAL, "posture %s: the simulation diverged", name);
    memcpy(qpos, w.qpos, sizeof w.qpos);
    qpos[0] = qpos[1] = 0;
    return HRC_OK;
}
