/* The ways up from the ground in a set of clips, for a planner's file: every time that
 * somebody lies on the ground and then stands (phases.h), up to a second after. */
#ifndef HRC_LEARN_RISES_H
#define HRC_LEARN_RISES_H

#include "motion/clip.h"
#include "plan/getups.h"

/* Everything is in memory. Clips of 50 Hz. */
hrc_status rises_find(getups *out, const clip *const *clips, int n, arena *memory, hrc_error *err);

#endif
