#include "robot/capsules.h"

#include <string.h>

#include "base/rng.h"
#include "base/rot.h"
#include "test.h"

/* The least distance of sampled points: an upper bound within half a grid step of the truth. */
static double sampled_distance(const double a0[3], const double a1[3], const double b0[3], const double b1[3])
{
    const int STEPS = 200;
    double best = INFINITY;
    for (int i = 0; i <= STEPS; i++)
        for (int j = 0; j <= STEPS; j++) {
            double d[3], s = (double)i / STEPS, t = (double)j / STEPS;
            for (int k = 0; k < 3; k++) d[k] = a0[k] + s * (a1[k] - a0[k]) - b0[k] - t * (b1[k] - b0[k]);
            best = fmin(best, vec_norm(d));
        }
    return best;
}

static void random_point(double p[3], rng *r)
{
    for (int k = 0; k < 3; k++) p[k] = (double)rng_uniform(r, -1, 1);
}

/* Kinds: 0 general, 1 parallel, 2 the second is a point, 3 both are points, 4 almost parallel, 5 collinear.
 */
static void test_segments(void)
{
    rng r = rng_make(1, 0);
    for (int n = 0; n < 240; n++) {
        double a0[3], a1[3], b0[3], b1[3];
        int kind = n % 6;
        random_point(a0, &r), random_point(a1, &r), random_point(b0, &r), random_point(b1, &r);
        for (int k = 0; k < 3; k++) {
            double u = a1[k] - a0[k], tilt = kind == 4 ? 1e-7 * b1[k] : 0;
            if (kind == 5) b0[k] = a0[k] + 0.5 * (n % 4) * u;
            if (kind == 1 || kind == 4 || kind == 5) b1[k] = b0[k] - 0.7 * u + tilt;
            if (kind == 2 || kind == 3) b1[k] = b0[k];
            if (kind == 3) a1[k] = a0[k];
        }
        double d = segment_distance(a0, a1, b0, b1), sampled = sampled_distance(a0, a1, b0, b1);
        ENSURE(d <= sampled + (kind == 4 ? 1e-6 : 1e-12)); /* kind 4 is taken as parallel: off by its tilt */
        ENSURE(d >= sampled - 0.02); /* half a grid step along both: at most 2 * 3.5 / 200 / 2 */
        ENSURE_NEAR(segment_distance(b0, b1, a1, a0), d, 1e-6);
    }
}

static void test_surfaces(void)
{
    capsule along_x = {{0, 0, 0}, {1, 0, 0}, 0.1, 0}, along_y = {{0.5, -1, 0.25}, {0.5, 1, 0.25}, 0.2, 0};
    ENSURE_NEAR(capsule_distance(&along_x, &along_y), -0.05, 1e-12);
    capsule ball = {{2, 0, 0}, {2, 0, 0}, 0.3, 0};
    ENSURE_NEAR(capsule_distance(&along_x, &ball), 0.6, 1e-12);
}

static void stance(capsule c[G1_GEOMS], double q[HRC_NQ])
{
    fk_pose pose;
    fk(&pose, q);
    capsules_place(c, &pose);
}

static void test_lowest(void)
{
    double q[HRC_NQ] = {0, 0, 1, 1};
    capsule c[G1_GEOMS];
    stance(c, q);
    /* All angles zero: the legs hang straight down, so the sole is the sum of the links' offsets lower. The
     * hip and knee mounts are tilted about y by equal and opposite angles: only thigh parts lean. */
    capsule_low left = capsules_lowest(c, CAPSULE_LEFT_FOOT, CAPSULE_FOOT);
    double chain = 0, lean = 2 * acos(G1_LINK[2].quat[0]);
    chain += G1_LINK[1].pos[2] + G1_LINK[2].pos[2];
    for (int i = 3; i <= 4; i++) chain += cos(lean) * G1_LINK[i].pos[2] + sin(lean) * G1_LINK[i].pos[0];
    chain += G1_LINK[5].pos[2] + G1_LINK[6].pos[2];
    ENSURE_NEAR(left.z, 1 + chain - 0.025 - 0.01, 1e-3);
    ENSURE(capsule_info(left.capsule)->link == G1_LEFT_ANKLE);
    ENSURE_NEAR(capsules_lowest(c, 0, G1_GEOMS).z, left.z, 1e-9);
    ENSURE_NEAR(capsules_lowest(c, CAPSULE_RIGHT_FOOT, CAPSULE_FOOT).z, left.z, 1e-9);

    /* Upside down: the head, a sphere of 6 cm, 0.43 m up the torso. */
    q[3] = 0, q[4] = 1;
    stance(c, q);
    capsule_low head = capsules_lowest(c, 0, G1_GEOMS);
    double up = 0.43 + 0.06;
    for (int i = 13; i <= G1_TORSO; i++) up += G1_LINK[i].pos[2];
    ENSURE(!strcmp(capsule_info(head.capsule)->name, "head_collision"));
    ENSURE_NEAR(head.z, 1 - up, 1e-6);
}

static void test_names(void)
{
    for (int i = 0; i < G1_GEOMS; i++) {
        int link = capsule_info(i)->link;
        ENSURE((link == G1_LEFT_ANKLE) == (i >= CAPSULE_LEFT_FOOT && i < CAPSULE_RIGHT_FOOT));
        ENSURE((link == G1_RIGHT_ANKLE) == (i >= CAPSULE_RIGHT_FOOT));
    }
}

static void test_pairs(void)
{
    int hand = G1_LEFT_WRIST, thigh = g1_link_index("left_hip_yaw_link"),
        other_thigh = g1_link_index("right_hip_yaw_link"), roll = g1_link_index("right_hip_roll_link"),
        elbow = g1_link_index("right_elbow_link"), wrist = g1_link_index("right_wrist_pitch_link");
    ENSURE(g1_pair_collides(hand, thigh, SELF_ALL) && !g1_pair_collides(hand, thigh, SELF_FILTERED));
    ENSURE(g1_pair_collides(hand, other_thigh, SELF_FILTERED));
    ENSURE(!g1_pair_collides(hand, wrist, SELF_FILTERED) && g1_pair_collides(hand, wrist, SELF_ALL));
    ENSURE(g1_pair_collides(thigh, other_thigh, SELF_FILTERED));
    ENSURE(!g1_pair_collides(thigh, other_thigh, SELF_NONE));
    ENSURE(g1_pair_structural(G1_PELVIS, roll) && g1_pair_structural(elbow, wrist));
    double sign;
    for (int a = 0; a < G1_LINKS; a++)
        for (int b = 0; b < G1_LINKS; b++) {
            int ma = a ? 1 + g1_mirror_joint(a - 1, &sign) : 0,
                mb = b ? 1 + g1_mirror_joint(b - 1, &sign) : 0;
            bool filtered = g1_pair_collides(a, b, SELF_FILTERED);
            ENSURE(filtered == g1_pair_collides(b, a, SELF_FILTERED));
            ENSURE(filtered == g1_pair_collides(ma, mb, SELF_FILTERED));
            ENSURE(!filtered || g1_pair_collides(a, b, SELF_ALL));
        }
    ENSURE(self_collision_mode("filtered") == SELF_FILTERED && self_collision_mode("all") == SELF_ALL);
    ENSURE(self_collision_mode("none") == SELF_NONE);
}

/* The list with a rough test before each distance finds what the plain loop finds. */
static void test_deepest(void)
{
    capsule_pair pairs[CAPSULE_PAIRS], which;
    int n = capsule_pairs(pairs, SELF_ALL);
    rng r = rng_make(2, 0);
    int inside = 0;
    for (int trial = 0; trial < 200; trial++) {
        double q[HRC_NQ] = {0, 0, 1, 1}, plain = 1;
        for (int i = 0; i < HRC_JOINTS; i++)
            q[7 + i] = G1_JOINT[i].lo + rng_double(&r) * (G1_JOINT[i].hi - G1_JOINT[i].lo);
        capsule c[G1_GEOMS];
        stance(c, q);
        for (int p = 0; p < n; p++) plain = fmin(plain, capsule_distance(c + pairs[p].i, c + pairs[p].j));
        ENSURE_NEAR(capsules_deepest(&which, c, pairs, n), plain, 0);
        ENSURE_NEAR(capsule_distance(c + which.i, c + which.j), plain, 0);
        inside += plain < 0;
    }
    ENSURE(inside > 10 && inside < 190);
    double q[HRC_NQ];
    capsule c[G1_GEOMS];
    g1_default_qpos(q);
    stance(c, q);
    ENSURE(capsules_deepest(&which, c, pairs, n) > 0); /* the stance touches nothing */
    ENSURE(capsule_pairs(pairs, SELF_NONE) == 0);
}

TEST_TABLE({"capsules.segments", test_segments}, {"capsules.surfaces", test_surfaces},
           {"capsules.lowest", test_lowest}, {"capsules.names", test_names}, {"capsules.pairs", test_pairs},
           {"capsules.deepest", test_deepest})
