/* The motions a person may pick from: files, and the clips of a corpus. Immutable after opening, so any
 * thread may read it. */
#ifndef HRC_PLAY_CATALOG_H
#define HRC_PLAY_CATALOG_H

#include "eval/course.h"
#include "motion/corpus.h"

typedef struct {
    const char *name, *category, *description; /* "" when unknown */
    int frames;                                /* at 50 Hz */
    const char *path;                          /* of a file; NULL: clip `clip` of the corpus */
    int clip;
} catalog_entry;

typedef struct {
    arena memory;
    corpus clips; /* nclips 0: none */
    int n;
    catalog_entry *entries; /* the files first */
    clip_options reading;   /* of the files; its texts are the caller's */
} catalog;

/* corpus_path NULL: no corpus. reading may be NULL. Without any motion at all it fails. */
hrc_status catalog_open(catalog *out, const char *corpus_path, const char *const *files, int n,
                        const clip_options *reading, hrc_error *err);
void catalog_close(catalog *c);
int catalog_find(const catalog *c, const char *name); /* -1 when there is none */

/* Entry i, to be followed from its first frame. */
hrc_status catalog_course(const catalog *c, int i, course *out, hrc_error *err);

#endif
