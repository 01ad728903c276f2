/* heracles eval: the closed loop in the simulator on many motions; tables, JSON, requirements. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/commands.h"
#include "cli/models.h"
#include "eval/courses.h"
#include "eval/evaluate.h"

#define MAX_CATEGORIES 64

typedef struct {
    const args *a;
    models models;
    course_list list;
    method method;
    evaluation results;
    summary all;
    const char *categories[MAX_CATEGORIES];
    int ncategories;
} session;

/* ---- What is asked ---- */

static int read_course_options(const args *a, course_options *o)
{
    double limit = 20, hold = 0, starts = 1;
    if (!arg_number(a, "limit", 0.1, 3600, &limit) || !arg_number(a, "hold", 0.02, 60, &hold) ||
        !arg_number(a, "starts", 1, 1000, &starts))
        return EXIT_USAGE;
    if (starts != floor(starts)) return cli_usage(a, "--starts is %g, expected a whole number", starts);
    *o = (course_options){limit, hold, (int)starts};
    return EXIT_DONE;
}

static hrc_status load_courses(session *s, const course_options *o, hrc_error *err)
{
    const args *a = s->a;
    if (arg(a, "suite")) return courses_of_suite(&s->list, arg(a, "suite"), arg(a, "corpus"), o, err);
    return courses_of_motions(&s->list, a->operands, a->n, o, err);
}

/* "cr=0.9": the figure's mean must reach it, or stay below where less is better. */
static int parse_requirement(const args *a, int *figure, double *bound)
{
    const char *text = arg(a, "require");
    *figure = -1;
    if (!text) return EXIT_DONE;
    size_t length = strcspn(text, "=");
    for (int f = 0; f < FIGURE_COUNT; f++)
        if (strlen(FIGURE[f].name) == length && !strncmp(text, FIGURE[f].name, length)) *figure = f;
    char *end = NULL;
    if (*figure >= 0 && text[length] == '=') *bound = strtod(text + length + 1, &end);
    if (!end || end == text + length + 1 || *end || !isfinite(*bound))
        return cli_usage(a, "--require is \"%.60s\", expected a figure and its bound like cr=0.9", text);
    return EXIT_DONE;
}

/* ---- What comes out ---- */

static void add_figures(json_t *to, const summary *s)
{
    json_t *intervals = json_object();
    json_object_set_new(to, "n", json_integer(s->n));
    for (int f = 0; f < FIGURE_COUNT; f++) {
        json_object_set_new(to, FIGURE[f].name, json_number(figure_of(&s->mean, f)));
        json_object_set_new(
            intervals, FIGURE[f].name,
            json_pack("[o, o]", json_number(figure_of(&s->low, f)), json_number(figure_of(&s->high, f))));
    }
    json_object_set_new(to, "interval95", intervals);
}

static json_t *course_json(const session *s, int i)
{
    const course *t = &s->list.courses[i];
    const course_result *r = &outcome_of(&s->results, 0, i)->result;
    json_t *row = json_pack("{s:s, s:s, s:i, s:i}", "name", t->name, "category", t->category, "first",
                            t->first, "frames", r->frames);
    for (int f = 0; f < FIGURE_COUNT; f++)
        json_object_set_new(row, FIGURE[f].name, json_number(figure_of(&r->figures, f)));
    json_object_set_new(row, "diverged", json_boolean(r->diverged));
    return row;
}

static int print_json(const session *s)
{
    const args *a = s->a;
    json_t *out = json_pack("{s:s, s:s, s:s?, s:I}", "tracker", s->models.tracker_path, "planner",
                            s->models.planner_path, "suite", arg(a, "suite"), "seed", (json_int_t)a->seed);
    json_t *categories = json_object(), *clips = json_array();
    add_figures(out, &s->all);
    for (int c = 0; c < s->ncategories; c++) {
        summary part;
        json_t *row = json_object();
        summarise(&part, &s->results, 0, s->list.courses, s->categories[c]);
        add_figures(row, &part);
        json_object_set_new(categories, s->categories[c], row);
    }
    json_object_set_new(out, "categories", categories);
    for (int i = 0; i < s->list.n; i++) json_array_append_new(clips, course_json(s, i));
    json_object_set_new(out, "clips", clips);
    return cli_json(out);
}

static void print_row(const char *name, const summary *s)
{
    printf("  %-22.22s %4d %6.1f %% %8.3f %8.3f %8.3f %8.3f %6.1f %% %6.1f %%\n", name, s->n,
           100 * s->mean.cr, s->mean.joint_rad, s->mean.height_m, s->mean.ori_rad, s->mean.linvel_mps,
           100 * s->mean.progress, 100 * s->mean.success);
}

static int print_text(const session *s)
{
    printf("tracker %s, planner %s\n", s->models.tracker_path, s->models.planner_path);
    printf("  %-22s %4s %8s %8s %8s %8s %8s %8s %8s\n", "", "n", "CR", "joints", "height", "tilt", "velocity",
           "progress", "success");
    for (int c = 0; c < s->ncategories && s->ncategories > 1; c++) {
        summary part;
        summarise(&part, &s->results, 0, s->list.courses, s->categories[c]);
        print_row(s->categories[c], &part);
    }
    print_row("all", &s->all);
    printf("  CR: 95 %% interval %.1f to %.1f %%. Joints, tilt in rad, height in m, velocity in m/s.\n",
           100 * s->all.low.cr, 100 * s->all.high.cr);
    return EXIT_DONE;
}

/* ---- The command ---- */

static void show(void *ctx, double fraction)
{
    progress_show(ctx, fraction, "");
}

static hrc_status measure(session *s, const course_options *o, hrc_error *err)
{
    pool *threads = NULL;
    hrc_status status = models_load(&s->models, s->a, err);
    if (status == HRC_OK) status = load_courses(s, o, err);
    if (status == HRC_OK) status = pool_create(&threads, s->a->threads, err);
    if (status == HRC_OK) {
        progress bar = progress_begin(s->a, "evaluating");
        s->method = (method){"", s->models.tracker, s->models.planner, hrc_defaults()};
        s->method.options.plan.seed = s->a->seed;
        const evaluate_options options = {
            .cfg = &s->a->cfg, .threads = threads, .progress = show, .ctx = &bar};
        status = evaluate(&s->results, &s->method, 1, s->list.courses, s->list.n, &options, err);
        progress_end(&bar);
    }
    pool_free(threads);
    TRY(status);
    s->ncategories = categories_of(s->categories, MAX_CATEGORIES, s->list.courses, s->list.n);
    summarise(&s->all, &s->results, 0, s->list.courses, NULL);
    return HRC_OK;
}

static int missed(const args *a, const summary *s, int figure, double bound)
{
    if (figure < 0) return EXIT_DONE;
    const double found = figure_of(&s->mean, figure);
    if (FIGURE[figure].more_is_better ? found >= bound : found <= bound) return EXIT_DONE;
    fprintf(stderr, "heracles: %s is %.6g, required %s %g\n", FIGURE[figure].name, found,
            FIGURE[figure].more_is_better ? "at least" : "at most", bound);
    (void)a;
    return EXIT_MISSED;
}

static int run_eval(const args *a)
{
    hrc_error err;
    course_options o;
    session s = {.a = a};
    int figure;
    double bound = 0;
    int code = read_course_options(a, &o);
    if (code == EXIT_DONE) code = parse_requirement(a, &figure, &bound);
    if (code != EXIT_DONE) return code;
    if ((arg(a, "suite") != NULL) == (a->n > 0)) return cli_usage(a, "give --suite NAME or --motion FILE...");
    if (measure(&s, &o, &err) < 0) {
        code = cli_fail(&err);
    } else {
        code = a->json ? print_json(&s) : print_text(&s);
        if (code == EXIT_DONE) code = missed(a, &s.all, figure, bound);
    }
    evaluation_free(&s.results);
    courses_free(&s.list);
    models_free(&s.models);
    return code;
}

static const option OPTIONS[] = {
    {"suite", "NAME", NULL, "heldout101, recovery, smoke, or a FILE.csv (docs/evaluation.md)"},
    {"motion", "FILE...", NULL, "these motions instead: CSV, NPZ, safetensors, CORPUS#CLIP"},
    OPTION_TRACKER,
    OPTION_PLANNER,
    {"corpus", "FILE", NULL, "where a suite's clips are; default: the shipped corpus"},
    {"starts", "N", "1", "roll out from N evenly spread frames of each motion, frame 0 among them"},
    {"hold", "SECONDS", NULL, "hold every pose of the references for as long (discretized references)"},
    {"limit", "SECONDS", "20", "longest rollout"},
    {"require", "FIGURE=X", NULL, "exit 3 when the mean misses it: cr=0.9, joint_rad=1.2, ..."},
    {0},
};

const command CMD_EVAL = {
    .name = "eval",
    .operands = "[MOTION...]",
    .summary = "the closed loop in the simulator on a suite or on motions: figures, report",
    .details =
        "cr        share of frames with root height within 0.3 m and tilt within 1.2 rad of the reference's\n"
        "joint_rad L2 over 29 joints; height_m, ori_rad (without heading), linvel_mps of the root\n"
        "progress  share of frames before the first one out of these bounds\n"
        "success   1 when height never was off by 0.25 m or gravity's vertical part by 0.8\n"
        "All are means over frames, then over rollouts.",
    .example = "heracles eval --suite smoke --planner off --json",
    .options = OPTIONS,
    .max_operands = -1,
    .run = run_eval,
};
