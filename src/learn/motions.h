/* The motions a training sees: corpora with their own split and clip files beside them, or clip files alone,
 * of which every tenth is held out. All at 50 Hz; mirrored copies follow on request. */
#ifndef HRC_LEARN_MOTIONS_H
#define HRC_LEARN_MOTIONS_H

#include <stdbool.h>

#include "motion/clip.h"

typedef struct {
    int n;
    clip *clips;
    bool *heldout;             /* (n) */
    double train_s, heldout_s; /* without mirrored copies */
} motions;

/* corpora: one file or several, separated by commas; or NULL. reading: how the files are read; may be NULL.
 * Held-out clips are never mirrored. */
hrc_status motions_load(motions *m, const char *corpora, const char *const *files, int nfiles,
                        const clip_options *reading, bool mirror, hrc_error *err);

void motions_free(motions *m);

#endif
