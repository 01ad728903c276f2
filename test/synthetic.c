#include "synthetic.h"

#include <string.h>

#include "base/rot.h"
#include "test.h"

void synthetic_turn(clip *c, int n, double fps)
{
    hrc_error err;
    ENSURE_OK(clip_create(c, n, fps, "turn", &err));
    for (int i = 0; i < n; i++) {
        double t = i / fps, qpos[HRC_NQ], yaw[4], tilt[4],
               lean[3] = {0.02 * sin(2 * t), 0.03 * sin(3 * t), 0};
        g1_default_qpos(qpos);
        qpos[0] = 0.1 * sin(t), qpos[1] = 0.1 * (1 - cos(t)), qpos[2] += 0.002 * sin(5 * t);
        quat_from_yaw(yaw, 1.5 * t);
        quat_exp(tilt, lean);
        quat_mul(qpos + 3, yaw, tilt);
        for (int k = 12; k < HRC_JOINTS; k++) qpos[7 + k] += 0.2 * sin((1 + 0.1 * k) * t + k);
        for (int k = 0; k < HRC_NQ; k++) clip_frame(c, i)[k] = (float)qpos[k];
    }
}

double clip_distance(const clip *a, const clip *b)
{
    if (a->n != b->n) return INFINITY;
    double most = 0;
    for (int i = 0; i < a->n; i++) {
        const float *p = clip_frame(a, i), *q = clip_frame(b, i);
        double dot = 0;
        for (int k = 3; k < 7; k++) dot += (double)p[k] * q[k];
        for (int k = 0; k < HRC_NQ; k++)
            most = fmax(most, fabs(p[k] - (k >= 3 && k < 7 && dot < 0 ? -1.0 : 1.0) * q[k]));
    }
    return most;
}
