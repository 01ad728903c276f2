/* heracles bench sim: how fast physics runs here. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/commands.h"
#include "cli/motion.h"
#include "learn/motions.h"
#include "learn/sampling.h"
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

/* ---- The tracking environment ---- */

/* heracles bench env: what a control step of the tracking environment costs, and how much of it is physics.
 */
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
static env_speed measure(env_bench *b, const args *a, double seconds)
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
    env_speed s = measure(&b, a, seconds);
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
    {"seconds", "S", "4", "how long to measure"},
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
