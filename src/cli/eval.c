/* heracles eval: the closed loop in the simulator on many motions; tables, JSON, CSV, report, requirements.
 */
#include "cli/eval.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/commands.h"
#include "cli/motion.h"
#include "control/library.h"
#include "eval/builtin.h"
#include "eval/report.h"

/* ---- Methods ---- */

#define MENU "pd, tracker, heracles, cold or NAME=TRACKER[+PLANNER]"

static bool needs_planner(const char *word)
{
    return !strcmp(word, "heracles") || !strcmp(word, "cold");
}

static bool needs_tracker(const char *word)
{
    return !strcmp(word, "tracker") || needs_planner(word);
}

/* The row of a word without '=': everything it needs is loaded. */
static bool add_known(methods *m, const args *a, const char *word)
{
    if (strcmp(word, "pd") && !needs_tracker(word)) return false;
    method *row = &m->list[m->n];
    *row = (method){.name = word, .options = control_options(&a->cfg, a->seed)};
    if (needs_tracker(word)) row->tracker = m->common.tracker;
    if (needs_planner(word)) row->planner = m->common.planner;
    if (!strcmp(word, "cold")) row->options.plan.cold = 1;
    m->tracker_path[m->n] = row->tracker ? m->common.tracker_path : "off";
    m->planner_path[m->n] = row->planner ? m->common.planner_path : "off";
    m->n++;
    return true;
}

static hrc_status add_own(methods *m, const args *a, char *word, hrc_error *err)
{
    char *tracker = strchr(word, '='), *planner = strchr(tracker, '+');
    *tracker++ = 0;
    if (planner) *planner++ = 0;
    models *own = &m->own[m->n];
    TRY(models_open(own, tracker, planner, err));
    TRY(models_fit(own, &a->cfg, err));
    m->list[m->n] = (method){.name = word,
                             .tracker = own->tracker,
                             .planner = own->planner,
                             .options = control_options(&a->cfg, a->seed)};
    m->tracker_path[m->n] = own->tracker_path;
    m->planner_path[m->n++] = own->planner_path;
    return HRC_OK;
}

static int add_word(methods *m, const args *a, char *word)
{
    hrc_error err;
    if (m->n == EVALUATE_MAX_METHODS) return cli_usage(a, "more than %d methods", EVALUATE_MAX_METHODS);
    if (strchr(word, '=')) return add_own(m, a, word, &err) < 0 ? cli_fail(&err) : EXIT_DONE;
    if (!add_known(m, a, word)) return cli_usage(a, "--method is \"%.60s\", expected " MENU, word);
    return EXIT_DONE;
}

/* Which of the two models of the options any row wants. */
static hrc_status load_common(methods *m, const args *a, const char *words, hrc_error *err)
{
    bool tracker = false, planner = false;
    char *copy = strdup(words), *rest = copy;
    if (!copy) return fail(err, HRC_ENOMEM, "eval: out of memory");
    for (char *word; (word = strsep(&rest, ","));) {
        tracker |= needs_tracker(word);
        planner |= needs_planner(word);
    }
    free(copy);
    if (planner && !strcmp(arg(a, "planner"), "off"))
        return fail(err, HRC_EINVAL, "a method of \"%.80s\" needs a planner, but --planner is off", words);
    return tracker ? models_load(&m->common, a, planner, err) : HRC_OK;
}

static void methods_free(methods *m)
{
    for (int i = 0; i < EVALUATE_MAX_METHODS; i++) models_free(&m->own[i]);
    models_free(&m->common);
    free(m->words);
    memset(m, 0, sizeof *m);
}

/* EXIT_DONE, or another exit code after saying why. Without --method it is heracles, or tracker when the
 * planner is off. */
static int methods_load(methods *m, const args *a)
{
    hrc_error err;
    const char *given = arg(a, "method");
    const bool off = !strcmp(arg(a, "planner"), "off");
    memset(m, 0, sizeof *m);
    m->words = strdup(given ? given : off ? "tracker" : "heracles");
    if (!m->words) abort();
    int code = load_common(m, a, m->words, &err) < 0 ? cli_fail(&err) : EXIT_DONE;
    char *rest = m->words;
    for (char *word; code == EXIT_DONE && (word = strsep(&rest, ","));) code = add_word(m, a, word);
    if (code != EXIT_DONE) methods_free(m);
    return code;
}

#define TOKEN_POINTS 2000

/* ---- What is asked ---- */

static int read_course_options(const args *a, course_options *o)
{
    double limit = 20, hold = 0, starts = 1;
    if (!arg_number(a, "limit", 0.1, 3600, &limit) || !arg_number(a, "hold", 0.02, 60, &hold) ||
        !arg_number(a, "starts", 1, 1000, &starts))
        return EXIT_USAGE;
    if (starts != floor(starts)) return cli_usage(a, "--starts is %g, expected a whole number", starts);
    static const char *const OF_MOTIONS[] = {"limit", "hold", "starts"};
    const char *named = arg(a, "suite");
    for (int i = 0; i < COUNT(OF_MOTIONS) && named && builtin_suite(named); i++)
        if (arg_given(a, OF_MOTIONS[i]))
            return cli_usage(a, "--%s is for motions; suite %s has its own", OF_MOTIONS[i], named);
    *o = (course_options){.limit_s = limit, .hold_s = hold, .starts = (int)starts};
    return motion_options(a, &o->reading);
}

static hrc_status load_courses(eval_session *s, const course_options *o, hrc_error *err)
{
    const args *a = s->a;
    const char *name = arg(a, "suite");
    if (!name && a->n) return courses_of_motions(&s->list, a->operands, a->n, o, err);
    if (!name) return courses_of_corpus(&s->list, arg(a, "corpus"), o, err);
    if (builtin_suite(name)) {
        const builtin_options b = {a->seed, s->heap_seeds, arg(a, "corpus")};
        return courses_builtin(&s->list, name, &b, &a->cfg, err);
    }
    return courses_of_suite(&s->list, name, arg(a, "corpus"), o, err);
}

typedef struct {
    int figure; /* -1: nothing is required */
    double bound;
} requirement;

/* "cr=0.9": the figure's mean must reach it, or stay below where less is better. */
static int parse_requirement(const args *a, requirement *r)
{
    const char *word = arg(a, "require");
    r->figure = -1;
    if (!word) return EXIT_DONE;
    size_t length = strcspn(word, "=");
    for (int f = 0; f < FIGURE_COUNT; f++)
        if (strlen(FIGURE[f].name) == length && !strncmp(word, FIGURE[f].name, length)) r->figure = f;
    char *end = NULL;
    if (r->figure >= 0 && word[length] == '=') r->bound = strtod(word + length + 1, &end);
    if (!end || end == word + length + 1 || *end || !isfinite(r->bound))
        return cli_usage(a, "--require is \"%.60s\", expected a figure and its bound like cr=0.9", word);
    return EXIT_DONE;
}

/* Of the first method. */
static int check_requirement(const eval_session *s, const requirement *r)
{
    if (r->figure < 0) return EXIT_DONE;
    const figure_info *info = &FIGURE[r->figure];
    const double found = figure_of(&s->all[0].mean, r->figure);
    if (info->more_is_better ? found >= r->bound : found <= r->bound) return EXIT_DONE;
    fprintf(stderr, "heracles: %s is %.6g, required %s %g\n", info->name, found,
            info->more_is_better ? "at least" : "at most", r->bound);
    return EXIT_MISSED;
}

static int read_seeds(eval_session *s)
{
    double seeds = 1;
    if (!arg_number(s->a, "seeds", 1, EVALUATE_MAX_METHODS, &seeds)) return EXIT_USAGE;
    if (seeds != floor(seeds)) return cli_usage(s->a, "--seeds is %g, expected a whole number", seeds);
    s->seeds = s->heap_seeds = (int)seeds;
    if (arg(s->a, "suite") && builtin_of_seeds(arg(s->a, "suite"))) s->seeds = 1; /* they make robots */
    if (s->seeds * s->methods.n > EVALUATE_MAX_METHODS)
        return cli_usage(s->a, "%d seeds of %d methods, expected at most %d together", s->seeds, s->methods.n,
                         EVALUATE_MAX_METHODS);
    return EXIT_DONE;
}

/* ---- The command ---- */

/* The methods with every seed, those of the first seed first. */
static int with_seeds(method *out, const eval_session *s)
{
    int n = 0;
    for (int seed = 0; seed < s->seeds; seed++)
        for (int m = 0; m < s->methods.n; m++) {
            out[n] = s->methods.list[m];
            out[n++].options.plan.seed += (uint64_t)seed;
        }
    return n;
}

/* Against the training clips of the corpus. */
static hrc_status measure_natural(eval_session *s, pool *threads, hrc_error *err)
{
    corpus c;
    natural_corpus *windows = NULL;
    if (!arg(s->a, "natural")) return HRC_OK;
    s->natural = calloc((size_t)s->methods.n * (size_t)s->list.n, sizeof *s->natural);
    if (!s->natural) return fail(err, HRC_ENOMEM, "eval: out of memory");
    TRY(courses_corpus(&c, arg(s->a, "corpus"), err));
    hrc_status status = natural_corpus_create(&windows, &c, err);
    corpus_close(&c);
    if (status == HRC_OK) status = natural_evaluate(s->natural, &s->results, windows, threads, err);
    natural_corpus_free(windows);
    return status;
}

static hrc_status measure(eval_session *s, hrc_error *err)
{
    method rows[EVALUATE_MAX_METHODS];
    const char *folder = arg(s->a, "keep");
    pool *threads = NULL;
    if (folder) TRY(file_folder(folder, err));
    TRY(pool_create(&threads, s->a->threads, err));
    progress bar = progress_begin(s->a, "evaluating");
    const evaluate_options options = {.cfg = &s->a->cfg,
                                      .threads = threads,
                                      .record = folder || arg(s->a, "out") || arg(s->a, "natural"),
                                      .folder = folder,
                                      .progress = progress_fraction,
                                      .stop = cli_interrupted,
                                      .ctx = &bar};
    if (folder) cli_save_on_interrupt();
    hrc_status status =
        evaluate(&s->results, rows, with_seeds(rows, s), s->list.courses, s->list.n, &options, err);
    progress_end(&bar);
    if (status == HRC_OK) {
        evaluation_fold(&s->results, s->methods.n, s->spread);
        status = measure_natural(s, threads, err);
    }
    pool_free(threads);
    TRY(status);
    s->ncategories = categories_of(s->categories, EVAL_MAX_CATEGORIES, s->list.courses, s->list.n);
    for (int m = 0; m < s->methods.n; m++) summarise(&s->all[m], &s->results, m, s->list.courses, NULL);
    return HRC_OK;
}

static hrc_status write_csv(const eval_session *s, hrc_error *err)
{
    const char *path = arg(s->a, "csv");
    text rows = {0};
    if (!path) return HRC_OK;
    eval_csv(&rows, s);
    return text_write(&rows, path, err);
}

static hrc_status write_report(const eval_session *s, hrc_error *err)
{
    const args *a = s->a;
    const char *path = arg(a, "out"), *name = arg(a, "suite") ? arg(a, "suite") : "motions";
    const hrc_model *tracker = NULL;
    codebook tokens = {0};
    size_t bytes = 0;
    if (!path) return HRC_OK;
    for (int m = 0; m < s->methods.n && !tracker; m++) {
        tracker = s->methods.list[m].tracker;
        if (tracker && model_of_others(tracker)) tracker = NULL; /* no tokens */
    }
    if (tracker) TRY(codebook_make(&tokens, tracker, s->list.courses, s->list.n, TOKEN_POINTS, err));
    const report r = {.title = name,
                      .suite = name,
                      .seed = a->seed,
                      .methods = s->methods.list,
                      .tracker_paths = s->methods.tracker_path,
                      .planner_paths = s->methods.planner_path,
                      .courses = s->list.courses,
                      .results = &s->results,
                      .natural = s->natural,
                      .tokens = tracker ? &tokens : NULL};
    hrc_status status = report_write(path, &r, &bytes, err);
    codebook_free(&tokens);
    if (status == HRC_OK) cli_note(a, "%s: %.1f MB; open it in a browser", path, 1e-6 * (double)bytes);
    return status;
}

static int evaluate_all(eval_session *s, const course_options *o, const requirement *need)
{
    hrc_error err;
    hrc_status status = load_courses(s, o, &err);
    if (status == HRC_OK) status = measure(s, &err);
    if (status == HRC_OK) status = write_csv(s, &err);
    if (status == HRC_OK) status = write_report(s, &err);
    if (status == HRC_EINTERRUPTED) {
        cli_note(s->a, "interrupted; the same command goes on from what %s holds", arg(s->a, "keep"));
        return EXIT_INTERRUPTED;
    }
    if (status < 0) return cli_fail(&err);
    int code = s->a->json ? eval_print_json(s) : eval_print_text(s);
    return code == EXIT_DONE ? check_requirement(s, need) : code;
}

static int run_eval(const args *a)
{
    course_options o;
    requirement need = {0};
    int code = read_course_options(a, &o);
    if (code == EXIT_DONE) code = parse_requirement(a, &need);
    if (code != EXIT_DONE) return code;
    if (arg(a, "suite") ? a->n > 0 : a->n == 0 && !arg(a, "corpus"))
        return cli_usage(a, "give --suite NAME, --motion FILE... or --corpus FILE");
    eval_session *s = calloc(1, sizeof *s);
    if (!s) abort();
    s->a = a;
    code = methods_load(&s->methods, a);
    if (code == EXIT_DONE) code = read_seeds(s);
    if (code == EXIT_DONE) code = evaluate_all(s, &o, &need);
    free(s->natural);
    evaluation_free(&s->results);
    courses_free(&s->list);
    methods_free(&s->methods);
    free(s);
    return code;
}

static const option OPTIONS[] = {
    {"suite", "NAME", NULL,
     "heldout101, recovery, smoke, validation, disturb, omni, knockdown, knockdown-validation, or a FILE.csv"},
    {"motion", "FILE...", NULL, "these motions instead: CSV, NPZ, safetensors, CORPUS#CLIP"},
    OPTION_TRACKER,
    OPTION_PLANNER,
    {"method", "NAME[,NAME]", NULL,
     "several to compare: pd, tracker, heracles, cold, NAME=TRACKER[+PLANNER]; TRACKER may be an .onnx policy"},
    {"corpus", "FILE", NULL,
     "where a suite's clips are; default: the shipped corpus. With neither suite nor motion: all of its clips"},
    {"starts", "N", "1", "roll out from N evenly spread frames of each motion, frame 0 among them"},
    {"seeds", "N", "1",
     "repeat with N seeds of the planner, from --seed on; figures are means; omni: 32 robots of each seed"},
    {"hold", "SECONDS", NULL, "hold every pose of the references for as long (discretized references)"},
    {"limit", "SECONDS", "20", "longest rollout"},
    {"natural", NULL, NULL, "distance from the corpus's motions, speeds, torques and jerk of the robot too"},
    {"keep", "FOLDER", NULL, "keep finished rollouts; the same command then goes on where it was stopped"},
    {"out", "FILE", NULL, "the report (-o): one HTML page with tables, plots and replays"},
    {"csv", "FILE", NULL, "one line for each rollout"},
    {"require", "FIGURE=X", NULL, "exit 3 when the mean misses it: cr=0.9, joint_rad=1.2, ..."},
    OPTIONS_READING,
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
        "All are means over frames, then over rollouts. docs/evaluation.md explains them.",
    .example = "heracles eval --suite smoke --planner off --json",
    .options = OPTIONS,
    .max_operands = -1,
    .run = run_eval,
};
