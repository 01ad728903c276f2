/* Getting up. A robot that lies on the ground while its reference does not is led along a recorded way up,
 * brought to where it lies: as the tried case was led that lay most like it, or, where nothing was tried,
 * from the moment of all ways that is most like it. Standing, or as far up as a reference that is low itself,
 * it returns to that. No generated plan of a fifth of a second can know that an arm has to come under the
 * body first; with the way's frames as targets it need not. */
#ifndef HRC_TRACK_RECOVER_H
#define HRC_TRACK_RECOVER_H

#include "base/arena.h"
#include "plan/getups.h"
#include "robot/posture.h"
#include "track/follow.h"

typedef struct {
    posture at;
    int way, frame;
    float cost; /* what speaks against it, beside the distance */
} way_moment;

typedef struct {
    arena memory;
    const getups *ways; /* NULL: none */
    int n;
    way_moment *moments; /* (n) to begin with */
    int *tried;          /* (ways) how often each was begun since the robot last stood */
    follower way;        /* while active */
    bool active;
    int down;      /* control steps for which the robot lies and its reference does not */
    int stuck;     /* ... for which it does not come along with the way */
    int64_t count; /* ways that were begun */
} recovery;

hrc_status recovery_create(recovery *r, const getups *ways, hrc_error *err); /* ways are borrowed */
void recovery_free(recovery *r);
void recovery_reset(recovery *r);

/* Can a robot be led along a way from this frame: is it on the ground there, and not at rest? at: how it
 * lies. */
bool recovery_begins(const hrc_motion *way, int frame, posture *at);

#define RECOVERY_STUCK 25 /* control steps without the robot before a way is left */

/* Does a way that is there go on without a robot that is here? */
bool recovery_left_behind(const posture *here, const posture *there);

/* One control step, before the window is made; reference is its present frame. True when a way was begun or
 * left in this step. */
bool recovery_step(recovery *r, const float qpos[HRC_NQ], const hrc_frame *reference);

#endif
