/* heracles bench train: one training pass of the velocity field (forward, loss, every gradient) against the
 * peak that the same product reaches on a bare square matrix, measured in turns so that other load on the
 * machine meets both. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "base/arena.h"
#include "base/pool.h"
#include "base/rng.h"
#include "cli/cli.h"
#include "cli/commands.h"
#include "cli/motion.h"
#include "learn/field_train.h"
#include "learn/gemm_library.h"
#include "learn/motions.h"
#include "learn/tracker_method.h"
#include "motion/stats.h"
#include "nn/adam.h"
#include "nn/gemm.h"
#include "nn/ops.h"

/* ---- The bare product ---- */

/* What the matrix product of a table of kernels reaches on this machine on one large square: the measure that
 * training passes are held against, in turns with them, so that other load meets both. */
typedef struct {
    const nn_ops *ops; /* may be changed between measurements */
    pool *threads;
    float *a, *b, *c;
} gemm_peak;

#define SQUARE 2048 /* side of the product */

/* Zeros, or random ones with r; NULL: out of memory. */
static float *numbers(arena *memory, size_t n, rng *r)
{
    float *x = ARENA_NEW(memory, float, n);
    for (size_t i = 0; x && r && i < n; i++) x[i] = rng_normal(r);
    return x;
}

static hrc_status gemm_peak_create(gemm_peak *g, const nn_ops *ops, pool *threads, rng *r, arena *memory,
                                   hrc_error *err)
{
    const size_t n = (size_t)SQUARE * SQUARE;
    *g = (gemm_peak){ops, threads, numbers(memory, n, r), numbers(memory, n, r), numbers(memory, n, NULL)};
    return g->a && g->b && g->c ? HRC_OK : fail(err, HRC_ENOMEM, "bench: out of memory for a product");
}

typedef struct {
    const gemm_peak *g;
    int rows; /* of one item */
} job;

static void some_rows(void *ctx, int item, int worker)
{
    (void)worker;
    const job *j = ctx;
    const int first = item * j->rows, n = SQUARE - first < j->rows ? SQUARE - first : j->rows;
    const size_t skip = (size_t)first * SQUARE;
    j->g->ops->gemm(j->g->c + skip, j->g->a + skip, j->g->b, n, SQUARE, SQUARE, SQUARE, SQUARE, SQUARE, 0);
}

/* floating-point operations a second, by one product */
static double gemm_peak_flops(gemm_peak *g)
{
    const int threads = pool_threads(g->threads);
    job j = {g, (SQUARE + threads - 1) / threads};
    const double start = clock_s();
    pool_items(g->threads, (SQUARE + j.rows - 1) / j.rows, some_rows, &j);
    return 2.0 * SQUARE * SQUARE * SQUARE / (clock_s() - start);
}

#define MAX_ROUNDS 100

typedef struct {
    field f;
    pool *p;
    int batch, rounds;
    arena memory;
    float *params, *grads;
    field_batch data;
    gemm_peak bare;
    adam optimiser;
} bench;

typedef struct {
    double step_ms, gflops, peak_gflops, share, adam_ms, memory_mb;
} figures;

static hrc_status bench_create(bench *b, const args *a, int dim, hrc_error *err)
{
    TRY(field_init(&b->f, field_paper(dim), err));
    TRY(pool_create(&b->p, a->threads, err));
    rng r = rng_make(a->seed, 0);
    size_t n = b->f.layout.count, tokens = (size_t)b->batch * (size_t)(b->f.shape.tokens * dim);
    float *x = numbers(&b->memory, tokens, &r), *target = numbers(&b->memory, tokens, &r);
    float *cond = numbers(&b->memory, (size_t)b->batch * (size_t)b->f.shape.cond, &r);
    float *t = numbers(&b->memory, (size_t)b->batch, NULL);
    for (int i = 0; t && i < b->batch; i++) t[i] = rng_uniform(&r, 0, 1);
    b->data = (field_batch){b->batch, x, t, cond, target, NULL};
    b->params = numbers(&b->memory, n, NULL), b->grads = numbers(&b->memory, n, NULL);
    b->optimiser = (adam){
        .options = {.rate = 1e-4, .beta1 = 0.9, .beta2 = 0.999, .eps = 1e-8, .decay = 1e-4, .average = 0.999},
        .n = n,
        .m = numbers(&b->memory, n, NULL),
        .v = numbers(&b->memory, n, NULL),
        .averaged = numbers(&b->memory, n, NULL)};
    if (!x || !target || !cond || !t || !b->params || !b->grads || !b->optimiser.m || !b->optimiser.v ||
        !b->optimiser.averaged)
        return fail(err, HRC_ENOMEM, "bench train: out of memory for a batch of %d", b->batch);
    TRY(gemm_peak_create(&b->bare, NULL, b->p, &r, &b->memory, err));
    nn_layout_init(b->params, &b->f.layout, a->seed);
    for (size_t i = b->f.at[FIELD_MOD_W]; i < n; i++) b->params[i] += 0.01f * rng_normal(&r); /* no zeros */
    return HRC_OK;
}

static double peak_memory_mb(void)
{
    struct rusage use;
    getrusage(RUSAGE_SELF, &use);
    return (double)use.ru_maxrss / 1024;
}

/* Every round: the bare product, one pass, the bare product again, one step of the optimiser. */
static hrc_status measure(figures *out, bench *b, const nn_ops *ops, progress *bar, hrc_error *err)
{
    double step[MAX_ROUNDS], peak[MAX_ROUNDS], share[MAX_ROUNDS], update[MAX_ROUNDS];
    double step_flop = 6 * field_products(&b->f.shape) * b->batch;
    field_pass *pass;
    TRY(field_pass_create(&pass, &b->f, ops, b->p, b->batch, err));
    b->bare.ops = ops;
    field_gradient(pass, b->grads, b->params, &b->data); /* touch all memory once */
    gemm_peak_flops(&b->bare);
    for (int i = 0; i < b->rounds; i++) {
        double before = gemm_peak_flops(&b->bare), start = clock_s();
        field_gradient(pass, b->grads, b->params, &b->data);
        double end = clock_s(), after = gemm_peak_flops(&b->bare);
        step[i] = end - start;
        peak[i] = before > after ? before : after;
        share[i] = step_flop / step[i] / peak[i];
        start = clock_s();
        adam_step(&b->optimiser, ops, b->p, b->params, b->grads);
        update[i] = clock_s() - start;
        progress_show(bar, (double)(i + 1) / b->rounds, "");
        if (cli_interrupted()) {
            field_pass_free(pass);
            return fail(err, HRC_EINTERRUPTED, "bench train: interrupted");
        }
    }
    field_pass_free(pass);
    double s = median(step, b->rounds);
    *out = (figures){.step_ms = 1e3 * s,
                     .gflops = 1e-9 * step_flop / s,
                     .peak_gflops = 1e-9 * median(peak, b->rounds),
                     .share = median(share, b->rounds),
                     .adam_ms = 1e3 * median(update, b->rounds),
                     .memory_mb = peak_memory_mb()};
    return HRC_OK;
}

static json_t *figures_json(const figures *f)
{
    return json_pack("{s:f, s:f, s:f, s:f, s:f, s:f}", "step_ms", f->step_ms, "gflops", f->gflops,
                     "peak_gflops", f->peak_gflops, "share_of_peak", f->share, "optimiser_ms", f->adam_ms,
                     "memory_mb", f->memory_mb);
}

static void figures_print(const char *name, const figures *f)
{
    printf(
        "%-5s %6.0f ms a step %7.1f GFLOP/s %7.1f GFLOP/s bare %5.0f %% of it %5.0f ms optimiser, peak memory %.0f MB\n",
        name, f->step_ms, f->gflops, f->peak_gflops, 100 * f->share, f->adam_ms, f->memory_mb);
}

static int run_bench(const args *a, bench *b, int dim)
{
    hrc_error err;
    if (bench_create(b, a, dim, &err) < 0) return cli_fail(&err);
    gemm_library_start();
    nn_ops library = *nn_ops_best(), mixed = library;
    library.gemm = gemm_library, mixed.gemm = nn_gemm_bf16;
    const char *wanted = arg(a, "precision");
    json_t *json = json_pack("{s:I, s:i, s:i, s:s}", "params", (json_int_t)b->f.layout.count, "batch",
                             b->batch, "threads", pool_threads(b->p), "library", gemm_library_name());
    if (!a->json)
        printf("velocity field: %zu parameters, batch %d, %d threads, %s\n", b->f.layout.count, b->batch,
               pool_threads(b->p), gemm_library_name());
    for (int i = 0; i < 2; i++) {
        const char *name = i ? "bf16" : "fp32";
        if (strcmp(wanted, "both") != 0 && strcmp(wanted, name) != 0) continue;
        figures f = {0};
        progress bar = progress_begin(a, name);
        hrc_status status = measure(&f, b, i ? &mixed : &library, &bar, &err);
        progress_end(&bar);
        if (status < 0) {
            json_decref(json);
            return status == HRC_EINTERRUPTED ? EXIT_INTERRUPTED : cli_fail(&err);
        }
        json_object_set_new(json, name, figures_json(&f));
        if (!a->json) figures_print(name, &f);
    }
    if (a->json) return cli_json(json);
    json_decref(json);
    return EXIT_DONE;
}

static int run_bench_train(const args *a)
{
    int batch = 0, rounds = 0, dim = 0;
    const char *precision = arg(a, "precision");
    if (!arg_int(a, "batch", 1, 65536, &batch) || !arg_int(a, "rounds", 1, MAX_ROUNDS, &rounds) ||
        !arg_int(a, "dim", 1, 1024, &dim))
        return EXIT_USAGE;
    if (strcmp(precision, "fp32") != 0 && strcmp(precision, "bf16") != 0 && strcmp(precision, "both") != 0)
        return cli_usage(a, "--precision is %s, expected fp32, bf16 or both", precision);
    bench *b = calloc(1, sizeof *b);
    if (!b) return cli_fail(&(hrc_error){"bench train: out of memory"});
    b->batch = batch, b->rounds = rounds;
    int code = run_bench(a, b, dim);
    pool_free(b->p);
    arena_free(&b->memory);
    free(b);
    return code;
}

static const option OPTIONS[] = {
    {"batch", "N", "256", "samples of a step"},
    {"rounds", "N", "7", "how often each is measured; the median counts"},
    {"precision", "WORD", "both", "fp32, bf16 (factors of products rounded, sums in float) or both"},
    {"dim", "D", "38", "numbers of a token: 38, or 35 without root position"},
    {0},
};

const command CMD_BENCH_TRAIN = {
    .name = "bench train",
    .operands = "",
    .summary = "how fast the planner trains here, as a share of the processor's peak",
    .example = "heracles bench train --precision fp32 --rounds 5",
    .options = OPTIONS,
    .run = run_bench_train,
};

/* ---- The tracker ---- */

/* heracles bench train-tracker: how fast a method trains here, and what share of the processor's peak its
 * updates reach. */

typedef struct {
    arena memory;
    motions m;
    pool *threads;
    references refs;
    const tracker_method *method;
    void *self;
    nn_ops ops;
    gemm_peak bare;
} tracker_bench;

typedef struct {
    double samples_per_s, updates_per_s, seconds; /* medians over iterations */
    double update_gflops, peak_gflops, share;     /* likewise; 0: the method does not count */
    train_report last;
    double last_s;
} tracker_figures;

static hrc_status tracker_make(tracker_bench *b, const args *a, hrc_error *err)
{
    rng r = rng_make(a->seed, 0);
    TRY(pool_create(&b->threads, a->threads, err));
    clip_options reading;
    TRY(motion_reading(a, &reading, err));
    TRY(motions_load(&b->m, NULL, a->operands, a->n, &reading, false, err));
    TRY(references_build(&b->refs, b->m.clips, b->m.n, strcmp(a->cfg.env_mirror, "on") == 0, b->threads,
                         err));
    b->ops = training_ops(a->cfg.train_precision);
    TRY(gemm_peak_create(&b->bare, &b->ops, b->threads, &r, &b->memory, err));
    return b->method->create(
        &b->self, &(train_input){.cfg = &a->cfg, .refs = &b->refs, .seed = a->seed, .threads = b->threads},
        err);
}

static void tracker_free(tracker_bench *b)
{
    b->method->free(b->self);
    references_free(&b->refs);
    motions_free(&b->m);
    pool_free(b->threads);
    arena_free(&b->memory);
}

static double phase_of(const train_report *r, const char *name)
{
    for (int i = 0; i < r->nphases; i++)
        if (strcmp(r->phases[i].name, name) == 0) return r->phases[i].value;
    return 0;
}

/* Every round: the bare product, one iteration, the bare product again. The first iteration is not counted.
 */
static hrc_status measure_tracker(tracker_figures *out, tracker_bench *b, int rounds, progress *bar,
                                  hrc_error *err)
{
    double s[MAX_ROUNDS], samples[MAX_ROUNDS], updates[MAX_ROUNDS], reached[MAX_ROUNDS], peak[MAX_ROUNDS];
    double share[MAX_ROUNDS];
    for (int i = -1; i < rounds; i++) {
        const int k = i < 0 ? 0 : i;
        train_report *r = &out->last;
        *r = (train_report){0};
        double before = gemm_peak_flops(&b->bare), start = clock_s();
        TRY(b->method->iterate(b->self, 0, r, err));
        s[k] = out->last_s = clock_s() - start;
        double after = gemm_peak_flops(&b->bare), update = phase_of(r, "update");
        samples[k] = (double)r->samples / s[k], updates[k] = (double)r->updates / s[k];
        peak[k] = before > after ? before : after;
        reached[k] = update > 0 ? r->flop / update : 0;
        share[k] = reached[k] / peak[k];
        progress_show(bar, (double)(i + 1) / rounds, "");
        if (cli_interrupted()) return fail(err, HRC_EINTERRUPTED, "bench train-tracker: interrupted");
    }
    out->seconds = median(s, rounds);
    out->samples_per_s = median(samples, rounds), out->updates_per_s = median(updates, rounds);
    out->update_gflops = 1e-9 * median(reached, rounds), out->peak_gflops = 1e-9 * median(peak, rounds);
    out->share = median(share, rounds);
    return HRC_OK;
}

static int tell(const args *a, const tracker_bench *b, const tracker_figures *f)
{
    const int threads = pool_threads(b->threads);
    json_t *phases = json_object();
    for (int i = 0; i < f->last.nphases; i++)
        json_object_set_new(phases, f->last.phases[i].name, json_number(f->last.phases[i].value / f->last_s));
    json_t *all =
        json_pack("{s:s, s:i, s:f, s:f, s:f, s:f, s:f, s:f, s:o}", "method", b->method->name, "threads",
                  threads, "samples_per_s", f->samples_per_s, "updates_per_s", f->updates_per_s,
                  "iteration_s", f->seconds, "update_gflops", f->update_gflops, "peak_gflops", f->peak_gflops,
                  "share_of_peak", f->share, "share_of_time", phases);
    if (a->json) return cli_json(all);
    json_decref(all);
    printf("%s, %d threads: %.0f samples/s, %.1f updates/s, %.2f s an iteration\n", b->method->name, threads,
           f->samples_per_s, f->updates_per_s, f->seconds);
    for (int i = 0; i < f->last.nphases; i++)
        printf("  %-14s %5.1f %% of the time\n", f->last.phases[i].name,
               100 * f->last.phases[i].value / f->last_s);
    if (f->update_gflops > 0)
        printf("  updates at %.1f GFLOP/s, %.0f %% of the bare product's %.1f\n", f->update_gflops,
               100 * f->share, f->peak_gflops);
    return EXIT_DONE;
}

static int run_bench_tracker(const args *a)
{
    int rounds = 5;
    tracker_bench b = {.method = tracker_method_find(arg(a, "method"))};
    tracker_figures f = {0};
    hrc_error err;
    if (!b.method)
        return cli_usage(a, "--method is %.40s, expected one of: %s", arg(a, "method"),
                         tracker_method_names());
    if (!arg_int(a, "rounds", 1, MAX_ROUNDS, &rounds)) return EXIT_USAGE;
    cli_note(a, "setting up");
    hrc_status status = tracker_make(&b, a, &err);
    progress bar = progress_begin(a, "measuring");
    if (status == HRC_OK) status = measure_tracker(&f, &b, rounds, &bar, &err);
    progress_end(&bar);
    int code = status == HRC_OK             ? tell(a, &b, &f)
               : status == HRC_EINTERRUPTED ? EXIT_INTERRUPTED
                                            : cli_fail(&err);
    tracker_free(&b);
    return code;
}

static const option TRACKER_OPTIONS[] = {
    {"method", "NAME", "world-model", "world-model or ppo"},
    {"rounds", "N", "5", "iterations that are measured; the median counts"},
    OPTIONS_READING,
    {0},
};

const command CMD_BENCH_TRACKER = {
    .name = "bench train-tracker",
    .operands = "MOTION...",
    .summary = "how fast the tracker trains here, and its share of the processor's peak",
    .example = "heracles bench train-tracker motions/wave.safetensors --method ppo",
    .options = TRACKER_OPTIONS,
    .min_operands = 1,
    .max_operands = -1,
    .run = run_bench_tracker,
};
