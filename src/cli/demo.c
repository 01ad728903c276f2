/* heracles demo: what the trained controller can do, with the planner off and on; figures on the terminal, a
 * page to look at. Without trained models: plain PD tracking, so that there is something to see. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/commands.h"
#include "cli/models.h"
#include "cli/motion.h"
#include "control/library.h"
#include "eval/builtin.h"
#include "eval/page.h"

#define ACT_S 12.0
#define FALL_S 20 /* getting up takes its time */

typedef struct {
    const args *a;
    models models;
    method methods[2];
    int nmethods;
    course_list list;
    evaluation results;
} show;

/* ---- The programme ---- */

static void push(course *c, double t_s, double ahead, double left)
{
    if (c->ndisturb < COURSE_MAX_DISTURBANCES)
        c->disturb[c->ndisturb++] =
            (disturbance){.kind = DISTURB_PUSH, .t_s = t_s, .xyz = {ahead, left, 0}, .link = G1_TORSO};
}

static hrc_status add_acts(course_list *list, hrc_error *err)
{
    course *knocked;
    TRY(courses_add_stand(list, "knocked over", FALL_S, &knocked, err));
    push(knocked, 1, -5, 0);
    TRY(courses_add_shipped(list, "09_12", "walk, pushed twice", ACT_S, err));
    push(&list->courses[1], 4, 0, 0.6);
    push(&list->courses[1], 8, -0.6, 0);
    return courses_add_shipped(list, "05_04", "dance", ACT_S, err);
}

static hrc_status load_acts(show *s, hrc_error *err)
{
    static const char *const PLAIN[] = {"motions/floor.safetensors", "motions/wave.safetensors"};
    course_options o = {.limit_s = 60, .starts = 1};
    char found[2][4096];
    const char *paths[2] = {found[0], found[1]};
    TRY(motion_reading(s->a, &o.reading, err));
    if (s->a->n) return courses_of_motions(&s->list, s->a->operands, s->a->n, &o, err);
    if (s->methods[0].tracker) return add_acts(&s->list, err);
    for (int i = 0; i < 2; i++) shipped_path(found[i], sizeof found[i], PLAIN[i]);
    return courses_of_motions(&s->list, paths, 2, &o, err);
}

/* Trained models where there are some. Models that were asked for by name must be there. */
static hrc_status choose_methods(show *s, hrc_error *err)
{
    const args *a = s->a;
    char path[4096];
    hrc_options options = control_options(&a->cfg, a->seed);
    const bool planner =
        strcmp(arg(a, "planner"), "on") || shipped_path(path, sizeof path, "models/planner.safetensors");
    if (!arg_given(a, "tracker") && !shipped_path(path, sizeof path, arg(a, "tracker"))) {
        cli_note(a, "there is no %s: plain PD tracking, no balance feedback", arg(a, "tracker"));
        s->methods[s->nmethods++] = (method){.name = "plain PD", .options = options};
        return HRC_OK;
    }
    TRY(models_load(&s->models, a, planner, err));
    s->methods[s->nmethods++] = (method){"planner off", s->models.tracker, NULL, options};
    if (s->models.planner)
        s->methods[s->nmethods++] = (method){"planner on", s->models.tracker, s->models.planner, options};
    return HRC_OK;
}

static hrc_status play(show *s, hrc_error *err)
{
    pool *threads;
    TRY(pool_create(&threads, s->a->threads, err));
    progress bar = progress_begin(s->a, "playing");
    const evaluate_options o = {.cfg = &s->a->cfg,
                                .threads = threads,
                                .record = true,
                                .plans = true,
                                .progress = progress_fraction,
                                .ctx = &bar};
    hrc_status status = evaluate(&s->results, s->methods, s->nmethods, s->list.courses, s->list.n, &o, err);
    progress_end(&bar);
    pool_free(threads);
    return status;
}

/* ---- What there is to see ---- */

static hrc_status write_page(const show *s, hrc_error *err)
{
    const int last = s->nmethods - 1;
    page_item *items = calloc((size_t)s->list.n, sizeof *items);
    if (!items) abort();
    for (int c = 0; c < s->list.n; c++) { /* an act each, its methods side by side */
        const rollout *first = &outcome_of(&s->results, last, c)->record;
        const rollout *second = &outcome_of(&s->results, 0, c)->record;
        items[c] = page_item_of(first);
        items[c].name = s->list.courses[c].name;
        items[c].label = s->methods[last].name;
        items[c].beside_label = s->methods[0].name;
        if (last > 0 && second->n == first->n) items[c].beside = second->qpos;
    }
    hrc_status status = page_write(arg(s->a, "out"), items, s->list.n, NULL, err);
    free(items);
    return status;
}

static double held_s(const show *s, int m, int c)
{
    const course_result *r = &outcome_of(&s->results, m, c)->result;
    return r->figures.progress * r->frames / HRC_RATE_HZ;
}

static json_t *act_json(const show *s, int m, int c)
{
    const course_result *r = &outcome_of(&s->results, m, c)->result;
    json_t *out = json_pack("{s:s, s:f, s:f}", "name", s->list.courses[c].name, "seconds",
                            (double)r->frames / HRC_RATE_HZ, "held_s", held_s(s, m, c));
    for (int f = 0; f < FIGURE_COUNT; f++)
        json_object_set_new(out, FIGURE[f].name, json_number(figure_of(&r->figures, f)));
    return out;
}

static int print_json(const show *s)
{
    json_t *methods = json_array();
    for (int m = 0; m < s->nmethods; m++) {
        json_t *acts = json_array();
        for (int c = 0; c < s->list.n; c++) json_array_append_new(acts, act_json(s, m, c));
        json_array_append_new(methods, json_pack("{s:s, s:o}", "name", s->methods[m].name, "motions", acts));
    }
    return cli_json(json_pack("{s:s, s:o}", "page", arg(s->a, "out"), "methods", methods));
}

static int print_text(const show *s)
{
    printf("  %-20s %-12s %8s %10s %8s %8s %8s %8s\n", "motion", "", "length", "held for", "complete",
           "joints", "height", "tilt");
    for (int c = 0; c < s->list.n; c++)
        for (int m = 0; m < s->nmethods; m++) {
            const course_result *r = &outcome_of(&s->results, m, c)->result;
            printf("  %-20.20s %-12s %6.1f s %8.1f s %6.1f %% %4.2f rad %6.3f m %4.2f rad\n",
                   m ? "" : s->list.courses[c].name, s->methods[m].name, (double)r->frames / HRC_RATE_HZ,
                   held_s(s, m, c), 100 * r->figures.cr, r->figures.joint_rad, r->figures.height_m,
                   r->figures.ori_rad);
        }
    printf("Open %s in a browser to watch; the blue ghost is the reference.\n", arg(s->a, "out"));
    return EXIT_DONE;
}

static int run_demo(const args *a)
{
    hrc_error err;
    show *s = calloc(1, sizeof *s);
    if (!s) abort();
    s->a = a;
    hrc_status status = choose_methods(s, &err);
    if (status == HRC_OK) status = load_acts(s, &err);
    if (status == HRC_OK) status = play(s, &err);
    if (status == HRC_OK) status = write_page(s, &err);
    int code = status < 0 ? cli_fail(&err) : a->json ? print_json(s) : print_text(s);
    evaluation_free(&s->results);
    courses_free(&s->list);
    models_free(&s->models);
    free(s);
    return code;
}

static const option OPTIONS[] = {
    OPTION_TRACKER, OPTION_PLANNER, {"out", "FILE", "demo.html", "the page to write"}, OPTIONS_READING, {0},
};

const command CMD_DEMO = {
    .name = "demo",
    .operands = "[MOTION...]",
    .summary = "be knocked over and get up, walk and be pushed, dance: planner on and off, a page",
    .details = "With motions: those instead. Without trained models: plain PD tracking. With the planner\n"
               "a robot that fell gets up again.",
    .example = "heracles demo -o demo.html",
    .options = OPTIONS,
    .max_operands = -1,
    .run = run_demo,
};
