/* A clip: frames of qpos at a constant rate, and where they come from. All importers end here, with
 * quaternions w,x,y,z and joints in the G1's order. */
#ifndef HRC_MOTION_CLIP_H
#define HRC_MOTION_CLIP_H

#include <stdbool.h>

#include "base/arena.h"
#include "base/file.h"
#include "robot/g1.h"

#define CLIP_MAX_FRAMES 1000000 /* five hours at 50 fps; what a file declares beyond it is a mistake */

/* What a simulated robot did (eval/rollout.h), as a file says it: its qpos is a motion like any other. */
#define ROLLOUT_FORMAT "heracles-rollout"

typedef struct {
    arena memory;                            /* owns everything below */
    const char *name;                        /* file name without folder and ending */
    const char *category, *source, *licence; /* "" when unknown */
    double fps;
    int n;
    float *qpos; /* (n, HRC_NQ): root position, root quaternion wxyz, joints */
} clip;

/* What an importer decided and on which evidence, one sentence each; "" where there was nothing to decide. */
typedef struct {
    char format[64], fps[320], joints[320], quat[320];
    bool simulated; /* a rollout: physics made it */
} clip_decisions;

typedef struct {
    double fps;         /* 0: from the file, or 30 for a CSV without one */
    const char *quat;   /* NULL: by evidence; "wxyz" or "xyzw" to force */
    const char *member; /* which motion of a file that may hold several; NULL: the only one */
    /* Told what clip_load decided about a file; may be NULL. */
    void (*noted)(const void *ctx, const char *path, const clip_decisions *why);
    const void *ctx;
} clip_options;

hrc_status clip_create(clip *c, int n, double fps, const char *name, hrc_error *err); /* frames zeroed */
hrc_status clip_label(clip *c, const char *category, const char *source, const char *licence, hrc_error *err);
void clip_free(clip *c);

/* By content, not by ending: CSV, NPZ, pickle, safetensors clip, rollout (docs/formats.md). The result has
 * passed clip_check. clip_load also takes FILE#NAME, a clip of a corpus or of a pickle that holds several.
 * options and why may be NULL. clip_parse is the same on bytes; path serves name and errors. */
hrc_status clip_parse(clip *c, const char *path, file_view bytes, const clip_options *options,
                      clip_decisions *why, hrc_error *err);
hrc_status clip_load(clip *c, const char *path, const clip_options *options, clip_decisions *why,
                     hrc_error *err);
hrc_status clip_load_at(clip *c, const char *path, double fps, const clip_options *options,
                        hrc_error *err); /* resampled to fps */

/* By ending: .csv, .npz, .safetensors. */
hrc_status clip_save(const clip *c, const char *path, hrc_error *err);

static inline float *clip_frame(const clip *c, int i)
{
    return c->qpos + (size_t)i * HRC_NQ;
}

/* Finite, unit quaternion (within 1e-2; then normalised, unless it is exact to float rounding already, so
 * that checking twice changes nothing). Names the first bad frame, counted from 0. */
hrc_status clip_check(clip *c, const char *path, hrc_error *err);

/* Both keep name and labels, and on error leave nothing to free.
 * lerp for position and joints, slerp for orientation; frames at 0, 1/fps, ... up to the last. */
hrc_status clip_resample(clip *out, const clip *in, double fps, hrc_error *err);
hrc_status clip_cut(clip *out, const clip *in, int first, int last, hrc_error *err); /* both included */

/* qvel (n, HRC_NV), MuJoCo's frames (linear world, angular in the pelvis frame): central differences inside,
 * one-sided at the ends. */
void clip_velocities(float *qvel, const clip *c);

/* ---- What training and evaluation do to a clip ---- */

/* Left and right exchanged, in place: the image in the plane y = 0. Twice is the clip itself, bit for bit. */
void clip_mirror(clip *c);

/* Zero-order hold, in place: every frame becomes the first of its period of `seconds` (rounded to whole
 * frames, at least one). */
void clip_hold(clip *c, double seconds);

#endif
