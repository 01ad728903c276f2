/* Zip archives, through libzip, to and from memory. */
#ifndef HRC_MOTION_IMPORT_ARCHIVE_H
#define HRC_MOTION_IMPORT_ARCHIVE_H

#include <stdbool.h>

#include "base/arena.h"
#include "base/file.h"

typedef struct archive archive;

/* The bytes are borrowed until archive_close. */
hrc_status archive_open(archive **out, const char *path, file_view bytes, hrc_error *err);
void archive_close(archive *a); /* NULL is fine */
bool archive_has(const archive *a, const char *member);

/* A whole member, stored or deflated, into the arena. Refuses, before it allocates, one that declares more
 * than `limit` bytes or more than its compressed bytes can hold; and what fails its checksum. */
hrc_status archive_read(const archive *a, arena *memory, const char *member, size_t limit, file_view *out,
                        hrc_error *err);

typedef struct {
    const char *name;
    const void *data;
    size_t size;
} archive_member;

/* Equal members give equal bytes: all carry one fixed date. The caller frees *bytes. */
hrc_status archive_pack(char **bytes, size_t *size, const char *path, const archive_member *members, int n,
                        bool deflate, hrc_error *err);
hrc_status archive_write(const char *path, const archive_member *members, int n, bool deflate,
                         hrc_error *err);

#endif
