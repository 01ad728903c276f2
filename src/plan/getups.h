/* Recorded ways up from the ground that a planner carries with it: from a stay on the ground to standing, 50
 * Hz. With them come cases, if they were tried (eval/ways.h): how robots lay that got up, and by which way.
 * A fallen robot is led as the case was that lay most like it; without cases, along the way that has a
 * moment most like it (track/recover.h). */
#ifndef HRC_PLAN_GETUPS_H
#define HRC_PLAN_GETUPS_H

#include "base/tensorfile.h"
#include "robot/g1.h"

typedef struct {
    int n, frames;         /* of ways; of all together */
    int32_t *length;       /* (n) frames of each */
    float (*qpos)[HRC_NQ]; /* (frames) one after the other */
    float (*qvel)[HRC_NV]; /* (frames) */
    int cases;
    float (*lying)[HRC_NQ]; /* (cases) */
    int32_t (*led)[2];      /* (cases) a way, and the frame of it to begin with */
} getups;

/* None in the file: n = 0. Refuses what does not fit together. */
hrc_status getups_read(getups *g, const tensorfile *file, arena *memory, hrc_error *err);

enum { GETUPS_TENSORS = 5 };
int getups_tensors(tensor out[GETUPS_TENSORS], const getups *g); /* how many: 0 without ways */

static inline hrc_motion getups_way(const getups *g, int way)
{
    int first = 0;
    for (int i = 0; i < way; i++) first += g->length[i];
    return (hrc_motion){.n = g->length[way], .qpos = g->qpos[first], .qvel = g->qvel[first]};
}

#endif
