#include "plan/guard.h"

#include <math.h>

#include "base/rot.h"

#define LIMIT_MARGIN 0.1f /* rad: what training noise may leave beyond a limit; clamped away */
#define ROOT_SPEED 12.0f  /* m/s: twice the fastest sprint of the corpus */
#define ROOT_TURN 25.0f   /* rad/s: a spinning jump is at 15 */
#define SPEED_FACTOR 1.5f /* of the motors' speed: keyframes are 29 ms apart and splines overshoot */

const char *plan_verdict_name(plan_verdict verdict)
{
    static const char *const NAMES[PLAN_VERDICTS] = {"fine", "not finite", "beyond joint limits", "too fast"};
    return verdict >= 0 && verdict < PLAN_VERDICTS ? NAMES[verdict] : "unknown";
}

static int all_finite(float (*keyframes)[HRC_NQ])
{
    for (int k = 0; k < PLAN_K; k++)
        for (int i = 0; i < HRC_NQ; i++)
            if (!isfinite(keyframes[k][i])) return 0;
    return 1;
}

static int within_limits(const float *qpos)
{
    for (int i = 0; i < HRC_JOINTS; i++)
        if (qpos[7 + i] < (float)G1_JOINT[i].lo - LIMIT_MARGIN ||
            qpos[7 + i] > (float)G1_JOINT[i].hi + LIMIT_MARGIN)
            return 0;
    return 1;
}

static float root_distance(const float *a, const float *b)
{
    float d[3] = {a[0] - b[0], a[1] - b[1], a[2] - b[2]};
    return vec_normf(d);
}

static int slow_enough(const float *a, const float *b, float step)
{
    for (int i = 0; i < HRC_JOINTS; i++)
        if (fabsf(b[7 + i] - a[7 + i]) > SPEED_FACTOR * (float)G1_JOINT[i].velocity * step) return 0;
    if (root_distance(a, b) > ROOT_SPEED * step) return 0;
    return quat_anglef(a + 3, b + 3) <= ROOT_TURN * step;
}

static void clamp_joints(float *qpos)
{
    for (int i = 0; i < HRC_JOINTS; i++)
        qpos[7 + i] = fminf((float)G1_JOINT[i].hi, fmaxf((float)G1_JOINT[i].lo, qpos[7 + i]));
}

plan_verdict plan_guard(float keyframes[PLAN_K][HRC_NQ], float step)
{
    if (!all_finite(keyframes)) return PLAN_NONFINITE;
    for (int k = 1; k < PLAN_K; k++)
        if (!within_limits(keyframes[k])) return PLAN_LIMITS;
    for (int k = 1; k + 1 < PLAN_K; k++)
        if (!slow_enough(keyframes[k], keyframes[k + 1], step)) return PLAN_TOO_FAST;
    for (int k = 1; k < PLAN_K; k++) clamp_joints(keyframes[k]);
    return PLAN_FINE;
}
