#include "motion/import/csv_table.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define FIELD_MAX 63 /* longest number that is read, in characters */
#define COLUMNS_MAX 1024
#define ROWS_MAX 1000000

const char *csv_shown(char out[24], const char *text, size_t n)
{
    size_t k = 0;
    for (; k < n && k < 20; k++) out[k] = isprint((unsigned char)text[k]) ? text[k] : '?';
    out[k] = 0;
    return out;
}

hrc_status csv_number(float *out, const char **at, const char *end, const char *path, int line, int column,
                      hrc_error *err)
{
    const char *comma = memchr(*at, ',', (size_t)(end - *at)), *stop = comma ? comma : end;
    size_t n = (size_t)(stop - *at);
    char text[FIELD_MAX + 1], quoted[24], *rest = text;
    if (n <= FIELD_MAX) {
        memcpy(text, *at, n);
        text[n] = 0;
        *out = strtof(text, &rest);
        while (isspace((unsigned char)*rest)) rest++;
    }
    if (rest == text || rest != text + n)
        return fail(err, HRC_EFORMAT, "%s: line %d, column %d: \"%s\" is not a number%s", path, line, column,
                    csv_shown(quoted, *at, n),
                    line == 1 ? " (expected 36 numbers a line and no header)" : "");
    if (!isfinite(*out))
        return fail(err, HRC_ENONFINITE, "%s: line %d, column %d: \"%s\", expected a finite number", path,
                    line, column, csv_shown(quoted, *at, n));
    *at = comma ? comma + 1 : end;
    return HRC_OK;
}

bool csv_has_header(file_view bytes)
{
    const char *newline = memchr(bytes.data, '\n', bytes.size);
    size_t n = newline ? (size_t)(newline - bytes.data) : bytes.size;
    return newline && memchr(bytes.data, ',', n) &&
           (isalpha((unsigned char)bytes.data[0]) || bytes.data[0] == '_') &&
           strncasecmp(bytes.data, "nan", 3) != 0 && strncasecmp(bytes.data, "inf", 3) != 0;
}

const char *csv_line_end(const char *at, const char *end, const char **next)
{
    const char *newline = memchr(at, '\n', (size_t)(end - at)), *stop = newline ? newline : end;
    *next = newline ? newline + 1 : end;
    while (stop > at && isspace((unsigned char)stop[-1])) stop--;
    return stop;
}

int csv_fields(const char *at, const char *end)
{
    int n = 1;
    for (; at < end; at++) n += *at == ',';
    return n;
}

static hrc_status parse_names(csv_table *t, const char *path, const char *at, const char *end, arena *memory,
                              hrc_error *err)
{
    t->columns = csv_fields(at, end);
    if (t->columns > COLUMNS_MAX)
        return fail(err, HRC_EFORMAT, "%s: line 1: %d columns, expected at most %d", path, t->columns,
                    COLUMNS_MAX);
    t->name = (char(*)[CSV_NAME])arena_alloc(memory, (size_t)t->columns, CSV_NAME);
    if (!t->name) return fail(err, HRC_ENOMEM, "%s: out of memory", path);
    for (int k = 0; k < t->columns; k++) {
        const char *comma = memchr(at, ',', (size_t)(end - at)), *stop = comma ? comma : end;
        const char *next = comma ? comma + 1 : end;
        while (at < stop && isspace((unsigned char)*at)) at++;
        while (stop > at && isspace((unsigned char)stop[-1])) stop--;
        size_t n = (size_t)(stop - at);
        if (n >= CSV_NAME) n = CSV_NAME - 1;
        memcpy(t->name[k], at, n);
        status_tame(t->name[k], false);
        at = next;
    }
    return HRC_OK;
}

static hrc_status parse_rows(csv_table *t, const char *path, const char *at, const char *end, int room,
                             hrc_error *err)
{
    const char *next;
    for (int line = 2; at < end; line++, at = next) {
        const char *stop = csv_line_end(at, end, &next);
        int columns = csv_fields(at, stop);
        if (columns != t->columns || t->rows == room)
            return fail(err, HRC_EFORMAT, "%s: line %d: %d columns, expected %d as in the header", path, line,
                        columns, t->columns);
        float *row = t->values + (size_t)t->rows * (size_t)t->columns;
        for (int k = 0; k < t->columns; k++) TRY(csv_number(&row[k], &at, stop, path, line, k + 1, err));
        t->rows++;
    }
    return HRC_OK;
}

hrc_status csv_table_parse(csv_table *t, const char *path, file_view bytes, arena *memory, hrc_error *err)
{
    *t = (csv_table){0};
    bool header = bytes.size > 0 && csv_has_header(bytes);
    while (bytes.size > 0 && isspace((unsigned char)bytes.data[bytes.size - 1])) bytes.size--;
    const char *end = bytes.data + bytes.size, *next;
    if (!header) return fail(err, HRC_EFORMAT, "%s: has no line of names and numbers under it", path);
    const char *stop = csv_line_end(bytes.data, end, &next);
    TRY(parse_names(t, path, bytes.data, stop, memory, err));
    size_t rows = 1,
           most = (size_t)(end - next) / (2 * (size_t)t->columns - 1) + 1; /* a digit and a comma each */
    for (const char *p = next; p < end; p++) rows += *p == '\n';
    if (rows > most) rows = most;
    if (rows > ROWS_MAX)
        return fail(err, HRC_EFORMAT, "%s: %zu lines, expected at most %d", path, rows, ROWS_MAX);
    t->values = ARENA_NEW(memory, float, rows *(size_t)t->columns);
    if (!t->values) return fail(err, HRC_ENOMEM, "%s: out of memory for %zu lines", path, rows);
    return parse_rows(t, path, next, end, (int)rows, err);
}

int csv_column(const csv_table *t, const char *name)
{
    for (int k = 0; k < t->columns; k++)
        if (strcmp(t->name[k], name) == 0) return k;
    return -1;
}
