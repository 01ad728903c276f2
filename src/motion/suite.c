#include "motion/suite.h"

#include <ctype.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "motion/edit.h"
#include "motion/manifest.h"
#include "motion/shipped.h"

#define HEADER "clip,first,last,category,hold"
#define COLUMNS 5
#define HOLD_MAX 60.0

/* Where a row stands, for sentences. */
typedef struct {
    const char *path;
    int line;
} row_place;

static hrc_status parse_frame(int *out, const char *text, const char *what, row_place at, hrc_error *err)
{
    char *end;
    long x = strtol(text, &end, 10);
    if (end == text || *end || x < 0 || x >= CLIP_MAX_FRAMES)
        return fail(err, HRC_EFORMAT, "%s:%d: %s is \"%.40s\", expected a frame from 0 to %d", at.path,
                    at.line, what, text, CLIP_MAX_FRAMES - 1);
    *out = (int)x;
    return HRC_OK;
}

static hrc_status parse_hold(double *out, const char *text, row_place at, hrc_error *err)
{
    char *end;
    *out = strtod(text, &end);
    if (end == text || *end || !(*out >= 0 && *out <= HOLD_MAX))
        return fail(err, HRC_EFORMAT, "%s:%d: hold is \"%.40s\", expected 0 to %g seconds", at.path, at.line,
                    text, HOLD_MAX);
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

static hrc_status parse_text(suite *s, char *text, hrc_error *err)
{
    row_place at = {s->path, 0};
    char *rest = text, *line = next_line(&rest, &at);
    if (!line || strcmp(line, HEADER) != 0)
        return fail(err, HRC_EFORMAT, "%s:%d: \"%.60s\", expected the header \"" HEADER "\"", s->path,
                    at.line, line ? line : "");
    while ((line = next_line(&rest, &at))) TRY(parse_row(&s->sequences[s->n++], line, at, err));
    return s->n ? HRC_OK : fail(err, HRC_EFORMAT, "%s: has no sequences", s->path);
}

static hrc_status parse(suite *s, const char *path, file_view bytes, hrc_error *err)
{
    char *text;
    int rows;
    TRY(manifest_text(&text, &rows, &s->memory, path, bytes, sizeof "a,0,0,b,0" - 1, err));
    s->sequences = ARENA_NEW(&s->memory, suite_sequence, rows);
    s->path = arena_strdup(&s->memory, path);
    if (!s->sequences || !s->path) return fail(err, HRC_ENOMEM, "%s: out of memory", path);
    return parse_text(s, text, err);
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
    file_view text;
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
    TRY(file_map(path, &text, err));
    hrc_status status = suite_parse(s, path, text, err);
    file_unmap(&text);
    return status;
}

hrc_status suite_write(const suite *s, const char *path, hrc_error *err)
{
    size_t size = sizeof HEADER + 1, used;
    for (int i = 0; i < s->n; i++)
        size += strlen(s->sequences[i].clip) + strlen(s->sequences[i].category) + 64;
    char *text = malloc(size);
    if (!text) return fail(err, HRC_ENOMEM, "%s: out of memory", path);
    used = (size_t)snprintf(text, size, HEADER "\n");
    for (int i = 0; i < s->n; i++) {
        const suite_sequence *q = &s->sequences[i];
        used += (size_t)snprintf(text + used, size - used, "%s,%d,%d,%s,%g\n", q->clip, q->first, q->last,
                                 q->category, q->hold);
    }
    file_piece piece = {text, used};
    hrc_status status = file_write(path, &piece, 1, err);
    free(text);
    return status;
}

/* ---- Sequences as clips ---- */

static hrc_status load_file(const suite *s, const suite_sequence *q, clip *out, hrc_error *err)
{
    char path[4096];
    const char *slash = strrchr(s->path, '/');
    clip whole, resampled;
    int folder = slash && q->clip[0] != '/' ? (int)(slash - s->path + 1) : 0;
    if ((size_t)snprintf(path, sizeof path, "%.*s%s", folder, s->path, q->clip) >= sizeof path)
        return fail(err, HRC_EINVAL, "%s: the path of \"%.80s...\" is too long", s->path, q->clip);
    TRY(clip_load(&whole, path, &s->reading, NULL, err));
    hrc_status status = clip_resample(&resampled, &whole, CORPUS_FPS, err);
    clip_free(&whole);
    TRY(status);
    status = clip_cut(out, &resampled, q->first, q->last, err);
    clip_free(&resampled);
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
