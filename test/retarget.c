#include "motion/retarget.h"

#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "base/rot.h"
#include "motion/ik.h"
#include "motion/quality.h"
#include "puppet.h"
#include "test.h"

#define CMU_MAP "assets/skeletons/cmu.ini"
#define LAFAN1_MAP "assets/skeletons/lafan1.ini"
#define CMU_CLIPS "../shared/data/cmu-bvh/"

/* ---- Solver ---- */

/* A random band system: the solution times the matrix is the right-hand side. */
static void test_band_solve(void)
{
    enum { N = 7 };
    static band_block blocks[N], whole[N];
    static double x[N][BAND_N], b[N][BAND_N];
    rng r = rng_make(1, 0);
    for (int t = 0; t < N; t++)
        for (int i = 0; i < BAND_N; i++) {
            b[t][i] = x[t][i] = rng_double(&r) - 0.5;
            for (int j = 0; j < BAND_N; j++) {
                if (j >= i) blocks[t].self[i][j] = (i == j ? 80 : 0) + rng_double(&r);
                blocks[t].next[i][j] = rng_double(&r) - 0.5;
                blocks[t].after[i][j] = rng_double(&r) - 0.5;
            }
        }
    memcpy(whole, blocks, sizeof whole);
    ENSURE(band_factor(blocks, N));
    band_solve((const band_block *)blocks, x, N);
    double worst = 0;
    for (int t = 0; t < N; t++)
        for (int i = 0; i < BAND_N; i++) {
            double sum = -b[t][i];
            for (int j = 0; j < BAND_N; j++) {
                sum += (j >= i ? whole[t].self[i][j] : whole[t].self[j][i]) * x[t][j];
                if (t + 1 < N) sum += whole[t].next[i][j] * x[t + 1][j];
                if (t + 2 < N) sum += whole[t].after[i][j] * x[t + 2][j];
                if (t >= 1) sum += whole[t - 1].next[j][i] * x[t - 1][j];
                if (t >= 2) sum += whole[t - 2].after[j][i] * x[t - 2][j];
            }
            worst = fmax(worst, fabs(sum));
        }
    ENSURE_NEAR(worst, 0, 1e-12);
    whole[3].self[5][5] = -1;
    ENSURE(!band_factor(whole, N));
}

static void random_qpos(double q[HRC_NQ], rng *r)
{
    for (int k = 0; k < 3; k++) q[k] = rng_double(r);
    for (int k = 3; k < 7; k++) q[k] = rng_double(r) - 0.5;
    quat_normalize(q + 3);
    for (int j = 0; j < HRC_JOINTS; j++)
        q[7 + j] = G1_JOINT[j].lo + rng_double(r) * (G1_JOINT[j].hi - G1_JOINT[j].lo);
}

/* What a term costs at q: for differences. which: 0 position, 1 orientation, 2 height, 3 gap. */
static double term_cost(int which, const double *q)
{
    static const double TARGET[3] = {0.4, 0.5, 0.6}, LOCAL[3] = {0.02, 0.03, -0.1};
    fk_pose pose;
    double p[3], s[3];
    fk(&pose, q);
    fk_point(p, &pose, G1_LEFT_WRIST, LOCAL);
    fk_point(s, &pose, G1_RIGHT_ANKLE, LOCAL);
    double d[3] = {p[0] - TARGET[0], p[1] - TARGET[1], p[2] - TARGET[2]};
    double gap[3] = {s[0] - p[0], s[1] - p[1], s[2] - p[2]};
    if (which == 0) return 0.5 * (d[0] * d[0] + 4 * d[1] * d[1] + 9 * d[2] * d[2]);
    if (which == 2) return 0.5 * d[2] * d[2];
    return 0.5 * pow(vec_norm(gap) - 1.5, 2);
}

static void add_term(int which, ik_frame *f)
{
    static const double TARGET[3] = {0.4, 0.5, 0.6}, LOCAL[3] = {0.02, 0.03, -0.1};
    double p[3], s[3], n[3];
    fk_point(p, f->pose, G1_LEFT_WRIST, LOCAL);
    fk_point(s, f->pose, G1_RIGHT_ANKLE, LOCAL);
    for (int k = 0; k < 3; k++) n[k] = s[k] - p[k];
    double norm = vec_norm(n);
    for (int k = 0; k < 3; k++) n[k] /= norm;
    if (which == 0) ik_position(f, G1_LEFT_WRIST, p, TARGET, (double[3]){1, 2, 3});
    if (which == 2) ik_height(f, G1_LEFT_WRIST, p, TARGET[2] - p[2], 1);
    if (which == 3) ik_apart(f, G1_LEFT_WRIST, p, G1_RIGHT_ANKLE, s, n, 1.5 - norm, 1);
}

/* The right-hand side is minus the gradient of the cost: central differences. */
static void test_gradients(void)
{
    rng r = rng_make(2, 0);
    double worst = 0;
    for (int sample = 0; sample < 20; sample++) {
        double q[HRC_NQ];
        random_qpos(q, &r);
        for (int which = 0; which < 4; which++) {
            if (which == 1) continue; /* its derivative is approximate by design */
            band_matrix h;
            double g[BAND_N];
            fk_pose pose;
            fk(&pose, q);
            ik_frame f = {h, g, &pose};
            ik_clear(&f);
            add_term(which, &f);
            for (int k = 0; k < HRC_NV; k++) {
                const double STEP = 1e-6;
                double cost[2];
                for (int side = 0; side < 2; side++) {
                    double moved[HRC_NQ], turn[4], v[3] = {0};
                    memcpy(moved, q, sizeof moved);
                    double step = side ? STEP : -STEP;
                    if (k < 3) moved[k] += step;
                    if (k >= 3 && k < 6) {
                        v[k - 3] = step;
                        quat_exp(turn, v);
                        quat_mul(moved + 3, turn, moved + 3);
                    }
                    if (k >= 6) moved[k + 1] += step;
                    cost[side] = term_cost(which, moved);
                }
                worst = fmax(worst, fabs(g[k] + (cost[1] - cost[0]) / (2 * STEP)));
            }
        }
    }
    ENSURE_NEAR(worst, 0, 1e-7);
}

/* ---- Known answers ---- */

static void load_map(skeleton_map *map, const char *path)
{
    hrc_error err;
    ENSURE_OK(skeleton_map_load(map, path, &err));
}

/* The robot stands and moves waist and arms slowly; legs bend a little in time with it. */
static void standing_pose(double q[HRC_NQ], double t)
{
    g1_default_qpos(q);
    double w = 2 * M_PI * 0.4 * t;
    for (int j = 12; j < HRC_JOINTS; j++) q[7 + j] += (j < 15 ? 0.15 : 0.3) * sin(w + j);
    q[7 + 16] += 0.5, q[7 + 23] -= 0.5; /* arms away from the body */
    for (int side = 0; side < 2; side++) {
        double bend = 0.15 * (1 + sin(w));
        q[7 + 6 * side] -= bend, q[7 + 6 * side + 3] += 2 * bend, q[7 + 6 * side + 4] -= bend;
    }
    /* lower the root so that the soles stay on the floor */
    fk_pose pose;
    fk(&pose, q);
    q[2] -= pose.pos[G1_LEFT_ANKLE][2] - 0.035;
}

static void run_known_answer(const char *map_path)
{
    enum { FRAMES = 151 };
    hrc_error err;
    skeleton_map map;
    bvh b;
    clip c;
    retarget_report report;
    load_map(&map, map_path);
    puppet_create(&b, &map, FRAMES, 50);
    for (int i = 0; i < FRAMES; i++) {
        double q[HRC_NQ];
        standing_pose(q, i / 50.0);
        puppet_pose(&b, &map, i, q);
    }
    ENSURE_OK(retarget(&c, &report, &b, "puppet", &(retarget_options){.floor = NAN}, &err));
    ENSURE(c.n == FRAMES && c.fps == 50 && !strcmp(report.skeleton, map.name));
    ENSURE_NEAR(report.leg_scale, PUPPET_SCALE, 1e-6);
    ENSURE_NEAR(report.arm_scale, PUPPET_SCALE, 1e-6);
    double worst = 0, root = 0, mean = 0;
    for (int i = 5; i < FRAMES - 5; i++) {
        double q[HRC_NQ];
        standing_pose(q, i / 50.0);
        for (int j = 0; j < HRC_JOINTS; j++) {
            double off = fabs(q[7 + j] - (double)clip_frame(&c, i)[7 + j]);
            worst = fmax(worst, off), mean += off / (HRC_JOINTS * (FRAMES - 10));
        }
        root = fmax(root, fabs(q[2] - (double)clip_frame(&c, i)[2]));
    }
    printf("(%s: joints off %.3f rad at most, %.4f on average; root %.1f mm; key points %.1f mm) ", map.name,
           worst, mean, 1000 * root, 1000 * report.key_error);
    ENSURE(worst < 0.12 && mean < 0.02 && root < 0.01 && report.key_error < 0.01);
    clip_free(&c);
    bvh_free(&b);
}

static void test_known_cmu(void)
{
    run_known_answer(CMU_MAP);
}

static void test_known_lafan1(void)
{
    run_known_answer(LAFAN1_MAP);
}

TEST_TABLE({"retarget.band", test_band_solve}, {"retarget.gradients", test_gradients},
           {"retarget.known_cmu", test_known_cmu}, {"retarget.known_lafan1", test_known_lafan1})
