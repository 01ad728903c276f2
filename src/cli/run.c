/* heracles run: motions in the simulator under the trained controller, one after the other; a page to watch.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/commands.h"
#include "cli/models.h"
#include "cli/motion.h"
#include "control/library.h"
#include "eval/courses.h"
#include "eval/page.h"
#include "eval/performance.h"
#include "eval/posture.h"

#define MAX_DISTURBANCES 64
#define PUNCH_S 0.08

typedef struct {
    models models;
    course_list list;
    performance p;
    disturbance disturb[MAX_DISTURBANCES];
    double start[HRC_NQ];
    int first; /* frame of the first motion */
    rollout record;
    course_result result;
} show;

/* ---- Words of the command line ---- */

static int later(const void *a, const void *b)
{
    const double x = ((const disturbance *)a)->t_s, y = ((const disturbance *)b)->t_s;
    return (x > y) - (x < y);
}

/* "T:X,Y,..." joined by ';': at T seconds, so much ahead and to the left. */
static int parse_disturbances(const args *a, show *s, const char *name, disturb_kind kind)
{
    const char *at = arg(a, name);
    while (at && *at) {
        disturbance d = {.kind = kind, .link = G1_TORSO, .seconds = PUNCH_S};
        int used = 0;
        if (sscanf(at, "%lf:%lf,%lf%n", &d.t_s, &d.xyz[0], &d.xyz[1], &used) != 3 ||
            (at[used] && at[used] != ';') ||
            !(d.t_s >= 0 && fabs(d.xyz[0]) <= 1e5 && fabs(d.xyz[1]) <= 1e5) ||
            s->p.ndisturb == MAX_DISTURBANCES)
            return cli_usage(a, "--%s is \"%.60s\", expected SECONDS:AHEAD,LEFT and ';' between several",
                             name, arg(a, name));
        s->disturb[s->p.ndisturb++] = d;
        at += used + (at[used] == ';');
    }
    s->p.disturb = s->disturb;
    qsort(s->disturb, (size_t)s->p.ndisturb, sizeof *s->disturb, later);
    return EXIT_DONE;
}

/* A frame of the first motion, or a posture, which the simulator finds later. */
static int parse_start(const args *a, show *s)
{
    const char *text = arg(a, "start");
    char *end;
    long frame = strtol(text, &end, 10);
    if (end != text && *end)
        return cli_usage(a, "--start is \"%.40s\", expected a frame or one of " POSTURES, text);
    if (end == text) s->p.start = s->start;
    if (end != text && (frame < 0 || frame >= CLIP_MAX_FRAMES))
        return cli_usage(a, "--start is frame %ld, expected at least 0", frame);
    s->first = end == text ? 0 : (int)frame;
    return EXIT_DONE;
}

/* ---- Doing it ---- */

static void status_line(void *ctx, double t_s, const char *motion, const hrc_report *r)
{
    char words[160];
    snprintf(words, sizeof words, "%6.2f s  %s %d/%d%s  joints %.2f rad off  %lld plans, %lld refused", t_s,
             motion, r->frame, r->frames - 1,
             r->waiting      ? " (waits)"
             : r->off > 0.99 ? " (lost)"
                             : "",
             r->gap_rad, (long long)r->plans, (long long)(r->plans - r->verdicts[HRC_FINE]));
    progress_show(ctx, r->frames > 1 ? (double)r->frame / (r->frames - 1) : 0, words);
}

static hrc_status load_motions(const args *a, show *s, hrc_error *err)
{
    course_options o = {.limit_s = 3600, .starts = 1};
    TRY(motion_reading(a, &o.reading, err));
    TRY(courses_of_motions(&s->list, a->operands, a->n, &o, err));
    course *first = &s->list.courses[0];
    if (s->first >= first->motion.n - 1)
        return fail(err, HRC_EINVAL, "%s: cannot start at frame %d, it has 0 to %d (at 50 fps)", first->name,
                    s->first, first->motion.n - 1);
    first->first = s->first;
    s->p.courses = s->list.courses;
    s->p.n = s->list.n;
    return HRC_OK;
}

static hrc_status play(const args *a, show *s, hrc_error *err)
{
    pool *threads = NULL;
    sim *physics = NULL;
    hrc_controller *c = NULL;
    const hrc_options options = control_options(&a->cfg, a->seed);
    progress bar = progress_begin(a, "run");
    s->p.tick = status_line, s->p.ctx = &bar;
    hrc_status status = pool_create(&threads, 1, err);
    if (status == HRC_OK) status = sim_create(&physics, &a->cfg, threads, err);
    if (status == HRC_OK && s->p.start)
        status = posture_lying(s->start, arg(a, "start"), 0, 0, physics, 0, err);
    if (status == HRC_OK)
        status = hrc_controller_create(&c, s->models.tracker, s->models.planner, &options, err);
    if (status == HRC_OK) status = perform(&s->record, &s->result, &s->p, c, physics, err);
    progress_end(&bar);
    hrc_controller_free(c);
    sim_free(physics);
    pool_free(threads);
    return status;
}

static hrc_status write_files(const args *a, const show *s, hrc_error *err)
{
    const page_item item = page_item_of(&s->record);
    if (arg(a, "record")) TRY(rollout_save(&s->record, arg(a, "record"), err));
    return page_write(arg(a, "out"), &item, 1, NULL, err);
}

/* ---- What came of it ---- */

static int report(const args *a, const show *s)
{
    const course_result *r = &s->result;
    const double seconds = (double)r->frames / HRC_RATE_HZ;
    const long long refused = (long long)(r->plans - r->verdicts[HRC_FINE]);
    if (a->json) {
        json_t *out =
            json_pack("{s:s, s:f, s:I, s:I, s:b}", "page", arg(a, "out"), "seconds", seconds, "plans",
                      (json_int_t)r->plans, "refused", (json_int_t)refused, "diverged", r->diverged);
        for (int f = 0; f < FIGURE_COUNT; f++)
            json_object_set_new(out, FIGURE[f].name, json_number(figure_of(&r->figures, f)));
        cli_json(out);
        return r->diverged ? EXIT_FAILED : EXIT_DONE;
    }
    printf("%.1f s: completion %.1f %%, joints %.2f rad, height %.3f m, tilt %.2f rad off\n", seconds,
           100 * r->figures.cr, r->figures.joint_rad, r->figures.height_m, r->figures.ori_rad);
    if (r->plans)
        printf("%lld plans, %lld refused, %.1f ms each\n", (long long)r->plans, refused, r->plan_ms);
    printf("Open %s in a browser to watch.\n", arg(a, "out"));
    if (!r->diverged) return EXIT_DONE;
    fprintf(stderr, "heracles: the simulation diverged: from there on the figures mean nothing\n");
    return EXIT_FAILED;
}

static int run_run(const args *a)
{
    hrc_error err;
    if (a->n == 0) return cli_usage(a, "which motion? give --motion FILE");
    show *s = calloc(1, sizeof *s);
    if (!s) abort();
    int code = parse_start(a, s);
    if (code == EXIT_DONE) code = parse_disturbances(a, s, "push", DISTURB_PUSH);
    if (code == EXIT_DONE) code = parse_disturbances(a, s, "punch", DISTURB_PUNCH);
    if (code == EXIT_DONE && !arg_number(a, "hold", 0, 3600, &s->p.hold_s)) code = EXIT_USAGE;
    if (code == EXIT_DONE) {
        hrc_status status = models_load(&s->models, a, true, &err);
        if (status == HRC_OK) status = load_motions(a, s, &err);
        if (status == HRC_OK) status = play(a, s, &err);
        if (status == HRC_OK) status = write_files(a, s, &err);
        code = status < 0 ? cli_fail(&err) : report(a, s);
    }
    rollout_free(&s->record);
    courses_free(&s->list);
    models_free(&s->models);
    free(s);
    return code;
}

static const option OPTIONS[] = {
    {"motion", "FILE...", NULL, "motions, one after the other: CSV, NPZ, safetensors, CORPUS#CLIP"},
    OPTION_TRACKER,
    OPTION_PLANNER,
    {"start", "WHERE", "0", "a frame of the first motion, or " POSTURES},
    {"push", "T:X,Y", NULL, "at T s push by X m/s ahead and Y to the left; ';' between several"},
    {"punch", "T:X,Y", NULL, "likewise with X and Y newtons on the torso for 0.08 s"},
    {"hold", "SECONDS", "1", "hold the last frame of each motion"},
    {"record", "FILE", NULL, "write the rollout (safetensors), for 'heracles view'"},
    {"out", "FILE", "run.html", "the page (-o)"},
    OPTIONS_READING,
    {0},
};

const command CMD_RUN = {
    .name = "run",
    .operands = "[MOTION...]",
    .summary = "motions in the simulator under the trained controller, a page to watch",
    .details =
        "On the page: the robot, its reference as a blue ghost, the planner's keyframes as green ones,\n"
        "and on the timeline green where the planner rewrote the reference.",
    .example = "heracles run --motion motions/wave.safetensors --push '2:1.5,0' -o run.html",
    .options = OPTIONS,
    .max_operands = -1,
    .run = run_run,
};
