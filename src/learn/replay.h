/* What happened in the simulator: the last `length` steps of every world, in rings that all worlds fill in
 * step. The world model learns from all of it; imagined rollouts start from the newest part. */
#ifndef HRC_LEARN_REPLAY_H
#define HRC_LEARN_REPLAY_H

#include <stdbool.h>

#include "base/arena.h"
#include "base/rng.h"
#include "base/state.h"
#include "learn/world_state.h"
#include "sim/reference.h"
#include "track/observe.h"

typedef struct {
    float s[WS];              /* before the step */
    float p[OBS_P];           /* as the policy saw it, raw */
    float target[HRC_JOINTS]; /* what the step was under */
    int32_t clip, mirrored;   /* of the reference */
    float at, pace;           /* its time before the step, in frames, and how many of them it went */
    int32_t anchored;         /* the policy saw it by way of plan/offset.h */
    int32_t shown_clip;       /* what the policy saw instead of it, -1: nothing; its side, time, pace, turn */
    int32_t shown_mirrored;
    float shown_at, shown_pace, shown_yaw;
    int32_t lost; /* the robot was beyond the bounds (of a hard episode) */
    int32_t age;  /* steps since the episode began */
    int32_t link; /* replay_link */
} replay_step;

/* What came after a step: a push or the end of the clip, the next step just where this one ended, or that the
 * episode failed. */
typedef enum { LINK_BROKEN, LINK_WHOLE, LINK_FAILED } replay_link;

typedef struct {
    arena memory;
    int worlds, length;
    int64_t n; /* steps of every world that were ever put in */
    replay_step *steps;
    const references *refs; /* that stored steps are checked against */
} replay;

hrc_status replay_create(replay *r, int worlds, int length, hrc_error *err);
void replay_free(replay *r);
void replay_state(replay *r, const references *refs, state_list *l, const char *prefix);

/* Step n of a world, to be filled; replay_advance when all worlds are done. */
replay_step *replay_next(replay *r, int world);
void replay_advance(replay *r);

const replay_step *replay_at(const replay *r, int world, int64_t step);

/* A step of which also the next `horizon` - 1 are there and linked, and its outcome. False when none was
 * found in many tries. */
bool replay_draw(const replay *r, rng *dice, int horizon, int recent, int *world, int64_t *step);

/* Whether the episode of a step, at which the robot was not lost, failed or lost it, no sooner than `least`
 * and no later than `most` steps after it. */
bool replay_fails(const replay *r, int world, int64_t step, int least, int most);

/* What the policy had seen by then, oldest first; an episode's first step fills what is before it. */
void replay_history(const replay *r, float out[OBS_HISTORY][OBS_P], int world, int64_t step);

#endif
