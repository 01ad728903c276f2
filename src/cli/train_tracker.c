/* heracles train tracker: the tracking policy, by any of the methods, with trials, a log, checkpoints and
 * exact resume. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/commands.h"
#include "cli/motion.h"
#include "cli/training.h"
#include "eval/rollout.h"
#include "learn/comm.h"
#include "learn/motions.h"
#include "learn/rehearse.h"
#include "learn/tracker_train.h"

#define TRIAL_SHARE 0.05 /* of the time that trials may take */
#define TRIAL_LEAST_S 30 /* between two of them */

typedef struct {
    training run;
    const args *a;
    motions data;
    clip *
        clips; /* those to train on; borrowed from data, and from `rehearsals` after the first `noriginals` */
    const char **categories;
    int n, noriginals;
    rollout *rehearsals;  /* (demos.n) */
    demonstration *demos; /* (ndemos) of them */
    int ndemos;
    double seconds; /* of motion */
    pool *threads;
    references refs;
    tracker_trainer *trainer;
    progress bar;
    double iterations;            /* where to stop; the schedule's length is train.iterations */
    double trial_s, log_s, until; /* until: share of successes that ends the run; 0: none */
    double first_iteration, judged_at, judged_took, logged_at;
    int64_t judged_iteration;
    bool told_trouble, reached;
} session;

/* ---- Set up ---- */

static void take_clip(session *s, const clip *c)
{
    s->clips[s->n] = *c;
    s->categories[s->n++] = c->category;
    s->seconds += c->n / c->fps;
}

/* Of a corpus the training split; of files all. Room for as many rehearsals. */
static hrc_status choose_clips(session *s, hrc_error *err)
{
    const bool corpus = arg(s->a, "corpus") != NULL;
    const size_t most = 2 * (size_t)s->data.n;
    s->clips = calloc(most, sizeof *s->clips);
    s->categories = calloc(most, sizeof *s->categories);
    s->rehearsals = calloc(most, sizeof *s->rehearsals);
    s->demos = calloc(most, sizeof *s->demos);
    if (!s->clips || !s->categories || !s->rehearsals || !s->demos)
        return fail(err, HRC_ENOMEM, "train: out of memory");
    for (int i = 0; i < s->data.n; i++)
        if (!corpus || !s->data.heldout[i]) take_clip(s, &s->data.clips[i]);
    s->noriginals = s->n;
    return s->n ? HRC_OK : fail(err, HRC_EINVAL, "%s: every clip is held out", arg(s->a, "corpus"));
}

static hrc_status check_rehearsal(const rollout *r, const clip *c, const char *path, hrc_error *err)
{
    if (!r->qvel || !r->target || !r->ref)
        return fail(err, HRC_EFORMAT, "%s: has no velocities, targets or reference: no rehearsal", path);
    if (r->n != c->n)
        return fail(err, HRC_EFORMAT, "%s: has %d frames, expected the %d of clip \"%.80s\"", path, r->n,
                    c->n, c->name);
    for (int i = 0; i < c->n * HRC_NV; i++)
        if (!isfinite(r->qvel[i]) || (i < c->n * HRC_JOINTS && !isfinite(r->target[i])))
            return fail(err, HRC_EFORMAT, "%s: has a velocity or target that is not finite", path);
    for (int i = 0; i < c->n * HRC_NQ; i++)
        if (!(fabsf(r->ref[i] - c->qpos[i]) < 1e-4f))
            return fail(err, HRC_EFORMAT, "%s: is of another clip than \"%.80s\"", path, c->name);
    return HRC_OK;
}

/* The rehearsal of one clip, if it has any that stays within the bounds to the end. */
static hrc_status add_rehearsal(session *s, int original, hrc_error *err)
{
    const clip *c = &s->clips[original];
    rollout *r = &s->rehearsals[s->ndemos];
    char path[1400];
    snprintf(path, sizeof path, "%s/%s.safetensors", arg(s->a, "rehearsed"), c->name);
    if (access(path, F_OK) != 0) return HRC_OK;
    TRY(rollout_load(r, path, err));
    hrc_status status = check_rehearsal(r, c, path, err);
    const rehearsal how = status == HRC_OK ? rehearsal_count(r->qpos, r->ref, r->n) : (rehearsal){0};
    if (status < 0 || how.within < how.frames) {
        rollout_free(r);
        return status;
    }
    clip as_done = *c;
    as_done.qpos = r->qpos;
    take_clip(s, &as_done);
    s->demos[s->ndemos++] = (demonstration){original, r->n, r->qpos, r->qvel, r->target};
    return HRC_OK;
}

static hrc_status add_rehearsals(session *s, hrc_error *err)
{
    const char *folder = arg(s->a, "rehearsed");
    if (!folder) return HRC_OK;
    if (access(folder, F_OK) != 0)
        return fail(err, HRC_EFILE, "%s: is not there, expected a folder of corpus rehearse", folder);
    for (int i = 0; i < s->noriginals; i++) TRY(add_rehearsal(s, i, err));
    if (leads())
        cli_note(s->a, "%s: %d rehearsals of %d clips go to their end", folder, s->ndemos, s->noriginals);
    return HRC_OK;
}

static hrc_status start_from(session *s, const char *path, hrc_error *err)
{
    track_model m;
    TRY(track_model_load(&m, path, err));
    hrc_status status = tracker_trainer_from(s->trainer, &m, err);
    track_model_free(&m);
    return status;
}

static hrc_status go_on_or_begin(session *s, hrc_error *err)
{
    tracker_session old = {0};
    const bool exact = comm_any(training_resumes(&s->run));
    if (exact || comm_any(training_resumes_light(&s->run)))
        TRY(tracker_checkpoint_load(s->trainer, exact ? s->run.checkpoint : s->run.light,
                                    arg_given(s->a, "changed"), &old, err));
    else if (arg(s->a, "from"))
        TRY(start_from(s, arg(s->a, "from"), err));
    s->run.begin -= old.wall_s;
    return leads() ? training_open_log(&s->run, old.log_bytes, tracker_trainer_iterations(s->trainer), err)
                   : HRC_OK;
}

static hrc_status set_up(session *s, const tracker_method *method, int ntrials, hrc_error *err)
{
    const args *a = s->a;
    if (comm_size() > 1 && !method->ranks)
        return fail(err, HRC_EINVAL, "--method %s runs in one process, here are %d", method->name,
                    comm_size());
    if (leads()) cli_note(a, "reading motions");
    TRY(pool_create(&s->threads, a->threads, err));
    clip_options reading;
    TRY(motion_reading(a, &reading, err));
    if (!leads()) reading.noted = NULL;
    TRY(motions_load(&s->data, arg(a, "corpus"), a->operands, a->n, &reading, false, err));
    TRY(choose_clips(s, err));
    TRY(add_rehearsals(s, err));
    const bool mirror = !strcmp(a->cfg.env_mirror, "on");
    TRY(references_build(&s->refs, s->clips, s->n, mirror, s->threads, err)); /* NOLINT: tear_down frees it */
    for (int i = 0; i < s->ndemos; i++)
        TRY(references_pair(&s->refs, s->noriginals + i, s->demos[i].original, err));
    const tracker_plan plan = {method,
                               &a->cfg,
                               &s->refs,
                               s->categories,
                               a->seed,
                               s->threads,
                               ntrials,
                               arg(a, "float") != NULL,
                               {s->demos, s->ndemos}};
    TRY(tracker_trainer_create(&s->trainer, &plan, err));
    TRY(go_on_or_begin(s, err));
    if (leads())
        cli_note(a, "%s on %d clip%s, %.0f s of motion, %d threads, %s; iteration %lld", method->name, s->n,
                 s->n == 1 ? "" : "s", s->seconds, pool_threads(s->threads), comm_name(),
                 (long long)tracker_trainer_iterations(s->trainer));
    return HRC_OK;
}

static void tear_down(session *s)
{
    training_close_log(&s->run);
    tracker_trainer_free(s->trainer);
    references_free(&s->refs);
    free(s->clips);
    free(s->categories);
    motions_free(&s->data);
    for (int i = 0; i < s->ndemos; i++) rollout_free(&s->rehearsals[i]);
    free(s->rehearsals);
    free(s->demos);
    pool_free(s->threads);
}

/* ---- Train ---- */

static double wall_s(const session *s)
{
    return clock_s() - s->run.begin;
}

/* Share of the schedule that is over. */
static double share(const session *s)
{
    return fmin(1, (double)tracker_trainer_iterations(s->trainer) / s->a->cfg.train_iterations);
}

static bool finished(const session *s) /* for this rank alone */
{
    return (double)tracker_trainer_iterations(s->trainer) >= s->iterations || s->reached ||
           !training_goes_on(&s->run);
}

static hrc_status judge(session *s, hrc_error *err)
{
    const double start = clock_s();
    TRY(tracker_trainer_judge(s->trainer, err));
    const trial_summary *j = tracker_trainer_judged(s->trainer);
    s->judged_at = clock_s();
    s->judged_iteration = tracker_trainer_iterations(s->trainer);
    s->judged_took = s->judged_at - start;
    s->reached = s->until > 0 && j->success >= s->until;
    cli_note(s->a,
             "%5.1f min  %6.2f M samples  success %.0f %% of %d, progress %.1f %%; joints %.2f rad, "
             "height %.3f m, tilt %.3f rad",
             wall_s(s) / 60, 1e-6 * (double)tracker_trainer_samples(s->trainer), 100 * j->success, j->n,
             100 * j->progress, j->joint, j->height, j->tilt);
    return HRC_OK;
}

static bool trials_due(const session *s)
{
    const double wait =
        s->trial_s > 0 ? s->trial_s : fmax(TRIAL_LEAST_S, s->judged_took * (1 / TRIAL_SHARE - 1));
    return clock_s() - s->judged_at > wait;
}

/* Once each: a sentence on what goes wrong with the episodes, and the states before a divergence. */
static void look_for_trouble(session *s)
{
    char path[1100];
    text said = {0};
    snprintf(path, sizeof path, "%s.diverged.safetensors", s->run.out);
    if (!s->told_trouble && tracker_trainer_trouble(s->trainer, &said)) {
        s->told_trouble = true;
        cli_note(s->a, "%s", text_ok(&said) ? said.data : "Episodes end at once.");
    }
    text_free(&said);
    if (tracker_trainer_dump(s->trainer, path))
        cli_note(s->a, "a world diverged: %s holds the states before it", path);
}

static void write_line(session *s)
{
    const trial_summary *j = tracker_trainer_judged(s->trainer);
    char detail[128];
    snprintf(detail, sizeof detail, "%.2f M samples  success %.0f %%  progress %.0f %%  joints %.2f rad",
             1e-6 * (double)tracker_trainer_samples(s->trainer), 100 * j->success, 100 * j->progress,
             j->joint);
    json_t *line = tracker_trainer_line(s->trainer);
    json_object_set_new(line, "wall_s", json_number(wall_s(s)));
    training_log(&s->run, line);
    s->logged_at = clock_s();
    const double now = (double)tracker_trainer_iterations(s->trainer), first = s->first_iteration;
    progress_show(&s->bar, (now - first) / fmax(1, s->iterations - first), detail);
}

static void save(session *s)
{
    hrc_error why;
    const tracker_session now = {leads() ? training_log_bytes(&s->run) : 0, wall_s(s)};
    if (leads())
        training_saved(&s->run, tracker_checkpoint_save(s->trainer, s->run.light, true, now, &why), &why);
    training_saved(&s->run, tracker_checkpoint_save(s->trainer, s->run.checkpoint, false, now, &why), &why);
}

/* What rank 0 does between iterations. */
static hrc_status attend(session *s, hrc_error *err)
{
    look_for_trouble(s);
    const bool due = trials_due(s) || finished(s);
    if (due) TRY(judge(s, err));
    if (due || clock_s() - s->logged_at >= s->log_s) write_line(s);
    return HRC_OK;
}

static hrc_status train(session *s, hrc_error *err)
{
    s->bar = progress_begin(s->a, "training");
    s->first_iteration = (double)tracker_trainer_iterations(s->trainer);
    s->judged_at = s->logged_at = s->run.saved = clock_s();
    while (!comm_any(finished(s))) {
        TRY(tracker_trainer_iterate(s->trainer, share(s), err));
        if (leads()) TRY(attend(s, err));
        if (comm_any(leads() && training_checkpoint_due(&s->run))) save(s);
    }
    progress_end(&s->bar);
    if (leads() && s->judged_iteration != tracker_trainer_iterations(s->trainer)) {
        TRY(judge(s, err));
        write_line(s);
    }
    save(s);
    return HRC_OK;
}

static int report(const session *s, const char *method)
{
    const trial_summary *j = tracker_trainer_judged(s->trainer);
    const double iterations = (double)tracker_trainer_iterations(s->trainer);
    const bool complete = s->reached || iterations >= s->iterations;
    if (s->a->json)
        cli_json(json_pack("{s:s, s:s, s:s, s:s, s:f, s:I, s:f, s:b, s:b, s:i, s:f, s:f, s:f, s:f, s:f}",
                           "model", s->run.out, "checkpoint", s->run.checkpoint, "log", s->run.log_path,
                           "method", method, "iterations", iterations, "samples",
                           (json_int_t)tracker_trainer_samples(s->trainer), "wall_s", wall_s(s), "complete",
                           complete, "reached", s->reached, "trials", j->n, "success", j->success, "progress",
                           j->progress, "joint_rad", j->joint, "height_m", j->height, "tilt_rad", j->tilt));
    else
        printf(
            "%s: %.0f iterations, %.2f M samples, %.1f min; %.0f of %d trials succeed, progress %.1f %%%s\n",
            s->run.out, iterations, 1e-6 * (double)tracker_trainer_samples(s->trainer), wall_s(s) / 60,
            j->success * j->n, j->n, 100 * j->progress, complete ? "" : "; --resume goes on from here");
    return cli_interrupted() ? EXIT_INTERRUPTED : EXIT_DONE;
}

static hrc_status run_session(session *s, const tracker_method *method, int ntrials, hrc_error *err)
{
    char data[256], names[120];
    TRY(set_up(s, method, ntrials, err));
    TRY(train(s, err));
    if (!leads()) return HRC_OK;
    training_motions(&s->run, names, sizeof names);
    snprintf(data, sizeof data, "%d clip%s, %.0f s of motion (%s)", s->n, s->n == 1 ? "" : "s", s->seconds,
             names);
    return tracker_trainer_export(s->trainer, s->run.out, data, err);
}

static int run_train_tracker(const args *a)
{
    session s = {.a = a, .iterations = a->cfg.train_iterations};
    const char *name = arg(a, "method") ? arg(a, "method") : a->cfg.train_method;
    const tracker_method *method = tracker_method_find(name);
    double trial_min = 0, ntrials = 0;
    if (!method) return cli_usage(a, "--method is %.40s, expected one of: %s", name, tracker_method_names());
    if (!arg(a, "corpus") && a->n == 0) return cli_usage(a, "give --corpus FILE or --motion FILE");
    if (!training_options(&s.run, a, "iteration") || !arg_number(a, "iterations", 1, 1e12, &s.iterations) ||
        !arg_number(a, "trials", 0, 100000, &ntrials) ||
        !arg_number(a, "trial-minutes", 0, 1e6, &trial_min) ||
        !arg_number(a, "log-seconds", 0, 1e6, &s.log_s) || !arg_number(a, "until", 0, 1, &s.until))
        return EXIT_USAGE;
    s.trial_s = 60 * trial_min;
    comm_start();
    if (!leads())
        snprintf(s.run.checkpoint, sizeof s.run.checkpoint, "%s.checkpoint.%d", s.run.out, comm_rank());
    training_begin(&s.run);
    hrc_error err;
    hrc_status status = run_session(&s, method, (int)ntrials, &err);
    int code = status < 0 ? cli_fail(&err) : leads() ? report(&s, method->name) : EXIT_DONE;
    tear_down(&s);
    comm_stop(status < 0);
    return code;
}

static const option OPTIONS[] = {
    TRAINING_OPTIONS,
    {"changed", NULL, NULL,
     "with --resume: go on although settings or motions are not the checkpoint's (sizes must be; there may be more motions)"},
    {"from", "MODEL", NULL, "begin with this tracker's weights, to teach it more or other motions"},
    PRESET_OPTION,
    {"method", "NAME", NULL, "how to train: world-model or ppo (train.method)"},
    {"motion", "FILE...", NULL, "motions to train on; FILE#NAME is one clip of a corpus"},
    {"corpus", "FILE[,FILE]", NULL, "all clips of one or several corpora but those they hold out"},
    {"rehearsed", "FOLDER", NULL,
     "rehearsals of clips of the corpus (corpus rehearse): taught instead of these, while these are shown"},
    {"minutes", "N", NULL, "stop and save after so many minutes in all, resumed runs counted together"},
    {"iterations", "N", NULL,
     "stop and save after so many iterations in all; default: train.iterations, the whole schedule"},
    {"until", "SHARE", "0", "stop as soon as this share of the trials succeeds; 0: never"},
    {"trials", "N", "0", "trials of an examination; 0: 8 starts of a single clip, 48 of many"},
    {"trial-minutes", "N", "0", "time between examinations; 0: so that they take 5 % of it"},
    {"log-seconds", "N", "5", "time between lines of the log"},
    OPTIONS_READING,
    {0},
};

const command CMD_TRAIN_TRACKER = {
    .name = "train tracker",
    .operands = "[MOTION...]",
    .summary = "train the tracking policy in simulation",
    .details =
        "Settings are in sections [tracker], [env], [reward], [sampling] and the method's own (heracles help\n"
        "config). A trial starts on the reference, without noise, and succeeds when height (0.3 m) and tilt\n"
        "(1.2 rad) stay near it to the end of the clip, 20 s at the most.",
    .example =
        "heracles train tracker --motion motions/cmu.safetensors#91_01 --preset clip -o walk.safetensors",
    .options = OPTIONS,
    .max_operands = -1,
    .run = run_train_tracker,
};
