/* heracles corpus select: which clips of a corpus are worth training on, and what they are. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"
#include "cli/commands.h"
#include "cli/models.h"
#include "control/library.h"
#include "eval/courses.h"
#include "eval/evaluate.h"
#include "motion/clip.h"
#include "motion/diverse.h"
#include "motion/phases.h"

#define PART 250       /* frames of a rollout, when the clip has enough */
#define WHOLE 300      /* up to here a clip is one rollout, up to twice as long two halves */
#define UNKNOWN (-1.0) /* not rolled out */

typedef struct {
    const char *kind;
    double followed; /* share of the rollouts' frames within the bounds of completion */
    double fresh;    /* share of moments that nothing before has; 1 when not asked */
    char why[160];   /* it is left out; empty when kept */
} verdict;

typedef struct {
    const args *a;
    corpus all;
    verdict *verdicts; /* (all.nclips) */
    double follow, uncarried, near, fresh;
} selection;

static bool is_training(const selection *s, int i)
{
    return s->all.clips[i].split == CORPUS_TRAIN;
}

/* ---- Does the tracker follow it? ---- */

/* Part k of a clip of n frames; false when there are no more: the whole, two halves, or beginning, middle and
 * end. A later part is a later start. */
static bool part_of(int n, int k, int *first, int *last)
{
    const int parts = n <= WHOLE ? 1 : n <= 2 * WHOLE ? 2 : 3;
    if (parts == 3)
        *first = k == 0 ? 0 : k == 1 ? n / 2 - PART / 2 : n - PART, *last = *first + PART - 1;
    else
        *first = n * k / parts, *last = n * (k + 1) / parts - 1;
    return k < parts;
}

static hrc_status add_parts(course_list *list, const selection *s, int i, hrc_error *err)
{
    const corpus_entry *e = &s->all.clips[i];
    for (int k = 0, first, last; part_of(e->n, k, &first, &last); k++) {
        clip part;
        TRY(corpus_clip_part(&s->all, i, first, last, &part, err));
        TRY(courses_add(list, NULL, e->name, e->category, &part, false, 0, PART, err));
    }
    return HRC_OK;
}

static hrc_status roll_out(evaluation *out, const course_list *list, const models *m, const args *a,
                           hrc_error *err)
{
    pool *threads;
    TRY(pool_create(&threads, a->threads, err));
    progress bar = progress_begin(a, "following");
    const method tracker = {
        .name = "tracker", .tracker = m->tracker, .options = control_options(&a->cfg, a->seed)};
    const evaluate_options options = {
        .cfg = &a->cfg, .threads = threads, .progress = progress_fraction, .ctx = &bar};
    hrc_status status = evaluate(out, &tracker, 1, list->courses, list->n, &options, err);
    progress_end(&bar);
    pool_free(threads);
    return status;
}

/* Rollouts of all training clips. */
static hrc_status follow_clips(selection *s, hrc_error *err)
{
    models m = {0};
    course_list list = {0};
    evaluation results = {0};
    hrc_status status = models_load(&m, s->a, false, err);
    for (int i = 0; status >= 0 && i < s->all.nclips; i++)
        if (is_training(s, i)) status = add_parts(&list, s, i, err);
    if (status >= 0) status = roll_out(&results, &list, &m, s->a, err);
    for (int i = 0, t = 0; status >= 0 && i < s->all.nclips; i++) {
        double complete = 0, frames = 0;
        for (; t < list.n && !strcmp(list.courses[t].name, s->all.clips[i].name); t++) {
            const course_result *r = &outcome_of(&results, 0, t)->result;
            complete += r->figures.cr * r->frames, frames += r->frames;
        }
        if (frames > 0) s->verdicts[i].followed = complete / frames;
    }
    evaluation_free(&results);
    courses_free(&list);
    models_free(&m);
    return status;
}

/* The rollouts take long: their figures are kept in a file, a line for each clip. */
static hrc_status write_followed(const selection *s, const char *path, hrc_error *err)
{
    text rows = {0};
    text_add(&rows, "clip,followed\n");
    for (int i = 0; i < s->all.nclips; i++)
        if (is_training(s, i)) text_add(&rows, "%s,%.4f\n", s->all.clips[i].name, s->verdicts[i].followed);
    return text_write(&rows, path, err);
}

static hrc_status read_followed(selection *s, const char *path, hrc_error *err)
{
    FILE *file = fopen(path, "r");
    char line[256], name[128];
    double followed;
    if (!file) return fail(err, HRC_EFILE, "%s: cannot be read", path);
    while (fgets(line, sizeof line, file))
        if (sscanf(line, "%127[^,],%lf", name, &followed) == 2) {
            const int i = corpus_find(&s->all, name);
            if (i >= 0) s->verdicts[i].followed = followed;
        }
    fclose(file);
    for (int i = 0; i < s->all.nclips; i++)
        if (is_training(s, i) && s->verdicts[i].followed == UNKNOWN)
            return fail(err, HRC_EINVAL, "%s: has no line for clip \"%.80s\"", path, s->all.clips[i].name);
    return HRC_OK;
}

static hrc_status find_followed(selection *s, hrc_error *err)
{
    const char *path = arg(s->a, "followed");
    if (path && access(path, F_OK) == 0) return read_followed(s, path, err);
    TRY(follow_clips(s, err));
    return path ? write_followed(s, path, err) : HRC_OK;
}

/* ---- What it is, and whether it adds anything ---- */

/* Of these there is never enough. */
static bool is_rare(const char *kind)
{
    return !strcmp(kind, "running") || !strcmp(kind, "jumps_acro") || !strcmp(kind, "fall_recovery");
}

static hrc_status weigh(selection *s, int i, const clip *c, moments *kept, hrc_error *err)
{
    const corpus_entry *e = &s->all.clips[i];
    verdict *v = &s->verdicts[i];
    moments own = {0};
    v->kind = kind_of(c, e->phases, e->nphases, e->category);
    if (v->followed < s->follow) {
        snprintf(v->why, sizeof v->why, "the tracker follows %.0f %% of it, expected at least %.0f",
                 100 * v->followed, 100 * s->follow);
        return HRC_OK;
    }
    if (e->quality.uncarried_s > s->uncarried) {
        snprintf(v->why, sizeof v->why, "nothing carries it for %.1f s, expected at most %.1f",
                 e->quality.uncarried_s, s->uncarried);
        return HRC_OK;
    }
    hrc_status status = moments_add(&own, c, err);
    if (status >= 0) v->fresh = moments_new(&own, kept, s->near);
    moments_free(&own);
    TRY(status);
    if (v->fresh < s->fresh && !is_rare(v->kind))
        snprintf(v->why, sizeof v->why, "%.0f %% of it is new, expected at least %.0f", 100 * v->fresh,
                 100 * s->fresh);
    return HRC_OK;
}

/* With its mirror image, which training sees as well. */
static hrc_status remember(moments *kept, clip *c, hrc_error *err)
{
    TRY(moments_add(kept, c, err));
    clip_mirror(c);
    return moments_add(kept, c, err);
}

static hrc_status choose(selection *s, hrc_error *err)
{
    moments kept = {0};
    hrc_status status = HRC_OK;
    progress bar = progress_begin(s->a, "comparing");
    for (int i = 0; status >= 0 && i < s->all.nclips; i++) {
        clip c;
        s->verdicts[i].kind = s->all.clips[i].category;
        if (!is_training(s, i)) continue;
        status = corpus_clip(&s->all, i, &c, err);
        if (status < 0) break;
        status = weigh(s, i, &c, &kept, err);
        if (status >= 0 && !*s->verdicts[i].why) status = remember(&kept, &c, err);
        clip_free(&c);
        progress_show(&bar, (i + 1.0) / s->all.nclips, "");
    }
    progress_end(&bar);
    moments_free(&kept);
    return status;
}

/* ---- The manifest ---- */

static hrc_status write_manifest(const selection *s, const char *path, hrc_error *err)
{
    text rows = {0};
    text_add(&rows, "id,category,description,left_out\n");
    for (int i = 0; i < s->all.nclips; i++) {
        const char *fields[] = {s->all.clips[i].name, s->verdicts[i].kind, s->all.clips[i].description,
                                s->verdicts[i].why};
        for (int k = 0; k < COUNT(fields); k++) {
            text_add(&rows, k ? "," : "");
            if (strpbrk(fields[k], ",\"\n"))
                text_add_quoted(&rows, fields[k]);
            else
                text_add(&rows, "%s", fields[k]);
        }
        text_add(&rows, "\n");
    }
    return text_write(&rows, path, err);
}

static int report(const selection *s, const char *path)
{
    int kept = 0, renamed = 0;
    double minutes = 0, left_out = 0;
    for (int i = 0; i < s->all.nclips; i++) {
        const double own = s->all.clips[i].n / CORPUS_FPS / 60;
        const bool keeps = !*s->verdicts[i].why;
        kept += keeps;
        *(keeps ? &minutes : &left_out) += own;
        renamed += keeps && strcmp(s->verdicts[i].kind, s->all.clips[i].category) != 0;
    }
    cli_note(s->a, "%s: %d of %d clips, %.1f min (%.1f min left out); %d in another category", path, kept,
             s->all.nclips, minutes, left_out, renamed);
    if (!s->a->json) return EXIT_DONE;
    return cli_json(json_pack("{s:i, s:i, s:f, s:f, s:i}", "kept", kept, "clips", s->all.nclips, "minutes",
                              minutes, "left_out_minutes", left_out, "other_category", renamed));
}

static int run_corpus_select(const args *a)
{
    selection s = {.a = a};
    hrc_error err;
    const char *path = arg(a, "out");
    if (!path) return cli_usage(a, "-o FILE is missing");
    if (!arg_number(a, "follow", 0, 1, &s.follow) || !arg_number(a, "carry", 0, 1000, &s.uncarried) ||
        !arg_number(a, "near", 0, 100, &s.near) || !arg_number(a, "new", 0, 1, &s.fresh))
        return EXIT_USAGE;
    if (corpus_open(&s.all, a->operands[0], &err) < 0) return cli_fail(&err);
    s.verdicts = calloc((size_t)s.all.nclips, sizeof *s.verdicts);
    if (!s.verdicts) abort();
    for (int i = 0; i < s.all.nclips; i++) s.verdicts[i].followed = UNKNOWN;
    hrc_status status = find_followed(&s, &err);
    if (status >= 0) status = choose(&s, &err);
    if (status >= 0) status = write_manifest(&s, path, &err);
    int code = status < 0 ? cli_fail(&err) : report(&s, path);
    free(s.verdicts);
    corpus_close(&s.all);
    return code;
}

static const option OPTIONS[] = {
    {"out", "FILE", NULL, "where to write the manifest (-o)"},
    OPTION_TRACKER,
    {"followed", "FILE", NULL, "CSV with the shares that the tracker follows; made when it is not there"},
    {"follow", "SHARE", "0.2", "least share of a clip's frames that the tracker follows"},
    {"carry", "SECONDS", "1.5", "longest time in which nothing carries the robot"},
    {"near", "DISTANCE", "0.5", "two moments are the same up to here (src/motion/diverse.h)"},
    {"new", "SHARE", "0.2", "least share of a clip's moments that no clip before it has"},
    {0},
};

const command CMD_CORPUS_SELECT = {
    .name = "corpus select",
    .operands = "FILE -o MANIFEST",
    .summary = "which clips of a corpus to train on: followed in physics, carried, not there already",
    .details =
        "The manifest lists all clips: those that are to be left out with the reason, the others with the\n"
        "category that fits what the robot does (src/motion/phases.h). Clips that are kept from training stay\n"
        "as they are. Running, jumps and the ground are never left out for being there already.",
    .example = "heracles corpus select all.safetensors --followed followed.csv -o motions/cmu.csv",
    .options = OPTIONS,
    .min_operands = 1,
    .max_operands = 1,
    .run = run_corpus_select,
};
