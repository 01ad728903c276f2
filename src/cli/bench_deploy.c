/* heracles bench deploy: how well the control threads keep their time on this machine, against a simulated
 * robot in a process of its own. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/commands.h"
#include "cli/models.h"
#include "deploy/clock.h"
#include "deploy/deploy.h"
#include "deploy/robotsim.h"

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

static int report(const args *a, const bench *b)
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
        code = status < 0 ? cli_fail(&err) : report(a, b);
    }
    deploy_close(b->run);
    stop_robot(b);
    brain_free(b->b);
    models_free(&b->nets);
    free(b);
    return code;
}

static const option OPTIONS[] = {
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
    .options = OPTIONS,
    .run = run_bench_deploy,
};
