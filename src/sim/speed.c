#include "sim/speed.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/rng.h"
#include "motion/stats.h"
#include "sim/model.h"

#define WORLDS 64
#define BLOCK 100 /* control steps timed at once in the comparison with mj_step */
#define MAX_ROUNDS 400

/* Small random targets about the default pose: the robot stumbles, with one or two feet on the floor. */
static void draw_targets(double *targets, int n, rng *r)
{
    for (int i = 0; i < n * HRC_JOINTS; i++)
        targets[i] = G1_JOINT[i % HRC_JOINTS].q0 + (double)rng_uniform(r, -0.1f, 0.1f);
}

static void stand(const sim *s, sim_world *w)
{
    double qpos[HRC_NQ];
    g1_default_qpos(qpos);
    sim_reset(s, w, qpos, NULL);
}

/* One block through sim_step_one, then the same torques through bare mj_step: the same trajectory. */
static void compare_block(sim *s, const double *targets, double *controls, double *sim_s, double *bare_s)
{
    sim_worker *k = &s->workers[0];
    sim_world w = {0};
    stand(s, &w);
    double start = clock_s();
    for (int i = 0; i < BLOCK; i++) sim_step_one(s, &w, targets + i * HRC_JOINTS, 0);
    *sim_s = clock_s() - start;

    /* The torques, recorded outside the timed loops. */
    stand(s, &w);
    worker_load(s, k, &w);
    double *out = controls;
    for (int i = 0; i < BLOCK * s->substeps; i++, out += HRC_JOINTS) {
        worker_actuate(s, k, &w, targets + i / s->substeps * HRC_JOINTS);
        memcpy(out, k->data->ctrl, sizeof(double) * HRC_JOINTS);
        mj_step(k->model, k->data);
    }

    stand(s, &w);
    worker_load(s, k, &w);
    start = clock_s();
    for (int i = 0; i < BLOCK * s->substeps; i++) {
        memcpy(k->data->ctrl, controls + (size_t)i * HRC_JOINTS, sizeof(double) * HRC_JOINTS);
        mj_step(k->model, k->data);
    }
    *bare_s = clock_s() - start;
}

static void measure_bare(sim *s, double seconds, sim_speed *out, double *controls)
{
    static double targets[BLOCK * HRC_JOINTS], share[MAX_ROUNDS], sim_us[MAX_ROUNDS], bare_us[MAX_ROUNDS];
    rng r = rng_make(1, 0);
    int n = 0;
    for (double start = clock_s(); n < MAX_ROUNDS && (n < 3 || clock_s() - start < seconds); n++) {
        double sim_s, bare_s;
        draw_targets(targets, BLOCK, &r);
        compare_block(s, targets, controls, &sim_s, &bare_s);
        share[n] = bare_s / sim_s;
        sim_us[n] = 1e6 * sim_s / (BLOCK * s->substeps);
        bare_us[n] = 1e6 * bare_s / (BLOCK * s->substeps);
    }
    out->share = median(share, n);
    out->sim_us = median(sim_us, n);
    out->bare_us = median(bare_us, n);
}

/* Seconds for ten control steps of all worlds from the same start. */
static double time_worlds(sim *s, sim_world *worlds, const double *targets)
{
    for (int i = 0; i < WORLDS; i++) stand(s, &worlds[i]);
    double start = clock_s();
    for (int i = 0; i < 10; i++) sim_step(s, worlds, targets, WORLDS);
    return clock_s() - start;
}

static void measure_threads(sim *one, sim *all, double seconds, sim_speed *out, sim_world *worlds)
{
    static double targets[WORLDS * HRC_JOINTS], ratio[MAX_ROUNDS], first[MAX_ROUNDS], second[MAX_ROUNDS];
    rng r = rng_make(2, 0);
    int n = 0;
    for (double start = clock_s(); n < MAX_ROUNDS && (n < 3 || clock_s() - start < seconds); n++) {
        draw_targets(targets, WORLDS, &r);
        double t1 = time_worlds(one, worlds, targets), tn = time_worlds(all, worlds, targets);
        ratio[n] = t1 / tn;
        first[n] = 10 * WORLDS / t1;
        second[n] = 10 * WORLDS / tn;
    }
    out->speedup = median(ratio, n);
    out->steps_per_s_1 = median(first, n);
    out->steps_per_s_n = median(second, n);
}

hrc_status sim_measure(sim_speed *out, const config *cfg, int threads, double seconds, hrc_error *err)
{
    pool *single = NULL, *many = NULL;
    sim *one = NULL, *all = NULL;
    hrc_status status = pool_create(&single, 1, err);
    if (status == HRC_OK) status = pool_create(&many, threads, err);
    if (status == HRC_OK) status = sim_create(&one, cfg, single, err);
    if (status == HRC_OK) status = sim_create(&all, cfg, many, err);
    double *controls = malloc(sizeof(double) * BLOCK * HRC_JOINTS * (size_t)cfg->sim_substeps);
    sim_world *worlds = calloc(WORLDS, sizeof *worlds);
    if (status == HRC_OK && (!controls || !worlds)) status = fail(err, HRC_ENOMEM, "bench: out of memory");
    if (status == HRC_OK) {
        measure_bare(one, seconds / 2, out, controls);
        measure_threads(one, all, seconds / 2, out, worlds);
        out->threads = pool_threads(many);
    }
    free(controls);
    free(worlds);
    sim_free(one);
    sim_free(all);
    pool_free(single);
    pool_free(many);
    return status;
}
