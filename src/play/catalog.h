/* The motions a person may pick from: files, the clips of a corpus, and what is added while it plays. An
 * entry never changes once it is there and never moves, so any thread that was told its number may read it;
 * `n` belongs to the thread that adds. */
#ifndef HRC_PLAY_CATALOG_H
#define HRC_PLAY_CATALOG_H

#include "eval/course.h"
#include "motion/corpus.h"

typedef struct {
    const char *name, *category, *description; /* "" when unknown */
    int frames;                                /* at 50 Hz */
    const char *path;                          /* of a file */
    const clip *added;                         /* or a motion in memory, at 50 Hz */
    int clip;                                  /* or, where both are NULL, of the corpus */
} catalog_entry;

#define CATALOG_ADDED 32 /* as many may be added */

typedef struct {
    arena memory;
    corpus clips; /* nclips 0: none */
    int n, room;
    catalog_entry *entries; /* the files first, what is added last */
    clip_options reading;   /* of the files; its texts are the caller's */
} catalog;

/* corpus_path NULL: no corpus. reading may be NULL. Without any motion at all it fails. */
hrc_status catalog_open(catalog *out, const char *corpus_path, const char *const *files, int n,
                        const clip_options *reading, hrc_error *err);
void catalog_close(catalog *c);

/* Takes a motion at 50 Hz over, also on failure. It is called as the clip is, or "NAME (2)" where there is
 * one of that name. *at: its number. */
hrc_status catalog_add(catalog *c, clip *motion, int *at, hrc_error *err);
int catalog_find(const catalog *c, const char *name); /* -1 when there is none */

/* Entry i, to be followed from its first frame. */
hrc_status catalog_course(const catalog *c, int i, course *out, hrc_error *err);

#endif
