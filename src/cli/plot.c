/* heracles plot: the curves of training logs as a page. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/status.h"
#include "cli/commands.h"
#include "eval/page.h"

/* ---- Reading the logs of trainings ---- */

/* Curves of JSON-lines logs as one page that needs nothing else. Every number of a line is a figure; numbers
 * in objects are named by their path ("trials.success"). What is no number is left out. */
typedef struct {
    int lines, figures; /* of all logs; of the log that has most */
} curves_count;

#define PATH 256

/* Column `name`, as long as the lines before; NULL when out of memory. */
static json_t *column(json_t *columns, const char *name, int lines)
{
    json_t *c = json_object_get(columns, name);
    if (!c && json_object_set_new(columns, name, json_array()) == 0) c = json_object_get(columns, name);
    while (c && json_array_size(c) < (size_t)lines)
        if (json_array_append_new(c, json_null()) < 0) return NULL;
    return c;
}

/* Every number below `value` into its column, as the newest entry. */
static bool spread(json_t *columns, const char *prefix, json_t *value, int lines)
{
    const char *key;
    json_t *member;
    json_object_foreach (value, key, member) {
        char path[PATH];
        snprintf(path, sizeof path, "%s%s%s", prefix, *prefix ? "." : "", key);
        if (json_is_object(member) && !spread(columns, path, member, lines)) return false;
        if (!json_is_number(member)) continue;
        json_t *c = column(columns, path, lines);
        if (!c || json_array_append(c, member) < 0) return false;
    }
    return true;
}

static hrc_status read_lines(json_t *columns, const char *path, file_view text, int *lines, hrc_error *err)
{
    *lines = 0;
    for (size_t at = 0; at < text.size;) {
        const char *begin = text.data + at, *end = memchr(begin, '\n', text.size - at);
        const size_t length = end ? (size_t)(end - begin) : text.size - at;
        at += length + 1;
        if (!length) continue;
        json_error_t why;
        json_t *line = json_loadb(begin, length, JSON_ALLOW_NUL, &why);
        if (!line && !end && *lines > 0) break; /* the last line of a run that still writes */
        if (!line) return fail(err, HRC_EFORMAT, "%s: line %d: not JSON (%s)", path, *lines + 1, why.text);
        const bool object = json_is_object(line), fine = object && spread(columns, "", line, *lines);
        json_decref(line);
        if (!object) return fail(err, HRC_EFORMAT, "%s: line %d: expected a JSON object", path, *lines + 1);
        if (!fine) return fail(err, HRC_ENOMEM, "%s: out of memory", path);
        ++*lines;
    }
    return *lines ? HRC_OK : fail(err, HRC_EFORMAT, "%s: no lines, expected a JSON object on each", path);
}

/* "tracker" of runs/a/tracker.safetensors.log.jsonl; among several logs "a/tracker". */
static void log_name(char *out, size_t size, const char *path, bool several)
{
    static const char *const ENDINGS[] = {".jsonl", ".log", ".safetensors"};
    const char *from = strrchr(path, '/');
    while (several && from && from > path && from[-1] != '/') from--;
    snprintf(out, size, "%s", from && *from == '/' ? from + 1 : from ? from : path);
    for (int i = 0; i < COUNT(ENDINGS); i++) {
        const size_t length = strlen(out), ending = strlen(ENDINGS[i]);
        if (length > ending && !strcmp(out + length - ending, ENDINGS[i])) out[length - ending] = 0;
    }
}

static hrc_status read_log(json_t *list, const char *path, bool several, curves_count *count, hrc_error *err)
{
    file_view text;
    int lines;
    char name[256];
    TRY(file_map(path, &text, err));
    json_t *columns = json_object();
    hrc_status status = read_lines(columns, path, text, &lines, err);
    file_unmap(&text);
    log_name(name, sizeof name, path, several);
    if (status == HRC_OK) {
        const int figures = (int)json_object_size(columns);
        count->lines += lines;
        count->figures = figures > count->figures ? figures : count->figures;
        json_array_append_new(list, json_pack("{s:s, s:O}", "name", name, "columns", columns));
    }
    json_decref(columns);
    return status;
}

static hrc_status write_page(const char *path, const json_t *data, hrc_error *err)
{
    char *script = html_script_text(data);
    if (!script) return fail(err, HRC_ENOMEM, "%s: out of memory", path);
    const html_filling fillings[] = {{"@data@", {script, strlen(script)}}, {"@plot.js@", EMBEDDED(plot_js)}};
    const file_piece page = EMBEDDED(plot_html);
    hrc_status status = html_write(path, page, fillings, COUNT(fillings), NULL, err);
    free(script);
    return status;
}

static hrc_status curves_write(const char *path, const char *const *logs, int n, curves_count *count,
                               hrc_error *err)
{
    json_t *list = json_array();
    hrc_status status = HRC_OK;
    *count = (curves_count){0};
    for (int i = 0; i < n && status == HRC_OK; i++) status = read_log(list, logs[i], n > 1, count, err);
    json_t *data = json_pack("{s:o}", "logs", list);
    if (status == HRC_OK) status = write_page(path, data, err);
    json_decref(data);
    return status;
}

static int run_plot(const args *a)
{
    const char *out = arg(a, "out");
    curves_count count;
    hrc_error err;
    if (!out) return cli_usage(a, "--out is missing");
    if (curves_write(out, a->operands, a->n, &count, &err) < 0) return cli_fail(&err);
    if (a->json)
        return cli_json(json_pack("{s:s, s:i, s:i, s:i}", "page", out, "logs", a->n, "lines", count.lines,
                                  "figures", count.figures));
    printf("%s: %d figures of %d lines\n", out, count.figures, count.lines);
    return EXIT_DONE;
}

static const option OPTIONS[] = {{"out", "PAGE", NULL, "the page to write (-o)"}, {0}};

const command CMD_PLOT = {
    .name = "plot",
    .operands = "LOG...",
    .summary = "the curves of training logs as a page; several logs share the charts",
    .example = "heracles plot tracker.safetensors.log.jsonl -o curves.html",
    .options = OPTIONS,
    .min_operands = 1,
    .max_operands = -1,
    .run = run_plot,
};
