/* The motions a training sees: a corpus with its own split, or clip files of which every tenth is held out.
 * All at 50 Hz; mirrored copies follow on request. */
#ifndef HRC_LEARN_MOTIONS_H
#define HRC_LEARN_MOTIONS_H

#include <stdbool.h>

#include "motion/clip.h"

/* What a policy is shown of a motion when that is not the motion it is to do. */
typedef struct {
    clip motion; /* as many frames; none: the motion itself is shown */
    bool still;  /* velocities are shown as 0 */
} shown_motion;

typedef struct {
    int n;
    clip *clips;
    bool *heldout;             /* (n) */
    shown_motion *shown;       /* (n) */
    double train_s, heldout_s; /* without mirrored copies */
} motions;

/* Exactly one of corpus and files is given. Held-out clips are never mirrored. */
hrc_status motions_load(motions *m, const char *corpus_path, const char *const *files, int nfiles,
                        bool mirror, hrc_error *err);

/* Room for so many more. */
hrc_status motions_grow(motions *m, int by, hrc_error *err);

void motions_free(motions *m);

#endif
