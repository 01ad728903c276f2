/* heracles.h: motions from files and from poses of any rate. */
#include <stdlib.h>
#include <string.h>

#include "motion/import/formats.h"

/* One block holds poses and velocities, so that hrc_motion needs no third pointer. */
static hrc_status motion_of(hrc_motion *out, const clip *c, hrc_error *err)
{
    const size_t n = (size_t)c->n;
    float *block = malloc(n * (HRC_NQ + HRC_NV) * sizeof *block);
    if (!block) return fail(err, HRC_ENOMEM, "%s: out of memory for %d frames", c->name, c->n);
    memcpy(block, c->qpos, n * HRC_NQ * sizeof *block);
    clip_velocities(block + n * HRC_NQ, c);
    *out = (hrc_motion){c->n, block, block + n * HRC_NQ};
    return HRC_OK;
}

static hrc_status at_control_rate(hrc_motion *out, const clip *c, hrc_error *err)
{
    clip resampled;
    if (c->fps == HRC_RATE_HZ) return motion_of(out, c, err);
    TRY(clip_resample(&resampled, c, HRC_RATE_HZ, err));
    hrc_status status = motion_of(out, &resampled, err);
    clip_free(&resampled);
    return status;
}

static void describe(hrc_motion_source *out, const clip *c, const clip_decisions *why)
{
    _Static_assert(sizeof out->rate == sizeof why->fps && sizeof out->format == sizeof why->format,
                   "one size");
    *out = (hrc_motion_source){.fps = c->fps, .frames = c->n};
    memcpy(out->format, why->format, sizeof out->format);
    memcpy(out->rate, why->fps, sizeof out->rate);
    memcpy(out->joints, why->joints, sizeof out->joints);
    memcpy(out->quaternion, why->quat, sizeof out->quaternion);
}

hrc_status hrc_motion_load(hrc_motion *out, const char *path, double fps, hrc_motion_source *source,
                           hrc_error *err)
{
    clip c;
    file_view bytes;
    clip_decisions why = {0};
    NEED(out);
    NEED(path);
    TRY(file_map(path, &bytes, err));
    hrc_status status = plain_parse(&c, path, bytes, &(clip_options){.fps = fps}, &why, err);
    file_unmap(&bytes);
    TRY(status);
    clip_decisions_tame(&why);
    status = at_control_rate(out, &c, err);
    if (status == HRC_OK && source) describe(source, &c, &why);
    clip_free(&c);
    return status;
}

hrc_status hrc_motion_resample(hrc_motion *out, const float *qpos, int n, double fps, hrc_error *err)
{
    clip c;
    NEED(out);
    NEED(qpos);
    TRY(clip_create(&c, n, fps, "motion", err));
    memcpy(c.qpos, qpos, (size_t)n * HRC_NQ * sizeof *qpos);
    hrc_status status = clip_check(&c, "motion", err);
    if (status == HRC_OK) status = at_control_rate(out, &c, err);
    clip_free(&c);
    return status;
}

void hrc_motion_free(hrc_motion *m)
{
    if (!m) return;
    free((void *)m->qpos);
    *m = (hrc_motion){0};
}
