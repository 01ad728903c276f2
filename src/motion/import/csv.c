/* CSV without header (for one with: csv_named.c), 36 numbers a line: root x y z (m), root quaternion, 29
 * joint angles (rad). Nothing in the file says its frame rate or the order of its quaternion: the rate comes
 * from the options, the order from evidence (quat_order.c). */
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "motion/import/csv_table.h"
#include "motion/import/formats.h"
#include "motion/import/rate.h"

#define LINE_MIN (2 * HRC_NQ - 1) /* one digit a column and the commas between */
#define DEFAULT_FPS 30            /* of Unitree's LAFAN1 set */
#define NUMBER_MAX 18             /* longest text of "%.9g" and a separator, with room */

typedef struct {
    const char *at, *end; /* what is left of the bytes */
    int line;             /* of `at`, from 1 */
} reader;

static hrc_status parse_line(float *frame, const char *at, const char *end, const char *path, int line,
                             hrc_error *err)
{
    int columns = 1;
    for (const char *p = at; p < end; p++) columns += *p == ',';
    if (columns == HRC_NQ + 1 && end[-1] == ',') columns--; /* a comma that ends the line */
    char quoted[24];
    if (columns != HRC_NQ)
        return fail(err, HRC_EFORMAT,
                    "%s: line %d: %d columns (\"%s...\"), expected %d: root position 3, root quaternion 4, "
                    "joint angles %d",
                    path, line, columns, csv_shown(quoted, at, (size_t)(end - at)), HRC_NQ, HRC_JOINTS);
    for (int k = 0; k < HRC_NQ; k++) TRY(csv_number(&frame[k], &at, end, path, line, k + 1, err));
    double norm = 0;
    for (int k = 3; k < 7; k++) norm += (double)frame[k] * frame[k];
    norm = sqrt(norm);
    if (!(fabs(norm - 1) <= 1e-2))
        return fail(err, HRC_EFORMAT,
                    "%s: line %d: columns 4 to 7 are a quaternion of length %.4g, expected 1", path, line,
                    norm);
    return HRC_OK;
}

/* All lines into frames; c has room for as many as fit into the bytes. Sets c->n. */
static hrc_status parse_lines(clip *c, const char *path, reader r, hrc_error *err)
{
    int capacity = c->n;
    for (c->n = 0; r.at < r.end; r.line++) {
        const char *newline = memchr(r.at, '\n', (size_t)(r.end - r.at)), *stop = newline ? newline : r.end;
        const char *next = newline ? newline + 1 : r.end;
        while (stop > r.at && isspace((unsigned char)stop[-1])) stop--;
        if (c->n == capacity)
            return fail(err, HRC_EFORMAT,
                        "%s: line %d: is one of more than %d, or one before it is too short", path, r.line,
                        capacity);
        TRY(parse_line(clip_frame(c, c->n), r.at, stop, path, r.line, err));
        c->n++;
        r.at = next;
    }
    return HRC_OK;
}

hrc_status csv_parse(clip *c, const char *path, file_view bytes, const clip_options *options,
                     clip_decisions *why, hrc_error *err)
{
    *c = (clip){0};
    if (csv_has_header(bytes)) return csv_named_parse(c, path, bytes, options, why, err);
    while (bytes.size > 0 && isspace((unsigned char)bytes.data[bytes.size - 1])) bytes.size--;
    if (bytes.size == 0)
        return fail(err, HRC_EFORMAT, "%s: is empty, expected lines of %d numbers", path, HRC_NQ);
    size_t lines = 1;
    for (size_t i = 0; i < bytes.size; i++) lines += bytes.data[i] == '\n';
    size_t most = bytes.size / LINE_MIN + 1; /* lines of blanks must not cost memory */
    if (lines > most) lines = most;
    if (lines > CLIP_MAX_FRAMES)
        return fail(err, HRC_EFORMAT, "%s: %zu lines, expected at most %d", path, lines, CLIP_MAX_FRAMES);
    double assumed = options->fps > 0 ? options->fps : DEFAULT_FPS; /* good for sliding */
    TRY(clip_create_for(c, (int)lines, assumed, path, err));
    hrc_status status = parse_lines(c, path, (reader){bytes.data, bytes.data + bytes.size, 1}, err);
    if (status >= 0) status = clip_check(c, path, err);
    if (status >= 0) status = quat_order_settle(c, path, options->quat, why, err);
    if (status < 0) {
        clip_free(c);
        return status;
    }
    snprintf(why->format, sizeof why->format, "CSV of %d columns", HRC_NQ);
    rate_settle(c, &(rate_source){.path = path, .asked = options->fps, .usual = DEFAULT_FPS}, why);
    return HRC_OK;
}

hrc_status csv_write(const clip *c, const char *path, hrc_error *err)
{
    static const int COLUMN[7] = {0, 1, 2, 4, 5, 6, 3}; /* the quaternion as x,y,z,w */
    char *text = malloc((size_t)c->n * HRC_NQ * NUMBER_MAX), *at = text;
    if (!text) return fail(err, HRC_ENOMEM, "%s: out of memory for %d lines", path, c->n);
    for (int i = 0; i < c->n; i++)
        for (int k = 0; k < HRC_NQ; k++)
            at += snprintf(at, NUMBER_MAX, "%.9g%c", (double)clip_frame(c, i)[k < 7 ? COLUMN[k] : k],
                           k < HRC_NQ - 1 ? ',' : '\n');
    file_piece piece = {text, (size_t)(at - text)};
    hrc_status status = file_write(path, &piece, 1, err);
    free(text);
    return status;
}
