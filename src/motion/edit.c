#include "motion/edit.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "base/rot.h"
#include "robot/capsules.h"
#include "robot/posture.h"

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

/* ---- Padding. An end is described by its frame and by the way out of the clip: -1 before the first frame,
 * +1 after the last. ---- */

static void frame_double(double out[HRC_NQ], const clip *c, int i)
{
    for (int k = 0; k < HRC_NQ; k++) out[k] = clip_frame(c, i)[k];
}

static bool on_feet(const double *qpos)
{
    double up[3];
    quat_rotate_inv(up, qpos + 3, (double[3]){0, 0, 1});
    return qpos[2] > POSTURE_FEET_M && up[2] > POSTURE_UPRIGHT;
}

typedef struct {
    double edge[HRC_NQ];  /* the clip's own frame at this end */
    double stand[HRC_NQ]; /* where the padding ends */
    double velocity[2];   /* of the root over the floor, outwards, m/s; 0 where the frame is held */
    double low_edge, low_stand;
    double blend; /* seconds */
} padding;

static void padding_init(padding *p, const clip *c, int way, double blend)
{
    int end = way < 0 ? 0 : c->n - 1;
    double within[HRC_NQ], heading[4];
    *p = (padding){.blend = blend};
    frame_double(p->edge, c, end);
    frame_double(within, c, c->n > 1 ? end - way : end);
    memcpy(p->stand, p->edge, sizeof p->stand);
    if (on_feet(p->edge)) {
        quat_from_yaw(heading, quat_yaw(p->edge + 3));
        g1_default_qpos(p->stand);
        memcpy(p->stand + 3, heading, sizeof heading);
        for (int k = 0; k < 2; k++) {
            p->velocity[k] = (p->edge[k] - within[k]) * c->fps;
            p->stand[k] = p->edge[k] + p->velocity[k] * blend / 2;
        }
    }
    p->low_edge = pose_lowest(p->edge);
    p->low_stand = pose_lowest(p->stand);
}

/* The frame `t` seconds outside the clip. */
static void padding_frame(const padding *p, double t, float *out)
{
    double qpos[HRC_NQ], s = t < p->blend ? t / p->blend : 1, w = s * s * (3 - 2 * s);
    for (int k = 0; k < HRC_NQ; k++) qpos[k] = (1 - w) * p->edge[k] + w * p->stand[k];
    quat_slerp(qpos + 3, p->edge + 3, p->stand + 3, w);
    /* Even deceleration: x0 + v t - v t^2 / (2 T), which ends at x0 + v T / 2. */
    for (int k = 0; k < 2; k++) qpos[k] = p->edge[k] + p->velocity[k] * p->blend * (s - s * s / 2);
    /* Bent and straight legs do not blend into a pose of the mean height: put it on the floor. */
    qpos[2] += (1 - w) * p->low_edge + w * p->low_stand - pose_lowest(qpos);
    for (int k = 0; k < HRC_NQ; k++) out[k] = (float)qpos[k];
}

hrc_status clip_pad_standing(clip *out, const clip *in, double still, double blend, hrc_error *err)
{
    *out = (clip){0};
    if (!(still >= 0 && still <= 3600) || !(blend > 0 && blend <= 3600))
        return fail(err, HRC_EINVAL,
                    "%s: %g s of standing and a blend of %g s asked for, expected 0 to 3600 and more than 0",
                    in->name, still, blend);
    int pad = (int)(still * in->fps + 0.5) + (int)(blend * in->fps + 0.5);
    if (pad > CLIP_MAX_FRAMES) pad = CLIP_MAX_FRAMES; /* refused below, without overflow */
    TRY(clip_create(out, in->n + 2 * pad, in->fps, in->name, err));
    hrc_status status = clip_label(out, in->category, in->source, in->licence, err);
    if (status < 0) {
        clip_free(out);
        return status;
    }
    padding before, after;
    padding_init(&before, in, -1, blend);
    padding_init(&after, in, +1, blend);
    for (int i = 0; i < pad; i++) {
        padding_frame(&before, (i + 1) / in->fps, clip_frame(out, pad - 1 - i));
        padding_frame(&after, (i + 1) / in->fps, clip_frame(out, pad + in->n + i));
    }
    memcpy(clip_frame(out, pad), in->qpos, (size_t)in->n * HRC_NQ * sizeof(float));
    return HRC_OK;
}
