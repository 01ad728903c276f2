#include "eval/report.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/status.h"
#include "eval/builtin.h"
#include "eval/evaluate.h"
#include "eval/page.h"

/* ---- The paper's own figures ---- */

/* The paper's own figures, to stand beside ours: its tables on held-out motions, on fall and recovery, and of
 * the planner's ablations. Other robots' motions, other training budgets: for orientation, not for a ranking.
 */
typedef struct {
    const char *method;
    double cr, joint_rad, height_m, ori_rad, linvel_mps;
} paper_row;

static const paper_row HELDOUT[] = {
    {"MLP", 0.848, 1.1572, 0.1194, 0.3590, 0.2230},
    {"Transformer", 0.806, 1.5436, 0.1426, 0.3410, 0.2046},
    {"VQ-VAE", 0.860, 2.3013, 0.1077, 0.3675, 0.2376},
    {"SONIC", 0.793, 1.9828, 0.1402, 0.3771, 0.2334},
    {"iFSQ-BM", 0.851, 1.4760, 0.1096, 0.3474, 0.2362},
    {"iFSQ+H", 0.873, 1.2924, 0.0271, 0.1539, 0.1709},
    {"iFSQ", 0.872, 1.1863, 0.0955, 0.3614, 0.1561},
    {"Heracles", 0.906, 1.3272, 0.0764, 0.2728, 0.2325},
    {"Heracles, no warm start", 0.872, 1.6236, 0.0962, 0.3393, 0.2423},
    {"Heracles, no noise", 0.786, 1.8896, 0.1463, 0.4318, 0.2182},
    {"Heracles, no weighting", 0.821, 1.6931, 0.1200, 0.4055, 0.2394},
};

static const paper_row RECOVERY[] = {
    {"MLP", 0.440, 2.1720, 0.3586, 1.0157, 0.2710},
    {"Transformer", 0.406, 2.8309, 0.3706, 0.8355, 0.2708},
    {"VQ-VAE", 0.698, 2.5700, 0.1898, 0.4307, 0.2719},
    {"SONIC", 0.428, 2.9897, 0.3342, 0.8629, 0.2895},
    {"iFSQ-BM", 0.524, 2.4482, 0.2880, 0.9109, 0.3134},
    {"iFSQ+H", 0.527, 1.7660, 0.0419, 0.2744, 0.2793},
    {"iFSQ", 0.482, 2.0236, 0.3024, 1.0488, 0.2405},
    {"Heracles", 0.900, 1.4114, 0.0762, 0.2427, 0.2830},
};

/* The rows that belong to a suite of this name; 0 when there are none. */
static int paper_rows(const paper_row **out, const char *of)
{
    if (!strcmp(of, "heldout101")) return *out = HELDOUT, COUNT(HELDOUT);
    if (!strcmp(of, "recovery")) return *out = RECOVERY, COUNT(RECOVERY);
    return 0;
}

#define STRIDE 2 /* replays at 25 Hz: half the bytes, and pages interpolate */
#define MAX_CATEGORIES 64
#define IDENTITY_POINTS 1500

/* ---- Tables ---- */

static json_t *numbers(const figures *f)
{
    json_t *out = json_array();
    for (int i = 0; i < FIGURE_COUNT; i++) json_array_append_new(out, json_number(figure_of(f, i)));
    return out;
}

static json_t *summary_json(const summary *s)
{
    return json_pack("{s:i, s:o, s:o, s:o}", "n", s->n, "mean", numbers(&s->mean), "low", numbers(&s->low),
                     "high", numbers(&s->high));
}

static json_t *endurance_json(const report *r, int m, const char *category)
{
    endurance e;
    endurance_of(&e, r->results, m, r->courses, category);
    if (!e.n) return json_null();
    json_t *largest[2] = {json_array(), json_array()};
    for (int k = 0; k < 2; k++)
        for (int d = 0; d < BUILTIN_DIRECTIONS; d++)
            json_array_append_new(largest[k], json_number(e.largest[k][d]));
    return json_pack("{s:i, s:f, s:f, s:o, s:o, s:o, s:o, s:o}", "n", e.n, "survived", e.survived,
                     "recovered", e.recovered, "late", json_number(e.recovered_late), "back",
                     json_number(e.back), "half", json_number(e.stand_p50_s), "push", largest[DISTURB_PUSH],
                     "punch", largest[DISTURB_PUNCH]);
}

static json_t *plans_json(const report *r, int m)
{
    int64_t plans = 0, verdicts[HRC_VERDICTS] = {0};
    double ms = 0;
    json_t *counts = json_object();
    for (int i = 0; i < r->results->ncourses; i++) {
        const course_result *c = &outcome_of(r->results, m, i)->result;
        plans += c->plans;
        ms += c->plan_ms * (double)c->plans;
        for (int v = 0; v < HRC_VERDICTS; v++) verdicts[v] += c->verdicts[v];
    }
    for (int v = 0; v < HRC_VERDICTS; v++)
        json_object_set_new(counts, hrc_verdict_name((hrc_verdict)v), json_integer(verdicts[v]));
    return json_pack("{s:I, s:f, s:o}", "made", (json_int_t)plans, "ms", plans ? ms / (double)plans : 0,
                     "verdicts", counts);
}

/* Of frames with a plan: how far the robot is from the reference, how far the plan is. Evenly thinned. */
static json_t *identity_json(const report *r, int m)
{
    int64_t frames = 0, seen = 0;
    json_t *points = json_array();
    for (int pass = 0; pass < 2; pass++)
        for (int i = 0; i < r->results->ncourses; i++) {
            const rollout *o = &outcome_of(r->results, m, i)->record;
            for (int k = 0; o->signals && k < o->n; k++) {
                const float *s = o->signals + (size_t)k * SIGNALS;
                if (!(s[SIGNAL_PLANNED] > 0)) continue;
                if (pass == 0)
                    frames++;
                else if (seen++ % (frames / IDENTITY_POINTS + 1) == 0)
                    json_array_append_new(
                        points, json_pack("[f, f]", (double)s[SIGNAL_GAP], (double)s[SIGNAL_REWRITE]));
            }
        }
    return points;
}

/* Beside the tracker alone: {"method", "rates": {"all", category: difference}, "n", "ratio"}, or null. */
static json_t *against_json(const report *r, int m, const char *const *categories, int n)
{
    const int base = compare_base(r->methods, r->results->nmethods);
    if (base < 0 || !r->methods[m].planner) return json_null();
    const identity same = compare_identity(r->results, base, m);
    json_t *rates = json_object();
    json_object_set_new(rates, "all", json_number(compare_rate(r->results, base, m, r->courses, NULL)));
    for (int c = 0; c < n; c++)
        json_object_set_new(rates, categories[c],
                            json_number(compare_rate(r->results, base, m, r->courses, categories[c])));
    return json_pack("{s:s, s:o, s:i, s:o}", "method", r->methods[base].name, "rates", rates, "n", same.n,
                     "ratio", json_number(same.ratio));
}

/* [{"part", "n", "mean"}]; null when not measured. */
static json_t *natural_json(const report *r, int m)
{
    static const char *const PART[] = {"whole rollouts", "while out of bounds"};
    if (!r->natural) return json_null();
    json_t *out = json_array();
    for (int recovery = 0; recovery < 2; recovery++) {
        naturalness mean;
        json_t *values = json_array();
        const int n = natural_mean(&mean, r->natural, r->results, m, r->courses, NULL, recovery);
        for (int f = 0; f < NATURAL_COUNT; f++)
            json_array_append_new(values, json_number(natural_at(&mean, f)));
        json_array_append_new(out,
                              json_pack("{s:s, s:i, s:o}", "part", PART[recovery], "n", n, "mean", values));
    }
    return out;
}

static json_t *method_json(const report *r, int m)
{
    const method *row = &r->methods[m];
    const char *categories[MAX_CATEGORIES];
    summary s;
    json_t *parts = json_object();
    char names[2][128]; /* of the models, without their folders */
    file_stem(names[0], sizeof names[0], r->tracker_paths[m]);
    file_stem(names[1], sizeof names[1], r->planner_paths[m]);
    summarise(&s, r->results, m, r->courses, NULL);
    json_t *all = summary_json(&s);
    int n = categories_of(categories, MAX_CATEGORIES, r->courses, r->results->ncourses);
    for (int c = 0; c < n; c++) {
        summarise(&s, r->results, m, r->courses, categories[c]);
        json_t *part = summary_json(&s);
        json_object_set_new(part, "endurance", endurance_json(r, m, categories[c]));
        json_object_set_new(parts, categories[c], part);
    }
    return json_pack("{s:s, s:s, s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "name", row->name, "tracker",
                     names[0], "planner", names[1], "all", all, "categories", parts, "plans",
                     plans_json(r, m), "endurance", endurance_json(r, m, NULL), "identity",
                     identity_json(r, m), "against", against_json(r, m, categories, n), "natural",
                     natural_json(r, m));
}

static json_t *paper_json(const char *name)
{
    const paper_row *rows;
    json_t *out = json_array();
    for (int i = 0, n = paper_rows(&rows, name); i < n; i++)
        json_array_append_new(out, json_pack("{s:s, s:[f, f, f, f, f]}", "name", rows[i].method, "mean",
                                             rows[i].cr, rows[i].joint_rad, rows[i].height_m, rows[i].ori_rad,
                                             rows[i].linvel_mps));
    return out;
}

static json_t *figures_json(void)
{
    json_t *out = json_array();
    for (int f = 0; f < FIGURE_COUNT; f++)
        json_array_append_new(out, json_pack("{s:s, s:s, s:s, s:b}", "name", FIGURE[f].name, "heading",
                                             FIGURE[f].heading, "unit", FIGURE[f].unit, "more",
                                             FIGURE[f].more_is_better));
    return out;
}

static json_t *natural_heads_json(void)
{
    json_t *out = json_array();
    for (int f = 0; f < NATURAL_COUNT; f++)
        json_array_append_new(
            out, json_pack("{s:s, s:s}", "heading", NATURAL[f].heading, "unit", NATURAL[f].unit));
    return out;
}

/* The figures of a rollout stand beside the number of its replay: methods one after the other. */
static json_t *courses_json(const report *r)
{
    json_t *out = json_array();
    const int n = r->results->ncourses;
    for (int i = 0; i < n; i++) {
        json_t *rows = json_array();
        for (int m = 0; m < r->results->nmethods; m++)
            json_array_append_new(rows, json_pack("{s:i, s:o}", "item", m * n + i, "figures",
                                                  numbers(&outcome_of(r->results, m, i)->result.figures)));
        json_array_append_new(out, json_pack("{s:s, s:s, s:s, s:f, s:o}", "name", r->courses[i].name,
                                             "description", r->courses[i].description, "category",
                                             r->courses[i].category, "seconds",
                                             (double)r->courses[i].frames / HRC_RATE_HZ, "rows", rows));
    }
    return out;
}

static json_t *tokens_json(const report *r)
{
    const codebook *b = r->tokens;
    if (!b) return json_null();
    json_t *points = json_array();
    for (int i = 0; i < b->n; i++)
        json_array_append_new(points, json_pack("[f, f, f, s]", (double)b->xyz[i][0], (double)b->xyz[i][1],
                                                (double)b->xyz[i][2], r->courses[b->course[i]].category));
    return json_pack("{s:o, s:[f, f, f], s:f, s:f, s:f, s:f, s:f}", "points", points, "explained",
                     b->explained[0], b->explained[1], b->explained[2], "purity", b->purity, "chance",
                     b->chance, "used", b->used, "entropy", b->entropy, "saturated", b->saturated);
}

static json_t *report_json(const report *r)
{
    json_t *methods = json_array();
    for (int m = 0; m < r->results->nmethods; m++) json_array_append_new(methods, method_json(r, m));
    return json_pack("{s:s, s:s, s:I, s:s, s:o, s:o, s:o, s:o, s:o, s:o}", "title", r->title, "suite",
                     r->suite, "seed", (json_int_t)r->seed, "version", hrc_version(), "figures",
                     figures_json(), "naturals", natural_heads_json(), "methods", methods, "paper",
                     paper_json(r->suite), "courses", courses_json(r), "tokens", tokens_json(r));
}

/* ---- Replays, thinned ---- */

static float *thin(arena *memory, const float *rows, int n, int width)
{
    const int kept = (n + STRIDE - 1) / STRIDE;
    float *out = rows ? ARENA_NEW(memory, float, (size_t)kept *(size_t)width) : NULL;
    for (int i = 0; out && i < kept; i++)
        memcpy(out + (size_t)i * (size_t)width, rows + (size_t)i * STRIDE * (size_t)width,
               sizeof *out * (size_t)width);
    return out;
}

/* "walk, slow (16_19)": in words, and what it is called. */
static char *title_of(arena *memory, const rollout *o, const char *description)
{
    const size_t size = strlen(description) + strlen(o->name) + 4;
    char *title = arena_alloc(memory, size, 1);
    if (title) snprintf(title, size, *description ? "%s (%s)" : "%s%s", description, o->name);
    return title;
}

static hrc_status make_items(page_item *items, arena *memory, const report *r, hrc_error *err)
{
    for (int k = 0; k < r->results->nmethods * r->results->ncourses; k++) {
        const rollout *o = &r->results->outcomes[k].record;
        const char *title = title_of(memory, o, r->courses[k % r->results->ncourses].description);
        if (!title) return fail(err, HRC_ENOMEM, "report: out of memory");
        items[k] = page_item_of(o);
        items[k].name = title;
        items[k].label = r->methods[k / r->results->ncourses].name;
        items[k].fps = o->fps / STRIDE;
        items[k].n = items[k].nref = (o->n + STRIDE - 1) / STRIDE;
        items[k].qpos = thin(memory, o->qpos, o->n, HRC_NQ);
        items[k].ref = thin(memory, o->ref, o->n, HRC_NQ);
        items[k].signals = thin(memory, o->signals, o->n, SIGNALS);
        items[k].plan = NULL;
        if (!items[k].qpos || !items[k].ref || !items[k].signals)
            return fail(err, HRC_ENOMEM, "report: out of memory for %d rollouts", k);
    }
    return HRC_OK;
}

/* ---- The page ---- */

static hrc_status write_page(const char *path, const json_t *data, size_t *bytes, hrc_error *err)
{
    char *script = html_script_text(data);
    if (!script) return fail(err, HRC_ENOMEM, "%s: out of memory", path);
    const html_filling fillings[] = {
        {"@viewer.css@", EMBEDDED(viewer_css)},
        {"@report.css@", EMBEDDED(report_css)},
        {"@replay_stage.html@", EMBEDDED(replay_stage_html)},
        {"@data@", {script, strlen(script)}},
        {"@three.min.js@", EMBEDDED(three_js)},
        {"@viewer.js@", EMBEDDED(viewer_js)},
        {"@replay.js@", EMBEDDED(replay_js)},
        {"@report.js@", EMBEDDED(report_js)},
    };
    const file_piece page = EMBEDDED(report_html);
    hrc_status status = html_write(path, page, fillings, COUNT(fillings), bytes, err);
    free(script);
    return status;
}

hrc_status report_write(const char *path, const report *r, size_t *bytes, hrc_error *err)
{
    const int n = r->results->nmethods * r->results->ncourses;
    arena memory = {0};
    json_t *data = NULL;
    page_item *items = ARENA_NEW(&memory, page_item, n);
    hrc_status status =
        items ? make_items(items, &memory, r, err) : fail(err, HRC_ENOMEM, "report: out of memory");
    if (status == HRC_OK) status = page_json(&data, items, n, err);
    arena_free(&memory);
    TRY(status);
    if (json_object_set_new(data, "report", report_json(r)) < 0)
        status = fail(err, HRC_EINVAL, "%s: a name is not UTF-8 text", path);
    if (status == HRC_OK) status = write_page(path, data, bytes, err);
    json_decref(data);
    return status;
}
