/* heracles train planner: flow-matching training with a log, checkpoints and exact resume. Under mpirun all
 * processes train together; the first one prints and writes. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/commands.h"
#include "cli/motion.h"
#include "cli/training.h"
#include "learn/comm.h"
#include "learn/motions.h"
#include "learn/planner_train.h"
#include "plan/planner.h"

typedef struct {
    training run;
    const args *a;
    motions data;
    lessons practice;
    tuple_set *train, *heldout;
    pool *threads;
    planner_trainer *trainer;
    double heldout_loss;
    int log_every, heldout_every;
} session;

/* ---- Set up ---- */

static hrc_status make_tuples(session *s, hrc_error *err)
{
    tuple_options o = planner_tuple_options(&s->a->cfg);
    tuple_clip *lists[2] = {calloc((size_t)s->data.n, sizeof(tuple_clip)),
                            calloc((size_t)s->data.n, sizeof(tuple_clip))};
    int n[2] = {0, 0};
    hrc_status status = lists[0] && lists[1] ? HRC_OK : fail(err, HRC_ENOMEM, "train: out of memory");
    for (int i = 0; i < s->data.n && status == HRC_OK; i++) {
        int which = s->data.heldout[i];
        lists[which][n[which]++] = (tuple_clip){s->data.clips[i].qpos, s->data.clips[i].n};
    }
    if (status == HRC_OK)
        status = tuples_create(&s->train, lists[0], n[0], &s->practice, &o, s->threads, err);
    if (status == HRC_OK && n[1] > 0)
        status = tuples_create(&s->heldout, lists[1], n[1], NULL, &o, s->threads, err);
    free(lists[0]);
    free(lists[1]);
    return status;
}

static hrc_status start_from(session *s, const char *path, hrc_error *err)
{
    plan_model m;
    TRY(plan_model_load(&m, path, err));
    hrc_status status = planner_trainer_from(s->trainer, &m, err);
    plan_model_free(&m);
    return status;
}

/* --practice FILE,FILE... */
static hrc_status load_practice(session *s, hrc_error *err)
{
    const char *given = arg(s->a, "practice");
    char *list = given ? strdup(given) : NULL, *rest = list;
    if (given && !list) return fail(err, HRC_ENOMEM, "train: out of memory");
    hrc_status status = HRC_OK;
    for (char *path; list && status == HRC_OK && (path = strsep(&rest, ","));)
        status = lessons_load(&s->practice, path, err);
    free(list);
    if (status == HRC_OK && s->practice.n && s->practice.horizon != s->a->cfg.planner_horizon)
        status = fail(err, HRC_EINVAL, "%s: plans of %d frames, but planner.horizon = %d", given,
                      s->practice.horizon, s->a->cfg.planner_horizon);
    return status;
}

static hrc_status set_up(session *s, hrc_error *err)
{
    const args *a = s->a;
    const bool resumed = training_resumes(&s->run);
    if (leads()) cli_note(a, "reading motions");
    TRY(load_practice(s, err));
    TRY(pool_create(&s->threads, a->threads, err));
    clip_options reading;
    TRY(motion_reading(a, &reading, err));
    if (!leads()) reading.noted = NULL;
    TRY(motions_load(&s->data, arg(a, "corpus"), a->operands, a->n, &reading, true, err));
    TRY(make_tuples(s, err));
    TRY(planner_trainer_create(&s->trainer, &a->cfg, s->train, s->heldout, a->seed, s->threads, err));
    if (resumed)
        TRY(planner_checkpoint_load(s->trainer, s->run.checkpoint, err));
    else if (arg(a, "from"))
        TRY(start_from(s, arg(a, "from"), err));
    if (!leads()) return HRC_OK;
    const int64_t step = planner_trainer_steps(s->trainer);
    TRY(training_open_log(&s->run, resumed ? training_log_until(&s->run, step) : 0, step, err));
    cli_note(
        a,
        "%zu parameters; %.1f min of motion to train on (%d starts, with mirror images) and %d lessons of practice, %.1f min held out; step %lld of %d; %s",
        planner_trainer_parameters(s->trainer), s->data.train_s / 60, tuples_count(s->train), s->practice.n,
        s->data.heldout_s / 60, (long long)planner_trainer_steps(s->trainer), a->cfg.planner_steps,
        comm_name());
    return HRC_OK;
}

static void tear_down(session *s)
{
    training_close_log(&s->run);
    planner_trainer_free(s->trainer);
    tuples_free(s->train);
    tuples_free(s->heldout);
    lessons_free(&s->practice);
    motions_free(&s->data);
    pool_free(s->threads);
}

/* ---- Train ---- */

static void write_log(session *s, int64_t step, double loss, const planner_update *u, double seconds)
{
    json_t *line = json_pack("{s:I, s:o, s:o, s:o, s:f, s:f}", "step", (json_int_t)step, "loss",
                             json_number(loss), "heldout", json_number(s->heldout_loss), "grad_norm",
                             json_number(u->grad_norm), "rate", u->rate, "seconds", seconds);
    training_log(&s->run, line);
}

static void save(session *s)
{
    hrc_error why;
    training_saved(&s->run, leads() ? planner_checkpoint_save(s->trainer, s->run.checkpoint, &why) : HRC_OK,
                   &why);
}

/* Until the last step, the time limit or Ctrl-C. The mean loss since the last line of the log is smoother
 * than that of one batch. */
static hrc_status train(session *s, hrc_error *err)
{
    const int64_t steps = s->a->cfg.planner_steps;
    progress bar = progress_begin(s->a, "training");
    double sum = 0;
    int count = 0;
    training_begin(&s->run);
    while (planner_trainer_steps(s->trainer) < steps && !comm_any(!training_goes_on(&s->run))) {
        planner_update u = planner_trainer_step(s->trainer);
        if (!isfinite(u.grad_norm))
            return fail(err, HRC_ENONFINITE,
                        "training: the gradient of step %lld is not finite; %s holds the last good state",
                        (long long)planner_trainer_steps(s->trainer) + 1, s->run.checkpoint);
        int64_t step = planner_trainer_steps(s->trainer);
        sum += u.loss, count++;
        if (step % s->heldout_every == 0 || step == steps)
            s->heldout_loss = planner_trainer_heldout(s->trainer);
        if (leads() && (step % s->log_every == 0 || step == steps)) {
            char detail[96], heldout[32] = "";
            if (isfinite(s->heldout_loss))
                snprintf(heldout, sizeof heldout, "  held out %.4f", s->heldout_loss);
            snprintf(detail, sizeof detail, "step %lld  loss %.4f%s", (long long)step, sum / count, heldout);
            write_log(s, step, sum / count, &u, clock_s() - s->run.begin);
            progress_show(&bar, (double)step / (double)steps, detail);
            sum = 0, count = 0;
        }
        if (training_checkpoint_due(&s->run)) save(s);
    }
    progress_end(&bar);
    save(s);
    return HRC_OK;
}

static hrc_status export_model(session *s, hrc_error *err)
{
    const field *net = planner_trainer_field(s->trainer);
    char trained[256], names[120];
    training_motions(&s->run, names, sizeof names);
    snprintf(trained, sizeof trained,
             "%lld steps of batch %d on %.1f min of motion (%s) and %d lessons of practice",
             (long long)planner_trainer_steps(s->trainer), s->a->cfg.planner_batch, s->data.train_s / 60,
             names, s->practice.n);
    char *settings = config_text(&s->a->cfg);
    plan_model m = {.net = *net,
                    .layout = *planner_trainer_layout(s->trainer),
                    .scales = *planner_trainer_scales(s->trainer),
                    .path = s->run.out,
                    .config = settings,
                    .trained = trained};
    m.params = ARENA_NEW(&m.memory, float, net->layout.count);
    hrc_status status = m.params && settings ? HRC_OK : fail(err, HRC_ENOMEM, "train: out of memory");
    if (status == HRC_OK) {
        memcpy(m.params, planner_trainer_averaged(s->trainer), sizeof(float) * net->layout.count);
        bool bf16 = arg(s->a, "float") == NULL;
        if (bf16) plan_model_round(&m);
        status = planner_record(m.examples, &m, err);
        if (status == HRC_OK) status = plan_model_save(&m, bf16, s->run.out, err);
    }
    plan_model_free(&m);
    free(settings);
    return status;
}

static int report(const session *s)
{
    int64_t step = planner_trainer_steps(s->trainer);
    bool complete = step >= s->a->cfg.planner_steps;
    if (s->a->json)
        cli_json(json_pack("{s:s, s:s, s:s, s:I, s:b, s:o, s:I}", "model", s->run.out, "checkpoint",
                           s->run.checkpoint, "log", s->run.log_path, "step", (json_int_t)step, "complete",
                           complete, "heldout", json_number(s->heldout_loss), "parameters",
                           (json_int_t)planner_trainer_parameters(s->trainer)));
    else if (!s->heldout)
        printf("%s: step %lld of %d, nothing held out to judge by%s\n", s->run.out, (long long)step,
               s->a->cfg.planner_steps, complete ? "" : "; --resume goes on from here");
    else
        printf("%s: step %lld of %d, held-out loss %.4f%s\n", s->run.out, (long long)step,
               s->a->cfg.planner_steps, s->heldout_loss, complete ? "" : "; --resume goes on from here");
    return cli_interrupted() ? EXIT_INTERRUPTED : EXIT_DONE;
}

static int run_train_planner(const args *a)
{
    session s = {.a = a, .heldout_loss = NAN};
    if (!training_options(&s.run, a, "step")) return EXIT_USAGE;
    if (!arg(a, "corpus") && a->n == 0) return cli_usage(a, "give --corpus FILE or motion files");
    if (!arg_int(a, "log-every", 1, 1000000, &s.log_every) ||
        !arg_int(a, "heldout-every", 1, 1000000, &s.heldout_every))
        return EXIT_USAGE;
    hrc_error err;
    comm_start();
    hrc_status status = set_up(&s, &err);
    if (status == HRC_OK) status = train(&s, &err);
    if (status == HRC_OK && leads()) status = export_model(&s, &err);
    int code = status < 0 ? cli_fail(&err) : leads() ? report(&s) : EXIT_DONE;
    tear_down(&s);
    comm_stop(status < 0);
    return code;
}

static const option OPTIONS[] = {
    TRAINING_OPTIONS,
    PRESET_OPTION,
    {"corpus", "FILE[,FILE]", NULL,
     "one or several corpora, with their split into training and held-out clips"},
    {"from", "MODEL", NULL, "begin with this planner's weights, to teach it other motions"},
    {"practice", "FILES", NULL, "lessons of 'heracles practice', mixed in; several with commas between"},
    {"minutes", "N", NULL, "stop and save after so many minutes; default: after planner.steps updates"},
    {"log-every", "N", "20", "steps between lines of the log"},
    {"heldout-every", "N", "200", "steps between measurements of the held-out loss"},
    OPTIONS_READING,
    {0},
};

const command CMD_TRAIN_PLANNER = {
    .name = "train planner",
    .operands = "[MOTION...]",
    .summary = "train the flow-matching planner on motions",
    .details =
        "Settings are in section [planner] (heracles help config). Of motion files every tenth is held out.\n"
        "Built with MPI=1, 'mpirun -n N heracles train planner ...' shares every batch out to N processes.",
    .example =
        "heracles train planner --corpus motions/cmu.safetensors -o planner.safetensors --practice lessons.safetensors",
    .options = OPTIONS,
    .max_operands = -1,
    .run = run_train_planner,
};
