/* heracles bench sim: how fast physics runs here. */
#include <stdio.h>

#include "cli/commands.h"
#include "sim/speed.h"

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

static const option OPTIONS[] = {{"seconds", "S", "4", "how long to measure"}, {0}};

const command CMD_BENCH_SIM = {
    .name = "bench sim",
    .operands = "",
    .summary = "speed of physics against bare mj_step, and over threads",
    .example = "heracles bench sim --sim.feet=light",
    .options = OPTIONS,
    .run = run_bench_sim,
};
