/* The motions a training sees: a corpus with its own split, or clip files of which every tenth is held out.
 * All at 50 Hz; mirrored copies follow on request. */
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

/* Exactly one of corpus and files is given. Held-out clips are never mirrored. */
hrc_status motions_load(motions *m, const char *corpus_path, const char *const *files, int nfiles,
                        bool mirror, hrc_error *err);

typedef struct {
    int copies;
    double pace, bend;
    bool heldout; /* of held-out clips too */
    uint64_t seed;
} variant_options;

/* Appends copies of the clips in which somebody gets up (rises.h), varied (vary.h) with paces of 1 -+ pace.
 * The seconds stay those of the recordings. */
hrc_status motions_vary(motions *m, const variant_options *o, hrc_error *err);

void motions_free(motions *m);

#endif
