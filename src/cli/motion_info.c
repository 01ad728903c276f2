/* heracles motion info: what a motion file is, how that was decided, and how good it is. */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/pool.h"
#include "cli/commands.h"
#include "cli/motion.h"
#include "motion/retarget/skeleton_map.h"

typedef struct {
    const char *path;
    hrc_status status;
    hrc_error error;
    clip_decisions why;
    bool human; /* a BVH: `person` holds, else the fields after it */
    skeleton person;
    quality q;
    char name[128], category[64], source[160], licence[160];
} report;

static hrc_status inspect_clip(report *r, const clip_options *options)
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

static hrc_status inspect(report *r, const clip_options *options)
{
    file_view bytes;
    /* What is no file may still be a clip of a corpus, FILE#NAME. */
    if (file_map(r->path, &bytes, NULL) < 0) return inspect_clip(r, options);
    r->human = skeleton_is_bvh(bytes);
    hrc_status status =
        r->human ? skeleton_describe(&r->person, r->path, bytes, options->fps, &r->error) : HRC_OK;
    file_unmap(&bytes);
    return r->human ? status : inspect_clip(r, options);
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

static json_t *person_json(const report *r)
{
    const skeleton *p = &r->person;
    return json_pack("{s:s, s:s, s:{s:s, s:s}, s:i, s:s, s:i, s:f, s:f, s:f, s:f, s:[f,f], s:f}", "file",
                     r->path, "name", p->name, "decided", "format", "BVH of a human skeleton", "unit",
                     p->unit_why, "joints", p->joints, "root", p->root, "frames", p->frames, "fps", p->fps,
                     "seconds", p->seconds, "unit_m", p->unit, "height_m", p->height, "root_height_m",
                     p->root_lo, p->root_hi, "travelled_m", p->travelled);
}

static json_t *report_json(const report *r)
{
    if (r->status < 0) return json_pack("{s:s, s:s}", "file", r->path, "error", r->error.text);
    if (r->human) return person_json(r);
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

static void print_person(const skeleton *p)
{
    print_line("format", "BVH of a human skeleton, y up; must be retargeted to become a clip of the G1");
    print_line("unit", p->unit_why);
    printf("  %-18s %d, the root is %s\n", "joints", p->joints, p->root);
    printf("  %-18s %.2f s, %d frames at %g fps\n", "length", p->seconds, p->frames, p->fps);
    printf("  %-18s %.2f m between lowest and highest joint, arms included (95 %% of the frames have less)\n",
           "height", p->height);
    printf("  %-18s %.2f to %.2f m\n", "root height", p->root_lo, p->root_hi);
    printf("  %-18s %.2f m over the floor\n", "travelled", p->travelled);
}

static void print_report(const report *r)
{
    printf("%s\n", r->path);
    if (r->human) {
        print_person(&r->person);
        return;
    }
    print_line("format", r->why.format);
    print_line("frame rate", r->why.fps);
    print_line("joint order", r->why.joints);
    print_line("quaternion order", r->why.quat);
    print_line("category", r->category);
    print_line("source", r->source);
    print_line("licence", r->licence);
    quality_print(&r->q);
}

/* The clips of the robot; returns how many there are. */
static int print_clips(const report *reports, int n)
{
    int clips = 0, count[3] = {0};
    double seconds = 0;
    for (int i = 0; i < n; i++) {
        const report *r = &reports[i];
        if (r->status < 0 || r->human) continue;
        if (clips++ == 0) quality_row_head();
        quality_row(r->name, &r->q);
        count[r->q.verdict]++;
        seconds += r->q.seconds;
    }
    if (clips)
        printf("%d clip%s, %.1f min: %d good, %d usable, %d bad\n", clips, clips == 1 ? "" : "s",
               seconds / 60, count[QUALITY_GOOD], count[QUALITY_USABLE], count[QUALITY_BAD]);
    return clips;
}

static int print_people(const report *reports, int n)
{
    int people = 0;
    double seconds = 0;
    for (int i = 0; i < n; i++) {
        const skeleton *p = &reports[i].person;
        if (reports[i].status < 0 || !reports[i].human) continue;
        if (people++ == 0)
            printf("%-32s %8s %6s %6s %8s %8s %8s %10s\n", "human skeleton (BVH)", "length s", "fps",
                   "joints", "unit m", "height m", "root m", "travelled m");
        printf("%-32.32s %8.1f %6.4g %6d %8.5f %8.2f %8.2f %11.1f\n", p->name, p->seconds, p->fps, p->joints,
               p->unit, p->height, p->root_lo, p->travelled);
        seconds += p->seconds;
    }
    if (people)
        printf("%d human motion%s, %.1f min: to be retargeted\n", people, people == 1 ? "" : "s",
               seconds / 60);
    return people;
}

static void print_tables(const report *reports, int n)
{
    int unread = n - print_clips(reports, n) - print_people(reports, n);
    if (unread) printf("%d file%s could not be read\n", unread, unread == 1 ? "" : "s");
}

static int show(const args *a, const inspection *all)
{
    int code = EXIT_DONE;
    if (a->json) {
        json_t *clips = json_array();
        for (int i = 0; i < all->n; i++) json_array_append_new(clips, report_json(&all->reports[i]));
        cli_json(json_pack("{s:o}", "clips", clips));
    } else if (all->n > 1) {
        print_tables(all->reports, all->n);
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
    int code = motion_options(a, &all.options);
    if (code != EXIT_DONE) return code;
    all.options.noted = NULL; /* the report has it */
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

static const option OPTIONS[] = {OPTIONS_READING, {0}};

const command CMD_MOTION_INFO = {
    .name = "motion info",
    .operands = "FILE...",
    .summary = "what motion files are, how that was decided, and how good they are",
    .details =
        "One file: every figure. Several: a table. The verdict is good, usable (`motion fix` or a cut\n"
        "helps, or a tracker will err there) or bad (probably not what the file claims).",
    .example = "heracles motion info walk.csv --quat xyzw --in-fps 30",
    .options = OPTIONS,
    .min_operands = 1,
    .max_operands = -1,
    .run = run_motion_info,
};
