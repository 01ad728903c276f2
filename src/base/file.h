/* Files: one for reading, as it was at that moment; one written so that it appears whole or not at all. */
#ifndef HRC_BASE_FILE_H
#define HRC_BASE_FILE_H

#include <stdbool.h>

#include "base/status.h"

typedef struct {
    const char *data; /* not zero-terminated; NULL for an empty file */
    size_t size;
} file_view;

/* A copy in memory, so that a file which is overwritten in place meanwhile changes nothing; above 1 GB it is
 * the file itself, mapped. What is not a regular file is refused. */
hrc_status file_map(const char *path, file_view *view, hrc_error *err);
void file_unmap(file_view *view);

bool file_begins(file_view bytes, const char *with);

/* A text without the byte order mark that it may begin with. */
file_view file_text(file_view bytes);

const char *file_name(const char *path);                  /* without its folder */
void file_stem(char *out, size_t size, const char *path); /* name without folder and ending, cut to size */
hrc_status file_folder(const char *path, hrc_error *err); /* makes the folder unless it is there */

/* Where a file that comes with the program ("motions/cmu.safetensors") is: under the current folder, under
 * the one that holds the program's folder (a build tree), or under share/heracles beside bin (installed).
 * False when it is in none; out then holds the first place. */
bool shipped_path(char *out, size_t size, const char *relative);

/* Several pieces, one after the other, into a temporary file beside the one that `path` leads to through
 * links; fsync; rename. What is there but no regular file (a device, a FIFO) is written to instead. */
typedef struct {
    const void *data;
    size_t size;
} file_piece;

hrc_status file_write(const char *path, const file_piece *pieces, int n, hrc_error *err);

/* What another program wrote, or what had to be tried first, goes from `trial` to `path` in the same way.
 * `trial` is removed when that has worked. */
hrc_status file_move(const char *path, const char *trial, hrc_error *err);

#endif
