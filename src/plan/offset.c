#include "plan/offset.h"

#include <math.h>

#include "base/rot.h"
#include "plan/densify.h"
#include "robot/capsules.h"

#define ABOVE_M 0.1f  /* a robot no lower than this under its reference ... */
#define ABOVE_UP 0.2f /* ... and as upright (vertical part of the pelvis' up axis) is above it */
#define SPAN ((float)PLAN_H / PLAN_FPS) /* s */

static float tilt_between(const float a[4], const float b[4])
{
    float x[3], y[3], across[3];
    quat_upf(x, a);
    quat_upf(y, b);
    vec_crossf(across, x, y);
    return atan2f(vec_normf(across), vec_dotf(x, y)); /* acos would see 3e-4 rad where there are none */
}

static float height_of(const float qpos[HRC_NQ], bool position)
{
    double pose[HRC_NQ];
    if (position) return qpos[2];
    for (int i = 0; i < HRC_NQ; i++) pose[i] = (double)qpos[i];
    return (float)(pose[2] - pose_lowest(pose));
}

/* The largest of three distances, each in its unit. */
static float farthest(const float a[HRC_NQ], const float b[HRC_NQ], bool position, float joints, float height,
                      float tilt)
{
    float square = 0;
    for (int i = 7; i < HRC_NQ; i++) square += (a[i] - b[i]) * (a[i] - b[i]);
    const float up = fabsf(height_of(a, position) - height_of(b, position)) / height;
    return fmaxf(up, fmaxf(sqrtf(square) / joints, tilt_between(a + 3, b + 3) / tilt));
}

float plan_off(const float state[HRC_NQ], const float reference[HRC_NQ], bool position)
{
    return fminf(1, farthest(state, reference, position, PLAN_OFF_JOINTS, PLAN_OFF_HEIGHT, PLAN_OFF_TILT));
}

/* In the units of a robot that is lost. */
static float of_lost(const float state[HRC_NQ], const float reference[HRC_NQ], bool position)
{
    return farthest(state, reference, position, PLAN_LOST_JOINTS, PLAN_LOST_HEIGHT, PLAN_LOST_TILT);
}

float plan_yield(const float state[HRC_NQ], const float reference[HRC_NQ], bool position)
{
    return PLAN_YIELD * fminf(1, of_lost(state, reference, position));
}

/* It only has to go down, and trackers do. */
static bool is_above(const float a[HRC_NQ], const float b[HRC_NQ], bool position)
{
    float x[3], y[3];
    quat_upf(x, a + 3);
    quat_upf(y, b + 3);
    return height_of(a, position) > height_of(b, position) - ABOVE_M && x[2] > y[2] - ABOVE_UP;
}

float plan_lost(const float state[HRC_NQ], const float reference[HRC_NQ], bool position)
{
    if (is_above(state, reference, position)) return 0;
    const float off = of_lost(state, reference, position);
    return fminf(1, fmaxf(0, (off - PLAN_LOST_FROM) / (1 - PLAN_LOST_FROM)));
}

void plan_offset_set(plan_offset *o, const float state[HRC_NQ], const float reference[HRC_NQ])
{
    const float share = plan_yield(state, reference, true);
    float error[4];
    quat_turnf(error, reference + 3, state + 3);
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
