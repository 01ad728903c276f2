/* What imagined rollouts are shown: a worse recording than the one they are to follow, another one every time
 * (clip_blur), so that the policy does what the floor can carry and not what few recordings happened to look
 * like. */
#ifndef HRC_LEARN_BLURS_H
#define HRC_LEARN_BLURS_H

#include "learn/imagine.h"

typedef struct {
    int length;        /* frames of a rollout and its last window */
    float *qpos;       /* (rollouts, length, HRC_NQ) */
    obs_frame *frames; /* (rollouts, length); velocities stay those of the recording */
} blurs;

hrc_status blurs_create(blurs *b, int rollouts, int length, arena *memory, hrc_error *err);

/* Rollout `which` is shown its reference blurred by up to so many rad: the one where that is on the ground
 * for a while, the other elsewhere; with 0 as it is. */
void blurs_show(const blurs *b, int which, imagine_start *start, double ground, double standing, rng *dice);

#endif
