/* The figures of an evaluation: as JSON, as a table, as CSV. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cli/eval.h"
#include "eval/builtin.h"
#include "eval/evaluate.h"

/* ---- JSON ---- */

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

static void add_endurance(json_t *to, const eval_session *s, int m, const char *category)
{
    static const char *const LARGEST[] = {
        [DISTURB_PUSH] = "largest_push_mps", [DISTURB_PUNCH] = "largest_punch_n"};
    endurance e;
    endurance_of(&e, &s->results, m, s->list.courses, category);
    if (!e.n) return;
    json_object_set_new(to, "survived", json_number(e.survived));
    json_object_set_new(to, "recovered", json_number(e.recovered));
    json_object_set_new(to, "recovered_10s", json_number(e.recovered_late));
    json_object_set_new(to, "back_6s", json_number(e.back));
    json_object_set_new(to, "stand_p50_s", json_number(e.stand_p50_s));
    for (int k = 0; k < 2; k++) {
        json_t *directions = json_array();
        for (int d = 0; d < BUILTIN_DIRECTIONS; d++)
            json_array_append_new(directions, json_number(e.largest[k][d]));
        json_object_set_new(to, LARGEST[k], directions);
    }
}

static json_t *naturalness_json(const naturalness *f)
{
    json_t *out = json_object();
    for (int i = 0; i < NATURAL_COUNT; i++)
        json_object_set_new(out, NATURAL[i].name, json_number(natural_at(f, i)));
    return out;
}

/* Means over rollouts, whole and of those that had to recover. */
static void add_natural(json_t *to, const eval_session *s, int m, const char *category)
{
    static const char *const PART[] = {"whole", "recovery"};
    json_t *out = json_object();
    for (int recovery = 0; recovery < 2 && s->natural; recovery++) {
        naturalness mean;
        const int n = natural_mean(&mean, s->natural, &s->results, m, s->list.courses, category, recovery);
        json_t *row = naturalness_json(&mean);
        json_object_set_new(row, "n", json_integer(n));
        json_object_set_new(out, PART[recovery], row);
    }
    if (s->natural)
        json_object_set_new(to, "natural", out);
    else
        json_decref(out);
}

static json_t *course_json(const eval_session *s, int m, int i)
{
    const course *c = &s->list.courses[i];
    const course_result *r = &outcome_of(&s->results, m, i)->result;
    json_t *row = json_pack("{s:s, s:s, s:i, s:i}", "name", c->name, "category", c->category, "first",
                            c->first, "frames", r->frames);
    for (int f = 0; f < FIGURE_COUNT; f++)
        json_object_set_new(row, FIGURE[f].name, json_number(figure_of(&r->figures, f)));
    json_object_set_new(row, "diverged", json_boolean(r->diverged));
    json_object_set_new(row, "stands_s", r->stands_s < 0 ? json_null() : json_number(r->stands_s));
    json_object_set_new(row, "back_s", r->back_s < 0 ? json_null() : json_number(r->back_s));
    if (s->natural) {
        const natural_result *n = &s->natural[m * s->list.n + i];
        json_object_set_new(row, "natural",
                            json_pack("{s:o, s:o}", "whole", naturalness_json(&n->whole), "recovery",
                                      n->recovers ? naturalness_json(&n->recovery) : json_null()));
    }
    return row;
}

/* How often plans were made and why they were refused; not how long they took, which is never the same. */
static json_t *plans_json(const eval_session *s, int m)
{
    int64_t plans = 0, verdicts[HRC_VERDICTS] = {0};
    json_t *out = json_object();
    for (int i = 0; i < s->list.n; i++) {
        const course_result *r = &outcome_of(&s->results, m, i)->result;
        plans += r->plans;
        for (int v = 0; v < HRC_VERDICTS; v++) verdicts[v] += r->verdicts[v];
    }
    json_object_set_new(out, "made", json_integer(plans));
    for (int v = 0; v < HRC_VERDICTS; v++)
        json_object_set_new(out, hrc_verdict_name((hrc_verdict)v), json_integer(verdicts[v]));
    return out;
}

/* Beside the tracker alone; NULL: m has no planner, or no row is without one. */
static json_t *against_json(const eval_session *s, int m)
{
    const int base = compare_base(s->methods.list, s->methods.n);
    if (base < 0 || !s->methods.list[m].planner) return NULL;
    const identity same = compare_identity(&s->results, base, m);
    json_t *categories = json_object();
    for (int c = 0; c < s->ncategories; c++)
        json_object_set_new(
            categories, s->categories[c],
            json_number(compare_rate(&s->results, base, m, s->list.courses, s->categories[c])));
    return json_pack("{s:s, s:o, s:o, s:{s:i, s:o}}", "method", s->methods.list[base].name, "cr_difference",
                     json_number(compare_rate(&s->results, base, m, s->list.courses, NULL)),
                     "cr_difference_by_category", categories, "identity", "n", same.n, "joint_ratio",
                     json_number(same.ratio));
}

static json_t *method_json(const eval_session *s, int m)
{
    json_t *out = json_pack("{s:s, s:s, s:s}", "method", s->methods.list[m].name, "tracker",
                            s->methods.tracker_path[m], "planner", s->methods.planner_path[m]);
    json_t *categories = json_object(), *clips = json_array();
    add_figures(out, &s->all[m]);
    if (s->seeds > 1) json_object_set_new(out, "cr_spread", json_number(s->spread[m]));
    add_endurance(out, s, m, NULL);
    add_natural(out, s, m, NULL);
    for (int c = 0; c < s->ncategories; c++) {
        summary part;
        json_t *row = json_object();
        summarise(&part, &s->results, m, s->list.courses, s->categories[c]);
        add_figures(row, &part);
        add_endurance(row, s, m, s->categories[c]);
        add_natural(row, s, m, s->categories[c]);
        json_object_set_new(categories, s->categories[c], row);
    }
    json_object_set_new(out, "categories", categories);
    json_t *against = against_json(s, m);
    if (against) json_object_set_new(out, "against", against);
    json_object_set_new(out, "plans", plans_json(s, m));
    for (int i = 0; i < s->list.n; i++) json_array_append_new(clips, course_json(s, m, i));
    json_object_set_new(out, "clips", clips);
    return out;
}

/* The first method's figures stand at the top; all of them under "methods" when there are several. */
int eval_print_json(const eval_session *s)
{
    const char *name = arg(s->a, "suite");
    json_t *out = method_json(s, 0);
    json_object_set_new(out, "suite", name ? json_string(name) : json_null());
    json_object_set_new(out, "seed", json_integer((json_int_t)s->a->seed));
    json_object_set_new(out, "seeds", json_integer(s->heap_seeds));
    if (s->methods.n > 1) {
        json_t *all = json_object();
        for (int m = 0; m < s->methods.n; m++)
            json_object_set_new(all, s->methods.list[m].name, method_json(s, m));
        json_object_set_new(out, "methods", all);
    }
    return cli_json(out);
}

/* ---- Table ---- */

static void print_or_dash(double x, const char *format, const char *dash)
{
    if (isfinite(x))
        printf(format, x);
    else
        printf("%s", dash);
}

static void print_share(double x)
{
    print_or_dash(100 * x, " %6.1f %%", "        -");
}

static void print_error(double x)
{
    print_or_dash(x, " %8.3f", "        -");
}

static void print_row(const char *name, const summary *s)
{
    printf("  %-22.22s %4d", name, s->n);
    print_share(s->mean.cr);
    print_error(s->mean.joint_rad);
    print_error(s->mean.height_m);
    print_error(s->mean.ori_rad);
    print_error(s->mean.linvel_mps);
    print_share(s->mean.progress);
    print_share(s->mean.success);
    printf("\n");
}

static void print_endurance_row(const eval_session *s, int m, const char *category)
{
    endurance e;
    endurance_of(&e, &s->results, m, s->list.courses, category);
    if (!e.n) return;
    printf("  %-22.22s %4d", category ? category : "all", e.n);
    const double shares[] = {e.survived, e.recovered, e.recovered_late, e.back};
    for (int i = 0; i < COUNT(shares); i++) print_or_dash(100 * shares[i], " %8.1f %% ", "        -   ");
    print_or_dash(e.stand_p50_s, " %8.1f s ", "        -   ");
    printf("\n");
}

static void print_endurance(const eval_session *s, int m)
{
    endurance e;
    endurance_of(&e, &s->results, m, s->list.courses, NULL);
    if (!e.n) return;
    printf("  %-22s %4s %11s %11s %11s %11s %11s\n", "", "n", "never lost", "stand 5 s", "stand 10 s",
           "back 6 s", "half by");
    for (int c = 0; c < s->ncategories && s->ncategories > 1; c++)
        print_endurance_row(s, m, s->categories[c]);
    print_endurance_row(s, m, NULL);
    for (int k = 0; k < 2; k++) {
        double sum = 0;
        for (int d = 0; d < BUILTIN_DIRECTIONS; d++) sum += e.largest[k][d];
        if (!(sum > 0)) continue;
        printf("  largest %s, that all survive, by direction (ahead, then to the left):",
               k ? "punch, N" : "push, m/s");
        for (int d = 0; d < BUILTIN_DIRECTIONS; d++) printf(" %g", e.largest[k][d]);
        printf("\n");
    }
}

static void print_natural(const eval_session *s, int m)
{
    if (!s->natural) return;
    printf("  %-22s %4s", "natural", "n");
    for (int f = 0; f < NATURAL_COUNT; f++) printf(" %10s", NATURAL[f].heading);
    printf("\n  %-22s %4s", "", "");
    for (int f = 0; f < NATURAL_COUNT; f++) printf(" %10s", NATURAL[f].unit);
    for (int recovery = 0; recovery < 2; recovery++) {
        naturalness mean;
        const int n = natural_mean(&mean, s->natural, &s->results, m, s->list.courses, NULL, recovery);
        printf("\n  %-22s %4d", recovery ? "while out of bounds" : "whole rollouts", n);
        for (int f = 0; f < NATURAL_COUNT; f++) print_or_dash(natural_at(&mean, f), " %10.4g", "          -");
    }
    printf("\n");
}

static void print_method(const eval_session *s, int m)
{
    printf("%s: tracker %s, planner %s\n", s->methods.list[m].name, s->methods.tracker_path[m],
           s->methods.planner_path[m]);
    for (int c = 0; c < s->ncategories && s->ncategories > 1; c++) {
        summary part;
        summarise(&part, &s->results, m, s->list.courses, s->categories[c]);
        print_row(s->categories[c], &part);
    }
    print_row("all", &s->all[m]);
    if (isfinite(s->all[m].low.cr))
        printf("  CR with 95 %% interval: %.1f to %.1f %%\n", 100 * s->all[m].low.cr,
               100 * s->all[m].high.cr);
    if (s->seeds > 1)
        printf("  over %d seeds CR spreads by %.2f %% (standard deviation)\n", s->seeds, 100 * s->spread[m]);
    print_endurance(s, m);
    print_natural(s, m);
}

static void print_points(const char *name, double difference)
{
    if (isfinite(difference)) printf("  %s %+.2f", name, 100 * difference);
}

static void print_against(const eval_session *s, int m)
{
    const int base = compare_base(s->methods.list, s->methods.n);
    if (base < 0 || !s->methods.list[m].planner) return;
    const identity same = compare_identity(&s->results, base, m);
    printf("%s less %s, CR in points:", s->methods.list[m].name, s->methods.list[base].name);
    for (int c = 0; c < s->ncategories && s->ncategories > 1; c++)
        print_points(s->categories[c], compare_rate(&s->results, base, m, s->list.courses, s->categories[c]));
    print_points("all", compare_rate(&s->results, base, m, s->list.courses, NULL));
    printf("\n");
    if (same.n)
        printf("  joint error %.3f times that of %s on the %d that %s completes\n", same.ratio,
               s->methods.list[base].name, same.n, s->methods.list[base].name);
}

int eval_print_text(const eval_session *s)
{
    printf("  %-22s %4s %8s %8s %8s %8s %8s %8s %8s\n", "", "n", "CR", "joints", "height", "tilt", "velocity",
           "progress", "success");
    printf("  %-22s %4s %8s %8s %8s %8s %8s\n", "", "", "", "rad", "m", "rad", "m/s");
    for (int m = 0; m < s->methods.n; m++) print_method(s, m);
    for (int m = 0; m < s->methods.n; m++) print_against(s, m);
    return EXIT_DONE;
}

/* ---- CSV ---- */

/* Names are quoted: clips may be called anything. */
void eval_csv(text *out, const eval_session *s)
{
    text_add(out, "method,name,category,first,frames");
    for (int f = 0; f < FIGURE_COUNT; f++) text_add(out, ",%s", FIGURE[f].name);
    text_add(out, ",diverged,stands_s,back_s,plans,refused\n");
    for (int m = 0; m < s->methods.n; m++)
        for (int i = 0; i < s->list.n; i++) {
            const course *c = &s->list.courses[i];
            const course_result *r = &outcome_of(&s->results, m, i)->result;
            text_add_quoted(out, s->methods.list[m].name);
            text_add(out, ",");
            text_add_quoted(out, c->name);
            text_add(out, ",");
            text_add_quoted(out, c->category);
            text_add(out, ",%d,%d", c->first, r->frames);
            for (int f = 0; f < FIGURE_COUNT; f++) {
                const double x = figure_of(&r->figures, f);
                text_add(out, ",");
                if (isfinite(x)) text_add(out, "%.9g", x);
            }
            text_add(out, ",%d,%.9g,%.9g,%lld,%lld\n", r->diverged, r->stands_s, r->back_s,
                     (long long)r->plans, (long long)(r->plans - r->verdicts[HRC_FINE]));
        }
}
