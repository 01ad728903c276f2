/* Recorded ways up from the ground that a planner carries with it: from a stay on the ground to standing, 50
 * Hz. A fallen robot is led along the one that begins most like it lies (track/recover.h). */
#ifndef HRC_PLAN_GETUPS_H
#define HRC_PLAN_GETUPS_H

#include "base/tensorfile.h"
#include "robot/g1.h"

typedef struct {
    int n, frames;         /* of ways; of all together */
    int32_t *length;       /* (n) frames of each */
    float (*qpos)[HRC_NQ]; /* (frames) one after the other */
    float (*qvel)[HRC_NV]; /* (frames) */
} getups;

/* None in the file: n = 0. Refuses what does not fit together. */
hrc_status getups_read(getups *g, const tensorfile *file, arena *memory, hrc_error *err);

enum { GETUPS_TENSORS = 3 };
int getups_tensors(tensor out[GETUPS_TENSORS], const getups *g); /* how many: 0 without ways */

/* Way w begins at its frame from[w] (n of them); one that has no frame left is dropped. */
void getups_trim(getups *g, const int *from);

static inline hrc_motion getups_way(const getups *g, int way)
{
    int first = 0;
    for (int i = 0; i < way; i++) first += g->length[i];
    return (hrc_motion){.n = g->length[way], .qpos = g->qpos[first], .qvel = g->qvel[first]};
}

#endif
