/* A manifest: what the files of a folder hold. CSV with a header; the columns id (file name without ending)
 * and category are needed; description, left_out (why a file is not to be used; empty when it is) and fps
 * (its frame rate; empty or 0: as the file has it) are used when there, others are left alone. Fields may be
 * quoted. */
#ifndef HRC_MOTION_MANIFEST_H
#define HRC_MOTION_MANIFEST_H

#include "base/arena.h"
#include "base/file.h"

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

/* A copy of a table's text that its rows may point into, and how many rows of at least `shortest` bytes it
 * can have. What is no text, or longer than 10 MB, is refused. */
hrc_status manifest_text(char **out, int *rows, arena *memory, const char *path, file_view bytes,
                         size_t shortest, hrc_error *err);

hrc_status manifest_load(manifest *m, const char *path, hrc_error *err);
hrc_status manifest_parse(manifest *m, const char *path, file_view bytes, hrc_error *err);
void manifest_free(manifest *m);

#endif
