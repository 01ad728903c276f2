/* heracles train: the whole road from motions to models, stage by stage. Every stage is a command of its own,
 * run with --resume, so that the same line goes on wherever it was stopped; train.json in the folder says
 * which are done, and with which settings. */
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/text.h"
#include "cli/cli.h"
#include "cli/commands.h"
#include "cli/motion.h"
#include "cli/training.h"
#include "learn/comm.h"
#include "plan/anchor.h"

#define PATH 1200

typedef struct {
    const args *a;
    const char *folder;
    char tracker[PATH], planner[PATH], report[PATH], record[PATH];
    json_t *state; /* train.json */
} road;

typedef struct {
    const char *name, *value; /* of a stage's command line; a flag has the value "1" */
} setting;

/* A tracker; others, each taught what the one before failed on; a first planner, rounds of practice and
 * another planner, which see the root's position; the one that is used, of encoders and IMU alone; the
 * report. */
typedef enum {
    STAGE_TRACKER,
    STAGE_REHEARSAL,
    STAGE_PRACTICE,
    STAGE_PLANNER,
    STAGE_BLIND,
    STAGE_REPORT
} stage_kind;

typedef struct {
    stage_kind kind;
    int round;
} stage;

/* ---- A command as a stage ---- */

static int run_command(const road *r, const command *cmd, const setting *given, bool motions)
{
    int noptions = 0;
    while (cmd->options[noptions].name) noptions++;
    args sub = *r->a;
    sub.cmd = cmd;
    sub.json = false;
    if (!motions) sub.n = 0;
    sub.values = calloc((size_t)noptions + 1, sizeof *sub.values);
    if (!sub.values) abort();
    for (const setting *s = given; s->name; s++)
        for (int i = 0; i < noptions; i++)
            if (!strcmp(cmd->options[i].name, s->name)) sub.values[i] = s->value;
    for (int i = 0; i < noptions && motions; i++) /* how motions are read is the same in every stage */
        if (!strcmp(cmd->options[i].name, "in-fps") || !strcmp(cmd->options[i].name, "quat"))
            sub.values[i] = arg(r->a, cmd->options[i].name);
    const int code = cmd->run(&sub);
    free(sub.values);
    return code;
}

static void path_of(char out[PATH], const road *r, const char *what, int round)
{
    snprintf(out, PATH, "%s/%s-%d.safetensors", r->folder, what, round);
}

/* The last one has no number. */
static void planner_path(char out[PATH], const road *r, int round)
{
    if (round == r->a->cfg.train_rounds)
        snprintf(out, PATH, "%s/planner-38d.safetensors", r->folder);
    else
        path_of(out, r, "planner", round);
}

/* The corpora of tracker and practice: get-ups are what the one is taught and what leads the other. The
 * planner's own clips are those of people. */
static const char *with_getups(const road *r, text *both)
{
    const char *corpus = arg(r->a, "corpus"), *getups = arg(r->a, "getups");
    text_add(both, "%s%s%s", corpus ? corpus : "", corpus && getups ? "," : "", getups ? getups : "");
    if (!text_ok(both)) abort();
    return corpus || getups ? both->data : NULL;
}

/* What a tracker fails on is looked for in a corpus. */
static int rehearsals(const road *r)
{
    return arg(r->a, "corpus") ? r->a->cfg.train_rehearsals : 0;
}

/* The last one has no number. */
static void tracker_path(char out[PATH], const road *r, int round)
{
    if (round == rehearsals(r))
        snprintf(out, PATH, "%s", r->tracker);
    else
        path_of(out, r, "tracker", round);
}

static void rehearsed_path(char out[PATH], const road *r, int round)
{
    snprintf(out, PATH, "%s/rehearsed-%d", r->folder, round);
}

/* From nothing, with what the tracker of the round before was rehearsed in. */
static int train_tracker(const road *r, int round)
{
    char out[PATH], rehearsed[PATH];
    text corpora = {0};
    tracker_path(out, r, round);
    rehearsed_path(rehearsed, r, round);
    const setting given[] = {{"corpus", with_getups(r, &corpora)},
                             {"rehearsed", round ? rehearsed : NULL},
                             {"out", out},
                             {"resume", "1"},
                             {0}};
    const int code = run_command(r, &CMD_TRAIN_TRACKER, given, true);
    text_free(&corpora);
    return code;
}

/* Of the first corpus, by the first process; the others wait for the files. */
static int rehearse(const road *r, int round)
{
    char corpus[PATH], tracker[PATH], out[PATH];
    const char *first = arg(r->a, "corpus"), *operands[] = {corpus};
    args a = *r->a;
    road of_corpus = *r;
    double done = 0;
    int code = EXIT_DONE;
    of_corpus.a = &a;
    snprintf(corpus, sizeof corpus, "%.*s", (int)strcspn(first, ","), first);
    tracker_path(tracker, r, round - 1);
    rehearsed_path(out, r, round);
    const setting given[] = {{"tracker", tracker}, {"out", out}, {0}};
    a.operands = operands, a.n = 1;
    if (leads()) code = run_command(&of_corpus, &CMD_CORPUS_REHEARSE, given, true);
    comm_sum_doubles(&done, 1);
    return code;
}

/* Gradients alone do not lead a trained tracker to a leap; one that is shown leaps from the beginning learns
 * them (docs/log.md). */
static int train_on_failures(const road *r, int round)
{
    const int code = rehearse(r, round);
    return code == EXIT_DONE && !cli_interrupted() ? train_tracker(r, round) : code;
}

/* With the planner of the round before. In the first half of the rounds recorded ways up lead, then the
 * planner tries first and they correct it. */
static int practise(const road *r, int round)
{
    const bool guided = round <= (r->a->cfg.train_rounds + 1) / 2;
    char planner[PATH], out[PATH], situations[16], trials[16];
    text corpora = {0};
    planner_path(planner, r, round - 1);
    path_of(out, r, "practice", round);
    snprintf(situations, sizeof situations, "%d", r->a->cfg.train_situations);
    snprintf(trials, sizeof trials, "%d", r->a->cfg.train_trials);
    const setting given[] = {{"corpus", with_getups(r, &corpora)},
                             {"tracker", r->tracker},
                             {"planner", planner},
                             {"situations", situations},
                             {"trials", trials},
                             {"guided", guided ? "1" : NULL},
                             {"out", out},
                             {"resume", "1"},
                             {0}};
    road other = *r;
    args a = *r->a;
    a.seed += (uint64_t)round; /* other situations */
    other.a = &a;
    const int code = run_command(&other, &CMD_PRACTICE, given, !arg(r->a, "corpus"));
    text_free(&corpora);
    return code;
}

/* On the lessons of all rounds so far, with the weights of a planner before it; from NULL: from nothing. */
static int train_planner_as(const road *r, int round, const char *from, const char *out)
{
    char practice[PATH];
    text lessons = {0};
    for (int i = 1; i <= round; i++) {
        path_of(practice, r, "practice", i);
        text_add(&lessons, "%s%s", i > 1 ? "," : "", practice);
    }
    if (round && !text_ok(&lessons)) abort();
    const setting given[] = {{"corpus", arg(r->a, "corpus")},
                             {"practice", round ? lessons.data : NULL},
                             {"from", from},
                             {"out", out},
                             {"resume", "1"},
                             {0}};
    const int code = run_command(r, &CMD_TRAIN_PLANNER, given, true);
    text_free(&lessons);
    return code;
}

static int train_planner(const road *r, int round)
{
    char out[PATH], before[PATH];
    planner_path(out, r, round);
    if (round) planner_path(before, r, round - 1);
    return train_planner_as(r, round, round ? before : NULL, out);
}

/* From nothing, on the lessons of all rounds, so for longer. */
static int train_blind_planner(const road *r)
{
    args a = *r->a;
    road other = *r;
    other.a = &a;
    a.cfg.planner_dims = PLAN_D_BLIND;
    a.cfg.planner_steps *= 2;
    return train_planner_as(&other, a.cfg.train_rounds, NULL, r->planner);
}

/* On clips that no stage was trained on; by the first process alone. */
static int report(const road *r)
{
    const setting given[] = {{"suite", arg(r->a, "suite")},
                             {"corpus", arg(r->a, "suite-corpus")},
                             {"tracker", r->tracker},
                             {"planner", r->planner},
                             {"out", r->report},
                             {0}};
    return leads() ? run_command(r, &CMD_EVAL, given, false) : EXIT_DONE;
}

/* ---- The stages in their order ---- */

static int stages(const road *r)
{
    return 4 + rehearsals(r) + 2 * r->a->cfg.train_rounds;
}

static stage stage_at(const road *r, int i)
{
    if (i == 0) return (stage){STAGE_TRACKER, 0};
    if (i == stages(r) - 1) return (stage){STAGE_REPORT, 0};
    if (i == stages(r) - 2) return (stage){STAGE_BLIND, 0};
    if (i <= rehearsals(r)) return (stage){STAGE_REHEARSAL, i};
    i -= rehearsals(r);
    return (stage){i % 2 ? STAGE_PLANNER : STAGE_PRACTICE, i / 2};
}

static const char *stage_name(char *out, size_t size, stage s)
{
    static const char *const NAMES[] = {
        "tracker", "what it failed on", "practice", "planner", "planner for encoders and IMU", "report"};
    const bool numbered = s.kind == STAGE_REHEARSAL || s.kind == STAGE_PRACTICE || s.kind == STAGE_PLANNER;
    snprintf(out, size, numbered ? "%s %d" : "%s", NAMES[s.kind], s.round);
    return out;
}

static int run_stage(const road *r, stage s)
{
    switch (s.kind) {
    case STAGE_TRACKER: return train_tracker(r, 0);
    case STAGE_REHEARSAL: return train_on_failures(r, s.round);
    case STAGE_PRACTICE: return practise(r, s.round);
    case STAGE_PLANNER: return train_planner(r, s.round);
    case STAGE_BLIND: return train_blind_planner(r);
    default: return report(r);
    }
}

/* ---- Which are done ---- */

static hrc_status keep_record(const road *r, hrc_error *err)
{
    char *words = leads() ? json_dumps(r->state, JSON_INDENT(1)) : NULL;
    if (!words) return leads() ? fail(err, HRC_ENOMEM, "%s: out of memory", r->record) : HRC_OK;
    const hrc_status status = file_write(r->record, &(file_piece){words, strlen(words)}, 1, err);
    free(words);
    return status;
}

static bool is_done(const road *r, const char *name)
{
    return json_object_get(json_object_get(r->state, "done"), name) != NULL;
}

/* What the stages depend on. */
static json_t *identity(const road *r)
{
    char *settings = config_text(&r->a->cfg);
    json_t *motions = json_array();
    for (int i = 0; i < r->a->n; i++) json_array_append_new(motions, json_string(r->a->operands[i]));
    json_t *out = json_pack("{s:s?, s:s?, s:o, s:I, s:s?}", "corpus", arg(r->a, "corpus"), "getups",
                            arg(r->a, "getups"), "motions", motions, "seed", (json_int_t)r->a->seed,
                            "settings", settings);
    free(settings);
    return out;
}

/* Settings are compared by what they say: an earlier version's text has other keys. */
static bool same_settings(const json_t *now, const json_t *old)
{
    hrc_error err;
    config stored = config_default();
    const char *was = json_string_value(old);
    if (!was || config_parse_stored(&stored, "record", was, &err) < 0) return false;
    char *resolved = config_text(&stored);
    const bool same = resolved && !strcmp(resolved, json_string_value(now));
    free(resolved);
    return same;
}

/* The folder's record, or a new one. A record of another training is refused. */
static hrc_status open_record(road *r, hrc_error *err)
{
    TRY(file_folder(r->folder, err));
    json_t *now = identity(r), *old = json_load_file(r->record, 0, NULL);
    if (!old) {
        r->state = json_pack("{s:o, s:{}}", "of", now, "done");
        return r->state ? HRC_OK : fail(err, HRC_ENOMEM, "%s: out of memory", r->record);
    }
    r->state = old;
    enum { SETTINGS = 4 };
    static const char *const PARTS[] = {"corpus", "getups", "motions", "seed", "settings"};
    hrc_status status = HRC_OK;
    for (int i = 0; i < COUNT(PARTS) && status == HRC_OK; i++) {
        const json_t *is = json_object_get(now, PARTS[i]);
        const json_t *was = json_object_get(json_object_get(old, "of"), PARTS[i]);
        if (!(i == SETTINGS ? same_settings(is, was) : json_equal(is, was)))
            status = fail(err, HRC_EINVAL,
                          "%s: this training was begun with other %s; give the same ones, or another folder",
                          r->record, PARTS[i]);
    }
    json_decref(now);
    return status;
}

/* ---- The command ---- */

static int finish(const road *r)
{
    char planner[PATH];
    planner_path(planner, r, r->a->cfg.train_rounds);
    if (!leads()) return EXIT_DONE;
    if (r->a->json)
        return cli_json(json_pack("{s:s, s:s, s:s, s:s, s:O}", "tracker", r->tracker, "planner", r->planner,
                                  "planner_38d", planner, "report", r->report, "stages",
                                  json_object_get(r->state, "done")));
    printf("%s, %s, %s; report %s\n", r->tracker, r->planner, planner, r->report);
    return EXIT_DONE;
}

static int run_stages(road *r)
{
    char name[32];
    hrc_error err;
    for (int i = 0; i < stages(r); i++) {
        const stage s = stage_at(r, i);
        const double start = clock_s();
        if (is_done(r, stage_name(name, sizeof name, s))) continue;
        if (leads()) cli_note(r->a, "stage %d of %d: %s", i + 1, stages(r), name);
        const int code = run_stage(r, s);
        if (code != EXIT_DONE || cli_interrupted()) {
            if (leads()) cli_note(r->a, "stopped in stage %d; the same command goes on from there", i + 1);
            return code;
        }
        json_object_set_new(json_object_get(r->state, "done"), name,
                            json_pack("{s:f}", "minutes", (clock_s() - start) / 60));
        if (keep_record(r, &err) < 0) return cli_fail(&err);
    }
    return finish(r);
}

static int run_train(const args *a)
{
    road r = {.a = a, .folder = arg(a, "out")};
    hrc_error err;
    if (!r.folder) return cli_usage(a, "--out is missing");
    if (!arg(a, "corpus") && a->n == 0) return cli_usage(a, "give --corpus FILE or --motion FILE");
    snprintf(r.tracker, sizeof r.tracker, "%s/tracker.safetensors", r.folder);
    snprintf(r.planner, sizeof r.planner, "%s/planner.safetensors", r.folder);
    snprintf(r.report, sizeof r.report, "%s/report.html", r.folder);
    snprintf(r.record, sizeof r.record, "%s/train.json", r.folder);
    comm_start();
    hrc_status status = open_record(&r, &err);
    if (status == HRC_OK) status = keep_record(&r, &err);
    const int code = status < 0 ? cli_fail(&err) : run_stages(&r);
    json_decref(r.state);
    return code;
}

static const option OPTIONS[] = {
    {"out", "FOLDER", NULL, "where models, logs, checkpoints and the report go (-o)"},
    PRESET_OPTION,
    {"corpus", "FILE[,FILE]", NULL, "all clips of one or several corpora but those they hold out"},
    {"getups", "FILE[,FILE]", NULL,
     "get-ups that the tracker is taught, too, and that lead in practice (corpus build --get-ups)"},
    {"motion", "FILE...", NULL, "motions beside them, or alone; FILE#NAME is one clip of a corpus"},
    {"suite", "NAME", "validation", "what the closing report is about: a suite by name, or a FILE.csv"},
    {"suite-corpus", "FILE", NULL, "where its clips are; default: the shipped corpus"},
    OPTIONS_READING,
    {0},
};

const command CMD_TRAIN = {
    .name = "train",
    .operands = "[MOTION...]",
    .summary = "everything: tracker, planner with rounds of practice, and a report, in one folder",
    .details =
        "The same line goes on where it was stopped, also after kill -9. Settings come from --preset (heracles\n"
        "help preset), --config and --section.key=value. 'train tracker' and 'train planner' do the parts.",
    .example =
        "heracles train --corpus motions/cmu.safetensors --getups motions/getups.safetensors --preset general -o trained",
    .options = OPTIONS,
    .max_operands = -1,
    .run = run_train,
};
