#include <string.h>

#include "base/rot.h"
#include "motion/clip.h"
#include "robot/fk.h"
#include "synthetic.h"
#include "test.h"

static void pose_of(fk_pose *pose, const clip *c, int i)
{
    double qpos[HRC_NQ];
    for (int k = 0; k < HRC_NQ; k++) qpos[k] = clip_frame(c, i)[k];
    fk(pose, qpos);
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

TEST_TABLE({"edit.mirror_twice", test_mirror_twice}, {"edit.mirror_kinematics", test_mirror_kinematics},
           {"edit.mirror_limits", test_mirror_limits}, {"edit.hold", test_hold})
