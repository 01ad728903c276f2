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

#include "base/arena.h"
#include "base/file.h"
#include "motion/corpus.h"

/* A manifest: what the files of a folder hold. CSV with a header; the columns id (file name without ending)
 * and category are needed; description, left_out (why a file is not to be used; empty when it is) and fps
 * (its frame rate; empty or 0: as the file has it) are used when there, others are left alone. Fields may be
 * quoted. */
typedef struct {
    const char *id, *category, *description, *left_out;
    double fps; /* 0: not said */
    int line;   /* of the file, counting rows */
} manifest_row;

typedef struct {
    arena memory;
    int n;
    manifest_row *rows;
} manifest;

hrc_status manifest_load(manifest *m, const char *path, hrc_error *err);
hrc_status manifest_parse(manifest *m, const char *path, file_view bytes, hrc_error *err);
void manifest_free(manifest *m);

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
    clip_options reading; /* of files that it names, set after loading; its texts are the caller's */
} suite;

/* A path (with '/' or the ending .csv), or the name of one that is shipped: "heldout101". */
hrc_status suite_load(suite *s, const char *name, hrc_error *err);
hrc_status suite_parse(suite *s, const char *path, file_view text, hrc_error *err);
hrc_status suite_write(const suite *s, const char *path, hrc_error *err);
void suite_free(suite *s);

/* Sequence i as a clip at 50 Hz, cut and held. c may be NULL when the suite names only files. */
hrc_status suite_clip(const suite *s, int i, const corpus *c, clip *out, hrc_error *err);

#endif
