#include "plan/offset.h"

#include <math.h>

#include "base/rot.h"
#include "plan/densify.h"

#define SPAN ((float)PLAN_H / PLAN_FPS) /* s */

static float tilt_between(const float a[4], const float b[4])
{
    static const float UP[3] = {0, 0, 1};
    float x[3], y[3], across[3];
    quat_rotate_invf(x, a, UP);
    quat_rotate_invf(y, b, UP);
    vec_crossf(across, x, y);
    return atan2f(vec_normf(across), vec_dotf(x, y)); /* acos would see 3e-4 rad where there are none */
}

float plan_off(const float state[HRC_NQ], const float reference[HRC_NQ], bool position)
{
    float square = 0;
    for (int i = 7; i < HRC_NQ; i++) square += (state[i] - reference[i]) * (state[i] - reference[i]);
    float off =
        fmaxf(sqrtf(square) / PLAN_LOST_JOINTS, tilt_between(state + 3, reference + 3) / PLAN_LOST_TILT);
    if (position) off = fmaxf(off, fabsf(state[2] - reference[2]) / PLAN_LOST_HEIGHT);
    return fminf(1, off);
}

void plan_offset_set(plan_offset *o, const float state[HRC_NQ], const float reference[HRC_NQ])
{
    const float share = PLAN_YIELD * plan_off(state, reference, true);
    float back[4], error[4];
    quat_conjf(back, reference + 3);
    quat_mulf(error, state + 3, back);
    quat_logf(o->turn, error);
    for (int k = 0; k < 3; k++) {
        o->shift[k] = state[k] - reference[k];
        o->turn[k] *= share;
    }
    for (int i = 0; i < HRC_JOINTS; i++) o->q[i] = share * (state[7 + i] - reference[7 + i]);
}

static void add_velocities(float qvel[HRC_NV], const plan_offset *o, const float ref_qpos[HRC_NQ],
                           const float ref_qvel[HRC_NV], bool fades)
{
    float turn[3];
    quat_rotate_invf(turn, ref_qpos + 3, o->turn); /* of the shown frame too: its own turn leaves e alone */
    for (int i = 0; i < HRC_NV; i++) {
        const float offset = i < 3 ? 0 : i < 6 ? turn[i - 3] : o->q[i - 6];
        qvel[i] = ref_qvel[i] - (fades ? offset / SPAN : 0);
    }
}

void plan_offset_frame(float qpos[HRC_NQ], float *qvel, const plan_offset *o, const float ref_qpos[HRC_NQ],
                       const float *ref_qvel, float t)
{
    const float left = t < SPAN ? 1 - t / SPAN : 0; /* 1 - u */
    float part[3], turn[4];
    if (qvel) add_velocities(qvel, o, ref_qpos, ref_qvel, left > 0);
    for (int k = 0; k < 3; k++) {
        qpos[k] = ref_qpos[k] + o->shift[k];
        part[k] = left * o->turn[k];
    }
    quat_expf(turn, part);
    quat_mulf(qpos + 3, turn, ref_qpos + 3);
    quat_normalizef(qpos + 3);
    for (int i = 0; i < HRC_JOINTS; i++) qpos[7 + i] = ref_qpos[7 + i] + left * o->q[i];
}
