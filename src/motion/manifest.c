#include "motion/manifest.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define COLUMNS_MAX 64

/* Cuts the line at *at into fields, in place, and moves *at behind it. Quotes may hold commas; "" is one
 * quote. Returns the number of fields, 0 at the end of the text, -1 when a quote stays open or there are too
 * many fields. */
static int split_line(char **at, char *field[COLUMNS_MAX])
{
    char *in = *at, *out = *at;
    int n = 0;
    bool quoted = false;
    if (!*in) return 0;
    field[n++] = out;
    for (; *in && (quoted || *in != '\n'); in++) {
        if (*in == '"' && quoted && in[1] == '"') {
            *out++ = *in++;
        } else if (*in == '"') {
            quoted = !quoted;
        } else if (*in == ',' && !quoted) {
            if (n == COLUMNS_MAX) return -1;
            *out++ = 0;
            field[n++] = out;
        } else if (*in != '\r') {
            *out++ = *in;
        }
    }
    *at = *in ? in + 1 : in;
    *out = 0;
    return quoted ? -1 : n;
}

static int column(char *const *field, int n, const char *name)
{
    for (int i = 0; i < n; i++)
        if (strcmp(field[i], name) == 0) return i;
    return -1;
}

static hrc_status parse_rate(double *out, const char *text, const char *path, int line, hrc_error *err)
{
    char *end;
    *out = strtod(text, &end);
    if (!*end && *out >= 0 && *out <= 10000) return HRC_OK; /* an empty text is 0 */
    return fail(err, HRC_EFORMAT, "%s:%d: fps is \"%.40s\", expected a frame rate or nothing", path, line,
                text);
}

static hrc_status parse_text(manifest *m, const char *path, char *text, hrc_error *err)
{
    char *field[COLUMNS_MAX];
    int width = split_line(&text, field), line = 1, n;
    int id = column(field, width, "id"), category = column(field, width, "category"),
        description = column(field, width, "description"), left_out = column(field, width, "left_out"),
        fps = column(field, width, "fps");
    if (id < 0 || category < 0)
        return fail(err, HRC_EFORMAT, "%s:1: no column \"%s\", expected a header with id and category", path,
                    id < 0 ? "id" : "category");
    while ((n = split_line(&text, field)) != 0) {
        line++;
        if (n == 1 && !*field[0]) continue;
        if (n != width)
            return fail(err, HRC_EFORMAT, "%s:%d: %d fields%s, expected %d as in the header", path, line,
                        n < 0 ? 0 : n, n < 0 ? " (a quote that stays open)" : "", width);
        if (!*field[id]) return fail(err, HRC_EFORMAT, "%s:%d: the id is empty", path, line);
        double rate = 0;
        if (fps >= 0) TRY(parse_rate(&rate, field[fps], path, line, err));
        m->rows[m->n++] = (manifest_row){field[id],
                                         field[category],
                                         description < 0 ? "" : field[description],
                                         left_out < 0 ? "" : field[left_out],
                                         rate,
                                         line};
    }
    return m->n ? HRC_OK : fail(err, HRC_EFORMAT, "%s: has a header but no rows", path);
}

static int by_id(const void *a, const void *b)
{
    const manifest_row *const *x = a, *const *y = b;
    const int order = strcmp((*x)->id, (*y)->id);
    return order ? order : (*x)->line - (*y)->line;
}

/* The first id that was there already, if any. */
static hrc_status check_ids(manifest *m, const char *path, hrc_error *err)
{
    const manifest_row **sorted = ARENA_NEW(&m->memory, const manifest_row *, m->n), *twice = NULL;
    if (!sorted) return fail(err, HRC_ENOMEM, "%s: out of memory", path);
    for (int i = 0; i < m->n; i++) sorted[i] = &m->rows[i];
    qsort(sorted, (size_t)m->n, sizeof *sorted, by_id);
    for (int i = 1; i < m->n; i++)
        if (!strcmp(sorted[i]->id, sorted[i - 1]->id) && (!twice || sorted[i]->line < twice->line))
            twice = sorted[i];
    if (!twice) return HRC_OK;
    return fail(err, HRC_EFORMAT, "%s:%d: the id \"%.80s\" was there already", path, twice->line, twice->id);
}

hrc_status manifest_text(char **out, int *rows, arena *memory, const char *path, file_view bytes,
                         size_t shortest, hrc_error *err)
{
    size_t lines = 1;
    bytes = file_text(bytes);
    for (size_t i = 0; i < bytes.size; i++) lines += bytes.data[i] == '\n';
    if (bytes.size > 10000000 || (bytes.size && memchr(bytes.data, 0, bytes.size)))
        return fail(err, HRC_EFORMAT, "%s: is not a text of less than 10 MB", path);
    const size_t most = bytes.size / shortest + 1; /* empty lines cost nothing */
    *rows = (int)(lines < most ? lines : most);
    *out = ARENA_NEW(memory, char, bytes.size + 1);
    if (!*out) return fail(err, HRC_ENOMEM, "%s: out of memory", path);
    if (bytes.size) memcpy(*out, bytes.data, bytes.size);
    return status_is_tame(*out) ? HRC_OK
                                : fail(err, HRC_EFORMAT, "%s: is not a text: it holds control bytes", path);
}

static hrc_status parse(manifest *m, const char *path, file_view bytes, hrc_error *err)
{
    char *text;
    int rows;
    TRY(manifest_text(&text, &rows, &m->memory, path, bytes, sizeof "a,b" - 1, err));
    m->rows = ARENA_NEW(&m->memory, manifest_row, rows);
    if (!m->rows) return fail(err, HRC_ENOMEM, "%s: out of memory", path);
    TRY(parse_text(m, path, text, err));
    return check_ids(m, path, err);
}

hrc_status manifest_parse(manifest *m, const char *path, file_view bytes, hrc_error *err)
{
    *m = (manifest){0};
    hrc_status status = parse(m, path, bytes, err);
    if (status < 0) manifest_free(m);
    return status;
}

hrc_status manifest_load(manifest *m, const char *path, hrc_error *err)
{
    file_view bytes;
    *m = (manifest){0};
    TRY(file_map(path, &bytes, err));
    hrc_status status = manifest_parse(m, path, bytes, err);
    file_unmap(&bytes);
    return status;
}

void manifest_free(manifest *m)
{
    arena_free(&m->memory);
    *m = (manifest){0};
}
