/* The figures of evaluation on states whose errors are known. */
#include "eval/metrics.h"

#include <string.h>

#include "base/rot.h"
#include "test.h"

static void stance(double qpos[HRC_NQ], float ref[HRC_NQ])
{
    g1_default_qpos(qpos);
    for (int i = 0; i < HRC_NQ; i++) ref[i] = (float)qpos[i];
}

static void test_frame(void)
{
    double qpos[HRC_NQ], qvel[HRC_NV] = {0};
    float ref[HRC_NQ], rest[HRC_NV] = {0};
    frame_error e;
    stance(qpos, ref);
    frame_compare(&e, qpos, qvel, ref, rest);
    ENSURE_NEAR(e.joint_rad + e.height_m + e.ori_rad + e.linvel_mps, 0, 1e-6);
    ENSURE_NEAR(e.mpjpe_local_mm + e.mpjpe_global_mm, 0, 1e-3);
    ENSURE(e.complete && e.strict);

    /* 3 cm up, 4 cm aside; joints 0.3 and 0.4; turned by 2 rad, which counts for nothing but links */
    qpos[2] += 0.03, qpos[1] += 0.04;
    qpos[7 + 20] += 0.3, qpos[7 + 27] += 0.4;
    frame_compare(&e, qpos, qvel, ref, rest);
    ENSURE_NEAR(e.joint_rad, 0.5, 1e-6);
    ENSURE_NEAR(e.height_m, 0.03, 1e-6);
    ENSURE_NEAR(e.ori_rad, 0, 1e-6);
    stance(qpos, ref);
    qpos[2] += 0.03, qpos[1] += 0.04;
    frame_compare(&e, qpos, qvel, ref, rest);
    ENSURE_NEAR(e.mpjpe_local_mm, 0, 1e-3);
    ENSURE_NEAR(e.mpjpe_global_mm, 50, 1e-2);
    quat_from_yaw(qpos + 3, 2);
    qvel[0] = cos(2.0), qvel[1] = sin(2.0); /* ahead at 1 m/s */
    rest[0] = 1;
    frame_compare(&e, qpos, qvel, ref, rest);
    ENSURE_NEAR(e.ori_rad, 0, 1e-6);
    ENSURE_NEAR(e.linvel_mps, 0, 1e-6);
    ENSURE(e.complete);
}

static void test_bounds(void)
{
    double qpos[HRC_NQ], qvel[HRC_NV] = {0}, tilt[3] = {0, 1.19, 0};
    float ref[HRC_NQ], rest[HRC_NV] = {0};
    frame_error e;
    stance(qpos, ref);
    qpos[2] -= 0.26;
    frame_compare(&e, qpos, qvel, ref, rest);
    ENSURE(e.complete && !e.strict);
    qpos[2] -= 0.05;
    frame_compare(&e, qpos, qvel, ref, rest);
    ENSURE(!e.complete && !e.strict);
    stance(qpos, ref);
    quat_exp(qpos + 3, tilt);
    frame_compare(&e, qpos, qvel, ref, rest);
    ENSURE_NEAR(e.ori_rad, 1.19, 1e-6);
    ENSURE(e.complete && e.strict); /* 1 - cos 1.19 = 0.63 */
    tilt[1] = 1.4;
    quat_exp(qpos + 3, tilt);
    frame_compare(&e, qpos, qvel, ref, rest);
    ENSURE(!e.complete && !e.strict);
}

/* Out of bounds for a while and back: CR counts frames, progress what came before. */
static void test_tally(void)
{
    tally t = {0};
    figures f;
    for (int i = 0; i < 10; i++) {
        bool out = i == 4 || i == 5;
        tally_add(&t, &(frame_error){.joint_rad = i, .complete = !out, .strict = !out});
    }
    tally_figures(&f, &t);
    ENSURE_NEAR(f.cr, 0.8, 1e-12);
    ENSURE_NEAR(f.progress, 0.4, 1e-12);
    ENSURE_NEAR(f.joint_rad, 4.5, 1e-12);
    ENSURE(f.success == 0);
    ENSURE(!strcmp(FIGURE[FIGURE_ori_rad].name, "ori_rad") && figure_of(&f, FIGURE_progress) == f.progress);
}

TEST_TABLE({"metrics.frame", test_frame}, {"metrics.bounds", test_bounds}, {"metrics.tally", test_tally})
