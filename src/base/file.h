/* Files: map one for reading, write one so that it appears whole or not at all. */
#ifndef HRC_BASE_FILE_H
#define HRC_BASE_FILE_H

#include "base/status.h"

typedef struct {
    const char *data; /* not zero-terminated; NULL for an empty file */
    size_t size;
} file_view;

hrc_status file_map(const char *path, file_view *view, hrc_error *err);
void file_unmap(file_view *view);

void file_stem(char *out, size_t size, const char *path); /* name without folder and ending, cut to size */

/* Several pieces, one after the other, into a temporary file beside `path`; fsync; rename. */
typedef struct {
    const void *data;
    size_t size;
} file_piece;

hrc_status file_write(const char *path, const file_piece *pieces, int n, hrc_error *err);

#endif
