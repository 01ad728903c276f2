#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/rot.h"
#include "motion/import/formats.h"
#include "motion/import/rate.h"

/* ---- Tables ---- */

#define FIELD_MAX 63 /* longest number that is read, in characters */
#define COLUMNS_MAX 1024
#define ROWS_MAX 1000000

/* A piece of a file made fit to be shown: short, printable. */
static const char *csv_shown(char out[24], const char *text, size_t n)
{
    size_t k = 0;
    for (; k < n && k < 20; k++) out[k] = isprint((unsigned char)text[k]) ? text[k] : '?';
    out[k] = 0;
    return out;
}

/* One number of the line [*at, end), and step past the comma behind it. */
static hrc_status csv_number(float *out, const char **at, const char *end, const char *path, int line,
                             int column, hrc_error *err)
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

/* The first line holds several fields and the first of them is no number. */
static bool csv_has_header(file_view bytes)
{
    const char *newline = memchr(bytes.data, '\n', bytes.size);
    size_t n = newline ? (size_t)(newline - bytes.data) : bytes.size;
    return newline && memchr(bytes.data, ',', n) &&
           (isalpha((unsigned char)bytes.data[0]) || bytes.data[0] == '_') &&
           strncasecmp(bytes.data, "nan", 3) != 0 && strncasecmp(bytes.data, "inf", 3) != 0;
}

/* The end of the line at `at`, without blanks, and where the next begins. */
static const char *csv_line_end(const char *at, const char *end, const char **next)
{
    const char *newline = memchr(at, '\n', (size_t)(end - at)), *stop = newline ? newline : end;
    *next = newline ? newline + 1 : end;
    while (stop > at && isspace((unsigned char)stop[-1])) stop--;
    return stop;
}

/* How many fields lie before the end of the line. */
static int csv_fields(const char *at, const char *end)
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
        int fields = csv_fields(at, stop);
        if (fields != t->columns || t->rows == room)
            return fail(err, HRC_EFORMAT, "%s: line %d: %d columns, expected %d as in the header", path, line,
                        fields, t->columns);
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

/* -1 when there is none. */
static int csv_column(const csv_table *t, const char *name)
{
    for (int k = 0; k < t->columns; k++)
        if (strcmp(t->name[k], name) == 0) return k;
    return -1;
}

/* ---- Motions ---- */

#define LINE_MIN (2 * HRC_NQ - 1) /* one digit a column and the commas between */
#define DEFAULT_FPS 30            /* of Unitree's LAFAN1 set, and of headers but Bones-SEED's */
#define NUMBER_MAX 18             /* longest text of "%.9g" and a separator, with room */

/* ---- With a header ---- */

/* Bones-SEED: Frame, root_translateX..Z in centimetres, root_rotateX..Z in degrees about
 * the world's axes in this order, NAME_joint_dof in degrees, 120 frames a second. Others name the root's
 * columns in one of the ways below, in metres and radians, with the quaternion by name. A column "time" (s)
 * gives the rate. */

#define SEED_FPS 120
#define DEGREE (M_PI / 180)

typedef struct {
    const char *style;
    const char *position[3], *turn[4]; /* quaternion w,x,y,z; with turn[3] NULL angles about x, y, z */
    double metre, radian;              /* of one unit */
} style;

static const style STYLES[] = {
    {"Bones-SEED's header (cm, degrees)",
     {"root_translateX", "root_translateY", "root_translateZ"},
     {"root_rotateX", "root_rotateY", "root_rotateZ", NULL},
     0.01,
     DEGREE},
    {"header", {"root_x", "root_y", "root_z"}, {"root_qw", "root_qx", "root_qy", "root_qz"}, 1, 1},
    {"header",
     {"root_pos_x", "root_pos_y", "root_pos_z"},
     {"root_rot_w", "root_rot_x", "root_rot_y", "root_rot_z"},
     1,
     1},
    {"header",
     {"root_pos_x", "root_pos_y", "root_pos_z"},
     {"root_quat_w", "root_quat_x", "root_quat_y", "root_quat_z"},
     1,
     1},
    {"header", {"base_x", "base_y", "base_z"}, {"base_qw", "base_qx", "base_qy", "base_qz"}, 1, 1},
    {"header", {"x", "y", "z"}, {"qw", "qx", "qy", "qz"}, 1, 1},
};

typedef struct {
    const style *how;
    int position[3], turn[4], joint[HRC_JOINTS];
    int time; /* -1: none */
} columns;

static bool find_style(columns *m, const csv_table *t, const style *how)
{
    m->how = how;
    for (int k = 0; k < 3; k++)
        if ((m->position[k] = csv_column(t, how->position[k])) < 0) return false;
    for (int k = 0; k < 4 && how->turn[k]; k++)
        if ((m->turn[k] = csv_column(t, how->turn[k])) < 0) return false;
    return true;
}

static hrc_status find_columns(columns *m, const csv_table *t, const char *path, hrc_error *err)
{
    int found = 0;
    while (found < COUNT(STYLES) && !find_style(m, t, &STYLES[found])) found++;
    if (found == COUNT(STYLES))
        return fail(
            err, HRC_EFORMAT,
            "%s: line 1: \"%s\" begins %d columns (expected 36 numbers and no header, or a header that names the root "
            "as root_translateX and root_rotateX, or as x and qw, or as root_pos_x and root_rot_w)",
            path, t->name[0], t->columns);
    for (int j = 0; j < HRC_JOINTS; j++) m->joint[j] = -1;
    for (int k = 0; k < t->columns; k++) {
        int joint = layout_joint(t->name[k]);
        if (joint >= 0) m->joint[joint] = k;
    }
    for (int j = 0; j < HRC_JOINTS; j++)
        if (m->joint[j] < 0)
            return fail(err, HRC_EFORMAT, "%s: line 1: has no column for %s", path, G1_JOINT[j].name);
    m->time = csv_column(t, "time");
    if (m->time < 0) m->time = csv_column(t, "timestamp");
    return HRC_OK;
}

/* Turns about the world's x, then y, then z. */
static void from_angles(double quat[4], const double angle[3])
{
    double turn[3][4], yz[4];
    for (int k = 0; k < 3; k++) {
        double vector[3] = {0};
        vector[k] = angle[k];
        quat_exp(turn[k], vector);
    }
    quat_mul(yz, turn[2], turn[1]);
    quat_mul(quat, yz, turn[0]);
}

static void read_frame(float *out, const float *row, const columns *m)
{
    double quat[4], angle[3];
    for (int k = 0; k < 3; k++) out[k] = (float)(row[m->position[k]] * m->how->metre);
    for (int k = 0; k < 4; k++) {
        if (m->how->turn[3])
            quat[k] = row[m->turn[k]];
        else if (k < 3)
            angle[k] = row[m->turn[k]] * m->how->radian;
    }
    if (!m->how->turn[3]) from_angles(quat, angle);
    for (int k = 0; k < 4; k++) out[3 + k] = (float)quat[k];
    for (int j = 0; j < HRC_JOINTS; j++) out[7 + j] = (float)(row[m->joint[j]] * m->how->radian);
}

/* From the column of times; 0 when there is none or it does not rise. */
static double rate_of_time(const csv_table *t, const columns *m)
{
    if (m->time < 0 || t->rows < 2) return 0;
    double first = t->values[m->time],
           last = t->values[(size_t)(t->rows - 1) * (size_t)t->columns + (size_t)m->time];
    double rate = (t->rows - 1) / (last - first);
    return rate > 1 && rate < 10000 ? round(rate * 100) / 100 : 0;
}

static hrc_status build(clip *c, const csv_table *t, const char *path, const clip_options *options,
                        clip_decisions *why, hrc_error *err)
{
    columns m = {0};
    TRY(find_columns(&m, t, path, err));
    if (t->rows == 0) return fail(err, HRC_EFORMAT, "%s: has a header but no lines of numbers", path);
    TRY(clip_create_for(c, t->rows, 1, path, err));
    for (int i = 0; i < t->rows; i++)
        read_frame(clip_frame(c, i), t->values + (size_t)i * (size_t)t->columns, &m);
    TRY(clip_check(c, path, err));
    bool seed = m.how == &STYLES[0];
    snprintf(why->format, sizeof why->format, "CSV, %s", m.how->style);
    snprintf(why->joints, sizeof why->joints, "by the names in the header");
    snprintf(why->quat, sizeof why->quat,
             seed ? "from angles about x, y, z of the world" : "by the names in the header");
    rate_settle(c,
                &(rate_source){.path = path,
                               .asked = options->fps,
                               .file = rate_of_time(t, &m),
                               .usual = seed ? SEED_FPS : DEFAULT_FPS},
                why);
    return HRC_OK;
}

static hrc_status parse_named(clip *c, const char *path, file_view bytes, const clip_options *options,
                              clip_decisions *why, hrc_error *err)
{
    arena memory = {0};
    csv_table t;
    *c = (clip){0};
    hrc_status status = csv_table_parse(&t, path, bytes, &memory, err);
    if (status >= 0) status = build(c, &t, path, options, why, err);
    arena_free(&memory);
    if (status < 0) clip_free(c);
    return status;
}

/* ---- Without ---- */

/* 36 numbers a line: root x y z (m), root quaternion, 29
 * joint angles (rad). Nothing in the file says its frame rate or the order of its quaternion: the rate comes
 * from the options, the order from evidence (order.c). */
typedef struct {
    const char *at, *end; /* what is left of the bytes */
    int line;             /* of `at`, from 1 */
} reader;

static hrc_status parse_line(float *frame, const char *at, const char *end, const char *path, int line,
                             hrc_error *err)
{
    int fields = csv_fields(at, end);
    if (fields == HRC_NQ + 1 && end[-1] == ',') fields--; /* a comma that ends the line */
    char quoted[24];
    if (fields != HRC_NQ)
        return fail(err, HRC_EFORMAT,
                    "%s: line %d: %d columns (\"%s...\"), expected %d: root position 3, root quaternion 4, "
                    "joint angles %d",
                    path, line, fields, csv_shown(quoted, at, (size_t)(end - at)), HRC_NQ, HRC_JOINTS);
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
        const char *next, *stop = csv_line_end(r.at, r.end, &next);
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
    if (csv_has_header(bytes)) return parse_named(c, path, bytes, options, why, err);
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
