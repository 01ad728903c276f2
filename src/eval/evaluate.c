#include "eval/evaluate.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "eval/keep.h"
#include "motion/stats.h"

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

/* Percentile bootstrap of the mean of x (n). */
static void interval(double *low, double *high, const double *x, int n, double *means)
{
    rng r = rng_make(1, (uint64_t)n);
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
