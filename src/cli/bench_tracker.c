/* heracles bench train-tracker: how fast a method trains here, and what share of the processor's peak its
 * updates reach. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/commands.h"
#include "cli/gemm_peak.h"
#include "cli/motion.h"
#include "learn/gemm_library.h"
#include "learn/motions.h"
#include "learn/tracker_method.h"
#include "motion/stats.h"

#define MAX_ROUNDS 100

typedef struct {
    arena memory;
    motions m;
    pool *threads;
    references refs;
    const tracker_method *method;
    void *self;
    nn_ops ops;
    gemm_peak bare;
} bench;

typedef struct {
    double samples_per_s, updates_per_s, seconds; /* medians over iterations */
    double update_gflops, peak_gflops, share;     /* likewise; 0: the method does not count */
    train_report last;
    double last_s;
} figures;

static hrc_status bench_make(bench *b, const args *a, hrc_error *err)
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
    return b->method->create(&b->self, &(train_input){&a->cfg, &b->refs, a->seed, b->threads}, err);
}

static void bench_free(bench *b)
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
static hrc_status measure(figures *out, bench *b, int rounds, progress *bar, hrc_error *err)
{
    double s[MAX_ROUNDS], samples[MAX_ROUNDS], updates[MAX_ROUNDS], reached[MAX_ROUNDS], peak[MAX_ROUNDS];
    double share[MAX_ROUNDS];
    for (int i = -1; i < rounds; i++) {
        const int k = i < 0 ? 0 : i;
        train_report *r = &out->last;
        *r = (train_report){0};
        double before = gemm_peak_flops(&b->bare), start = now_s();
        TRY(b->method->iterate(b->self, 0, r, err));
        s[k] = out->last_s = now_s() - start;
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

static int tell(const args *a, const bench *b, const figures *f)
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
    double rounds = 5;
    bench b = {.method = tracker_method_find(arg(a, "method"))};
    figures f = {0};
    hrc_error err;
    if (!b.method)
        return cli_usage(a, "--method is %.40s, expected one of: %s", arg(a, "method"),
                         tracker_method_names());
    if (!arg_number(a, "rounds", 1, MAX_ROUNDS, &rounds)) return EXIT_USAGE;
    cli_note(a, "setting up");
    hrc_status status = bench_make(&b, a, &err);
    progress bar = progress_begin(a, "measuring");
    if (status == HRC_OK) status = measure(&f, &b, (int)rounds, &bar, &err);
    progress_end(&bar);
    int code = status == HRC_OK             ? tell(a, &b, &f)
               : status == HRC_EINTERRUPTED ? EXIT_INTERRUPTED
                                            : cli_fail(&err);
    bench_free(&b);
    return code;
}

static const option OPTIONS[] = {
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
    .options = OPTIONS,
    .min_operands = 1,
    .max_operands = -1,
    .run = run_bench_tracker,
};
