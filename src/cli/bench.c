/* heracles bench sim, env, plan, deploy: how fast physics, environment, plans and control threads are here.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/rng.h"
#include "base/rot.h"
#include "cli/commands.h"
#include "cli/models.h"
#include "cli/motion.h"
#include "deploy/clock.h"
#include "deploy/deploy.h"
#include "deploy/robotsim.h"
#include "learn/motions.h"
#include "learn/sampling.h"
#include "motion/stats.h"
#include "nn/packed.h"
#include "plan/planner.h"
#include "sim/speed.h"

/* ---- Physics ---- */

static int run_bench_sim(const args *a)
{
    double seconds = 4;
    hrc_error err;
    sim_speed speed;
    if (!arg_number(a, "seconds", 0.1, 600, &seconds)) return EXIT_USAGE;
    cli_note(a, "measuring for %g s", seconds);
    if (sim_measure(&speed, &a->cfg, a->threads, seconds, &err) < 0) return cli_fail(&err);
    if (a->json)
        return cli_json(json_pack("{s:f, s:f, s:f, s:f, s:f, s:f, s:i}", "bare_us", speed.bare_us, "sim_us",
                                  speed.sim_us, "share_of_bare", speed.share, "steps_per_s_1",
                                  speed.steps_per_s_1, "steps_per_s_n", speed.steps_per_s_n, "speedup",
                                  speed.speedup, "threads", speed.threads));
    printf("bare mj_step            %8.1f us\n", speed.bare_us);
    printf("one world, one thread   %8.1f us a physics step, %.1f %% of bare speed\n", speed.sim_us,
           100 * speed.share);
    printf("64 worlds, one thread   %8.0f control steps/s\n", speed.steps_per_s_1);
    printf("64 worlds, %2d threads   %8.0f control steps/s, %.2f times one\n", speed.threads,
           speed.steps_per_s_n, speed.speedup);
    return EXIT_DONE;
}

static const option SIM_OPTIONS[] = {{"seconds", "S", "4", "how long to measure_env"}, {0}};

const command CMD_BENCH_SIM = {
    .name = "bench sim",
    .operands = "",
    .summary = "speed of physics against bare mj_step, and over threads",
    .example = "heracles bench sim --sim.feet=light",
    .options = SIM_OPTIONS,
    .run = run_bench_sim,
};

/* ---- The tracking environment ---- */

/* What a control step of the tracking environment costs, and how much of it is physics. */
typedef struct {
    double steps_per_s, share; /* of all threads' time that is mj_step */
    double steps_per_episode;
    int threads;
} env_speed;

typedef struct {
    motions m;
    pool *threads;
    references refs;
    sampling starts;
    env *e;
    float *actions, *proprio, *window, *critic, *reward;
} env_bench;

static hrc_status env_bench_make(env_bench *b, const args *a, int worlds, hrc_error *err)
{
    const size_t n = (size_t)worlds;
    clip_options reading;
    TRY(motion_reading(a, &reading, err));
    TRY(motions_load(&b->m, NULL, a->operands, a->n, &reading, false, err));
    TRY(pool_create(&b->threads, a->threads, err));
    TRY(references_build(&b->refs, b->m.clips, b->m.n, strcmp(a->cfg.env_mirror, "on") == 0, b->threads,
                         err));
    TRY(sampling_create(&b->starts, &a->cfg, &b->refs, err));
    env_starts starts = sampling_starts(&b->starts);
    TRY(env_create(&b->e, &a->cfg, &END_RULES, &b->refs, worlds, a->seed, &starts, b->threads, err));
    b->actions = calloc(n * HRC_JOINTS, sizeof(float));
    b->proprio = calloc(n * OBS_PROPRIO, sizeof(float));
    b->window = calloc(n * OBS_WINDOW, sizeof(float));
    b->critic = calloc(n * OBS_CRITIC, sizeof(float));
    b->reward = calloc(n, sizeof(float));
    if (!b->actions || !b->proprio || !b->window || !b->critic || !b->reward)
        return fail(err, HRC_ENOMEM, "bench env: out of memory for %d worlds", worlds);
    return HRC_OK;
}

static void env_bench_free(env_bench *b)
{
    free(b->actions), free(b->proprio), free(b->window), free(b->critic), free(b->reward);
    env_free(b->e);
    sampling_free(&b->starts);
    references_free(&b->refs);
    pool_free(b->threads);
    motions_free(&b->m);
}

/* Random actions of the size that a policy begins with; drawing them is not timed. */
static env_speed measure_env(env_bench *b, const args *a, double seconds)
{
    const env_arrays out = {
        .proprio = b->proprio, .window = b->window, .critic = b->critic, .reward = b->reward};
    const int n = env_worlds(b->e);
    rng r = rng_make(a->seed, 1);
    double spent = 0, before = env_mujoco_s(b->e);
    env_reset(b->e, &out);
    while (spent < seconds) {
        for (int i = 0; i < n * HRC_JOINTS; i++) b->actions[i] = 0.3f * rng_normal(&r);
        double start = clock_s();
        env_step(b->e, b->actions, &out);
        spent += clock_s() - start;
    }
    const env_counts c = env_count(b->e);
    const int threads = pool_threads(b->threads);
    return (env_speed){(double)c.steps / spent, (env_mujoco_s(b->e) - before) / (spent * threads),
                       (double)c.steps / (double)(c.episodes ? c.episodes : 1), threads};
}

static int run_bench_env(const args *a)
{
    double seconds = 4;
    int worlds = 64;
    hrc_error err;
    env_bench b = {0};
    if (!arg_number(a, "seconds", 0.1, 600, &seconds)) return EXIT_USAGE;
    if (!arg_int(a, "worlds", 1, 100000, &worlds)) return EXIT_USAGE;
    if (env_bench_make(&b, a, worlds, &err) < 0) {
        env_bench_free(&b);
        return cli_fail(&err);
    }
    cli_note(a, "measuring for %g s", seconds);
    env_speed s = measure_env(&b, a, seconds);
    text said = {0};
    env_diagnose(b.e, &said);
    env_bench_free(&b);
    int code = EXIT_DONE;
    if (a->json) {
        code = cli_json(json_pack("{s:f, s:f, s:f, s:i, s:i}", "steps_per_s", s.steps_per_s, "mj_step_share",
                                  s.share, "steps_per_episode", s.steps_per_episode, "worlds", worlds,
                                  "threads", s.threads));
    } else {
        printf("%d worlds, %d threads  %8.0f control steps/s, %.1f %% of the time in mj_step\n", worlds,
               s.threads, s.steps_per_s, 100 * s.share);
        printf("%s", text_ok(&said) ? said.data : "");
    }
    text_free(&said);
    return code;
}

static const option ENV_OPTIONS[] = {
    {"seconds", "S", "4", "how long to measure_env"},
    {"worlds", "N", "64", "worlds side by side"},
    OPTIONS_READING,
    {0},
};

const command CMD_BENCH_ENV = {
    .name = "bench env",
    .operands = "CLIP...",
    .summary = "speed of the tracking environment, and the share of it that is physics",
    .example = "heracles bench env motions/wave.safetensors --worlds 128",
    .options = ENV_OPTIONS,
    .min_operands = 1,
    .max_operands = -1,
    .run = run_bench_env,
};

/* ---- Plans ---- */

/* How long a full replan takes, in both precisions, on one thread and on two. */

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

static hrc_status measure_plans(timing *t, const plan_model *m, int n, hrc_error *err)
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

static int report_plans(const args *a, const timing *t, const plan_model *m)
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
        status = measure_plans(&cases[i], &m, plans, &err);
    }
    int code = status < 0 ? cli_fail(&err) : report_plans(a, cases, &m);
    plan_model_free(&m);
    return code;
}

static const option PLAN_OPTIONS[] = {
    {"model", "FILE", NULL, "a planner; default: the paper's shape with random weights"},
    {"plans", "N", "300", "plans timed in each case"},
    {0},
};

const command CMD_BENCH_PLAN = {
    .name = "bench plan",
    .operands = "",
    .summary = "how long a full replan takes, by precision and threads",
    .example = "heracles bench plan --plans 1000 --json",
    .options = PLAN_OPTIONS,
    .run = run_bench_plan,
};

/* ---- Control threads ---- */

/* How well the control threads keep their time on this machine, against a simulated
 * robot in a process of its own. */

typedef struct {
    wire_address at;
    double seconds;
    config cfg;
    models nets;
    brain *b;
    deploy *run;
    pid_t robot;
    deploy_report report;
    deploy_status status;
} bench;

/* Before any thread is there. */
static hrc_status start_robot(const args *a, bench *b, hrc_error *err)
{
    b->robot = fork();
    if (b->robot < 0) return fail(err, HRC_ENOMEM, "bench deploy: no process for the robot");
    if (b->robot > 0) return HRC_OK;
    simbot *robot;
    robotsim_report said;
    robotsim_options o = {.at = b->at, .seconds = b->seconds + 60};
    if (simbot_create(&robot, &a->cfg, &(simbot_options){.band = true, .noise = 1, .seed = a->seed}, NULL) <
        0)
        _exit(1);
    _exit(robotsim_run(robot, &o, NULL, &said, NULL) < 0);
}

static void stop_robot(bench *b)
{
    if (b->robot <= 0) return;
    kill(b->robot, SIGKILL);
    waitpid(b->robot, NULL, 0);
}

static hrc_status prepare(const args *a, bench *b, hrc_error *err)
{
    TRY(start_robot(a, b, err));
    TRY(deploy_models(a, &b->nets, err));
    b->cfg = a->cfg;
    const brain_setup setup = setup_of(&b->nets, arg(a, "motion"), &b->cfg, a->seed);
    TRY(brain_create(&b->b, &setup, err));
    deploy_options o = {.at = b->at,
                        .armed = true,
                        .realtime = true,
                        .machine = 5,
                        .patience_s = 20,
                        .damp_s = 0.2,
                        .allocations = cli_allocations,
                        .course = {.limits = gate_from_config(&a->cfg),
                                   .ramp_s = 0.5,
                                   .blend_s = 0.5,
                                   .hold_s = -1,
                                   .settle_s = 0.3,
                                   .automatic = true}};
    o.course.limits.tilt = 3.2; /* what is measured is time, whatever the policy does on the band */
    TRY(deploy_open(&b->run, b->b, &o, err));
    return deploy_start(b->run, err);
}

static void watch_time(const args *a, bench *b)
{
    double until = clock_s() + b->seconds;
    progress bar = progress_begin(a, "bench deploy");
    while (clock_s() < until) {
        clock_sleep_until(clock_now_ns() + 100 * NS_PER_MS);
        progress_show(&bar, 1 - (until - clock_s()) / b->seconds, pilot_mode_name(deploy_look(b->run).mode));
    }
    progress_end(&bar);
    deploy_stop(b->run, &b->report);
    b->status = deploy_look(b->run);
}

static const char *const NAME[] = {"wake of the writer", "tick of the writer", "step of the policy",
                                   "state to target", "plan"};
static const char *const KEY[] = {"wake", "tick", "policy", "react", "plan"};

static const times *row(const deploy_report *r, int i)
{
    const times *const ROW[] = {&r->wake, &r->tick, &r->policy, &r->react, &r->plan};
    return ROW[i];
}

static int report_json(const bench *b)
{
    const deploy_report *r = &b->report;
    json_t *out = json_object();
    for (int i = 0; i < COUNT(KEY); i++) json_object_set_new(out, KEY[i], times_json(row(r, i)));
    json_object_set_new(
        out, "page_faults",
        json_pack("[I, I, I]", (json_int_t)r->faults[0], (json_int_t)r->faults[1], (json_int_t)r->faults[2]));
    json_object_set_new(out, "allocations",
                        json_pack("[I, I, I]", (json_int_t)r->allocations[0], (json_int_t)r->allocations[1],
                                  (json_int_t)r->allocations[2]));
    json_object_set_new(out, "late_ticks", json_integer(b->status.late_ticks));
    json_object_set_new(out, "missed_plans", json_integer(b->status.missed_plans));
    json_object_set_new(out, "mode", json_string(pilot_mode_name(b->status.mode)));
    json_object_set_new(out, "why", json_string(trip_text(b->status.why)));
    json_object_set_new(out, "memory_locked", json_boolean(r->memory_locked));
    json_object_set_new(out, "priorities", json_boolean(r->priorities));
    return cli_json(out);
}

static int report_deploy(const args *a, const bench *b)
{
    const deploy_report *r = &b->report;
    if (a->json) return report_json(b);
    printf("%-20s %9s %9s %9s %9s %9s %9s\n", "us", "n", "p50", "p99", "p99.9", "p99.99", "max");
    for (int i = 0; i < COUNT(NAME); i++) {
        const times *t = row(r, i);
        printf("%-20s %9lld %9.0f %9.0f %9.0f %9.0f %9.0f\n", NAME[i], (long long)t->n,
               times_quantile(t, 0.5), times_quantile(t, 0.99), times_quantile(t, 0.999),
               times_quantile(t, 0.9999), t->max_us);
    }
    printf("%lld commands left late, %lld plans came late; ended in %s%s%s\n",
           (long long)b->status.late_ticks, (long long)b->status.missed_plans,
           pilot_mode_name(b->status.mode), b->status.why ? ": " : "",
           b->status.why ? trip_text(b->status.why) : "");
    printf("once running, writer/policy/planner: %lld/%lld/%lld page faults, %lld/%lld/%lld allocations\n",
           (long long)r->faults[0], (long long)r->faults[1], (long long)r->faults[2],
           (long long)r->allocations[0], (long long)r->allocations[1], (long long)r->allocations[2]);
    printf("memory %slocked, real-time priorities %s\n", r->memory_locked ? "" : "NOT ",
           r->priorities ? "taken" : "NOT allowed");
    return EXIT_DONE;
}

static int run_bench_deploy(const args *a)
{
    hrc_error err;
    int domain = 0;
    bench *b = calloc(1, sizeof *b);
    if (!b) abort();
    int code = EXIT_USAGE;
    if (arg_number(a, "seconds", 2, 1e6, &b->seconds) && arg_int(a, "domain", 0, 230, &domain)) {
        b->at = (wire_address){.net = "lo", .domain = domain, .realtime = true};
        cli_note(a, "a simulated robot and its controller on lo, domain %d, for %g s", domain, b->seconds);
        hrc_status status = prepare(a, b, &err);
        if (status == HRC_OK) watch_time(a, b);
        code = status < 0 ? cli_fail(&err) : report_deploy(a, b);
    }
    deploy_close(b->run);
    stop_robot(b);
    brain_free(b->b);
    models_free(&b->nets);
    free(b);
    return code;
}

static const option DEPLOY_OPTIONS[] = {
    {"seconds", "S", "10", "how long to measure"},
    {"motion", "FILE", "motions/wave.safetensors", "the motion to follow"},
    OPTION_TRACKER,
    OPTION_PLANNER,
    {"domain", "N", "88", "DDS domain on the loopback interface"},
    {0},
};

const command CMD_BENCH_DEPLOY = {
    .name = "bench deploy",
    .operands = "",
    .summary = "how late the control threads are, at worst, on this machine",
    .details = "Under load: stress-ng --cpu 0 --timeout 70 & heracles bench deploy --seconds 60",
    .example = "heracles bench deploy --seconds 60",
    .options = DEPLOY_OPTIONS,
    .run = run_bench_deploy,
};
