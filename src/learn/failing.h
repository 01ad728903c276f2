/* What a tracker has yet to learn: of a list of clips those that it does not do to the end, 20 s at the most,
 * from their first frame, though it is within bounds for half of the time. What it follows less of is beyond
 * the robot more often than not: flips, handstands. */
#ifndef HRC_LEARN_FAILING_H
#define HRC_LEARN_FAILING_H

#include <stdbool.h>

#include "base/pool.h"
#include "motion/clip.h"
#include "track/model.h"

#define FAILING_FOLLOWED 0.5 /* share of the frames within bounds (robot/posture.h) */
#define FAILING_HEIGHT_M 0.25

/* fails (n), in the physics of trials. */
hrc_status failing_clips(bool *fails, const clip *clips, int n, const track_model *m, const config *cfg,
                         pool *threads, hrc_error *err);

/* As a suite (motion/suite.h), which `heracles eval --suite` takes; and read again. No file where nothing
 * fails. */
hrc_status failing_save(const char *path, const clip *clips, const bool *fails, int n, hrc_error *err);
hrc_status failing_load(bool *fails, const char *path, const clip *clips, int n, hrc_error *err);

#endif
