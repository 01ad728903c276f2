/* What a tracker has yet to learn: of a list of clips those that it does not do to the end. */
#ifndef HRC_LEARN_FAILING_H
#define HRC_LEARN_FAILING_H

#include <stdbool.h>

#include "base/pool.h"
#include "motion/clip.h"
#include "track/model.h"

#define FAILING_HEIGHT_M 0.25

/* fails (n), in the physics of trials. */
hrc_status failing_clips(bool *fails, const clip *clips, int n, const track_model *m, const config *cfg,
                         pool *threads, hrc_error *err);

#endif
