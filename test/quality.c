/* Clips with one known defect each: that figure must come out, and the others must not. */
#include "motion/quality.h"

#include <string.h>
#include <unistd.h>

#include "motion/support.h"
#include "synthetic.h"
#include "test.h"

#define FPS 50.0
#define FRAMES 150

/* The default stance with its lowest point exactly on the floor. */
static void stand(clip *c, int n, double fps)
{
    hrc_error err;
    double q[HRC_NQ];
    fk_pose pose;
    capsule capsules[G1_GEOMS];
    ENSURE_OK(clip_create(c, n, fps, "stand", &err));
    g1_default_qpos(q);
    fk(&pose, q);
    capsules_place(capsules, &pose);
    q[2] -= capsules_lowest(capsules, 0, G1_GEOMS).z;
    for (int i = 0; i < n; i++)
        for (int k = 0; k < HRC_NQ; k++) clip_frame(c, i)[k] = (float)q[k];
}

static quality measure(clip *c)
{
    hrc_error err;
    quality q;
    ENSURE_OK(quality_measure(&q, c, &err));
    clip_free(c);
    return q;
}

static void test_still(void)
{
    clip c;
    stand(&c, FRAMES, FPS);
    double height = (double)clip_frame(&c, 0)[2];
    quality q = measure(&c);
    ENSURE(q.verdict == QUALITY_GOOD && q.nreasons == 0 && q.frames == FRAMES);
    ENSURE_NEAR(q.seconds, (FRAMES - 1) / FPS, 1e-12);
    ENSURE_NEAR(q.root_lo, height, 0);
    ENSURE_NEAR(q.root_hi, height, 0);
    ENSURE_NEAR(q.low_min, 0, 1e-6);
    ENSURE_NEAR(q.planted_share, 1, 0);
    ENSURE_NEAR(q.skate_max, 0, 1e-6);
    ENSURE(q.limit_excess == 0 && q.speed_max == 0 && q.flights == 0 && isnan(q.flight_accel));
    ENSURE(q.uncarried_s == 0 && q.uncarried_share == 0);
    ENSURE(q.floating_s == 0 && q.self_all.share == 0 && q.self_all.depth == 0);
    ENSURE(q.joint_jumps.count == 0 && q.root_jumps.count == 0 && q.turn_jumps.count == 0);
}

static void test_skate(void)
{
    clip c;
    stand(&c, FRAMES, FPS);
    for (int i = 0; i < c.n; i++) {
        clip_frame(&c, i)[0] = (float)(0.18 * i / FPS); /* 0.3 m/s along (3, 4) / 5 */
        clip_frame(&c, i)[1] = (float)(0.24 * i / FPS);
    }
    quality q = measure(&c);
    ENSURE_NEAR(q.skate_median, 0.3, 1e-4);
    ENSURE_NEAR(q.skate_p90, 0.3, 1e-4);
    ENSURE_NEAR(q.skate_max, 0.3, 1e-3);
    ENSURE(q.verdict == QUALITY_USABLE && q.nreasons == 1 && strstr(q.reasons[0], "slide with 0.30 m/s"));
}

/* A foot that is lifted fast or held high is not planted, whatever it does. */
static void test_not_planted(void)
{
    clip c;
    stand(&c, FRAMES, FPS);
    for (int i = 0; i < c.n; i++) {
        clip_frame(&c, i)[0] = (float)(1.0 * i / FPS);
        clip_frame(&c, i)[2] += 0.03f;
    }
    quality q = measure(&c);
    ENSURE(q.planted_share == 0 && isnan(q.skate_median) && isnan(q.skate_max));
}

static void test_under_floor(void)
{
    clip c;
    stand(&c, 100, FPS);
    for (int i = 0; i < 30; i++) clip_frame(&c, i)[2] -= 0.03f;
    for (int i = 30; i < 50; i++) clip_frame(&c, i)[2] -= 0.015f;
    quality q = measure(&c);
    ENSURE_NEAR(q.low_min, -0.03, 1e-5);
    ENSURE_NEAR(q.low_p1, -0.03, 1e-5);
    ENSURE_NEAR(q.low_share_2cm, 0.30, 1e-12);
    ENSURE_NEAR(q.low_share_1cm, 0.50, 1e-12);
    ENSURE(q.low_capsule >= CAPSULE_LEFT_FOOT && q.low_frame < 30);
    ENSURE(q.verdict == QUALITY_USABLE && strstr(q.reasons[0], "3.0 cm under the floor"));
    stand(&c, 100, FPS);
    for (int i = 0; i < c.n; i++) clip_frame(&c, i)[2] -= 0.5f;
    q = measure(&c);
    ENSURE(q.verdict == QUALITY_BAD);
}

/* Up with 2 m/s and back, `gravity` m/s^2, at frames 50 and on. */
static void hop(clip *c, double gravity)
{
    stand(c, FRAMES, FPS);
    double seconds = 4.0 / gravity;
    for (int i = 50; (i - 50) / FPS < seconds; i++) {
        double t = (i - 50) / FPS;
        clip_frame(c, i)[2] += (float)(2 * t - 0.5 * gravity * t * t);
    }
}

static void test_flight(void)
{
    clip c;
    hop(&c, 9.81);
    quality q = measure(&c);
    ENSURE(q.flights == 1);
    ENSURE_NEAR(q.flight_accel, -9.81, 0.01);
    ENSURE(q.floating_s == 0); /* a free flight does not float */
    hop(&c, 5);
    q = measure(&c);
    ENSURE(q.flights == 1);
    ENSURE_NEAR(q.flight_accel, -5, 0.01);
    ENSURE(q.floating_s > 0.6);
}

/* Leaning forward as one piece about the toes: the soles touch, and cannot carry what is before them. */
static void test_not_carried(void)
{
    clip c;
    stand(&c, FRAMES, FPS);
    for (int i = 0; i < c.n; i++) {
        double lean = 0.5, q[HRC_NQ];
        fk_pose pose;
        capsule capsules[G1_GEOMS];
        float *frame = clip_frame(&c, i);
        frame[3] = (float)cos(lean / 2), frame[5] = (float)sin(lean / 2);
        for (int k = 0; k < HRC_NQ; k++) q[k] = (double)frame[k];
        fk(&pose, q);
        capsules_place(capsules, &pose);
        frame[2] -= (float)capsules_lowest(capsules, 0, G1_GEOMS).z;
    }
    quality q = measure(&c);
    ENSURE(q.uncarried_first == 5 && q.uncarried_last == FRAMES - 6 && q.uncarried_share == 1);
    ENSURE_NEAR(q.uncarried_s, (FRAMES - 10) / FPS, 1e-9);
    ENSURE(q.floating_s == 0);
}

static double gap_at(const capsule *c, const double at[2])
{
    support_hull hull;
    support_find(&hull, c);
    return support_nearest(&hull, at, NULL);
}

/* The hull of the soles, by hand: inside, beside them, and with nothing on the floor. */
static void test_support_gap(void)
{
    double q[HRC_NQ], far[2];
    fk_pose pose;
    capsule capsules[G1_GEOMS];
    g1_default_qpos(q);
    fk(&pose, q);
    capsules_place(capsules, &pose);
    q[2] -= capsules_lowest(capsules, 0, G1_GEOMS).z;
    fk(&pose, q);
    capsules_place(capsules, &pose);
    const double *left = pose.pos[G1_LEFT_ANKLE], *right = pose.pos[G1_RIGHT_ANKLE];
    double between[2] = {0.5 * (left[0] + right[0]), 0.5 * (left[1] + right[1])};
    ENSURE(gap_at(capsules, between) == 0); /* no foot is there, but the hull is */
    double outermost = -INFINITY;
    for (int i = CAPSULE_LEFT_FOOT; i < G1_GEOMS; i++)
        outermost = fmax(outermost, fmax(capsules[i].a[1], capsules[i].b[1]));
    far[0] = left[0], far[1] = outermost + 0.25;
    ENSURE_NEAR(gap_at(capsules, far), 0.25, 0.02);
    q[2] += 0.05;
    fk(&pose, q);
    capsules_place(capsules, &pose);
    ENSURE(isinf(gap_at(capsules, between)));
}

static void test_floating(void)
{
    clip c;
    stand(&c, 200, FPS);
    for (int i = 60; i < 100; i++) clip_frame(&c, i)[2] += 0.05f;
    for (int i = 120; i < 130; i++) clip_frame(&c, i)[2] += 0.05f;
    quality q = measure(&c);
    ENSURE_NEAR(q.floating_s, 0.8, 1e-9);
    ENSURE(q.floating_first == 60 && q.floating_last == 99);
    ENSURE_NEAR(q.floating_share, 0.25, 1e-12);
    ENSURE(q.verdict == QUALITY_USABLE);
}

static void test_spike(void)
{
    clip c;
    stand(&c, FRAMES, FPS);
    int elbow = 18; /* left elbow */
    for (int i = 0; i < c.n; i++)
        clip_frame(&c, i)[7 + elbow] += (float)(0.3 * sin(2 * M_PI * 1.5 * i / FPS));
    clip_frame(&c, 70)[7 + elbow] += 0.4f;
    quality q = measure(&c);
    ENSURE(q.joint_jumps.count == 1 && q.joint_jumps.frame == 70 && q.joint_jumps.joint == elbow);
    ENSURE_NEAR(q.joint_jumps.size, 0.4, 0.01);
    ENSURE(q.root_jumps.count == 0 && q.verdict == QUALITY_USABLE);
    ENSURE_NEAR(q.speed_max, 0.4 * FPS, 3);
    ENSURE(q.speed_joint == elbow);

    stand(&c, FRAMES, FPS); /* a step, as at a seam, of the root's place and heading */
    for (int i = 80; i < c.n; i++) {
        float *root = clip_frame(&c, i);
        root[0] += 0.06f;
        root[3] = cosf(0.3f), root[6] = sinf(0.3f);
    }
    q = measure(&c);
    ENSURE(q.root_jumps.count == 1 && (q.root_jumps.frame == 79 || q.root_jumps.frame == 80));
    ENSURE_NEAR(q.root_jumps.size, 0.03, 1e-5);
    ENSURE(q.turn_jumps.count == 1 && q.joint_jumps.count == 0);
    ENSURE_NEAR(q.turn_jumps.size, 0.3, 1e-5);
}

static void test_limits(void)
{
    clip c;
    stand(&c, 100, FPS);
    for (int i = 0; i < 25; i++) clip_frame(&c, i)[7 + 16] = (float)(G1_JOINT[16].hi + 0.1);
    for (int i = 25; i < 100; i++) clip_frame(&c, i)[7 + 16] = (float)G1_JOINT[16].hi; /* on it is inside */
    quality q = measure(&c);
    ENSURE_NEAR(q.limit_excess, 0.1, 1e-5);
    ENSURE_NEAR(q.limit_share, 0.25, 1e-12);
    ENSURE(q.limit_joint == 16 && q.verdict == QUALITY_USABLE);
    ENSURE(strstr(q.reasons[0], G1_JOINT[16].name));
}

static void test_motor_speed(void)
{
    clip c;
    stand(&c, FRAMES, FPS);
    int wrist = 19; /* left wrist roll: +-1.9 rad, swinging with 1.5 * 2 pi * 5 = 47 rad/s */
    for (int i = 0; i < c.n; i++) clip_frame(&c, i)[7 + wrist] = (float)(1.5 * sin(2 * M_PI * 5 * i / FPS));
    quality q = measure(&c);
    ENSURE(q.speed_joint == wrist && q.speed_max > 44 && q.speed_max < 47.2);
    ENSURE(q.speed_share > 0.1 && q.speed_share < 0.5);
    ENSURE(q.speed_p999 <= q.speed_max && q.speed_p999 > 40);
    ENSURE(q.verdict == QUALITY_BAD);
}

static void test_self_penetration(void)
{
    clip c;
    stand(&c, 100, FPS);
    /* Both thighs turned inwards: they go through each other, and the simulator feels it. */
    for (int i = 0; i < 20; i++) clip_frame(&c, i)[7 + 1] = -0.5f, clip_frame(&c, i)[7 + 7] = 0.5f;
    quality q = measure(&c);
    ENSURE_NEAR(q.self_all.share, 0.2, 1e-12);
    ENSURE_NEAR(q.self_simulated.share, 0.2, 1e-12);
    ENSURE(q.self_all.depth > 0.01 && q.self_all.frame < 20);
    int a = capsule_info(q.self_simulated.pair.i)->link, b = capsule_info(q.self_simulated.pair.j)->link;
    ENSURE(a >= 1 && a <= 6 && b >= 7 && b <= 12);
}

static void test_short_clips(void)
{
    for (int n = 1; n <= 3; n++) {
        clip c;
        stand(&c, n, FPS);
        quality q = measure(&c);
        ENSURE(q.verdict == QUALITY_USABLE && strstr(q.reasons[0], "lasts only"));
        ENSURE(q.speed_max == 0 && q.flights == 0);
    }
}

/* ---- Real data: what is known of it must come out. ---- */

static quality measure_file(const char *path, double fps)
{
    hrc_error err;
    clip c;
    if (access(path, R_OK) != 0) SKIP("no ../shared/data");
    ENSURE_OK(clip_load(&c, path, &(clip_options){.fps = fps}, NULL, &err));
    return measure(&c);
}

#define LAFAN1 "../shared/data/lafan1-g1/"

static void test_lafan1_falls(void)
{
    quality q = measure_file(LAFAN1 "fallAndGetUp1_subject4.csv", 0);
    ENSURE_NEAR(q.low_min, -0.168, 0.001);
    ENSURE(strstr(capsule_info(q.low_capsule)->name, "elbow"));
    ENSURE(q.low_share_2cm > 0.11 && q.low_share_2cm < 0.43);
    ENSURE(q.floating_first == 1057 && q.floating_last == 1107);
    ENSURE(q.limit_excess == 0);
    ENSURE(q.verdict == QUALITY_USABLE);
}

static void test_lafan1_jumps(void)
{
    quality q = measure_file(LAFAN1 "jumps1_subject1.csv", 0);
    ENSURE(q.flights > 50);
    ENSURE(q.flight_accel > -5.5 && q.flight_accel < -2);
    ENSURE(q.root_jumps.frame == 1998);
}

static void test_lafan1_walk(void)
{
    quality q = measure_file(LAFAN1 "walk1_subject1.csv", 0);
    ENSURE(q.verdict == QUALITY_GOOD);
    ENSURE(q.low_min > -0.04 && q.low_p1 > -0.025 && q.low_p1 < -0.007);
    ENSURE(q.skate_median > 0.02 && q.skate_median < 0.2);
    ENSURE(q.speed_p999 > 5 && q.speed_p999 < 17);
    q = measure_file(LAFAN1 "walk4_subject1.csv", 0);
    ENSURE_NEAR(q.self_all.share, 0.52, 0.01);
    ENSURE(q.self_simulated.share < 0.01);
}

static void test_g1_moves(void)
{
    quality q = measure_file("../shared/data/g1-moves/B_AttackKarate.csv", 60);
    ENSURE(q.limit_excess == 0 && q.low_min >= -0.011 && q.root_lo >= 0.55);
    ENSURE(q.joint_jumps.count > 0 && q.root_jumps.count > 0);
    q = measure_file("../shared/data/g1-moves/J_Dance5_Hype.csv", 60);
    ENSURE_NEAR(q.speed_max, 104, 1);
}

TEST_TABLE({"quality.still", test_still}, {"quality.skate", test_skate},
           {"quality.not_planted", test_not_planted}, {"quality.under_floor", test_under_floor},
           {"quality.flight", test_flight}, {"quality.floating", test_floating},
           {"quality.not_carried", test_not_carried}, {"quality.support_gap", test_support_gap},
           {"quality.spike", test_spike}, {"quality.limits", test_limits},
           {"quality.motor_speed", test_motor_speed}, {"quality.self_penetration", test_self_penetration},
           {"quality.short_clips", test_short_clips}, {"quality.lafan1_falls", test_lafan1_falls},
           {"quality.lafan1_jumps", test_lafan1_jumps}, {"quality.lafan1_walk", test_lafan1_walk},
           {"quality.g1_moves", test_g1_moves})
