/* What is done on the ground in a set of clips, for a planner's file (track/known.h): every stay there, with
 * a second before and after it. */
#ifndef HRC_LEARN_GROUNDS_H
#define HRC_LEARN_GROUNDS_H

#include "motion/clip.h"
#include "plan/store.h"

/* Everything is in memory. Clips of 50 Hz. */
hrc_status grounds_find(motion_store *out, const clip *const *clips, int n, arena *memory, hrc_error *err);

#endif
