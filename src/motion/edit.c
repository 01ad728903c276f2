#include "motion/edit.h"

#include <math.h>
#include <string.h>

#include "robot/g1.h"

void clip_mirror(clip *c)
{
    /* With M = diag(1,-1,1) a rotation R becomes M R M: its axis is a pseudovector, which keeps y and turns
     * x and z round. */
    for (int i = 0; i < c->n; i++) {
        float *q = clip_frame(c, i), joints[HRC_JOINTS];
        q[1] = -q[1], q[4] = -q[4], q[6] = -q[6];
        memcpy(joints, q + 7, sizeof joints);
        for (int k = 0; k < HRC_JOINTS; k++) {
            double sign;
            int other = g1_mirror_joint(k, &sign);
            q[7 + other] = sign < 0 ? -joints[k] : joints[k];
        }
    }
}

void clip_hold(clip *c, double seconds)
{
    double frames = floor(seconds * c->fps + 0.5);
    int period = frames < 1 ? 1 : frames > c->n ? c->n : (int)frames;
    for (int i = 0; i < c->n; i++)
        if (i % period)
            memcpy(clip_frame(c, i), clip_frame(c, i - i % period), HRC_NQ * sizeof *clip_frame(c, i));
}
