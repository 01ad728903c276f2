/* A growing text, for files that are written as a whole. Failure to grow is remembered and told by
 * text_ok, so that writers need not check every line. */
#ifndef HRC_BASE_TEXT_H
#define HRC_BASE_TEXT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/status.h"

typedef struct {
    char *data; /* zero-terminated once anything was added; NULL before */
    size_t size, capacity;
    bool failed;
} text;

void text_add(text *t, const char *format, ...) HRC_PRINTF(2, 3);
void text_add_quoted(text *t, const char *field); /* of a CSV file: in quotes, its own doubled */
void text_bytes(text *t, const void *data, size_t size);
bool text_ok(const text *t);
void text_free(text *t);

/* As a file, whole or not at all (base/file.h); frees the text. */
hrc_status text_write(text *t, const char *path, hrc_error *err);

#endif
