/* Motions that a planner's file carries, one after the other, 50 Hz: poses only, velocities follow from them.
 */
#ifndef HRC_PLAN_STORE_H
#define HRC_PLAN_STORE_H

#include "base/tensorfile.h"
#include "robot/g1.h"

typedef struct {
    int n, frames;         /* of motions; of all together */
    int32_t *length;       /* (n) frames of each, at least 2 */
    float (*qpos)[HRC_NQ]; /* (frames) */
} motion_store;

/* From tensors of these names. None in the file: n = 0. Refuses what does not fit together. */
hrc_status store_read(motion_store *s, const tensorfile *file, const char *length, const char *qpos,
                      arena *memory, hrc_error *err);

enum { STORE_TENSORS = 2 };
int store_tensors(tensor out[STORE_TENSORS], const motion_store *s, const char *length,
                  const char *qpos); /* how many: 0 without motions */

#endif
