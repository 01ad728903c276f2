/* A suite: the sequences that a controller is judged by, as a small CSV.
 *
 *   clip,first,last,category,hold
 *   02_01,0,142,locomotion,0
 *
 * clip: a clip of the corpus, or a file (whatever has a '/', '.' or '#'; relative to the suite's folder).
 * first, last: frames at 50 Hz, both included. hold: seconds of zero-order hold of the whole reference,
 * 0 for none. Empty lines and lines that begin with '#' are comments. */
#ifndef HRC_MOTION_SUITE_H
#define HRC_MOTION_SUITE_H

#include "motion/corpus.h"

#define SUITE_FOLDER "motions/suites"

typedef struct {
    const char *clip, *category;
    int first, last;
    double hold;
} suite_sequence;

typedef struct {
    arena memory;
    const char *path;
    int n;
    suite_sequence *sequences;
    clip_options reading; /* of files that it names, set by whoever loads it; its texts are the caller's */
} suite;

/* A path (with '/' or the ending .csv), or the name of one that is shipped: "heldout101". */
hrc_status suite_load(suite *s, const char *name, hrc_error *err);
hrc_status suite_parse(suite *s, const char *path, file_view text, hrc_error *err);
hrc_status suite_write(const suite *s, const char *path, hrc_error *err);
void suite_free(suite *s);

/* Sequence i as a clip at 50 Hz, cut and held. c may be NULL when the suite names only files. */
hrc_status suite_clip(const suite *s, int i, const corpus *c, clip *out, hrc_error *err);

#endif
