/* heracles practice: rollouts in situations where the reference alone does not help; what came back teaches
 * the planner. Under mpirun the processes share the situations; the first one prints and writes. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/hash.h"
#include "cli/commands.h"
#include "cli/models.h"
#include "cli/motion.h"
#include "control/library.h"
#include "learn/comm.h"
#include "learn/motions.h"
#include "learn/practice.h"

#define BLOCK 32 /* situations between looks at the clock and the keyboard */

typedef struct {
    const args *a;
    const char *out;
    char part[1100]; /* of this process, until all is done */
    int situations, next;
    char run[24]; /* tells runs apart: models, clips and options */
    double saved, save_every_s;
    models use;
    motions data;
    pool *threads;
    practice *room;
    lessons made;
    practice_counts counts;
} session;

static void part_path(char *out, size_t size, const char *path, int rank)
{
    snprintf(out, size, "%s.part-%d", path, rank);
}

/* ---- Parts: what a process has so far ---- */

static void print_counts(char *out, size_t size, const practice_counts *c)
{
    size_t at = 0;
    for (int k = 0; k < SITUATIONS; k++)
        at += (size_t)snprintf(out + at, size - at, "%d %d %d %.2f ", c->tried[k], c->own[k], c->returned[k],
                               c->own_s[k]);
}

static bool add_counts(practice_counts *c, const char *text)
{
    for (int k = 0, used = 0; k < SITUATIONS; k++, text += used) {
        int tried, own, returned;
        double own_s;
        if (!text || sscanf(text, "%d %d %d %lf %n", &tried, &own, &returned, &own_s, &used) != 4)
            return false;
        c->tried[k] += tried, c->own[k] += own, c->returned[k] += returned, c->own_s[k] += own_s;
    }
    return true;
}

static void count_lessons(practice_counts *c, const lessons *l)
{
    for (int i = 0; i < l->n; i++) c->lessons[l->label[i] / LESSON_POSTURES][l->label[i] % LESSON_POSTURES]++;
}

static hrc_status save_as(session *s, const char *path, hrc_error *err)
{
    char next[24], seed[24], counts[256], ranks[16];
    snprintf(next, sizeof next, "%d", s->next);
    snprintf(seed, sizeof seed, "%llu", (unsigned long long)s->a->seed);
    snprintf(ranks, sizeof ranks, "%d", comm_size());
    print_counts(counts, sizeof counts, &s->counts);
    const tensor_meta meta[] = {
        {"next", next}, {"seed", seed}, {"run", s->run}, {"ranks", ranks}, {"counts", counts}};
    s->saved = clock_s();
    return lessons_save(&s->made, path, meta, COUNT(meta), err);
}

static hrc_status check_meta(const tensorfile *file, const char *key, const char *expected, hrc_error *err)
{
    const char *found = tensorfile_text(file, key, "(missing)");
    if (!strcmp(found, expected)) return HRC_OK;
    return fail(err, HRC_EFORMAT, "%s: %s is \"%.24s\", expected \"%s\": this is another run's", file->path,
                key, found, expected);
}

static hrc_status read_progress(session *s, const tensorfile *file, bool resumes, hrc_error *err)
{
    const char *next = tensorfile_text(file, "next", "(missing)");
    char *end;
    const long done = strtol(next, &end, 10);
    if (end == next || *end || done < 0 || done > s->situations)
        return fail(err, HRC_EFORMAT, "%s: next is \"%.24s\", expected 0 to %d situations", file->path, next,
                    s->situations);
    if (!add_counts(&s->counts, tensorfile_meta(file, "counts")))
        return fail(err, HRC_EFORMAT, "%s: has no counts of a practice under way", file->path);
    if (resumes) s->next = (int)done;
    return HRC_OK;
}

static hrc_status check_labels(const lessons *l, const char *path, hrc_error *err)
{
    for (int i = 0; i < l->n; i++)
        if (l->label[i] >= SITUATIONS * LESSON_POSTURES)
            return fail(err, HRC_EFORMAT, "%s: label %d is %d, expected under %d", path, i, l->label[i],
                        SITUATIONS * LESSON_POSTURES);
    return HRC_OK;
}

static hrc_status load_part(session *s, const char *path, bool resumes, hrc_error *err)
{
    tensorfile file;
    char seed[24], ranks[16];
    snprintf(seed, sizeof seed, "%llu", (unsigned long long)s->a->seed);
    snprintf(ranks, sizeof ranks, "%d", comm_size());
    TRY(tensorfile_open(&file, path, err));
    hrc_status status = check_meta(&file, "seed", seed, err);
    if (status == HRC_OK) status = check_meta(&file, "run", s->run, err);
    if (status == HRC_OK) status = check_meta(&file, "ranks", ranks, err);
    if (status == HRC_OK) status = read_progress(s, &file, resumes, err);
    tensorfile_close(&file);
    TRY(status);
    TRY(lessons_load(&s->made, path, err));
    return check_labels(&s->made, path, err);
}

/* ---- Set up ---- */

static hrc_status make_room(session *s, const practice_options *o, hrc_error *err)
{
    const clip **clips = calloc((size_t)s->data.n + 1, sizeof(void *));
    int n = 0;
    if (!clips) return fail(err, HRC_ENOMEM, "practice: out of memory");
    for (int i = 0; i < s->data.n; i++)
        if (!s->data.heldout[i]) clips[n++] = &s->data.clips[i];
    hrc_status status =
        practice_create(&s->room, &s->a->cfg, s->use.tracker, s->use.planner, clips, n, o, s->threads, err);
    free(clips);
    return status;
}

static void identify(session *s, const practice_options *o)
{
    const plan_model *plan = &s->use.planner->plan;
    const track_model *track = &s->use.tracker->track;
    char options[160];
    snprintf(options, sizeof options, "%d %d %g %g %d %d %d %d", o->attempts, o->kept, (double)o->noise,
             o->attempt_s, o->taught, o->guided, o->trials, s->data.n);
    uint64_t hash = hash_bytes(HASH_START, options, strlen(options));
    hash = hash_bytes(hash, plan->params, sizeof(float) * plan->net.layout.count);
    hash = hash_bytes(hash, &plan->scales, sizeof plan->scales);
    hash = hash_bytes(hash, track->params, sizeof(float) * track->net.layout.count);
    for (int i = 0; i < s->data.n; i++)
        hash = hash_bytes(hash, s->data.clips[i].qpos, sizeof(float) * HRC_NQ * (size_t)s->data.clips[i].n);
    snprintf(s->run, sizeof s->run, "%016llx", (unsigned long long)hash);
}

static hrc_status set_up(session *s, const practice_options *o, hrc_error *err)
{
    const args *a = s->a;
    part_path(s->part, sizeof s->part, s->out, comm_rank());
    if (access(s->out, F_OK) == 0)
        return fail(err, HRC_EFILE, "%s: is there already; remove it, or name another file", s->out);
    TRY(models_open(&s->use, arg(a, "tracker"), arg(a, "planner"), err));
    if (model_of_others(s->use.tracker))
        return fail(err, HRC_EINVAL, "%s: is a policy of others, expected a tracker of ours",
                    s->use.tracker_path);
    TRY(pool_create(&s->threads, a->threads, err));
    clip_options reading;
    TRY(motion_reading(a, &reading, err));
    TRY(motions_load(&s->data, arg(a, "corpus"), a->operands, a->n, &reading, true, err));
    TRY(make_room(s, o, err));
    identify(s, o);
    if (!arg(a, "resume") || access(s->part, F_OK) != 0) return HRC_OK;
    TRY(load_part(s, s->part, true, err));
    count_lessons(&s->counts, &s->made);
    return HRC_OK;
}

static void tear_down(session *s)
{
    practice_free(s->room);
    lessons_free(&s->made);
    motions_free(&s->data);
    pool_free(s->threads);
    models_free(&s->use);
}

/* ---- Run ---- */

static void show(session *s, progress *bar)
{
    char detail[160];
    int tried = 0, own = 0, returned = 0;
    for (int k = 0; k < SITUATIONS; k++)
        tried += s->counts.tried[k], own += s->counts.own[k], returned += s->counts.returned[k];
    snprintf(detail, sizeof detail,
             "%d situations, %d back by the planner itself, %d in any attempt, %d lessons", tried, own,
             returned, s->made.n);
    progress_show(bar, (double)s->next / s->situations, detail);
}

static void tell_ways(const session *s)
{
    const practice_ways w = practice_ways_of(s->room);
    char up[64] = "";
    if (!w.used || comm_rank()) return;
    for (int i = 0; i < w.used; i++)
        snprintf(up + strlen(up), sizeof up - strlen(up), "%s%.0f %%", i ? ", " : "", 100 * (double)w.up[i]);
    cli_note(s->a, "%d recorded ways up were tried; %d lead, which alone get up %s of the robots", w.known,
             w.used, up);
}

static hrc_status run(session *s, hrc_error *err)
{
    progress bar = progress_begin(s->a, "practice");
    s->saved = clock_s();
    while (s->next < s->situations && !comm_any(cli_interrupted())) {
        const int block = BLOCK * comm_size(), first = s->next + BLOCK * comm_rank();
        const int left = s->situations - first, n = left < BLOCK ? left : BLOCK;
        if (n > 0) TRY(practice_run(s->room, first, n, &s->made, &s->counts, err));
        s->next = s->next + block < s->situations ? s->next + block : s->situations;
        if (comm_rank() == 0) show(s, &bar);
        if (clock_s() - s->saved > s->save_every_s) TRY(save_as(s, s->part, err));
    }
    progress_end(&bar);
    return save_as(s, s->part, err);
}

/* The parts of all processes, in the order of situations, as one file. */
static hrc_status join(session *s, hrc_error *err)
{
    double done = 0;
    comm_sum_doubles(&done, 1); /* all parts are written */
    if (comm_rank() != 0) return HRC_OK;
    for (int r = 1; r < comm_size(); r++) {
        char path[1100];
        part_path(path, sizeof path, s->out, r);
        TRY(load_part(s, path, false, err));
    }
    if (comm_size() > 1) {
        TRY(lessons_sort(&s->made, err));
        memset(s->counts.lessons, 0, sizeof s->counts.lessons);
        count_lessons(&s->counts, &s->made);
    }
    TRY(save_as(s, s->out, err));
    for (int r = 0; r < comm_size(); r++) {
        char path[1100];
        part_path(path, sizeof path, s->out, r);
        unlink(path);
    }
    return HRC_OK;
}

/* ---- Report ---- */

static int report_json(const session *s)
{
    json_t *kinds = json_array();
    for (int k = 0; k < SITUATIONS; k++) {
        json_t *postures = json_object();
        for (int i = 0; i < LESSON_POSTURES; i++)
            json_object_set_new(postures, LESSON_POSTURE[i], json_integer(s->counts.lessons[k][i]));
        json_array_append_new(kinds, json_pack("{s:s, s:i, s:i, s:i, s:o}", "situation", SITUATION_WORDS[k],
                                               "tried", s->counts.tried[k], "own", s->counts.own[k],
                                               "returned", s->counts.returned[k], "lessons", postures));
    }
    return cli_json(json_pack("{s:s, s:i, s:i, s:o}", "file", s->out, "situations", s->next, "lessons",
                              s->made.n, "by_situation", kinds));
}

static int report(const session *s)
{
    const practice_counts *c = &s->counts;
    if (s->a->json) return report_json(s);
    printf("%-34s %6s %8s %8s %8s  lessons:", "situation", "tried", "itself", "in", "any way");
    for (int i = 0; i < LESSON_POSTURES; i++) printf(" %12s", LESSON_POSTURE[i]);
    printf("\n");
    for (int k = 0; k < SITUATIONS; k++) {
        const double tried = c->tried[k] ? c->tried[k] : 1;
        printf("%-34s %6d %6.0f %% %6.1f s %6.0f %%          ", SITUATION_WORDS[k], c->tried[k],
               100 * c->own[k] / tried, c->own[k] ? c->own_s[k] / c->own[k] : 0,
               100 * c->returned[k] / tried);
        for (int i = 0; i < LESSON_POSTURES; i++) printf(" %12d", c->lessons[k][i]);
        printf("\n");
    }
    printf("%s: %d lessons of %d situations%s\n", s->out, s->made.n, s->next,
           s->next < s->situations ? "; --resume goes on from here" : "");
    return EXIT_DONE;
}

static int run_practice(const args *a)
{
    session s = {.a = a, .out = arg(a, "out")};
    practice_options o = {.seed = a->seed, .taught = !arg(a, "untaught"), .guided = arg(a, "guided") != NULL};
    double noise = 1, minutes = 3;
    if (!s.out) return cli_usage(a, "--out is missing");
    if ((arg(a, "corpus") != NULL) == (a->n > 0)) return cli_usage(a, "give --corpus FILE or motion files");
    if (!arg_int(a, "situations", 1, 100000000, &s.situations) ||
        !arg_int(a, "attempts", 1, 6, &o.attempts) || !arg_int(a, "keep", 1, 4, &o.kept) ||
        !arg_number(a, "noise", 0.1, 2, &noise) || !arg_int(a, "trials", 0, 1000, &o.trials) ||
        !arg_number(a, "seconds", 2, 60, &o.attempt_s) ||
        !arg_number(a, "checkpoint-minutes", 0, 1e6, &minutes))
        return EXIT_USAGE;
    o.noise = (float)noise;
    s.save_every_s = 60 * minutes;
    hrc_error err;
    cli_save_on_interrupt();
    comm_start();
    hrc_status status = set_up(&s, &o, &err);
    if (status == HRC_OK) tell_ways(&s);
    if (status == HRC_OK) status = run(&s, &err);
    const bool complete = s.next >= s.situations;
    if (status == HRC_OK && complete) status = join(&s, &err);
    int code = status < 0 ? cli_fail(&err) : comm_rank() ? EXIT_DONE : report(&s);
    tear_down(&s);
    comm_stop(status < 0);
    return code == EXIT_DONE && !complete ? EXIT_INTERRUPTED : code;
}

static const option OPTIONS[] = {
    {"out", "FILE", NULL, "where to write the lessons (-o); FILE.part-0 holds them until all is done"},
    {"tracker", "FILE", "models/tracker.safetensors", "the tracker, as it was before this round"},
    {"planner", "FILE", "models/planner.safetensors", "the planner that practises"},
    {"corpus", "FILE", NULL, "its training clips are the references, and the recorded ways up"},
    {"situations", "N", "1000", "how many"},
    {"attempts", "N", "6", "at the most, at a situation"},
    {"keep", "N", "2", "successful attempts at the most, of a situation"},
    {"noise", "N", "1", "largest noise of an attempt"},
    {"seconds", "N", "10", "longest attempt"},
    {"guided", NULL, NULL,
     "recorded ways up lead first: for the first round, with a planner that knows nothing yet"},
    {"trials", "N", "32",
     "robots on which the recorded ways up are tried, the best lead; 0: the nearest leads"},
    {"untaught", NULL, NULL, "no recorded ways up lead: the planner's own attempts only"},
    {"resume", NULL, NULL, "go on from FILE.part-0 when it is there"},
    {"checkpoint-minutes", "N", "3", "time between checkpoints"},
    OPTIONS_READING,
    {0},
};

const command CMD_PRACTICE = {
    .name = "practice",
    .operands = "[MOTION...]",
    .summary = "rollouts of falls, pushes and failures, of which those that recover teach the planner",
    .details = "The same seed gives the same lessons, whatever the number of threads or processes.",
    .example =
        "heracles practice --corpus motions/cmu.safetensors --situations 2000 --seed 1 -o practice.safetensors",
    .options = OPTIONS,
    .max_operands = -1,
    .run = run_practice,
};
