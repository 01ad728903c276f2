/* Tables of numbers as text, with a line of names. */
#ifndef HRC_MOTION_IMPORT_CSV_H
#define HRC_MOTION_IMPORT_CSV_H

#include <stdbool.h>

#include "base/arena.h"
#include "base/file.h"

#define CSV_NAME 64

typedef struct {
    int rows, columns;
    char (*name)[CSV_NAME];
    float *values; /* (rows, columns) */
} csv_table;

/* The first line holds several fields and the first of them is no number. */
bool csv_has_header(file_view bytes);

/* Into the arena; names every place that is not a finite number. */
hrc_status csv_table_parse(csv_table *t, const char *path, file_view bytes, arena *memory, hrc_error *err);
int csv_column(const csv_table *t, const char *name); /* -1 when there is none */

/* One number of the line [*at, end), and step past the comma behind it. */
hrc_status csv_number(float *out, const char **at, const char *end, const char *path, int line, int column,
                      hrc_error *err);

/* The end of the line at `at`, without blanks, and where the next begins; how many fields lie before it. */
const char *csv_line_end(const char *at, const char *end, const char **next);
int csv_fields(const char *at, const char *end);

/* A piece of a file made fit to be shown: short, printable. */
const char *csv_shown(char out[24], const char *text, size_t n);

#endif
