#include <string.h>

#include "base/rot.h"
#include "motion/edit.h"
#include "robot/capsules.h"
#include "synthetic.h"
#include "test.h"

static void pose_of(fk_pose *pose, const clip *c, int i)
{
    double qpos[HRC_NQ];
    for (int k = 0; k < HRC_NQ; k++) qpos[k] = clip_frame(c, i)[k];
    fk(pose, qpos);
}

static double lowest(const clip *c, int i)
{
    fk_pose pose;
    capsule all[G1_GEOMS];
    pose_of(&pose, c, i);
    capsules_place(all, &pose);
    return capsules_lowest(all, 0, G1_GEOMS).z;
}

static int mirrored_link(int link)
{
    double sign;
    return link ? g1_mirror_joint(link - 1, &sign) + 1 : 0;
}

static void test_mirror_twice(void)
{
    hrc_error err;
    clip c, copy;
    synthetic_turn(&c, 50, 50);
    ENSURE_OK(clip_cut(&copy, &c, 0, 49, &err));
    clip_mirror(&c);
    ENSURE(clip_distance(&c, &copy) > 0.1);
    clip_mirror(&c);
    ENSURE(memcmp(c.qpos, copy.qpos, 50 * HRC_NQ * sizeof(float)) == 0);
    clip_free(&copy);
    clip_free(&c);
}

/* Every link of the mirrored pose stands where the image of its partner stands: position with y negated,
 * rotation M R M. */
static void test_mirror_kinematics(void)
{
    hrc_error err;
    clip c, image;
    synthetic_turn(&c, 100, 50);
    for (int i = 0; i < c.n; i++) /* legs too, so that no joint is left out */
        for (int k = 0; k < 12; k++) clip_frame(&c, i)[7 + k] += 0.3f * sinf(0.1f * (float)(i * (k + 1)));
    ENSURE_OK(clip_cut(&image, &c, 0, c.n - 1, &err));
    clip_mirror(&image);
    for (int i = 0; i < c.n; i += 7) {
        fk_pose p, q;
        pose_of(&p, &c, i);
        pose_of(&q, &image, i);
        for (int link = 0; link < G1_LINKS; link++) {
            int other = mirrored_link(link);
            double a[9], b[9];
            quat_to_mat(a, p.quat[link]);
            quat_to_mat(b, q.quat[other]);
            for (int k = 0; k < 3; k++)
                ENSURE_NEAR(q.pos[other][k], (k == 1 ? -1 : 1) * p.pos[link][k], 2e-5);
            for (int k = 0; k < 9; k++) ENSURE_NEAR(b[k], (k % 2 ? -1 : 1) * a[k], 2e-5);
        }
    }
    clip_free(&image);
    clip_free(&c);
}

/* A mirrored angle is within the partner's limits exactly when the angle is within its own. */
static void test_mirror_limits(void)
{
    for (int j = 0; j < HRC_JOINTS; j++) {
        double sign;
        const hrc_joint *other = &G1_JOINT[g1_mirror_joint(j, &sign)];
        ENSURE_NEAR(sign > 0 ? other->lo : -other->hi, G1_JOINT[j].lo, 1e-9);
        ENSURE_NEAR(sign > 0 ? other->hi : -other->lo, G1_JOINT[j].hi, 1e-9);
    }
}

static void test_hold(void)
{
    hrc_error err;
    clip c, held;
    synthetic_turn(&c, 57, 50);
    ENSURE_OK(clip_cut(&held, &c, 0, c.n - 1, &err));
    clip_hold(&held, 0.2);
    for (int i = 0; i < c.n; i++)
        ENSURE(memcmp(clip_frame(&held, i), clip_frame(&c, i - i % 10), HRC_NQ * sizeof(float)) == 0);
    clip_free(&held);
    ENSURE_OK(clip_cut(&held, &c, 0, c.n - 1, &err));
    clip_hold(&held, 0); /* nothing to hold */
    ENSURE(memcmp(held.qpos, c.qpos, (size_t)c.n * HRC_NQ * sizeof(float)) == 0);
    clip_hold(&held, 1e9);
    ENSURE(memcmp(clip_frame(&held, c.n - 1), clip_frame(&c, 0), HRC_NQ * sizeof(float)) == 0);
    clip_free(&held);
    clip_free(&c);
}

/* Steps between neighbours, largest over all numbers. */
static double roughness(const clip *c, int first, int last)
{
    double most = 0;
    for (int i = first; i < last; i++)
        for (int k = 0; k < HRC_NQ; k++)
            most = fmax(most, fabs(clip_frame(c, i + 1)[k] - clip_frame(c, i)[k]));
    return most;
}

static void test_pad(void)
{
    hrc_error err;
    clip c, padded;
    double stand[HRC_NQ];
    synthetic_turn(&c, 100, 50);
    ENSURE_OK(clip_label(&c, "dance", "formula", "CC0", &err));
    ENSURE_OK(clip_pad_standing(&padded, &c, 1, 0.5, &err));
    ENSURE(padded.n == 100 + 2 * 75 && !strcmp(padded.category, "dance"));
    ENSURE(memcmp(clip_frame(&padded, 75), c.qpos, 100 * HRC_NQ * sizeof(float)) == 0);
    g1_default_qpos(stand);
    for (int end = 0; end < 2; end++) {
        int at = end ? padded.n - 1 : 0, edge = end ? c.n - 1 : 0;
        const float *q = clip_frame(&padded, at);
        double quat[4] = {q[3], q[4], q[5], q[6]}, own[4], up[3];
        for (int k = 0; k < 4; k++) own[k] = clip_frame(&c, edge)[3 + k];
        quat_rotate(up, quat, (double[3]){0, 0, 1});
        ENSURE_NEAR(up[2], 1, 1e-6);
        ENSURE_NEAR(quat_yaw(quat), quat_yaw(own), 1e-5);
        ENSURE_NEAR(q[2], stand[2], 1e-3);
        for (int k = 7; k < HRC_NQ; k++) ENSURE_NEAR(q[k], stand[k], 1e-6);
        for (int k = 0; k < 2; k++) ENSURE_NEAR(q[k], clip_frame(&c, edge)[k], 0.1);
    }
    ENSURE(roughness(&padded, 0, 49) == 0 && roughness(&padded, padded.n - 50, padded.n - 1) == 0);
    ENSURE(roughness(&padded, 0, padded.n - 1) < 0.08);
    for (int i = 0; i < padded.n; i++) ENSURE(fabs(lowest(&padded, i)) < 0.02);
    clip_free(&padded);
    clip_free(&c);
}

/* The pace over the floor goes on across the edge and then dies out, instead of stopping dead. */
static void test_pad_moving(void)
{
    hrc_error err;
    clip c, padded;
    synthetic_turn(&c, 20, 50);
    for (int i = 0; i < c.n; i++) clip_frame(&c, i)[0] = 0.04f * (float)i; /* 2 m/s */
    ENSURE_OK(clip_pad_standing(&padded, &c, 0, 0.5, &err));
    double before = clip_frame(&padded, 24)[0], first = clip_frame(&padded, 25)[0];
    ENSURE_NEAR((first - before) * 50, 2, 0.1);
    ENSURE_NEAR(clip_frame(&padded, 0)[0], -0.5, 1e-4); /* v T / 2 */
    ENSURE_NEAR(clip_frame(&padded, padded.n - 1)[0], 0.76 + 0.5, 1e-4);
    clip_free(&padded);
    clip_free(&c);
}

/* Nobody stands up in half a second: a clip that begins lying is held there. */
static void test_pad_lying(void)
{
    hrc_error err;
    clip c, padded;
    synthetic_turn(&c, 20, 50);
    float *q = clip_frame(&c, 0);
    q[2] = 0.15f, q[3] = 0.70710678f, q[4] = 0, q[5] = -0.70710678f, q[6] = 0; /* on its back */
    ENSURE_OK(clip_pad_standing(&padded, &c, 1, 0.5, &err));
    for (int i = 0; i < 75; i++)
        for (int k = 0; k < HRC_NQ; k++) ENSURE_NEAR(clip_frame(&padded, i)[k], q[k], 1e-6);
    clip_free(&padded);
    ENSURE(clip_pad_standing(&padded, &c, -1, 0.5, &err) == HRC_EINVAL && !padded.qpos);
    ENSURE(clip_pad_standing(&padded, &c, 1, 0, &err) == HRC_EINVAL && !padded.qpos);
    clip_free(&c);
}

TEST_TABLE({"edit.mirror_twice", test_mirror_twice}, {"edit.mirror_kinematics", test_mirror_kinematics},
           {"edit.mirror_limits", test_mirror_limits}, {"edit.hold", test_hold}, {"edit.pad", test_pad},
           {"edit.pad_moving", test_pad_moving}, {"edit.pad_lying", test_pad_lying})
