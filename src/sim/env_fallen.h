/* Inside src/sim: episodes that begin where the last one fell. The robot stays as it lies, and the recorded
 * moment on the ground that is most like it, of a motion that gets up from there, becomes its reference.
 * Starts on the reference alone never show a policy the heaps that it makes of itself. */
#ifndef HRC_SIM_ENV_FALLEN_H
#define HRC_SIM_ENV_FALLEN_H

#include "robot/posture.h"
#include "sim/env_world.h"

typedef struct {
    int clip, frame;
    bool mirrored;
    float seconds; /* until it stands */
    posture at;
} fallen_moment;

typedef struct {
    int n;
    fallen_moment *moments;
} fallen_index;

/* Everything is in memory; n = 0 when no motion gets up. */
hrc_status fallen_index_build(fallen_index *x, const references *refs, arena *memory, hrc_error *err);

/* Lets the robot come to rest and begins an episode with it. False when it does not lie on the ground, or
 * nothing is recorded: then nothing has begun. */
bool start_fallen(env_one *w, sim *s, const references *refs, const env_options *o, const fallen_index *x,
                  int worker);

/* Likewise, but the policy is not shown the get-up: it sees a motion that is on its feet and stays as it is
 * or moves on, turned to about where the robot heads. It is taught to get up all the same: the tracking error
 * of a horizon of a second says nothing about rising, a get-up does. Which one depends on the pose alone,
 * since the policy can know nothing else. */
bool start_guided(env_one *w, sim *s, const references *refs, const env_options *o, const env_starts *starts,
                  const fallen_index *x, int worker);

/* A guided robot that has lost its get-up and is on the ground: the get-up from where it is now, under the
 * same motion. False when it is not on the ground: then nothing has begun. */
bool guide_again(env_one *w, const sim *s, const references *refs, const env_options *o,
                 const fallen_index *x);

/* The get-up stands: from here on what is shown is followed, as a hard episode, by the robot as it is. */
void end_guided(env_one *w, const sim *s, const references *refs, const env_options *o);

#endif
