/* Clips in memory: create, check, cut, resample, differentiate. Files are in the neighbours. */
#include "motion/clip.h"

#include <math.h>
#include <string.h>

#include "base/rot.h"
#include "robot/g1.h"
#include "robot/state.h"

hrc_status clip_create(clip *c, int n, double fps, const char *name, hrc_error *err)
{
    *c = (clip){0};
    if (n < 1 || n > CLIP_MAX_FRAMES)
        return fail(err, HRC_EINVAL, "%s: %d frames, expected 1 to %d", name, n, CLIP_MAX_FRAMES);
    if (!(fps > 0 && fps <= 10000))
        return fail(err, HRC_EINVAL, "%s: frame rate %g, expected above 0 and at most 10000", name, fps);
    c->fps = fps;
    c->n = n;
    c->category = c->source = c->licence = "";
    c->name = arena_strdup(&c->memory, name);
    c->qpos = ARENA_NEW(&c->memory, float, (size_t)n *HRC_NQ);
    if (!c->name || !c->qpos) {
        clip_free(c);
        return fail(err, HRC_ENOMEM, "%s: out of memory for %d frames", name, n);
    }
    return HRC_OK;
}

hrc_status clip_label(clip *c, const char *category, const char *source, const char *licence, hrc_error *err)
{
    const char *texts[3] = {category, source, licence};
    for (int i = 0; i < 3; i++) {
        texts[i] = arena_strdup(&c->memory, texts[i]);
        if (!texts[i]) return fail(err, HRC_ENOMEM, "%s: out of memory", c->name);
    }
    c->category = texts[0], c->source = texts[1], c->licence = texts[2];
    return HRC_OK;
}

void clip_free(clip *c)
{
    arena_free(&c->memory);
    *c = (clip){0};
}

hrc_status clip_check(clip *c, const char *path, hrc_error *err)
{
    if (c->n < 1 || !(c->fps > 0))
        return fail(err, HRC_EFORMAT, "%s: %d frames at %g fps, expected at least one at a positive rate",
                    path, c->n, c->fps);
    for (int i = 0; i < c->n; i++) {
        float *q = clip_frame(c, i);
        for (int k = 0; k < HRC_NQ; k++)
            if (!isfinite(q[k]))
                return fail(err, HRC_ENONFINITE, "%s: frame %d: value %d of qpos is %g, expected a number",
                            path, i, k, (double)q[k]);
        double quat[4] = {q[3], q[4], q[5], q[6]}, norm = quat_normalize(quat);
        if (!(fabs(norm - 1) <= 1e-2))
            return fail(err, HRC_EFORMAT, "%s: frame %d: root quaternion of length %.4g, expected 1", path, i,
                        norm);
        if (fabs(norm - 1) > 1e-6)
            for (int k = 0; k < 4; k++) q[3 + k] = (float)quat[k];
    }
    return HRC_OK;
}

/* A new clip of n frames with the name and labels of `in`. */
static hrc_status create_like(clip *out, const clip *in, int n, double fps, hrc_error *err)
{
    TRY(clip_create(out, n, fps, in->name, err));
    hrc_status status = clip_label(out, in->category, in->source, in->licence, err);
    if (status < 0) clip_free(out);
    return status;
}

hrc_status clip_resample(clip *out, const clip *in, double fps, hrc_error *err)
{
    *out = (clip){0};
    /* The last frame counts although the quotient of two rates is rounded. */
    double last = (in->n - 1) * (fps / in->fps) + 1e-6;
    if (!(fps > 0) || last >= CLIP_MAX_FRAMES)
        return fail(err, HRC_EINVAL, "%s: cannot resample from %g to %g fps: expected 1 to %d frames",
                    in->name, in->fps, fps, CLIP_MAX_FRAMES);
    TRY(create_like(out, in, (int)last + 1, fps, err));
    for (int i = 0; i < out->n; i++) {
        double at = i * (in->fps / fps);
        int k = (int)(at + 1e-6);
        if (k > in->n - 1) k = in->n - 1;
        double t = at - k;
        if (t < 1e-6)
            memcpy(clip_frame(out, i), clip_frame(in, k), HRC_NQ * sizeof(float));
        else
            g1_pose_between(clip_frame(out, i), clip_frame(in, k), clip_frame(in, k + 1), t);
    }
    return HRC_OK;
}

hrc_status clip_cut(clip *out, const clip *in, int first, int last, hrc_error *err)
{
    *out = (clip){0};
    if (first < 0 || last < first || last >= in->n)
        return fail(err, HRC_EINVAL, "%s: cannot cut frames %d to %d out of 0 to %d", in->name, first, last,
                    in->n - 1);
    TRY(create_like(out, in, last - first + 1, in->fps, err));
    memcpy(out->qpos, clip_frame(in, first), (size_t)out->n * HRC_NQ * sizeof(float));
    return HRC_OK;
}

void clip_velocities(float *qvel, const clip *c)
{
    g1_velocities(qvel, c->qpos, c->n, c->fps);
}

/* ---- Mirror image, held reference ---- */

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
