#include "plan/state.h"

#include <string.h>

#include "base/rot.h"

plan_frame plan_frame_of(const float qpos[HRC_NQ])
{
    plan_frame frame = {.x = qpos[0], .y = qpos[1]};
    float tilt[4];
    quat_split_yawf(frame.yaw, tilt, qpos + 3);
    return frame;
}

void plan_encode(float *out, int D, const plan_frame *frame, const float qpos[HRC_NQ])
{
    memcpy(out, qpos + 7, HRC_JOINTS * sizeof *out);
    if (plan_has_position(D)) {
        float offset[3] = {qpos[0] - frame->x, qpos[1] - frame->y, qpos[2]};
        quat_rotate_invf(out + plan_root_at(), frame->yaw, offset);
    }
    float local[4];
    quat_localf(local, frame->yaw, qpos + 3);
    quat_to_6df(out + plan_rot_at(D), local);
}
