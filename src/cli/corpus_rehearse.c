/* heracles corpus rehearse: motions that a tracker cannot follow, as physics and the robot allow them. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/hash.h"
#include "cli/commands.h"
#include "eval/rollout.h"
#include "learn/rehearse.h"
#include "learn/trial.h"
#include "motion/corpus.h"
#include "track/tracker.h"

#define BLOCK 4 /* clips of each thread between looks at the keyboard */

typedef struct {
    const args *a;
    const char *folder; /* of the rollouts */
    char run[24];       /* tells runs apart: model, options */
    rehearse_options options;
    corpus source;
    track_model model;
    pool *threads;
    clip *clips; /* of the training split */
    int n;
    references refs;  /* of those that are to be rehearsed */
    int *which, todo; /* (todo): indices of clips, the shortest first */
    rehearser *stage;
    rehearsal *results; /* (todo) */
    hrc_status *status; /* (todo) */
    hrc_error *errors;  /* (todo) */
    int first;          /* of the block under way */
} session;

/* ---- What is to be done ---- */

static hrc_status load_training_clips(session *s, hrc_error *err)
{
    const corpus *c = &s->source;
    s->clips = calloc((size_t)c->nclips + 1, sizeof *s->clips);
    s->which = calloc((size_t)c->nclips + 1, sizeof *s->which);
    if (!s->clips || !s->which) return fail(err, HRC_ENOMEM, "rehearsal: out of memory");
    for (int i = 0; i < c->nclips; i++)
        if (c->clips[i].split == CORPUS_TRAIN) TRY(corpus_clip(c, i, &s->clips[s->n++], err));
    return s->n ? HRC_OK : fail(err, HRC_EINVAL, "%s: every clip is held out", c->file.path);
}

static const clip *sorted_clips; /* for by_length */

static int by_length(const void *a, const void *b)
{
    const int x = *(const int *)a, y = *(const int *)b, d = sorted_clips[x].n - sorted_clips[y].n;
    return d ? d : x - y;
}

static hrc_status find_failing(session *s, hrc_error *err)
{
    bool *fails = calloc((size_t)s->n, sizeof *fails);
    if (!fails) return fail(err, HRC_ENOMEM, "rehearsal: out of memory");
    cli_note(s->a, "looking for what %s cannot follow among %d clips", arg(s->a, "tracker"), s->n);
    const hrc_status status = failing_clips(fails, s->clips, s->n, &s->model, &s->a->cfg, s->threads, err);
    for (int i = 0; status == HRC_OK && i < s->n; i++)
        if (fails[i]) s->which[s->todo++] = i;
    free(fails);
    sorted_clips = s->clips;
    qsort(s->which, (size_t)s->todo, sizeof *s->which, by_length);
    return status;
}

static hrc_status build_references(session *s, hrc_error *err)
{
    clip *chosen = calloc((size_t)s->todo + 1, sizeof *chosen);
    s->results = calloc((size_t)s->todo + 1, sizeof *s->results);
    s->status = calloc((size_t)s->todo + 1, sizeof *s->status);
    s->errors = calloc((size_t)s->todo + 1, sizeof *s->errors);
    if (!chosen || !s->results || !s->status || !s->errors) {
        free(chosen);
        return fail(err, HRC_ENOMEM, "rehearsal: out of memory");
    }
    for (int i = 0; i < s->todo; i++) chosen[i] = s->clips[s->which[i]];
    const hrc_status status = references_build(&s->refs, chosen, s->todo, false, s->threads, err);
    free(chosen);
    return status;
}

static void identify(session *s)
{
    const rehearse_options *o = &s->options;
    char words[120];
    snprintf(words, sizeof words, "%d %d %d %llu", o->beam, o->samples, o->horizon,
             (unsigned long long)o->seed);
    uint64_t hash = hash_bytes(HASH_START, words, strlen(words));
    hash = hash_words(hash, s->model.params, sizeof(float) * s->model.net.layout.count);
    snprintf(s->run, sizeof s->run, "%016llx", (unsigned long long)hash);
}

static hrc_status set_up(session *s, hrc_error *err)
{
    const args *a = s->a;
    TRY(corpus_open(&s->source, a->operands[0], err));
    char acting[4096];
    if (arg_given(a, "tracker") || !shipped_path(acting, sizeof acting, arg(a, "tracker")))
        snprintf(acting, sizeof acting, "%s", arg(a, "tracker"));
    TRY(tracker_load(&s->model, acting, err));
    TRY(pool_create(&s->threads, a->threads, err));
    TRY(load_training_clips(s, err));
    TRY(find_failing(s, err));
    TRY(file_folder(s->folder, err));
    identify(s);
    if (!s->todo) return HRC_OK;
    TRY(build_references(s, err));
    return rehearser_create(&s->stage, &s->model, &a->cfg, s->threads, err);
}

static void tear_down(session *s)
{
    rehearser_free(s->stage);
    references_free(&s->refs);
    for (int i = 0; i < s->n; i++) clip_free(&s->clips[i]);
    free(s->clips), free(s->which), free(s->results), free(s->status), free(s->errors);
    pool_free(s->threads);
    track_model_free(&s->model);
    corpus_close(&s->source);
}

/* ---- One clip ---- */

static void rollout_path(char *out, size_t size, const session *s, int item)
{
    snprintf(out, size, "%s/%s.safetensors", s->folder, s->refs.clips[item].name);
}

static hrc_status do_one(session *s, int item, int worker, hrc_error *err)
{
    const ref_clip *c = &s->refs.clips[item];
    char path[1400];
    rollout r;
    const int arrays = ROLLOUT_REF | ROLLOUT_TARGET | ROLLOUT_QVEL;
    TRY(rollout_create(&r, c->n, CORPUS_FPS, c->name, arrays, 0, err));
    const rehearsed did = {r.qpos, r.qvel, r.target, r.ref};
    hrc_status status = rehearse(s->stage, c, &s->options, worker, &did, err);
    r.note = s->run;
    rollout_path(path, sizeof path, s, item);
    if (status == HRC_OK) status = rollout_save(&r, path, err);
    rollout_free(&r);
    return status;
}

static void do_item(void *ctx, int i, int worker)
{
    session *s = ctx;
    const int item = s->first + i;
    char path[1400];
    rollout_path(path, sizeof path, s, item);
    if (cli_interrupted() || access(path, F_OK) == 0) return;
    s->status[item] = do_one(s, item, worker, &s->errors[item]);
}

static hrc_status do_all(session *s, hrc_error *err)
{
    progress bar = progress_begin(s->a, "rehearsing");
    double frames = 0, done = 0;
    for (int i = 0; i < s->todo; i++) frames += s->refs.clips[i].n;
    for (s->first = 0; s->first < s->todo && !cli_interrupted();) {
        const int block = BLOCK * pool_threads(s->threads), left = s->todo - s->first,
                  n = left < block ? left : block;
        pool_items(s->threads, n, do_item, s);
        for (int i = s->first; i < s->first + n; i++) {
            if (s->status[i] < 0) return fail(err, s->status[i], "%s", s->errors[i].text);
            done += s->refs.clips[i].n;
        }
        progress_show(&bar, done / frames, s->refs.clips[s->first + n - 1].name);
        s->first += n;
    }
    progress_end(&bar);
    return HRC_OK;
}

/* ---- What came of it ---- */

static hrc_status count_one(session *s, int item, hrc_error *err)
{
    const ref_clip *c = &s->refs.clips[item];
    char path[1400];
    rollout r;
    rollout_path(path, sizeof path, s, item);
    TRY(rollout_load(&r, path, err));
    hrc_status status = HRC_OK;
    if (strcmp(r.note, s->run))
        status =
            fail(err, HRC_EFORMAT, "%s: is of another run (\"%.24s\", expected \"%s\"); name another folder",
                 path, r.note, s->run);
    else if (r.n != c->n)
        status = fail(err, HRC_EFORMAT, "%s: has %d frames, expected the %d of its clip", path, r.n, c->n);
    else
        s->results[item] = rehearsal_count(r.qpos, r.ref, r.n);
    rollout_free(&r);
    return status;
}

static int report(session *s)
{
    hrc_error err;
    double within = 0, joint = 0;
    int done = 0;
    for (int i = 0; i < s->todo; i++) {
        if (count_one(s, i, &err) < 0) return cli_fail(&err);
        const rehearsal *r = &s->results[i];
        within += (double)r->within / r->frames / s->todo, joint += r->joint_rad / s->todo;
        done += r->within == r->frames;
        if (r->within < r->frames)
            cli_note(s->a, "%s: within the bounds for %d of %d frames", s->refs.clips[i].name, r->within,
                     r->frames);
    }
    if (s->a->json)
        return cli_json(json_pack("{s:s, s:i, s:i, s:f, s:f}", "folder", s->folder, "clips", s->todo, "done",
                                  done, "within", within, "joint_rad", joint));
    if (s->todo)
        printf(
            "%s: %d of %d clips done to the end; within bounds for %.1f %% of all frames, joints %.2f rad off\n",
            s->folder, done, s->todo, 100 * within, joint);
    else
        printf("%s: the tracker follows all of it\n", s->source.file.path);
    return EXIT_DONE;
}

static int run_corpus_rehearse(const args *a)
{
    session s = {.a = a, .folder = arg(a, "out"), .options = REHEARSE_DEFAULT};
    rehearse_options *o = &s.options;
    hrc_error err;
    if (!s.folder) return cli_usage(a, "--out is missing");
    if (!arg_int(a, "beam", 1, REHEARSE_BEAM, &o->beam) ||
        !arg_int(a, "samples", 12, REHEARSE_SAMPLES, &o->samples) ||
        !arg_int(a, "horizon", REHEARSE_STEP, REHEARSE_HORIZON, &o->horizon))
        return EXIT_USAGE;
    if (o->samples < 4 * o->beam)
        return cli_usage(a, "--samples is %d, expected at least four times --beam, %d", o->samples,
                         4 * o->beam);
    o->seed = a->seed;
    cli_save_on_interrupt();
    hrc_status status = set_up(&s, &err);
    if (status == HRC_OK) status = do_all(&s, &err);
    const bool stopped = cli_interrupted();
    const int code = status < 0 ? cli_fail(&err) : stopped ? EXIT_INTERRUPTED : report(&s);
    tear_down(&s);
    return code;
}

static const option OPTIONS[] = {
    {"out", "FOLDER", NULL, "where the rollouts go (-o), one of each clip; `view` shows them"},
    {"tracker", "FILE", "models/tracker.safetensors", "the tracker that acts"},
    {"samples", "N", "96", "copies of the robot that are tried at each choice"},
    {"beam", "N", "4", "of which so many go on"},
    {"horizon", "N", "60", "control periods that they are judged over"},
    {0},
};

const command CMD_CORPUS_REHEARSE = {
    .name = "corpus rehearse",
    .operands = "CORPUS -o FOLDER",
    .summary = "what a tracker cannot follow, as physics and the robot allow it: found by search in MuJoCo",
    .details =
        "Of the training clips that the tracker does not do to the end: it acts again, with offsets added to\n"
        "its actions, in many copies of the robot; those go on that are nearest to the reference over the next\n"
        "second. `train tracker --rehearsed FOLDER` learns from what stays within the bounds of completion to\n"
        "the end. Begun again, the command goes on where it was stopped.",
    .example = "heracles corpus rehearse motions/cmu.safetensors -o rehearsed",
    .options = OPTIONS,
    .min_operands = 1,
    .max_operands = 1,
    .run = run_corpus_rehearse,
};
