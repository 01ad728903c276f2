/* heracles motion info: what a motion file is, how that was decided, and how good it is. */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/pool.h"
#include "cli/commands.h"
#include "cli/motion.h"

typedef struct {
    const char *path;
    hrc_status status;
    hrc_error error;
    clip_decisions why;
    quality q;
    char name[128], category[64], source[160], licence[160];
} report;

static hrc_status inspect(report *r, const clip_options *options)
{
    clip c;
    TRY(clip_load(&c, r->path, options, &r->why, &r->error));
    snprintf(r->name, sizeof r->name, "%s", c.name);
    snprintf(r->category, sizeof r->category, "%s", c.category);
    snprintf(r->source, sizeof r->source, "%s", c.source);
    snprintf(r->licence, sizeof r->licence, "%s", c.licence);
    hrc_status status = quality_measure(&r->q, &c, &r->error);
    clip_free(&c);
    return status;
}

typedef struct {
    report *reports;
    clip_options options;
    int n;
    atomic_int done;
    progress bar;
} inspection;

static void inspect_item(void *ctx, int item, int worker)
{
    inspection *all = ctx;
    if (cli_interrupted()) return;
    all->reports[item].status = inspect(&all->reports[item], &all->options);
    int done = 1 + atomic_fetch_add(&all->done, 1);
    if (worker == 0) progress_show(&all->bar, (double)done / all->n, all->reports[item].path);
}

static json_t *report_json(const report *r)
{
    if (r->status < 0) return json_pack("{s:s, s:s}", "file", r->path, "error", r->error.text);
    json_t *object =
        json_pack("{s:s, s:s, s:s, s:s, s:s, s:{s:s, s:s, s:s, s:s}}", "file", r->path, "name", r->name,
                  "category", r->category, "source", r->source, "licence", r->licence, "decided", "format",
                  r->why.format, "fps", r->why.fps, "joints", r->why.joints, "quat", r->why.quat);
    json_t *figures = quality_json(&r->q);
    json_object_update(object, figures);
    json_decref(figures);
    return object;
}

static void print_line(const char *what, const char *text)
{
    if (*text) printf("  %-18s %s\n", what, text);
}

static void print_report(const report *r)
{
    printf("%s\n", r->path);
    print_line("format", r->why.format);
    print_line("frame rate", r->why.fps);
    print_line("joint order", r->why.joints);
    print_line("quaternion order", r->why.quat);
    print_line("category", r->category);
    print_line("source", r->source);
    print_line("licence", r->licence);
    quality_print(&r->q);
}

static void print_table(const report *reports, int n)
{
    int count[3] = {0}, bad_files = 0;
    double seconds = 0;
    quality_row_head();
    for (int i = 0; i < n; i++) {
        const report *r = &reports[i];
        if (r->status < 0) {
            bad_files++;
            continue;
        }
        quality_row(r->name, &r->q);
        count[r->q.verdict]++;
        seconds += r->q.seconds;
    }
    printf("%d clip%s, %.1f min: %d good, %d usable, %d bad", n - bad_files, n - bad_files == 1 ? "" : "s",
           seconds / 60, count[QUALITY_GOOD], count[QUALITY_USABLE], count[QUALITY_BAD]);
    if (bad_files) printf("; %d file%s could not be read", bad_files, bad_files == 1 ? "" : "s");
    putchar('\n');
}

static int show(const args *a, const inspection *all)
{
    int code = EXIT_DONE;
    if (a->json) {
        json_t *clips = json_array();
        for (int i = 0; i < all->n; i++) json_array_append_new(clips, report_json(&all->reports[i]));
        cli_json(json_pack("{s:o}", "clips", clips));
    } else if (all->n > 1) {
        print_table(all->reports, all->n);
    } else if (all->reports[0].status >= 0) {
        print_report(&all->reports[0]);
    }
    for (int i = 0; i < all->n; i++)
        if (all->reports[i].status < 0) code = cli_fail(&all->reports[i].error);
    return code;
}

static int run_motion_info(const args *a)
{
    inspection all = {.n = a->n};
    hrc_error err;
    pool *threads;
    int code = motion_options(a, "fps", &all.options);
    if (code != EXIT_DONE) return code;
    all.reports = calloc((size_t)a->n, sizeof *all.reports);
    if (!all.reports) abort();
    for (int i = 0; i < a->n; i++) all.reports[i].path = a->operands[i];
    if (pool_create(&threads, a->threads, &err) < 0) {
        free(all.reports);
        return cli_fail(&err);
    }
    all.bar = progress_begin(a, "reading");
    pool_items(threads, a->n, inspect_item, &all);
    progress_end(&all.bar);
    pool_free(threads);
    code = cli_interrupted() ? EXIT_INTERRUPTED : show(a, &all);
    free(all.reports);
    return code;
}

static const option OPTIONS[] = {OPTION_QUAT, OPTION_INPUT_FPS("fps"), {0}};

const command CMD_MOTION_INFO = {
    .name = "motion info",
    .operands = "FILE...",
    .summary = "what motion files are, how that was decided, and how good they are",
    .details =
        "One file: every figure. Several: a table. The verdict is good, usable (`motion fix` or a cut\n"
        "helps, or a tracker will err there) or bad (probably not what the file claims).",
    .example = "heracles motion info walk.csv --quat xyzw --fps 30",
    .options = OPTIONS,
    .min_operands = 1,
    .max_operands = -1,
    .run = run_motion_info,
};
