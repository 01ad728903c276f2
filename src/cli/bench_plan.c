/* heracles bench plan: how long a full replan takes, in both precisions, on one thread and on two. */
#include <stdio.h>
#include <stdlib.h>

#include "base/rng.h"
#include "base/rot.h"
#include "cli/commands.h"
#include "motion/stats.h"
#include "nn/packed.h"
#include "plan/planner.h"

#define CASES 4

typedef struct {
    const char *name;
    nn_precision precision;
    int threads;
    double p50, p99, p999, max; /* ms */
} timing;

/* The shape of the paper with random weights: a plan's time does not depend on their values. */
static hrc_status random_model(plan_model *m, int D, hrc_error *err)
{
    *m = (plan_model){.path = "(random weights)", .config = "", .trained = ""};
    m->layout = (plan_layout){.form = PLAN_PAPER, .horizon = PLAN_H, .position = D == PLAN_D};
    field_shape shape = field_paper(PLAN_D);
    shape.cond = plan_condition_size(&m->layout);
    TRY(field_init(&m->net, shape, err));
    m->params = ARENA_NEW(&m->memory, float, m->net.layout.count);
    if (!m->params) return fail(err, HRC_ENOMEM, "bench plan: out of memory");
    rng r = rng_make(1, 0);
    for (size_t i = 0; i < m->net.layout.count; i++) m->params[i] = 0.02f * rng_normal(&r);
    for (int d = 0; d < shape.cond; d++) m->scales.cond_std[d] = 1;
    for (int i = 0; i < PLAN_K * PLAN_D; i++) m->scales.residual_std[i] = 0.1f;
    return HRC_OK;
}

static void time_plans(planner *p, double *ms, int n)
{
    float keyframes[PLAN_K][HRC_NQ];
    double stance[HRC_NQ];
    plan_question q = {0};
    rng r = rng_make(2, 0);
    g1_default_qpos(stance);
    for (int i = 0; i < n; i++) {
        for (int k = 0; k < HRC_NQ; k++) {
            q.state[k] = q.under_way[k] = (float)stance[k] + 0.05f * rng_normal(&r);
            for (int f = 0; f <= PLAN_MAX_H; f++)
                q.reference[f][k] = (float)stance[k] + 0.1f * rng_normal(&r);
        }
        quat_normalizef(q.state + 3);
        quat_normalizef(q.under_way + 3);
        for (int f = 0; f <= PLAN_MAX_H; f++) quat_normalizef(q.reference[f] + 3);
        double begin = clock_s();
        planner_plan(p, &q, keyframes);
        ms[i] = 1e3 * (clock_s() - begin);
    }
    numbers_sort(ms, n);
}

static double quantile(const double *sorted, int n, double share)
{
    int i = (int)(share * n);
    return sorted[i < n ? i : n - 1];
}

static hrc_status measure(timing *t, const plan_model *m, int n, hrc_error *err)
{
    planner *p = NULL;
    pool *threads = NULL;
    double *ms = malloc(sizeof *ms * (size_t)n);
    planner_options options = planner_defaults();
    options.precision = t->precision;
    hrc_status status = ms ? HRC_OK : fail(err, HRC_ENOMEM, "bench plan: out of memory");
    if (status == HRC_OK && t->threads > 1) status = pool_create(&threads, t->threads, err);
    options.threads = threads;
    if (status == HRC_OK) status = planner_create(&p, m, &options, err);
    if (status == HRC_OK && ms) {
        time_plans(p, ms, n < 10 ? n : 10); /* warm up */
        time_plans(p, ms, n);
        t->p50 = quantile(ms, n, 0.5), t->p99 = quantile(ms, n, 0.99), t->p999 = quantile(ms, n, 0.999);
        t->max = ms[n - 1];
    }
    planner_free(p);
    pool_free(threads);
    free(ms);
    return status;
}

static int report(const args *a, const timing *t, const plan_model *m)
{
    if (!a->json) {
        printf("%zu parameters; a full replan (5 steps), ms; kernels: %s\n", m->net.layout.count,
               nn_kernels_at(nn_cpu())->name);
        printf("%-26s %8s %8s %8s %8s\n", "", "p50", "p99", "p99.9", "max");
        for (int i = 0; i < CASES; i++)
            printf("%-10s %d thread%-7s %8.2f %8.2f %8.2f %8.2f\n",
                   t[i].precision == NN_BF16 ? "bf16" : "fp32", t[i].threads, t[i].threads > 1 ? "s" : "",
                   t[i].p50, t[i].p99, t[i].p999, t[i].max);
        return EXIT_DONE;
    }
    json_t *j =
        json_pack("{s:I, s:s}", "params", (json_int_t)m->net.layout.count, "kernels", nn_ops_best()->name);
    for (int i = 0; i < CASES; i++)
        json_object_set_new(j, t[i].name,
                            json_pack("{s:f, s:f, s:f, s:f}", "p50_ms", t[i].p50, "p99_ms", t[i].p99,
                                      "p999_ms", t[i].p999, "max_ms", t[i].max));
    return cli_json(j);
}

static int run_bench_plan(const args *a)
{
    timing cases[CASES] = {{.name = "fp32_1", .precision = NN_FLOAT, .threads = 1},
                           {.name = "fp32_2", .precision = NN_FLOAT, .threads = 2},
                           {.name = "bf16_1", .precision = NN_BF16, .threads = 1},
                           {.name = "bf16_2", .precision = NN_BF16, .threads = 2}};
    hrc_error err;
    plan_model m = {0};
    int plans = 300;
    const char *path = arg(a, "model");
    if (!arg_int(a, "plans", 2, 1000000, &plans)) return EXIT_USAGE;
    hrc_status status = path ? plan_model_load(&m, path, &err) : random_model(&m, a->cfg.planner_dims, &err);
    for (int i = 0; i < CASES && status == HRC_OK; i++) {
        cli_note(a, "%s: %d plans", cases[i].name, plans);
        status = measure(&cases[i], &m, plans, &err);
    }
    int code = status < 0 ? cli_fail(&err) : report(a, cases, &m);
    plan_model_free(&m);
    return code;
}

static const option OPTIONS[] = {
    {"model", "FILE", NULL, "a planner; default: the paper's shape with random weights"},
    {"plans", "N", "300", "plans timed in each case"},
    {0},
};

const command CMD_BENCH_PLAN = {
    .name = "bench plan",
    .operands = "",
    .summary = "how long a full replan takes, by precision and threads",
    .example = "heracles bench plan --plans 1000 --json",
    .options = OPTIONS,
    .run = run_bench_plan,
};
