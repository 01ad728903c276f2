/* The motions an environment follows, with the kinematics of the tracked links computed once, so that a step
 * costs little. Clips are at 50 Hz. */
#ifndef HRC_SIM_REFERENCE_H
#define HRC_SIM_REFERENCE_H

#include <stdbool.h>

#include "base/pool.h"
#include "motion/clip.h"
#include "track/observe.h"

typedef struct {
    float qpos[HRC_NQ], qvel[HRC_NV];
    float pos[G1_TRACKED][3]; /* of the links in G1_TRACKED_LINK, world */
    float quat[G1_TRACKED][4];
    float lin[G1_TRACKED][3]; /* of their origins, world */
    float ang[G1_TRACKED][3]; /* world */
} ref_frame;

typedef struct {
    float qpos[HRC_NQ], qvel[HRC_NV];
} ref_shown;

typedef struct {
    const char *name; /* the clip's; owned here */
    int n;
    ref_frame *frames;   /* (n) */
    ref_frame *mirrored; /* (n), or NULL */
    /* What a policy is shown instead, (n) each, or NULL: the frames themselves. */
    ref_shown *shown, *shown_mirrored;
} ref_clip;

typedef struct {
    arena memory;
    int n;
    ref_clip *clips;
} references;

/* Clips need at least two frames and 50 Hz. */
hrc_status references_build(references *r, const clip *clips, int n, bool mirror, pool *threads,
                            hrc_error *err);
/* A policy that follows clip `which` is shown this motion of as many frames instead; still: as if it had no
 * velocities. */
hrc_status references_show(references *r, int which, const clip *shown, bool still, hrc_error *err);
void references_free(references *r);

/* What a policy is shown of a frame; after the last one, the last. */
obs_frame ref_show(const ref_clip *c, bool mirrored, int frame);

/* Frames from `frame` until the robot stands, if that is within so many; -1 else. */
int ref_stands_in(const ref_clip *c, int frame, int within);

#endif
