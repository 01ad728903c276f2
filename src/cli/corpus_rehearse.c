/* heracles corpus rehearse: motions that a tracker cannot follow, as physics and the robot allow them. */
#include <math.h>
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
    const char *out;
    char folder[1024]; /* of the rollouts */
    char run[24];      /* tells runs apart: model, corpus, options */
    rehearse_options options;
    corpus source;
    track_model model;
    pool *threads;
    clip *clips;      /* of the training split */
    int *entries, n;  /* (n): where the source has them */
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
    s->entries = calloc((size_t)c->nclips + 1, sizeof *s->entries);
    s->which = calloc((size_t)c->nclips + 1, sizeof *s->which);
    if (!s->clips || !s->entries || !s->which) return fail(err, HRC_ENOMEM, "rehearsal: out of memory");
    for (int i = 0; i < c->nclips; i++)
        if (c->clips[i].split == CORPUS_TRAIN) {
            TRY(corpus_clip(c, i, &s->clips[s->n], err));
            s->entries[s->n++] = i;
        }
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
    hrc_status status = chosen && s->results && s->status && s->errors
                            ? HRC_OK
                            : fail(err, HRC_ENOMEM, "rehearsal: out of memory");
    for (int i = 0; status == HRC_OK && i < s->todo; i++) chosen[i] = s->clips[s->which[i]];
    if (status == HRC_OK) status = references_build(&s->refs, chosen, s->todo, false, s->threads, err);
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
    if (access(s->out, F_OK) == 0)
        return fail(err, HRC_EFILE, "%s: is there already; remove it, or name another file", s->out);
    TRY(corpus_open(&s->source, a->operands[0], err));
    TRY(tracker_load(&s->model, arg(a, "tracker"), err));
    TRY(pool_create(&s->threads, a->threads, err));
    TRY(load_training_clips(s, err));
    TRY(find_failing(s, err));
    if (!s->todo) return fail(err, HRC_EINVAL, "%s: the tracker follows all of it", s->source.file.path);
    TRY(build_references(s, err));
    identify(s);
    TRY(file_folder(s->folder, err));
    return rehearser_create(&s->stage, &s->model, &a->cfg, s->threads, err);
}

static void tear_down(session *s)
{
    rehearser_free(s->stage);
    references_free(&s->refs);
    for (int i = 0; i < s->n; i++) clip_free(&s->clips[i]);
    free(s->clips), free(s->entries), free(s->which), free(s->results), free(s->status), free(s->errors);
    pool_free(s->threads);
    track_model_free(&s->model);
    corpus_close(&s->source);
}

/* ---- One clip ---- */

static void rollout_path(char *out, size_t size, const session *s, int item)
{
    snprintf(out, size, "%s/%s.safetensors", s->folder, s->refs.clips[item].name);
}

/* MuJoCo's joint limits give way a little; a file's do not. */
static void into_limits(float *qpos, int n)
{
    for (int t = 0; t < n; t++)
        for (int i = 0; i < HRC_JOINTS; i++) {
            float *q = &qpos[(size_t)t * HRC_NQ + 7 + (size_t)i];
            *q = fminf(fmaxf(*q, (float)G1_JOINT[i].lo), (float)G1_JOINT[i].hi);
        }
}

static hrc_status do_one(session *s, int item, int worker, hrc_error *err)
{
    const ref_clip *c = &s->refs.clips[item];
    char path[1400];
    rollout r;
    TRY(rollout_create(&r, c->n, CORPUS_FPS, c->name, ROLLOUT_REF, 0, err));
    hrc_status status = rehearse(s->stage, c, &s->options, worker, r.qpos, &s->results[item], err);
    for (int t = 0; t < c->n; t++)
        memcpy(r.ref + (size_t)t * HRC_NQ, c->frames[t].qpos, sizeof(float) * HRC_NQ);
    into_limits(r.qpos, c->n);
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

/* ---- The corpus ---- */

static hrc_status check_rollout(const session *s, const rollout *r, const ref_clip *c, const char *path,
                                hrc_error *err)
{
    if (strcmp(r->note, s->run))
        return fail(err, HRC_EFORMAT, "%s: is of another run (\"%.24s\", expected \"%s\"); remove the folder",
                    path, r->note, s->run);
    if (r->n != c->n)
        return fail(err, HRC_EFORMAT, "%s: has %d frames, expected the %d of its clip", path, r->n, c->n);
    return HRC_OK;
}

/* True in *taken: it stays within the bounds to the end. Else why not. */
static hrc_status take(session *s, int item, corpus_item *out, bool *taken, hrc_error *why, hrc_error *err)
{
    const corpus_entry *e = &s->source.clips[s->entries[s->which[item]]];
    const ref_clip *c = &s->refs.clips[item];
    const corpus_note note = {.description = e->description, .keypoint_error = NAN};
    char path[1400];
    rollout r;
    clip motion;
    rollout_path(path, sizeof path, s, item);
    TRY(rollout_load(&r, path, err));
    hrc_status status = check_rollout(s, &r, c, path, err);
    if (status == HRC_OK) rehearsal_count(&s->results[item], r.qpos, c);
    *taken = status == HRC_OK && s->results[item].within == s->results[item].frames;
    fail(why, HRC_EINVAL, "%s: within the bounds for %d of %d frames", c->name, s->results[item].within,
         s->results[item].frames);
    if (*taken) status = clip_create(&motion, c->n, CORPUS_FPS, c->name, err);
    if (status == HRC_OK && *taken) {
        memcpy(motion.qpos, r.qpos, sizeof(float) * HRC_NQ * (size_t)c->n);
        status = clip_label(&motion, e->category, e->source, e->licence, err);
        *taken = status == HRC_OK && corpus_admit(out, &motion, &note, why) == HRC_OK;
        clip_free(&motion);
    }
    rollout_free(&r);
    return status;
}

static hrc_status write_corpus(session *s, corpus_item *items, int *taken, hrc_error *err)
{
    corpus_left_out *left_out = calloc((size_t)s->todo, sizeof *left_out);
    hrc_error *why = calloc((size_t)s->todo, sizeof *why);
    const char *thanks = tensorfile_text(&s->source.file, "acknowledgement", "");
    const tensor_meta meta[] = {{"acknowledgement", thanks}};
    int nleft = 0;
    hrc_status status = left_out && why ? HRC_OK : fail(err, HRC_ENOMEM, "rehearsal: out of memory");
    for (int i = 0; i < s->todo && status == HRC_OK; i++) {
        bool taking = false;
        status = take(s, i, &items[*taken], &taking, &why[nleft], err);
        if (taking)
            ++*taken;
        else
            left_out[nleft] = (corpus_left_out){s->refs.clips[i].name, why[nleft].text}, nleft++;
    }
    if (status == HRC_OK && !*taken)
        status = fail(err, HRC_EINVAL, "%s: of %d clips none was done to its end; more --samples may help",
                      s->source.file.path, s->todo);
    if (status == HRC_OK) status = corpus_write(s->out, items, *taken, left_out, nleft, meta, 1, err);
    free(left_out), free(why);
    return status;
}

static int report(const session *s, int taken)
{
    double within = 0, joint = 0;
    for (int i = 0; i < s->todo; i++) {
        const rehearsal *r = &s->results[i];
        within += (double)r->within / r->frames / s->todo, joint += r->joint_rad / s->todo;
    }
    if (s->a->json)
        return cli_json(json_pack("{s:s, s:i, s:i, s:f, s:f}", "file", s->out, "clips", s->todo, "taken",
                                  taken, "within", within, "joint_rad", joint));
    printf(
        "%s: %d of %d clips done to the end; within bounds for %.1f %% of all frames, joints %.2f rad off\n",
        s->out, taken, s->todo, 100 * within, joint);
    return EXIT_DONE;
}

static int finish(session *s)
{
    hrc_error err;
    int taken = 0;
    corpus_item *items = calloc((size_t)s->todo, sizeof *items);
    if (!items) abort();
    const hrc_status status = write_corpus(s, items, &taken, &err);
    for (int i = 0; i < taken; i++) corpus_item_free(&items[i]);
    free(items);
    return status < 0 ? cli_fail(&err) : report(s, taken);
}

static int run_corpus_rehearse(const args *a)
{
    session s = {.a = a, .out = arg(a, "out"), .options = REHEARSE_DEFAULT};
    rehearse_options *o = &s.options;
    hrc_error err;
    if (!s.out) return cli_usage(a, "--out is missing");
    if (!arg_int(a, "beam", 1, REHEARSE_BEAM, &o->beam) ||
        !arg_int(a, "samples", 8, REHEARSE_SAMPLES, &o->samples) ||
        !arg_int(a, "horizon", REHEARSE_STEP, REHEARSE_HORIZON, &o->horizon))
        return EXIT_USAGE;
    if (o->samples < 4 * o->beam)
        return cli_usage(a, "--samples is %d, expected at least four times --beam, %d", o->samples,
                         4 * o->beam);
    o->seed = a->seed;
    snprintf(s.folder, sizeof s.folder, "%s.rollouts", s.out);
    cli_save_on_interrupt();
    hrc_status status = set_up(&s, &err);
    if (status == HRC_OK) status = do_all(&s, &err);
    const bool stopped = cli_interrupted();
    const int code = status < 0 ? cli_fail(&err) : stopped ? EXIT_INTERRUPTED : finish(&s);
    tear_down(&s);
    return code;
}

static const option OPTIONS[] = {
    {"out", "FILE", NULL,
     "the corpus of rehearsals (-o); FILE.rollouts/ has one rollout of each, for `view`"},
    {"tracker", "FILE", "models/tracker.safetensors", "the tracker that acts"},
    {"samples", "N", "96", "copies of the robot that are tried at each choice"},
    {"beam", "N", "4", "of which so many go on"},
    {"horizon", "N", "60", "control periods that they are judged over"},
    {0},
};

const command CMD_CORPUS_REHEARSE = {
    .name = "corpus rehearse",
    .operands = "CORPUS -o FILE",
    .summary = "what a tracker cannot follow, as physics and the robot allow it: found by search in MuJoCo",
    .details =
        "Of the training clips that the tracker does not do to the end: it acts again, with offsets added to\n"
        "its actions, in many copies of the robot; those go on that are nearest to the reference over the next\n"
        "second. What stays within the bounds of completion to the end goes into the corpus, under its clip's\n"
        "name: `train tracker --rehearsed FILE` learns from it. Begun again, the command goes on where it was\n"
        "stopped.",
    .example = "heracles corpus rehearse motions/cmu.safetensors -o rehearsed.safetensors",
    .options = OPTIONS,
    .min_operands = 1,
    .max_operands = 1,
    .run = run_corpus_rehearse,
};
