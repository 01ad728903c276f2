#include "learn/tracker_train.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/hash.h"
#include "learn/comm.h"
#include "learn/tracker_method.h"
#include "track/tracker.h"

#define ONE_CLIP_TRIALS 8
#define MANY_CLIPS_TRIALS 48
#define TRIAL_LONGEST_S 20.0 /* as in the paper's evaluation */
#define SHORT_EPISODE 5      /* control steps: shorter ones have no part in learning */
#define SHORT_EPISODES 200   /* so many on the average so short is trouble */
#define MAX_CATEGORIES 32

/* A running mean of what the iterations report. */
typedef struct {
    train_report sums; /* figures and phases by name; samples and updates */
    int counts[TRAIN_MAX_FIGURES];
} tally;

struct tracker_trainer {
    arena memory;
    tracker_plan plan;
    void *self; /* the method's */
    config exact;
    trials *trials;
    trial_start *starts;
    trial *results; /* (nstarts) */
    int nstarts;
    int64_t *use;  /* counts of the token's values in the last trials */
    float *stored; /* the model's weights as the file has them */
    trial_summary judged;
    bool judged_is_new, dumped;
    int ncategories, *category; /* (clips): index into names */
    const char *names[MAX_CATEGORIES];
    tally since; /* the last line */
    int64_t iterations, samples, updates;
    double seconds, line_seconds;
};

/* ---- Create ---- */

static hrc_status sort_categories(tracker_trainer *t, hrc_error *err)
{
    const int n = t->plan.refs->n;
    t->category = ARENA_NEW(&t->memory, int, n);
    if (!t->category) return fail(err, HRC_ENOMEM, "tracker training: out of memory for %d clips", n);
    for (int i = 0; i < n; i++) {
        const char *name = *t->plan.categories[i] ? t->plan.categories[i] : "motion";
        int c = 0;
        while (c < t->ncategories && strcmp(t->names[c], name)) c++;
        if (c == MAX_CATEGORIES) c--; /* the last one takes the rest */
        if (c == t->ncategories) t->names[t->ncategories++] = name;
        t->category[i] = c;
    }
    return HRC_OK;
}

/* Evenly from one start every few seconds, or 8 of a single clip. */
static hrc_status choose_starts(tracker_trainer *t, hrc_error *err)
{
    const references *refs = t->plan.refs;
    const int asked = t->plan.trials ? t->plan.trials : refs->n == 1 ? ONE_CLIP_TRIALS : MANY_CLIPS_TRIALS;
    double seconds = 0;
    for (int i = 0; i < refs->n; i++) seconds += refs->clips[i].n / 50.0;
    const double every = seconds / asked;
    const int all = refs->n == 1 ? asked : trial_starts_every(NULL, refs, every);
    t->nstarts = all < asked ? all : asked;
    t->starts = ARENA_NEW(&t->memory, trial_start, all);
    t->results = ARENA_NEW(&t->memory, trial, all);
    if (!t->starts || !t->results) return fail(err, HRC_ENOMEM, "tracker training: out of memory");
    if (refs->n == 1)
        trial_starts_spread(t->starts, refs, 0, all);
    else
        trial_starts_every(t->starts, refs, every);
    for (int i = 0; i < t->nstarts; i++) t->starts[i] = t->starts[(int64_t)i * all / t->nstarts];
    return HRC_OK;
}

static hrc_status set_up(tracker_trainer *t, hrc_error *err)
{
    const tracker_plan *p = &t->plan;
    const train_input in = {p->cfg, p->refs, p->seed, p->threads, p->demos};
    track_model view;
    TRY(sort_categories(t, err));
    TRY(choose_starts(t, err));
    t->exact = trial_physics(p->cfg);
    TRY(trials_create(&t->trials, &t->exact, p->refs, p->threads, err));
    TRY(p->method->create(&t->self, &in, err));
    p->method->model(t->self, &view);
    const quant *q = &view.net.shape.token;
    t->use = ARENA_NEW(&t->memory, int64_t, quant_indices(q) * quant_values(q) + 1);
    t->stored = ARENA_NEW(&t->memory, float, view.net.layout.count);
    return t->use && t->stored ? HRC_OK : fail(err, HRC_ENOMEM, "tracker training: out of memory");
}

hrc_status tracker_trainer_create(tracker_trainer **out, const tracker_plan *plan, hrc_error *err)
{
    tracker_trainer *t = calloc(1, sizeof *t);
    if (!t) return fail(err, HRC_ENOMEM, "tracker training: out of memory");
    t->plan = *plan;
    hrc_status status = set_up(t, err);
    if (status < 0) {
        tracker_trainer_free(t);
        return status;
    }
    *out = t;
    return HRC_OK;
}

void tracker_trainer_free(tracker_trainer *t)
{
    if (!t) return;
    t->plan.method->free(t->self);
    trials_free(t->trials);
    arena_free(&t->memory);
    free(t);
}

/* ---- Iterate ---- */

static void add_to_tally(tally *all, const train_report *r)
{
    for (int i = 0; i < r->nfigures; i++) {
        const train_entry *e = &r->figures[i];
        int k = 0;
        while (k < all->sums.nfigures && strcmp(all->sums.figures[k].name, e->name)) k++;
        if (k == all->sums.nfigures) train_figure(&all->sums, e->name, 0);
        all->sums.figures[k].value += e->value;
        all->counts[k]++;
    }
    for (int i = 0; i < r->nphases; i++) train_phase(&all->sums, r->phases[i].name, r->phases[i].value);
    all->sums.samples += r->samples, all->sums.updates += r->updates;
}

hrc_status tracker_trainer_from(tracker_trainer *t, const track_model *m, hrc_error *err)
{
    return t->plan.method->begin_with(t->self, m, err);
}

hrc_status tracker_trainer_iterate(tracker_trainer *t, double done, hrc_error *err)
{
    train_report r = {0};
    double start = clock_s();
    TRY(t->plan.method->iterate(t->self, done, &r, err));
    t->seconds += clock_s() - start;
    r.samples *= comm_size();
    add_to_tally(&t->since, &r);
    t->iterations++;
    t->samples += r.samples, t->updates += r.updates;
    return HRC_OK;
}

int64_t tracker_trainer_iterations(const tracker_trainer *t)
{
    return t->iterations;
}

int64_t tracker_trainer_samples(const tracker_trainer *t)
{
    return t->samples;
}

/* ---- Trials ---- */

/* The model as its file will give it back. */
static void stored_view(tracker_trainer *t, track_model *view)
{
    t->plan.method->model(t->self, view);
    memcpy(t->stored, view->params, sizeof *t->stored * view->net.layout.count);
    view->params = t->stored;
    if (!t->plan.exact) track_model_round(view);
}

hrc_status tracker_trainer_judge(tracker_trainer *t, hrc_error *err)
{
    trial_options o = TRIAL_DEFAULT;
    track_model view;
    o.longest_s = TRIAL_LONGEST_S;
    stored_view(t, &view);
    const quant *q = &view.net.shape.token;
    memset(t->use, 0, sizeof *t->use * (size_t)(quant_indices(q) * quant_values(q)));
    TRY(trials_run(t->trials, &view, t->starts, t->nstarts, &o, t->results, t->use, err));
    t->judged = trial_summarise(t->results, t->nstarts, NULL, 0);
    t->judged_is_new = true;
    return HRC_OK;
}

const trial_summary *tracker_trainer_judged(const tracker_trainer *t)
{
    return &t->judged;
}

/* ---- The log ---- */

double tracker_trainer_figure(const tracker_trainer *t, const char *name)
{
    const tally *s = &t->since;
    for (int i = 0; i < s->sums.nfigures; i++)
        if (strcmp(s->sums.figures[i].name, name) == 0) return s->sums.figures[i].value / s->counts[i];
    return NAN;
}

static json_t *summary_json(const trial_summary *s)
{
    return json_pack("{s:i, s:f, s:f, s:f, s:f, s:f}", "trials", s->n, "success", s->success, "progress",
                     s->progress, "joint_rad", s->joint, "height_m", s->height, "tilt_rad", s->tilt);
}

static json_t *trials_json(tracker_trainer *t)
{
    track_model view;
    t->plan.method->model(t->self, &view);
    const quant_usage use = quant_usage_of(&view.net.shape.token, t->use);
    json_t *all = summary_json(&t->judged), *by = json_object();
    for (int c = 0; c < t->ncategories; c++) {
        trial_summary s = trial_summarise(t->results, t->nstarts, t->category, c);
        if (s.n) json_object_set_new(by, t->names[c], summary_json(&s));
    }
    json_object_set_new(all, "by_category", by);
    json_object_set_new(all, "code_use",
                        json_pack("{s:f, s:f, s:f, s:f}", "used", use.used, "entropy", use.entropy,
                                  "perplexity", use.perplexity, "saturated", use.saturated));
    return all;
}

/* Of the method's environment since the last line; the counts begin anew. */
static void add_episodes(json_t *line, env *e)
{
    const env_counts c = env_count(e);
    if (!c.steps) return;
    json_t *terms = json_object(), *ends = json_object();
    for (int k = 0; k < REWARD_TERMS; k++)
        json_object_set_new(terms, REWARD_NAME[k], json_number(c.terms[k] / (double)c.steps));
    for (int k = 1; k < END_KINDS; k++)
        json_object_set_new(ends, END_NAME[k],
                            json_number((double)c.ends[k] / (double)(c.episodes ? c.episodes : 1)));
    json_object_set_new(line, "score", json_number(c.score / (double)c.steps));
    json_object_set_new(line, "steps_per_episode",
                        json_number((double)c.steps / (double)(c.episodes ? c.episodes : 1)));
    json_object_set_new(line, "reward", terms);
    json_object_set_new(line, "ends", ends);
    env_clear(e);
}

json_t *tracker_trainer_line(tracker_trainer *t)
{
    const tally *s = &t->since;
    const double wall = t->seconds - t->line_seconds;
    json_t *line = json_pack("{s:I, s:I, s:I, s:f, s:o, s:o}", "iteration", (json_int_t)t->iterations,
                             "samples", (json_int_t)t->samples, "updates", (json_int_t)t->updates, "seconds",
                             t->seconds, "samples_per_s", json_number((double)s->sums.samples / wall),
                             "updates_per_s", json_number((double)s->sums.updates / wall));
    json_t *figures = json_object(), *phases = json_object();
    for (int i = 0; i < s->sums.nfigures; i++)
        json_object_set_new(figures, s->sums.figures[i].name,
                            json_number(s->sums.figures[i].value / s->counts[i]));
    for (int i = 0; i < s->sums.nphases; i++)
        json_object_set_new(phases, s->sums.phases[i].name, json_number(s->sums.phases[i].value / wall));
    json_object_set_new(line, t->plan.method->name, figures);
    json_object_set_new(line, "share_of_time", phases);
    env *e = t->plan.method->world(t->self);
    if (e) add_episodes(line, e);
    if (t->judged_is_new) json_object_set_new(line, "trials", trials_json(t));
    t->judged_is_new = false;
    t->since = (tally){0};
    t->line_seconds = t->seconds;
    return line;
}

bool tracker_trainer_trouble(tracker_trainer *t, text *out)
{
    env *e = t->plan.method->world(t->self);
    if (!e) return false;
    const env_counts c = env_count(e);
    if (c.episodes < SHORT_EPISODES || c.steps > SHORT_EPISODE * c.episodes) return false;
    text_add(out, "Episodes end at once; the motions, their heights or the settings are to blame. ");
    env_diagnose(e, out);
    return true;
}

bool tracker_trainer_dump(tracker_trainer *t, const char *path)
{
    env *e = t->plan.method->world(t->self);
    if (t->dumped || !e || env_dump(e, path, NULL) < 0) return false;
    t->dumped = true;
    return true;
}

/* ---- Checkpoints ---- */

/* Entries of the identity that even a changed run must share; those of the same run, but for the settings,
 * which check_settings compares. */
enum { IDENTITY_SHAPE = 4, IDENTITY_EXACT = 6 };

#define LIGHT_FORMAT "heracles-tracker-checkpoint-light"

typedef struct {
    char seed[24], data[24], lengths[24], ranks[16];
    char *settings;
    tensor_meta meta[7]; /* first those without which the state cannot be of use at all */
} identity;

/* shared: how many clips of the run must be those of the file. */
static hrc_status identify(identity *id, const tracker_trainer *t, bool light, int shared, hrc_error *err)
{
    const references *refs = t->plan.refs;
    uint64_t hash = HASH_START, lengths = HASH_START;
    for (int i = 0; i < refs->n; i++) {
        hash = hash_bytes(hash, refs->clips[i].frames, sizeof(ref_frame) * (size_t)refs->clips[i].n);
        if (i < shared) lengths = hash_bytes(lengths, &refs->clips[i].n, sizeof refs->clips[i].n);
    }
    id->settings = config_text(t->plan.cfg);
    if (!id->settings) return fail(err, HRC_ENOMEM, "tracker training: out of memory");
    snprintf(id->seed, sizeof id->seed, "%" PRIu64, t->plan.seed);
    snprintf(id->data, sizeof id->data, "%016" PRIx64, hash);
    snprintf(id->lengths, sizeof id->lengths, "%016" PRIx64, lengths);
    if (light)
        snprintf(id->ranks, sizeof id->ranks, "any");
    else
        snprintf(id->ranks, sizeof id->ranks, "%d of %d", comm_rank(), comm_size());
    const tensor_meta meta[] = {{"format", light ? LIGHT_FORMAT : "heracles-tracker-checkpoint"},
                                {"method", t->plan.method->name},
                                {"rank", id->ranks},
                                {"lengths", id->lengths},
                                {"seed", id->seed},
                                {"data", id->data},
                                {"config", id->settings}};
    memcpy(id->meta, meta, sizeof meta);
    return HRC_OK;
}

static void list_state(tracker_trainer *t, state_list *l, bool light, tracker_session *s)
{
    l->n = 0;
    state_add(l, "driver.", "iterations", DT_I64, &t->iterations, 1);
    state_add(l, "driver.", "samples", DT_I64, &t->samples, 1);
    state_add(l, "driver.", "updates", DT_I64, &t->updates, 1);
    state_add_time(l, "driver.", "seconds", &t->seconds);
    state_add(l, "driver.", "log_bytes", DT_I64, &s->log_bytes, 1);
    state_add_time(l, "driver.", "wall_s", &s->wall_s);
    t->plan.method->state(t->self, l);
    if (light) state_lighten(l);
}

hrc_status tracker_checkpoint_save(tracker_trainer *t, const char *path, bool light, tracker_session s,
                                   hrc_error *err)
{
    identity id;
    state_list l;
    TRY(identify(&id, t, light, t->plan.refs->n, err));
    list_state(t, &l, light, &s);
    hrc_status status = state_save(&l, path, id.meta, COUNT(id.meta), err);
    free(id.settings);
    return status;
}

/* Whether this training depends on a setting: a planner's, or another method's, may be what it likes. */
static bool matters(const config_entry *e, const char *method)
{
    static const char *const OTHERS[] = {"planner", "control", "deploy", "motion"};
    static const char *const METHODS[] = {"ppo", "world"};
    for (int i = 0; i < COUNT(OTHERS); i++)
        if (!strcmp(e->section, OTHERS[i])) return false;
    for (int i = 0; i < COUNT(METHODS); i++)
        if (!strcmp(e->section, METHODS[i])) return !strncmp(method, METHODS[i], strlen(METHODS[i]));
    return strcmp(e->section, "train") || !strcmp(e->key, "iterations") || !strcmp(e->key, "precision");
}

/* The settings as a whole are one entry; say which of them differs. */
static hrc_status check_settings(const tracker_trainer *t, const char *path, hrc_error *err)
{
    tensorfile file;
    int n;
    const config_entry *e = config_entries(&n);
    config stored = config_default();
    TRY(tensorfile_open(&file, path, err));
    const char *settings = tensorfile_meta(&file, "config");
    hrc_status status = settings
                            ? config_parse_stored(&stored, path, settings, err)
                            : fail(err, HRC_EFORMAT, "%s: config is missing, expected its settings", path);
    for (int i = 0; i < n && status == HRC_OK; i++) {
        char was[80] = "", is[80] = "";
        if (e[i].kind == CFG_SECTION || !matters(&e[i], t->plan.method->name)) continue;
        config_print_value(was, sizeof was, &stored, &e[i]);
        config_print_value(is, sizeof is, t->plan.cfg, &e[i]);
        if (strcmp(was, is) == 0) continue;
        if (e[i].kind == CFG_REAL) /* written to the last bit; the sentence has fewer digits */
            snprintf(was, sizeof was, "%g", atof(was)), snprintf(is, sizeof is, "%g", atof(is));
        status = fail(err, HRC_EFORMAT, "%s: %s.%s is %s, this run has %s; --changed goes on all the same",
                      path, e[i].section, e[i].key, was, is);
    }
    tensorfile_close(&file);
    return status;
}

bool tracker_checkpoint_light(const char *path)
{
    tensorfile file;
    hrc_error err;
    if (tensorfile_open(&file, path, &err) < 0) return false;
    const char *format = tensorfile_meta(&file, "format");
    const bool light = format && !strcmp(format, LIGHT_FORMAT);
    tensorfile_close(&file);
    return light;
}

/* How many clips a checkpoint's run had. */
static hrc_status stored_clips(int *out, const char *path, hrc_error *err)
{
    tensorfile file;
    TRY(tensorfile_open(&file, path, err));
    *out = 0;
    for (int i = 0; i < file.ntensors; i++)
        if (strstr(file.tensors[i].name, "clip_episodes")) *out = (int)file.tensors[i].count;
    tensorfile_close(&file);
    return HRC_OK;
}

/* Motions are entries of the identity as sums, which say nothing to a reader. */
static hrc_status check_motions(const identity *id, const char *path, bool changed, hrc_error *err)
{
    if (changed)
        return state_same(
            path, (tensor_meta){"lengths", id->lengths},
            "the motions are others than this training's, or fewer; --changed takes more of them, "
            "after those that were there",
            err);
    return state_same(
        path, (tensor_meta){"data", id->data},
        "the motions are others than this training's; give the same ones, or --changed to go on "
        "with more",
        err);
}

hrc_status tracker_checkpoint_load(tracker_trainer *t, const char *path, bool changed, tracker_session *s,
                                   hrc_error *err)
{
    identity id;
    state_list l;
    int shared = t->plan.refs->n;
    const bool light = tracker_checkpoint_light(path);
    if (changed)
        TRY(stored_clips(&shared, path, err));
    else
        TRY(check_settings(t, path, err));
    TRY(identify(&id, t, light, shared, err));
    list_state(t, &l, light, s);
    hrc_status status = check_motions(&id, path, changed, err);
    if (status == HRC_OK)
        status = state_load(&l, path, id.meta, changed ? IDENTITY_SHAPE : IDENTITY_EXACT, err);
    free(id.settings);
    t->line_seconds = t->seconds;
    return status;
}

/* ---- The model ---- */

hrc_status tracker_trainer_export(tracker_trainer *t, const char *path, const char *data, hrc_error *err)
{
    char trained[320];
    track_model view;
    stored_view(t, &view);
    snprintf(trained, sizeof trained, "%s, %lld iterations, %.3g M samples on %.200s", t->plan.method->name,
             (long long)t->iterations, 1e-6 * (double)t->samples, data);
    view.trained = trained;
    return tracker_save(&view, !t->plan.exact, path, err);
}

/* ---- Methods ---- */

static const tracker_method *const METHODS[] = {&METHOD_WORLD, &METHOD_PPO};

const tracker_method *tracker_method_find(const char *name)
{
    for (int i = 0; i < COUNT(METHODS); i++)
        if (strcmp(METHODS[i]->name, name) == 0) return METHODS[i];
    return NULL;
}

const char *tracker_method_names(void)
{
    return "world-model, ppo";
}

void train_figure(train_report *r, const char *name, double value)
{
    if (r->nfigures < TRAIN_MAX_FIGURES) r->figures[r->nfigures++] = (train_entry){name, value};
}

void train_phase(train_report *r, const char *name, double seconds)
{
    for (int i = 0; i < r->nphases; i++)
        if (strcmp(r->phases[i].name, name) == 0) {
            r->phases[i].value += seconds;
            return;
        }
    if (r->nphases < TRAIN_MAX_PHASES) r->phases[r->nphases++] = (train_entry){name, seconds};
}
