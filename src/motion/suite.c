#include "motion/suite.h"

#include <ctype.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "motion/clip.h"

/* ---- Manifests ---- */

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

static hrc_status parse_rate(double *out, const char *word, const char *path, int line, hrc_error *err)
{
    char *end;
    *out = strtod(word, &end);
    if (!*end && *out >= 0 && *out <= 10000) return HRC_OK; /* an empty text is 0 */
    return fail(err, HRC_EFORMAT, "%s:%d: fps is \"%.40s\", expected a frame rate or nothing", path, line,
                word);
}

static hrc_status manifest_lines(manifest *m, const char *path, char *lines, hrc_error *err)
{
    char *field[COLUMNS_MAX];
    int width = split_line(&lines, field), line = 1, n;
    int id = column(field, width, "id"), category = column(field, width, "category"),
        description = column(field, width, "description"), left_out = column(field, width, "left_out"),
        fps = column(field, width, "fps");
    if (id < 0 || category < 0)
        return fail(err, HRC_EFORMAT, "%s:1: no column \"%s\", expected a header with id and category", path,
                    id < 0 ? "id" : "category");
    while ((n = split_line(&lines, field)) != 0) {
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

/* A copy of a table's text that its rows may point into, and how many rows of at least `shortest` bytes it
 * can have. What is no text, or longer than 10 MB, is refused. */
static hrc_status manifest_text(char **out, int *rows, arena *memory, const char *path, file_view bytes,
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

static hrc_status manifest_bytes(manifest *m, const char *path, file_view bytes, hrc_error *err)
{
    char *lines = NULL;
    int rows = 0;
    TRY(manifest_text(&lines, &rows, &m->memory, path, bytes, sizeof "a,b" - 1, err));
    m->rows = ARENA_NEW(&m->memory, manifest_row, rows);
    if (!m->rows) return fail(err, HRC_ENOMEM, "%s: out of memory", path);
    TRY(manifest_lines(m, path, lines, err));
    return check_ids(m, path, err);
}

hrc_status manifest_parse(manifest *m, const char *path, file_view bytes, hrc_error *err)
{
    *m = (manifest){0};
    hrc_status status = manifest_bytes(m, path, bytes, err);
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

#define HEADER "clip,first,last,category,hold"
#define COLUMNS 5
#define HOLD_MAX 60.0

/* Where a row stands, for sentences. */
typedef struct {
    const char *path;
    int line;
} row_place;

static hrc_status parse_frame(int *out, const char *word, const char *what, row_place at, hrc_error *err)
{
    char *end;
    long x = strtol(word, &end, 10);
    if (end == word || *end || x < 0 || x >= CLIP_MAX_FRAMES)
        return fail(err, HRC_EFORMAT, "%s:%d: %s is \"%.40s\", expected a frame from 0 to %d", at.path,
                    at.line, what, word, CLIP_MAX_FRAMES - 1);
    *out = (int)x;
    return HRC_OK;
}

static hrc_status parse_hold(double *out, const char *word, row_place at, hrc_error *err)
{
    char *end;
    *out = strtod(word, &end);
    if (end == word || *end || !(*out >= 0 && *out <= HOLD_MAX))
        return fail(err, HRC_EFORMAT, "%s:%d: hold is \"%.40s\", expected 0 to %g seconds", at.path, at.line,
                    word, HOLD_MAX);
    return HRC_OK;
}

/* `line` is cut up; its texts stay where they are. */
static hrc_status parse_row(suite_sequence *out, char *line, row_place at, hrc_error *err)
{
    char *field[COLUMNS], *rest = line;
    int n = 1;
    for (const char *p = line; *p; p++) n += *p == ',';
    if (n != COLUMNS)
        return fail(err, HRC_EFORMAT, "%s:%d: %d columns, expected %d (" HEADER ")", at.path, at.line, n,
                    COLUMNS);
    for (int i = 0; i < COLUMNS; i++) field[i] = strsep(&rest, ",");
    if (!*field[0] || !*field[3])
        return fail(err, HRC_EFORMAT, "%s:%d: the %s is empty", at.path, at.line,
                    *field[0] ? "category" : "clip");
    *out = (suite_sequence){.clip = field[0], .category = field[3]};
    TRY(parse_frame(&out->first, field[1], "first", at, err));
    TRY(parse_frame(&out->last, field[2], "last", at, err));
    if (out->last < out->first)
        return fail(err, HRC_EFORMAT, "%s:%d: last frame %d lies before the first, %d", at.path, at.line,
                    out->last, out->first);
    return parse_hold(&out->hold, field[4], at, err);
}

/* The next line that is no comment, without spaces at its end; NULL after the last. */
static char *next_line(char **rest, row_place *at)
{
    for (char *line; (line = strsep(rest, "\n"));) {
        at->line++;
        size_t n = strlen(line);
        while (n && isspace((unsigned char)line[n - 1])) line[--n] = 0;
        if (n && *line != '#') return line;
    }
    return NULL;
}

static hrc_status parse_text(suite *s, char *lines, hrc_error *err)
{
    row_place at = {s->path, 0};
    char *rest = lines, *line = next_line(&rest, &at);
    if (!line || strcmp(line, HEADER) != 0)
        return fail(err, HRC_EFORMAT, "%s:%d: \"%.60s\", expected the header \"" HEADER "\"", s->path,
                    at.line, line ? line : "");
    while ((line = next_line(&rest, &at))) TRY(parse_row(&s->sequences[s->n++], line, at, err));
    return s->n ? HRC_OK : fail(err, HRC_EFORMAT, "%s: has no sequences", s->path);
}

static hrc_status parse(suite *s, const char *path, file_view bytes, hrc_error *err)
{
    char *lines = NULL;
    int rows = 0;
    TRY(manifest_text(&lines, &rows, &s->memory, path, bytes, sizeof "a,0,0,b,0" - 1, err));
    s->sequences = ARENA_NEW(&s->memory, suite_sequence, rows);
    s->path = arena_strdup(&s->memory, path);
    if (!s->sequences || !s->path) return fail(err, HRC_ENOMEM, "%s: out of memory", path);
    return parse_text(s, lines, err);
}

hrc_status suite_parse(suite *s, const char *path, file_view bytes, hrc_error *err)
{
    *s = (suite){0};
    hrc_status status = parse(s, path, bytes, err);
    if (status < 0) suite_free(s);
    return status;
}

void suite_free(suite *s)
{
    arena_free(&s->memory);
    *s = (suite){0};
}

static bool is_path(const char *name)
{
    const char *ending = strrchr(name, '.');
    return strchr(name, '/') || (ending && strcmp(ending, ".csv") == 0);
}

hrc_status suite_load(suite *s, const char *name, hrc_error *err)
{
    char relative[512], path[4096];
    file_view bytes;
    *s = (suite){0};
    if (is_path(name)) {
        snprintf(path, sizeof path, "%s", name);
    } else {
        snprintf(relative, sizeof relative, SUITE_FOLDER "/%s.csv", name);
        if (!shipped_path(path, sizeof path, relative))
            return fail(
                err, HRC_EFILE,
                "there is no suite \"%.80s\": no %.200s here or beside the program ('heracles eval --help' lists those "
                "there are)",
                name, relative);
    }
    TRY(file_map(path, &bytes, err));
    hrc_status status = suite_parse(s, path, bytes, err);
    file_unmap(&bytes);
    return status;
}

hrc_status suite_write(const suite *s, const char *path, hrc_error *err)
{
    text rows = {0};
    text_add(&rows, HEADER "\n");
    for (int i = 0; i < s->n; i++) {
        const suite_sequence *q = &s->sequences[i];
        text_add(&rows, "%s,%d,%d,%s,%g\n", q->clip, q->first, q->last, q->category, q->hold);
    }
    return text_write(&rows, path, err);
}

/* ---- Sequences as clips ---- */

static hrc_status load_file(const suite *s, const suite_sequence *q, clip *out, hrc_error *err)
{
    char path[4096];
    clip whole;
    int folder = q->clip[0] == '/' ? 0 : (int)(file_name(s->path) - s->path);
    if ((size_t)snprintf(path, sizeof path, "%.*s%s", folder, s->path, q->clip) >= sizeof path)
        return fail(err, HRC_EINVAL, "%s: the path of \"%.80s...\" is too long", s->path, q->clip);
    TRY(clip_load_at(&whole, path, CORPUS_FPS, &s->reading, err));
    hrc_status status = clip_cut(out, &whole, q->first, q->last, err);
    clip_free(&whole);
    return status;
}

static hrc_status load_from(const suite *s, const suite_sequence *q, const corpus *c, clip *out,
                            hrc_error *err)
{
    int i = c ? corpus_find(c, q->clip) : -1;
    if (i < 0)
        return fail(err, HRC_EINVAL, "%s: clip \"%.80s\" is not in %s", s->path, q->clip,
                    c ? c->file.path : "any corpus, since none is given");
    return corpus_clip_part(c, i, q->first, q->last, out, err);
}

hrc_status suite_clip(const suite *s, int i, const corpus *c, clip *out, hrc_error *err)
{
    const suite_sequence *q = &s->sequences[i];
    *out = (clip){0};
    TRY(strpbrk(q->clip, "/.#") ? load_file(s, q, out, err) : load_from(s, q, c, out, err));
    if (q->hold > 0) clip_hold(out, q->hold);
    return HRC_OK;
}
