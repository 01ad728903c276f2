/* heracles corpus info, heracles corpus suites. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/commands.h"
#include "motion/split.h"
#include "motion/stats.h"

#define LOWEST_GOOD (-0.01) /* m */
#define NAMES_MAX 64        /* categories that are told apart */

/* The clips of one category, or all. */
typedef struct {
    const char *name;          /* NULL: all */
    int clips, heldout, above; /* above: clips that nowhere reach deeper than 1 cm */
    double seconds, heldout_seconds, fast_seconds;
    double skate, flight, keypoint; /* medians over the clips that have one */
    double limit_excess;            /* worst */
} summary;

static double median_of(const corpus *c, const summary *s, size_t member, double *scratch)
{
    int n = 0;
    for (int i = 0; i < c->nclips; i++) {
        const corpus_entry *e = &c->clips[i];
        double x;
        memcpy(&x, (const char *)&e->quality + member, sizeof x);
        if ((!s->name || !strcmp(e->category, s->name)) && !isnan(x)) scratch[n++] = x;
    }
    return median(scratch, n);
}

static summary summarise(const corpus *c, const char *category, double *scratch)
{
    summary s = {.name = category};
    for (int i = 0; i < c->nclips; i++) {
        const corpus_entry *e = &c->clips[i];
        double seconds = e->n / CORPUS_FPS;
        if (category && strcmp(e->category, category) != 0) continue;
        s.clips++;
        s.seconds += seconds;
        s.above += e->quality.low_min >= LOWEST_GOOD;
        s.fast_seconds += e->quality.speed_share * seconds;
        s.limit_excess = fmax(s.limit_excess, e->quality.limit_excess);
        if (e->split != CORPUS_TRAIN) s.heldout++, s.heldout_seconds += seconds;
    }
    s.skate = median_of(c, &s, offsetof(corpus_quality, skate_p90), scratch);
    s.flight = median_of(c, &s, offsetof(corpus_quality, flight_accel), scratch);
    s.keypoint = median_of(c, &s, offsetof(corpus_quality, keypoint_error), scratch);
    return s;
}

/* In order of first appearance. */
static int categories_of(const corpus *c, const char *names[NAMES_MAX])
{
    int n = 0;
    for (int i = 0; i < c->nclips; i++) {
        int k = 0;
        while (k < n && strcmp(names[k], c->clips[i].category) != 0) k++;
        if (k == n && n < NAMES_MAX) names[n++] = c->clips[i].category;
    }
    return n;
}

static json_t *summary_json(const summary *s)
{
    return json_pack("{s:i, s:f, s:i, s:f, s:f, s:f, s:o, s:f, s:o, s:o}", "clips", s->clips, "seconds",
                     s->seconds, "heldout_clips", s->heldout, "heldout_seconds", s->heldout_seconds,
                     "limit_excess_rad", s->limit_excess, "share_of_clips_above_minus_1cm",
                     (double)s->above / s->clips, "skate_p90_median_mps", json_number(s->skate),
                     "share_over_motor_speed", s->fast_seconds / s->seconds, "flight_accel_median_mps2",
                     json_number(s->flight), "keypoint_error_median_m", json_number(s->keypoint));
}

static json_t *clip_json(const corpus_entry *e)
{
    json_t *phases = json_array(), *figures = json_object();
    for (int i = 0; i < e->nphases; i++)
        json_array_append_new(phases,
                              json_pack("{s:s, s:s, s:i, s:i}", "phase", phase_word(e->phases[i].kind),
                                        "posture", posture_word(e->phases[i].posture), "first",
                                        e->phases[i].first, "last", e->phases[i].last));
#define FIGURE_JSON(member, from, key) json_object_set_new(figures, key, json_number(e->quality.member));
    CORPUS_FIGURES(FIGURE_JSON)
#undef FIGURE_JSON
    json_object_set_new(figures, "keypoint_error_m", json_number(e->quality.keypoint_error));
    return json_pack("{s:s, s:s, s:s, s:s, s:s, s:s, s:i, s:f, s:s, s:o, s:o}", "name", e->name, "category",
                     e->category, "description", e->description, "source", e->source, "licence", e->licence,
                     "split", corpus_split_word(e->split), "frames", e->n, "seconds", e->n / CORPUS_FPS,
                     "verdict", quality_word(e->quality.verdict), "quality", figures, "phases", phases);
}

static int show_json(const corpus *c, double *scratch)
{
    const char *names[NAMES_MAX], *thanks = tensorfile_text(&c->file, "acknowledgement", "");
    json_t *categories = json_object(), *list = json_array(), *left_out = json_array();
    summary all = summarise(c, NULL, scratch);
    for (int i = 0, n = categories_of(c, names); i < n; i++) {
        summary s = summarise(c, names[i], scratch);
        json_object_set_new(categories, names[i], summary_json(&s));
    }
    for (int i = 0; i < c->nclips; i++) json_array_append_new(list, clip_json(&c->clips[i]));
    for (int i = 0; i < c->nleft_out; i++)
        json_array_append_new(
            left_out, json_pack("{s:s, s:s}", "name", c->left_out[i].name, "reason", c->left_out[i].reason));
    return cli_json(json_pack("{s:s, s:i, s:f, s:f, s:s, s:o, s:o, s:o, s:o}", "file", c->file.path, "clips",
                              c->nclips, "seconds", corpus_seconds(c), "fps", CORPUS_FPS, "acknowledgement",
                              thanks, "all", summary_json(&all), "categories", categories, "list", list,
                              "left_out", left_out));
}

static void print_number(double x, const char *format, double scale)
{
    char text[32] = "-";
    if (!isnan(x)) snprintf(text, sizeof text, format, scale * x);
    printf(" %9s", text);
}

static void print_summary(const char *name, const summary *s)
{
    printf("%-16.16s %6d %7.1f %8d %8.1f %8.1f", *name ? name : "(none)", s->clips, s->seconds / 60,
           s->heldout, s->heldout_seconds / 60, 100.0 * s->above / s->clips);
    print_number(s->skate, "%.3f", 1);
    print_number(s->fast_seconds / s->seconds, "%.3f", 100);
    print_number(s->flight, "%.1f", 1);
    print_number(s->keypoint, "%.1f", 100);
    putchar('\n');
}

static void print_clips(const corpus *c)
{
    printf("\n%-16s %-14s %-10s %8s %8s %8s  %s\n", "clip", "category", "split", "s", "lowest", "skate",
           "phases off the feet, description");
    for (int i = 0; i < c->nclips; i++) {
        const corpus_entry *e = &c->clips[i];
        printf("%-16.40s %-14.14s %-10s %8.2f %8.3f %8.3f ", e->name, e->category,
               corpus_split_word(e->split), e->n / CORPUS_FPS, e->quality.low_min, e->quality.skate_p90);
        for (int k = 0; k < e->nphases; k++) {
            const phase *p = &e->phases[k];
            if (p->kind != PHASE_STANDING)
                printf(" %s %d-%d,", p->kind == PHASE_DOWN ? posture_word(p->posture) : phase_word(p->kind),
                       p->first, p->last);
        }
        printf(" %s\n", e->description);
    }
}

static int show_text(const args *a, const corpus *c, double *scratch)
{
    const char *names[NAMES_MAX], *thanks = tensorfile_text(&c->file, "acknowledgement", "");
    printf("%s: %d clips, %.1f min at %g Hz\n", c->file.path, c->nclips, corpus_seconds(c) / 60, CORPUS_FPS);
    if (*thanks) printf("%s\n", thanks);
    printf("\n%-16s %6s %7s %8s %8s %8s %9s %9s %9s %9s\n", "category", "clips", "min", "heldout", "min",
           ">-1cm", "skate", "fast", "flight", "keypoint");
    printf("%-16s %6s %7s %8s %8s %8s %9s %9s %9s %9s\n", "", "", "", "clips", "", "% clips", "p90 m/s",
           "% frames", "m/s2", "cm");
    for (int i = 0, n = categories_of(c, names); i < n; i++) {
        summary s = summarise(c, names[i], scratch);
        print_summary(names[i], &s);
    }
    summary all = summarise(c, NULL, scratch);
    print_summary("all", &all);
    printf("joint limits exceeded by at most %.2g rad\n", all.limit_excess);
    for (int i = 0; i < c->nleft_out; i++) printf("%sleft out: %s\n", i ? "" : "\n", c->left_out[i].reason);
    if (arg_given(a, "clips")) print_clips(c);
    return EXIT_DONE;
}

static int run_corpus_info(const args *a)
{
    corpus c;
    hrc_error err;
    if (corpus_open(&c, a->operands[0], &err) < 0) return cli_fail(&err);
    double *scratch = calloc((size_t)c.nclips + 1, sizeof *scratch);
    if (!scratch) abort();
    int code = a->json ? show_json(&c, scratch) : show_text(a, &c, scratch);
    free(scratch);
    corpus_close(&c);
    return code;
}

/* ---- Suites ---- */

static hrc_status write_suites(const args *a, const split_suites *s, const char *folder, hrc_error *err)
{
    const suite *all[] = {&s->heldout, &s->recovery, &s->smoke};
    static const char *const NAMES[] = {"heldout101", "recovery", "smoke"};
    char path[4096];
    for (int i = 0; i < COUNT(all); i++) {
        if ((size_t)snprintf(path, sizeof path, "%s/%s.csv", folder, NAMES[i]) >= sizeof path)
            return fail(err, HRC_EINVAL, "%.80s...: path is too long", folder);
        TRY(suite_write(all[i], path, err));
        cli_note(a, "%s: %d sequences", path, all[i]->n);
    }
    return HRC_OK;
}

static int run_corpus_suites(const args *a)
{
    corpus c;
    split_suites s = {0};
    hrc_error err;
    const char *folder = arg(a, "out");
    if (!folder) return cli_usage(a, "-o FOLDER is missing");
    if (corpus_open(&c, a->operands[0], &err) < 0) return cli_fail(&err);
    mkdir(folder, 0777); /* a failure shows when the first file is written */
    int code = EXIT_DONE;
    if (split_make_suites(&s, &c, &err) < 0 || write_suites(a, &s, folder, &err) < 0)
        code = cli_fail(&err);
    else if (a->json)
        code = cli_json(json_pack("{s:i, s:i, s:i}", "heldout101", s.heldout.n, "recovery", s.recovery.n,
                                  "smoke", s.smoke.n));
    split_suites_free(&s);
    corpus_close(&c);
    return code;
}

static const option INFO_OPTIONS[] = {{"clips", NULL, NULL, "a line per clip as well"}, {0}};
static const option SUITES_OPTIONS[] = {{"out", "FOLDER", NULL, "where to write the suites (-o)"}, {0}};

const command CMD_CORPUS_INFO = {
    .name = "corpus info",
    .operands = "FILE",
    .summary = "what a corpus holds and how good it is, by category",
    .details =
        "Figures are those of `motion info`, measured on what the file holds: share of clips that are\n"
        "nowhere deeper than 1 cm, median over clips of the 90th percentile of foot skate, share of\n"
        "frames with a joint faster than its motor, median acceleration in flight, median distance of\n"
        "key points from those of the person. FILE#NAME names a clip in every command that takes one.",
    .example = "heracles corpus info motions/cmu.safetensors --clips",
    .options = INFO_OPTIONS,
    .min_operands = 1,
    .max_operands = 1,
    .run = run_corpus_info,
};

const command CMD_CORPUS_SUITES = {
    .name = "corpus suites",
    .operands = "FILE -o FOLDER",
    .summary = "write the evaluation suites of a corpus' held-out clips",
    .details =
        "heldout101.csv, recovery.csv and smoke.csv: which clip, which frames, category, seconds of hold.",
    .example = "heracles corpus suites motions/cmu.safetensors -o motions/suites",
    .options = SUITES_OPTIONS,
    .min_operands = 1,
    .max_operands = 1,
    .run = run_corpus_suites,
};
