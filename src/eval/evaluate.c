#include "eval/evaluate.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/json.h"
#include "base/rng.h"
#include "control/library.h"
#include "motion/stats.h"
#include "robot/mjcf.h"

/* ---- Keeping rollouts ---- */

/* Finished rollouts of an evaluation in a folder, so that one that was interrupted goes on where it stopped.
 * A kept rollout is taken only if it came of the same models, reference, start, disturbances and settings. */
typedef struct {
    char text[17]; /* 64 bits in hex */
} keep_key;

/* ---- Keys: a hash of everything that decides what a rollout gives ---- */

static void mix(uint64_t *hash, const void *data, size_t size)
{
    *hash = hash_words(*hash, data, size);
}

static void mix_models(uint64_t *hash, const method *m)
{
    const bool theirs = m->tracker && model_of_others(m->tracker);
    const track_model *t = m->tracker && !theirs ? &m->tracker->track : NULL;
    const plan_model *p = m->planner ? &m->planner->plan : NULL;
    if (theirs) mix(hash, &m->tracker->others.digest, sizeof m->tracker->others.digest);
    if (t) {
        mix(hash, t->params, t->net.layout.count * sizeof(float));
        mix(hash, t->proprio.shift, sizeof(float) * OBS_P);
        mix(hash, t->window.shift, sizeof(float) * OBS_M);
        mix(hash, t->proprio.scale, sizeof(float) * OBS_P);
        mix(hash, t->window.scale, sizeof(float) * OBS_M);
        mix(hash, &t->lead, sizeof t->lead);
        mix(hash, &t->basis, sizeof t->basis);
    }
    if (p) {
        const plan_layout *l = &p->layout;
        const int layout[] = {(int)l->form, l->horizon, l->position, l->velocities, l->under_way};
        mix(hash, p->params, p->net.layout.count * sizeof(float));
        mix(hash, &p->scales, sizeof p->scales);
        mix(hash, layout, sizeof layout);
    }
}

static void mix_text(uint64_t *hash, const char *format, double x)
{
    char words[48];
    mix(hash, words, (size_t)snprintf(words, sizeof words, format, x));
}

static void mix_options(uint64_t *hash, const hrc_options *o)
{
    const double all[] = {(double)o->plan.seed,
                          o->plan.steps,
                          (double)o->plan.t_start,
                          o->plan.cold,
                          o->plan.bf16,
                          (double)o->plan.noise,
                          o->replan,
                          o->leash_m,
                          o->leash_rad,
                          o->wait_s};
    for (int i = 0; i < COUNT(all); i++) mix_text(hash, "%.17g ", all[i]);
}

static void mix_course(uint64_t *hash, const course *c)
{
    mix(hash, c->motion.qpos, sizeof(float) * HRC_NQ * (size_t)c->motion.n);
    mix(hash, c->qvel, sizeof(float) * HRC_NV * (size_t)c->motion.n);
    const int numbers[] = {c->first, c->frames, c->how, c->own_start, c->ndisturb};
    mix(hash, numbers, sizeof numbers);
    if (c->own_start) mix(hash, c->start, sizeof c->start);
    for (int i = 0; i < c->ndisturb; i++) {
        const disturbance *d = &c->disturb[i];
        const double all[] = {d->kind, d->t_s, d->xyz[0], d->xyz[1], d->xyz[2], d->seconds, d->link};
        mix(hash, all, sizeof all);
    }
}

/* models and settings */
static uint64_t keep_hash(const method *m, const config *cfg)
{
    uint64_t hash = HASH_START;
    const double physics[] = {cfg->sim_timestep, cfg->sim_substeps, MJCF_ITERATIONS, cfg->sim_friction};
    mix(&hash, HRC_VERSION, sizeof HRC_VERSION);
    mix(&hash, physics, sizeof physics);
    mix(&hash, cfg->sim_feet, strlen(cfg->sim_feet));
    mix(&hash, cfg->sim_self_collision, strlen(cfg->sim_self_collision));
    mix(&hash, cfg->sim_damping, strlen(cfg->sim_damping));
    mix_options(&hash, &m->options);
    mix_models(&hash, m);
    return hash;
}

static keep_key keep_key_of(uint64_t hash, const course *c)
{
    keep_key key;
    mix_course(&hash, c);
    snprintf(key.text, sizeof key.text, "%016llx", (unsigned long long)hash);
    return key;
}

/* ---- Files ---- */

static void path_of(char out[4096], const char *folder, const keep_key *key)
{
    snprintf(out, 4096, "%s/%s.safetensors", folder, key->text);
}

static json_t *result_json(const course_result *r)
{
    json_t *out =
        json_pack("{s:i, s:b, s:I, s:f, s:f, s:f}", "frames", r->frames, "diverged", r->diverged, "plans",
                  (json_int_t)r->plans, "plan_ms", r->plan_ms, "stands_s", r->stands_s, "back_s", r->back_s);
    json_t *values = json_array(), *verdicts = json_array();
    for (int f = 0; f < FIGURE_COUNT; f++)
        json_array_append_new(values, json_real(figure_of(&r->figures, f)));
    for (int v = 0; v < HRC_VERDICTS; v++) json_array_append_new(verdicts, json_integer(r->verdicts[v]));
    json_object_set_new(out, "figures", values);
    json_object_set_new(out, "verdicts", verdicts);
    return out;
}

static bool read_result(course_result *r, const json_t *j)
{
    const json_t *values = json_object_get(j, "figures"), *verdicts = json_object_get(j, "verdicts");
    if (!json_is_number(json_object_get(j, "back_s"))) return false;
    if (json_array_size(values) != FIGURE_COUNT || json_array_size(verdicts) != HRC_VERDICTS) return false;
    *r = (course_result){.frames = (int)json_integer_value(json_object_get(j, "frames")),
                         .diverged = json_is_true(json_object_get(j, "diverged")),
                         .plans = json_integer_value(json_object_get(j, "plans")),
                         .plan_ms = json_number_value(json_object_get(j, "plan_ms")),
                         .stands_s = json_number_value(json_object_get(j, "stands_s")),
                         .back_s = json_number_value(json_object_get(j, "back_s"))};
    for (int f = 0; f < FIGURE_COUNT; f++)
        *figure_at(&r->figures, f) = json_number_value(json_array_get(values, (size_t)f));
    for (int v = 0; v < HRC_VERDICTS; v++)
        r->verdicts[v] = json_integer_value(json_array_get(verdicts, (size_t)v));
    return true;
}

/* False: not there, or of something else. The record is then empty. */
static bool keep_load(outcome *out, const char *folder, const keep_key *key)
{
    char path[4096];
    rollout r;
    path_of(path, folder, key);
    if (!rollout_is_file(path) || rollout_load(&r, path, NULL) < 0) return false;
    json_t *j = json_loads(r.note, 0, NULL);
    bool good = j && read_result(&out->result, j);
    json_decref(j);
    if (good)
        out->record = r;
    else
        rollout_free(&r);
    return good;
}

static hrc_status keep_save(outcome *o, const char *folder, const keep_key *key, hrc_error *err)
{
    char path[4096];
    json_t *j = result_json(&o->result);
    char *note = json_dumps(j, JSON_COMPACT | JSON_REAL_PRECISION(17));
    json_decref(j);
    path_of(path, folder, key);
    o->record.note = note ? note : "";
    hrc_status status = rollout_save(&o->record, path, err);
    o->record.note = "";
    free(note);
    return status;
}

#define RESAMPLES 2000

typedef struct {
    evaluation *e;
    const method *methods;
    const course *courses;
    const evaluate_options *o;
    sim *physics;
    hrc_controller **controls;             /* (threads, nmethods); NULL where plain PD */
    uint64_t hashes[EVALUATE_MAX_METHODS]; /* of methods, for what is kept */
    hrc_status *status;                    /* (nmethods, ncourses) */
    hrc_error *errors;
    int64_t steps_done, steps_total; /* for the time left */
} job;

typedef struct {
    job *j;
    int worker, seen;
} ticker;

static void tick(void *ctx, int frame)
{
    ticker *t = ctx;
    int64_t now = __atomic_add_fetch(&t->j->steps_done, frame - t->seen, __ATOMIC_RELAXED);
    t->seen = frame;
    if (t->worker == 0 && t->j->o->progress)
        t->j->o->progress(t->j->o->ctx, (double)now / (double)t->j->steps_total);
}

static hrc_status run_course(job *j, int m, const course *c, outcome *out, ticker *clock, hrc_error *err)
{
    const keep_key key = keep_key_of(j->o->folder ? j->hashes[m] : 0, c);
    if (j->o->folder && keep_load(out, j->o->folder, &key)) return HRC_OK;
    if (j->o->stop && j->o->stop()) return fail(err, HRC_EINTERRUPTED, "interrupted");
    const course_means means = {.physics = j->physics,
                                .worker = clock->worker,
                                .control = j->controls[clock->worker * j->e->nmethods + m],
                                .plans = j->o->plans,
                                .tick = tick,
                                .ctx = clock};
    TRY(course_run(c, &means, &out->result, j->o->record ? &out->record : NULL, err));
    return j->o->folder ? keep_save(out, j->o->folder, &key, err) : HRC_OK;
}

static void run_one(void *ctx, int item, int worker)
{
    job *j = ctx;
    const int m = item / j->e->ncourses;
    const course *c = &j->courses[item % j->e->ncourses];
    ticker clock = {j, worker, 0};
    j->status[item] = run_course(j, m, c, &j->e->outcomes[item], &clock, &j->errors[item]);
    tick(&clock, c->frames);
}

static hrc_status make_controls(job *j, hrc_error *err)
{
    const int threads = pool_threads(j->o->threads), n = j->e->nmethods;
    j->controls = calloc((size_t)(threads * n), sizeof *j->controls);
    if (!j->controls) return fail(err, HRC_ENOMEM, "evaluation: out of memory");
    for (int i = 0; i < threads * n; i++) {
        const method *m = &j->methods[i % n];
        if (m->tracker) TRY(hrc_controller_create(&j->controls[i], m->tracker, m->planner, &m->options, err));
    }
    return HRC_OK;
}

static hrc_status run_all(job *j, hrc_error *err)
{
    const int items = j->e->nmethods * j->e->ncourses;
    j->status = calloc((size_t)items, sizeof *j->status);
    j->errors = calloc((size_t)items, sizeof *j->errors);
    j->e->outcomes = calloc((size_t)items, sizeof *j->e->outcomes);
    if (!j->status || !j->errors || !j->e->outcomes)
        return fail(err, HRC_ENOMEM, "evaluation: out of memory for %d rollouts", items);
    for (int i = 0; i < j->e->nmethods; i++)
        if (j->o->folder) j->hashes[i] = keep_hash(&j->methods[i], j->o->cfg);
    TRY(make_controls(j, err));
    TRY(sim_create(&j->physics, j->o->cfg, j->o->threads, err));
    for (int i = 0; i < j->e->ncourses; i++) j->steps_total += j->courses[i].frames;
    j->steps_total *= j->e->nmethods;
    pool_items(j->o->threads, items, run_one, j);
    for (int i = 0; i < items; i++)
        if (j->status[i] < 0) return fail(err, j->status[i], "%s", j->errors[i].text);
    return HRC_OK;
}

hrc_status evaluate(evaluation *out, const method *methods, int nmethods, const course *courses, int ncourses,
                    const evaluate_options *options, hrc_error *err)
{
    *out = (evaluation){.nmethods = nmethods, .ncourses = ncourses};
    if (nmethods > EVALUATE_MAX_METHODS)
        return fail(err, HRC_EINVAL, "evaluation: %d methods, expected at most %d", nmethods,
                    EVALUATE_MAX_METHODS);
    job j = {.e = out, .methods = methods, .courses = courses, .o = options};
    hrc_status status = run_all(&j, err);
    for (int i = 0; j.controls && i < pool_threads(options->threads) * nmethods; i++)
        hrc_controller_free(j.controls[i]);
    sim_free(j.physics);
    free(j.controls);
    free(j.status);
    free(j.errors);
    if (status < 0) evaluation_free(out);
    return status;
}

void evaluation_free(evaluation *e)
{
    for (int i = 0; e->outcomes && i < e->nmethods * e->ncourses; i++) rollout_free(&e->outcomes[i].record);
    free(e->outcomes);
    *e = (evaluation){0};
}

/* ---- Seeds ---- */

static double mean_rate(const evaluation *e, int m)
{
    double sum = 0;
    for (int i = 0; i < e->ncourses; i++) sum += outcome_of(e, m, i)->result.figures.cr / e->ncourses;
    return sum;
}

static double spread_of(const evaluation *e, int m, int n, int seeds)
{
    double mean = 0, square = 0;
    for (int s = 0; s < seeds; s++) mean += mean_rate(e, s * n + m) / seeds;
    for (int s = 0; s < seeds; s++) square += pow(mean_rate(e, s * n + m) - mean, 2);
    return seeds > 1 ? sqrt(square / (seeds - 1)) : 0;
}

void evaluation_fold(evaluation *e, int n, double *spread)
{
    const int seeds = e->nmethods / n;
    for (int m = 0; m < n; m++) {
        spread[m] = spread_of(e, m, n, seeds);
        for (int i = 0; i < e->ncourses; i++)
            for (int f = 0; f < FIGURE_COUNT; f++) {
                double sum = 0;
                for (int s = 0; s < seeds; s++)
                    sum += figure_of(&outcome_of(e, s * n + m, i)->result.figures, f);
                *figure_at(&e->outcomes[(size_t)m * (size_t)e->ncourses + (size_t)i].result.figures, f) =
                    sum / seeds;
            }
    }
    for (int i = n * e->ncourses; i < e->nmethods * e->ncourses; i++) rollout_free(&e->outcomes[i].record);
    e->nmethods = n;
}

/* ---- Means ---- */

/* Percentile bootstrap of the mean of x (n); one number tells nothing about its spread. */
static void interval(double *low, double *high, const double *x, int n, double *means)
{
    rng r = rng_make(1, (uint64_t)n);
    *low = *high = NAN;
    if (n < 2) return;
    for (int i = 0; i < RESAMPLES; i++) {
        double sum = 0;
        for (int k = 0; k < n; k++) sum += x[rng_below(&r, (uint32_t)n)];
        means[i] = sum / n;
    }
    numbers_sort(means, RESAMPLES);
    *low = means[(int)(0.025 * RESAMPLES)];
    *high = means[(int)(0.975 * RESAMPLES) - 1];
}

void summarise(summary *out, const evaluation *e, int m, const course *courses, const char *category)
{
    double means[RESAMPLES], *x = malloc(sizeof *x * (size_t)e->ncourses);
    *out = (summary){0};
    for (int f = 0; f < FIGURE_COUNT && x; f++) {
        int n = 0;
        double sum = 0;
        for (int i = 0; i < e->ncourses; i++) {
            if (category && strcmp(category, courses[i].category)) continue;
            sum += x[n++] = figure_of(&outcome_of(e, m, i)->result.figures, f);
        }
        if (!n) break;
        out->n = n;
        *figure_at(&out->mean, f) = sum / n;
        interval(figure_at(&out->low, f), figure_at(&out->high, f), x, n, means);
    }
    free(x);
}

int categories_of(const char **out, int max, const course *courses, int n)
{
    int count = 0;
    for (int i = 0; i < n && count < max; i++) {
        int k = 0;
        while (k < count && strcmp(out[k], courses[i].category)) k++;
        if (k == count) out[count++] = courses[i].category;
    }
    return count;
}

int compare_base(const method *methods, int n)
{
    for (int m = 0; m < n; m++)
        if (methods[m].tracker && !methods[m].planner) return m;
    return -1;
}

double compare_rate(const evaluation *e, int base, int m, const course *courses, const char *category)
{
    double sum = 0;
    int n = 0;
    for (int i = 0; i < e->ncourses; i++) {
        if (category && strcmp(category, courses[i].category)) continue;
        sum += outcome_of(e, m, i)->result.figures.cr - outcome_of(e, base, i)->result.figures.cr;
        n++;
    }
    return n ? sum / n : (double)NAN;
}

identity compare_identity(const evaluation *e, int base, int m)
{
    identity out = {0, (double)NAN};
    double with = 0, alone = 0;
    for (int i = 0; i < e->ncourses; i++) {
        const figures *f = &outcome_of(e, base, i)->result.figures;
        if (f->cr < 1 - 1e-9) continue;
        alone += f->joint_rad;
        with += outcome_of(e, m, i)->result.figures.joint_rad;
        out.n++;
    }
    if (alone > 0) out.ratio = with / alone;
    return out;
}
