#include "motion/retarget/retarget.h"

#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "base/rot.h"
#include "motion/quality.h"
#include "motion/retarget/bandsolve.h"
#include "motion/retarget/pose_terms.h"
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

/* As Biovision's own files are: at rest the arms hang, and the axes of all joints are the world's. */
static void hang_arms(skeleton_map *map)
{
    static const double UPPER[4] = {0.5, -0.5, -0.5, -0.5}, FORE[4] = {M_SQRT1_2, 0, 0, -M_SQRT1_2};
    for (int body = BODY_LEFT_UPPER_ARM; body <= BODY_RIGHT_HAND; body++) {
        const bool upper = body == BODY_LEFT_UPPER_ARM || body == BODY_RIGHT_UPPER_ARM;
        memcpy(map->bodies[body].offset, upper ? UPPER : FORE, sizeof UPPER);
    }
}

/* The toes are no joints: the feet end there. */
static void end_at_toes(bvh *b, const skeleton_map *map)
{
    for (int side = 0; side < 2; side++) {
        const int toe = bvh_find(b, map->toe[side]);
        ENSURE(toe > 0);
        bvh_joint *foot = &b->joints[b->joints[toe].parent];
        foot->has_end = true;
        memcpy(foot->end, b->joints[toe].offset, sizeof foot->end);
        memmove(&b->joints[toe], &b->joints[toe + 1], (size_t)(--b->njoints - toe) * sizeof *b->joints);
        for (int j = toe; j < b->njoints; j++) b->joints[j].parent -= b->joints[j].parent > toe;
    }
}

static void run_known_answer(const char *map_path, const char *prefix, bool old)
{
    enum { FRAMES = 151 };
    hrc_error err;
    skeleton_map map;
    bvh b;
    clip c;
    retarget_report report;
    load_map(&map, map_path);
    if (old) hang_arms(&map);
    puppet_create(&b, &map, FRAMES, 50);
    for (int i = 0; i < FRAMES; i++) {
        double q[HRC_NQ];
        standing_pose(q, i / 50.0);
        puppet_pose(&b, &map, i, q);
    }
    if (old) end_at_toes(&b, &map);
    for (int j = 0; j < b.njoints; j++) {
        char name[80];
        snprintf(name, sizeof name, "%s%s", prefix, b.joints[j].name);
        b.joints[j].name = arena_strdup(&b.memory, name);
        ENSURE(b.joints[j].name);
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
    /* by a quarter turn the shortest swing twists an arm a little whose bone is not along its axes */
    ENSURE(worst < (old ? 0.2 : 0.06) && mean < (old ? 0.03 : 0.01) && root < 0.01 &&
           report.key_error < 0.01);
    clip_free(&c);
    bvh_free(&b);
}

static void test_known_cmu(void)
{
    run_known_answer(CMU_MAP, "", false);
}

static void test_known_lafan1(void)
{
    run_known_answer(LAFAN1_MAP, "", false);
}

/* Names as they come out of Mixamo, and of other exporters. */
static void test_known_mixamo(void)
{
    run_known_answer("assets/skeletons/mixamo.ini", "mixamorig:", false);
    run_known_answer("assets/skeletons/mixamo.ini", "mixamorig1_", false);
    run_known_answer("assets/skeletons/mixamo.ini", "Character1_", false);
}

static void test_known_others(void)
{
    run_known_answer("assets/skeletons/xsens.ini", "", false);
    run_known_answer("assets/skeletons/biovision.ini", "", false);
    run_known_answer("assets/skeletons/biovision.ini", "Model_", true);
}

/* ---- A walk by formula ---- */

#define STEP_S 0.6   /* one foot's swing, the other's stand */
#define STRIDE 0.5   /* m from a foot's stand to its next, in the robot's measure */
#define WALK_HIP 0.6 /* height of the hips over the ankles */
#define WALK_FRAMES 181

/* Foot `side` at time t: how far along, how high. The feet take turns; a swing is a half sine. */
static void walk_foot(double out[2], int side, double t)
{
    double phase = t / (2 * STEP_S) + 0.5 * side, cycle = floor(phase), part = phase - cycle;
    double swing = part < 0.5 ? 0 : (part - 0.5) * 2;
    out[0] = STRIDE * (cycle - 0.5 * side + 0.5 * (1 - cos(M_PI * swing)));
    out[1] = 0.06 * sin(M_PI * swing);
}

/* Hips at constant speed and height, each leg by the law of cosines, soles level. */
static void walk_pose(double q[HRC_NQ], double t)
{
    const double THIGH = 0.3366, SHIN = 0.3176;
    g1_default_qpos(q);
    q[0] = STRIDE * (t / (2 * STEP_S) - 0.25);
    q[2] = WALK_HIP + 0.035 + 0.1027;
    for (int side = 0; side < 2; side++) {
        double foot[2];
        walk_foot(foot, side, t);
        double x = foot[0] - q[0], z = foot[1] - WALK_HIP, reach = hypot(x, z);
        double knee = M_PI - acos((THIGH * THIGH + SHIN * SHIN - reach * reach) / (2 * THIGH * SHIN));
        double inner = asin(SHIN * sin(knee) / reach), hip = -atan2(x, -z) - inner;
        double *leg = q + 7 + 6 * side;
        leg[0] = hip, leg[3] = knee, leg[4] = -hip - knee;
    }
}

static void make_walk(bvh *b, const skeleton_map *map)
{
    puppet_create(b, map, WALK_FRAMES, 50);
    for (int i = 0; i < WALK_FRAMES; i++) {
        double q[HRC_NQ];
        walk_pose(q, i / 50.0);
        q[7 + 15] +=
            0.4 * sin(M_PI * i / 50.0 / STEP_S); /* arms of their own, so that no two sides are equal */
        q[7 + 22] -= 0.3 * sin(M_PI * i / 50.0 / STEP_S);
        q[7 + 19] = 0.3, q[7 + 12] = 0.1;
        puppet_pose(b, map, i, q);
    }
}

static void retarget_or_fail(clip *c, retarget_report *report, const bvh *b)
{
    hrc_error err;
    ENSURE_OK(retarget(c, report, b, b->name, &(retarget_options){.floor = NAN}, &err));
}

static void test_walk(void)
{
    hrc_error err;
    skeleton_map map;
    bvh b;
    clip c;
    retarget_report report;
    quality q;
    load_map(&map, CMU_MAP);
    make_walk(&b, &map);
    retarget_or_fail(&c, &report, &b);
    ENSURE_OK(quality_measure(&q, &c, &err));
    printf("(lowest %.1f mm, skate p90 %.3f m/s, key points %.1f mm, %d plants) ", 1000 * q.low_min,
           q.skate_p90, 1000 * report.key_error, report.plants);
    ENSURE(q.limit_excess == 0 && q.low_min > -0.005 && report.flights == 0 && report.plants >= 8);
    ENSURE(q.planted_share > 0.3 && q.skate_p90 < 0.05 && report.key_error < 0.03);
    ENSURE(q.self_all.share == 0 && q.floating_s == 0);
    ENSURE_NEAR(clip_frame(&c, WALK_FRAMES - 1)[0] - clip_frame(&c, 0)[0],
                STRIDE * (WALK_FRAMES - 1) / 50.0 / (2 * STEP_S), 0.05);
    clip_free(&c);
    bvh_free(&b);
}

/* Largest difference between a clip and the mirror image of another. The robot itself is symmetric to 1 mm
 * only (a sole's capsule, shoulders), so its motion is to about that. */
static double mirror_distance(const clip *a, const clip *b)
{
    double worst = 0;
    ENSURE(a->n == b->n);
    for (int i = 0; i < a->n; i++) {
        const float *p = clip_frame(a, i), *q = clip_frame(b, i);
        worst = fmax(worst, fabs((double)p[0] - (double)q[0]));
        worst = fmax(worst, fabs((double)p[1] + (double)q[1]));
        worst = fmax(worst, fabs((double)p[2] - (double)q[2]));
        double mirrored[4] = {q[3], -(double)q[4], q[5], -(double)q[6]}, own[4] = {p[3], p[4], p[5], p[6]};
        worst = fmax(worst, quat_angle(own, mirrored));
        for (int j = 0; j < HRC_JOINTS; j++) {
            double sign;
            int mate = g1_mirror_joint(j, &sign);
            worst = fmax(worst, fabs((double)p[7 + j] - sign * (double)q[7 + mate]));
        }
    }
    return worst;
}

static double mirrored_by(bvh *b)
{
    clip c, mirror;
    retarget_report report;
    retarget_or_fail(&c, &report, b);
    puppet_mirror(b);
    retarget_or_fail(&mirror, &report, b);
    double worst = mirror_distance(&c, &mirror);
    clip_free(&c);
    clip_free(&mirror);
    return worst;
}

static void test_mirror(void)
{
    skeleton_map map;
    bvh b;
    load_map(&map, CMU_MAP);
    make_walk(&b, &map);
    double worst = mirrored_by(&b);
    printf("(off by %.2g) ", worst);
    ENSURE(worst < 2e-3);
    bvh_free(&b);
}

/* ---- What the robot cannot do as asked ---- */

static void test_limits_and_floor(void)
{
    enum { FRAMES = 101 };
    hrc_error err;
    skeleton_map map;
    bvh b;
    clip c;
    retarget_report report;
    quality q;
    load_map(&map, CMU_MAP);
    puppet_create(&b, &map, FRAMES, 50);
    for (int i = 0; i < FRAMES; i++) {
        /* elbows, waist and ankles beyond their limits, hands through the hips, feet through the floor */
        double pose[HRC_NQ], bend = 0.5 - 0.5 * cos(2 * M_PI * i / (FRAMES - 1));
        g1_default_qpos(pose);
        pose[2] -= 0.2 * bend;
        pose[7 + 14] = 1.2 * bend, pose[7 + 18] = pose[7 + 25] = 0.6 + 2.2 * bend;
        pose[7 + 16] = 0.1 - 0.5 * bend, pose[7 + 23] = -0.1 + 0.5 * bend, pose[7 + 5] = 0.6 * bend;
        puppet_pose(&b, &map, i, pose);
    }
    retarget_or_fail(&c, &report, &b);
    ENSURE_OK(quality_measure(&q, &c, &err));
    printf("(lowest %.1f mm, inside itself %.1f mm) ", 1000 * q.low_min, 1000 * q.self_all.depth);
    ENSURE(q.limit_excess == 0 && q.low_min > -0.005 && q.self_all.depth < 0.01);
    ENSURE(q.speed_share == 0);
    clip_free(&c);
    bvh_free(&b);
}

/* A jump from and to a stand, half a second in the air: scaled by 0.75 it would fall with 7.4 m/s^2. */
static void test_jump_falls_freely(void)
{
    enum { FRAMES = 151, FIRST = 60, LAST = 85 };
    const double G = 9.81 * PUPPET_SCALE;
    hrc_error err;
    skeleton_map map;
    bvh b;
    clip c;
    retarget_report report;
    quality q;
    load_map(&map, CMU_MAP);
    puppet_create(&b, &map, FRAMES, 50);
    for (int i = 0; i < FRAMES; i++) {
        double pose[HRC_NQ], t = (i - FIRST) / 50.0, whole = (LAST - FIRST) / 50.0;
        g1_default_qpos(pose);
        if (i > FIRST && i < LAST) pose[2] += 0.5 * G * t * (whole - t);
        puppet_pose(&b, &map, i, pose);
    }
    retarget_or_fail(&c, &report, &b);
    ENSURE_OK(quality_measure(&q, &c, &err));
    printf("(%d flight, %.2f m/s2) ", q.flights, q.flight_accel);
    ENSURE(report.flights == 1 && q.flights == 1 && q.low_min > -0.005);
    ENSURE_NEAR(q.flight_accel, -9.81, 0.2 * 9.81);
    clip_free(&c);
    bvh_free(&b);
}

/* ---- Errors ---- */

static void test_errors(void)
{
    hrc_error err;
    skeleton_map map;
    bvh b;
    clip c;
    retarget_report report;
    retarget_options options = {.map = &map, .floor = NAN};
    load_map(&map, CMU_MAP);
    puppet_create(&b, &map, 10, 50);
    b.joints[bvh_find(&b, "LeftForeArm")].name = "LeftLowerArm";
    ENSURE(retarget(&c, &report, &b, "a.bvh", &options, &err) == HRC_EFORMAT);
    ENSURE(strstr(err.text, "a.bvh") && strstr(err.text, "LeftForeArm") && !strstr(err.text, "LeftHand"));
    options.map = NULL; /* no known skeleton fits: what each one lacks */
    ENSURE(retarget(&c, &report, &b, "a.bvh", &options, &err) == HRC_EFORMAT);
    ENSURE(strstr(err.text, "CMU misses 1 joint (LeftForeArm)") && strstr(err.text, "LAFAN1 misses"));
    bvh_free(&b);
    puppet_create(&b, &map, 1, 50);
    ENSURE(retarget(&c, &report, &b, "b.bvh", &options, &err) == HRC_EFORMAT && strstr(err.text, "1 frames"));
    b.n = 0;
    ENSURE(retarget(&c, &report, &b, "b.bvh", &options, &err) == HRC_EFORMAT && strstr(err.text, "0 frames"));
    ENSURE(!c.qpos);
    bvh_free(&b);
}

static void test_map_errors(void)
{
    static const struct {
        const char *text, *says;
    } CASES[] = {
        {"[links]\nleft_knee_link = A | B | C | 1 2 | 3 | 1 0 0 0\n", "m.ini:2: left_knee_link has not"},
        {"[links]\nleft_elbow = A | B | C | 1 2 | 3 4 | 1 0 0 0\n", "\"left_elbow\" is none of the mapped"},
        {"[links]\npelvis = A | B | - | 1 2 | 3 4 | 1 1 0 0\n", "has length 1.414, expected 1"},
        {"[skeleton]\nunit_m = 0\n", "unit_m cannot be \"0\""},
        {"[skeleton]\nup = x\n", "up cannot be \"x\""},
        {"[skeleton]\ncolour = red\n", "there is no key \"colour\""},
        {"[links]\npelvis = A | B | - | 1 2 | 3 4 | 1 0 0 0\n", "has no left_hip_yaw_link"},
    };
    for (int i = 0; i < COUNT(CASES); i++) {
        hrc_error err;
        skeleton_map map;
        file_view bytes = {CASES[i].text, strlen(CASES[i].text)};
        ENSURE(skeleton_map_parse(&map, "m.ini", bytes, &err) == HRC_EFORMAT);
        if (!strstr(err.text, CASES[i].says))
            test_fail(__FILE__, __LINE__, "\"%s\" lacks %s", err.text, CASES[i].says);
    }
}

/* ---- Real motion ---- */

/* A walk, getting up from the floor and a jump: the bars of the corpus, and mirror symmetry. */
static void test_real_clips(void)
{
    static const char *const CLIPS[] = {"02_01", "140_08", "118_01"};
    for (int i = 0; i < COUNT(CLIPS); i++) {
        hrc_error err;
        char path[128];
        bvh b;
        clip c;
        retarget_report report;
        quality q;
        snprintf(path, sizeof path, CMU_CLIPS "%s.bvh", CLIPS[i]);
        if (bvh_load(&b, path, NULL, &err) < 0) SKIP("no CMU clips beside the repository");
        retarget_or_fail(&c, &report, &b);
        ENSURE_OK(quality_measure(&q, &c, &err));
        printf("(%s: lowest %.1f mm, skate p90 %.3f m/s, key points %.1f cm) ", CLIPS[i], 1000 * q.low_min,
               q.skate_p90, 100 * report.key_error);
        ENSURE(q.limit_excess == 0 && q.low_min > -0.01 && q.skate_p90 < 0.15 && report.key_error < 0.06);
        ENSURE(q.self_all.depth < 0.02 && q.speed_share < 0.001);
        if (i == 2) ENSURE_NEAR(q.flight_accel, -9.81, 0.2 * 9.81);
        clip_free(&c);
        if (i == 0) {
            double worst = mirrored_by(&b);
            printf("(mirrored: off by %.2g) ", worst);
            ENSURE(worst < 0.02);
        }
        bvh_free(&b);
    }
}

static void test_commands(void)
{
    char out[4096];
    FILE *f = fopen(CMU_CLIPS "02_01.bvh", "r");
    ENSURE(test_shell(out, sizeof out, "$HERACLES motion retarget nothing.bvh -o $T/n.safetensors") == 1);
    ENSURE(strstr(out, "nothing.bvh"));
    ENSURE(test_shell(out, sizeof out, "$HERACLES motion retarget nothing.bvh") == 2);
    ENSURE(test_shell(out, sizeof out, "$HERACLES motion sheet nothing.csv -o $T/n.svg") == 1);
    if (!f) SKIP("no CMU clips beside the repository");
    fclose(f);
    ENSURE(
        test_shell(out, sizeof out,
                   "D=" CMU_CLIPS "; $HERACLES motion retarget $D/02_01.bvh $D/02_03.bvh -o $T/many --quiet "
                   "--threads 1 && $HERACLES motion retarget $D/02_03.bvh $D/02_01.bvh -o $T/again --quiet "
                   "--threads 2 && cmp $T/many/02_01.safetensors $T/again/02_01.safetensors") == 0);
    ENSURE(test_shell(out, sizeof out,
                      "$HERACLES motion retarget " CMU_CLIPS "02_03.bvh -o $T/one.safetensors --json") == 0);
    ENSURE(strstr(out, "\"key_point_error_m\"") && strstr(out, "\"times_real_time\""));
    ENSURE(test_shell(out, sizeof out,
                      "$HERACLES motion sheet $T/many/02_01.safetensors --bvh " CMU_CLIPS "02_01.bvh -o "
                      "$T/s.svg --poses 4 && grep -c '<path' $T/s.svg") == 0);
    ENSURE(strstr(out, "s.svg"));
}

/* The smoothest path against its normal equations, solved plainly. */
static void test_penta(void)
{
    enum { N = 12 };
    double a[N][3], b[N], dense[N][N], right[N];
    memset(dense, 0, sizeof dense);
    for (int i = 0; i < N; i++) {
        a[i][0] = 0.1, a[i][1] = a[i][2] = 0, b[i] = right[i] = 0.01 * i;
        dense[i][i] = 0.1;
    }
    for (int i = 1; i + 1 < N; i++) {
        const double row[3] = {-0.7, 1 + 0.1 * i, -0.6}, value = sin(i), weight = 1 + i % 3;
        penta_add(a, b, i, row, value, weight);
        for (int p = 0; p < 3; p++) {
            right[i - 1 + p] += weight * row[p] * value;
            for (int q = 0; q < 3; q++) dense[i - 1 + p][i - 1 + q] += weight * row[p] * row[q];
        }
    }
    penta_solve(a, b, N);
    for (int i = 0; i < N; i++) {
        double sum = 0;
        for (int k = 0; k < N; k++) sum += dense[i][k] * b[k];
        ENSURE_NEAR(sum, right[i], 1e-9);
    }
}

TEST_TABLE({"retarget.penta", test_penta}, {"retarget.band", test_band_solve},
           {"retarget.gradients", test_gradients}, {"retarget.known_cmu", test_known_cmu},
           {"retarget.known_lafan1", test_known_lafan1}, {"retarget.known_mixamo", test_known_mixamo},
           {"retarget.known_others", test_known_others}, {"retarget.walk", test_walk},
           {"retarget.mirror", test_mirror}, {"retarget.limits_and_floor", test_limits_and_floor},
           {"retarget.jump", test_jump_falls_freely}, {"retarget.errors", test_errors},
           {"retarget.map_errors", test_map_errors}, {"retarget.real_clips", test_real_clips},
           {"retarget.commands", test_commands})
