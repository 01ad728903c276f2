#include "robot/state.h"

#include <string.h>

#include "base/rot.h"

void g1_state_read(g1_state *out, const double *qpos, const double *qvel)
{
    static const double DOWN[3] = {0, 0, -1};
    memcpy(out->pos, qpos, sizeof out->pos);
    memcpy(out->quat, qpos + 3, sizeof out->quat);
    memcpy(out->q, qpos + 7, sizeof out->q);
    memcpy(out->ang_vel, qvel + 3, sizeof out->ang_vel);
    memcpy(out->qd, qvel + 6, sizeof out->qd);
    quat_rotate_inv(out->lin_vel, out->quat, qvel);
    quat_rotate_inv(out->gravity, out->quat, DOWN);
}
