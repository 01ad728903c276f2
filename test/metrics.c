/* The figures of evaluation on states whose errors are known. */
#include "eval/metrics.h"

#include <stdlib.h>
#include <string.h>

#include "base/rot.h"
#include "eval/builtin.h"
#include "eval/posture.h"
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

/* The suite of disturbances: its shape, and what is said of a robot that falls to the left from 1.5 m/s on.
 */
static void test_endurance(void)
{
    hrc_error err;
    course_list list = {0};
    config cfg = config_default();
    endurance e;
    ENSURE(builtin_suite("disturb") && builtin_suite("omni") && !builtin_suite("smoke"));
    ENSURE_OK(courses_builtin(&list, "disturb", &cfg, &err));
    ENSURE(list.n == 96);
    evaluation results = {1, list.n, calloc((size_t)list.n, sizeof *results.outcomes)};
    for (int i = 0; i < list.n; i++) {
        const disturbance *d = &list.courses[i].disturb[0];
        bool falls = d->kind == DISTURB_PUSH && d->xyz[1] > 1.4 && fabs(d->xyz[0]) < 0.1;
        results.outcomes[i].result.figures.progress = falls ? 0.5 : 1;
        results.outcomes[i].result.stands_s = falls ? -1 : 0.5;
    }
    endurance_of(&e, &results, 0, list.courses, NULL);
    ENSURE(e.n == 96 && e.largest[DISTURB_PUSH][2] == 1 && e.largest[DISTURB_PUSH][0] == 3);
    ENSURE(e.largest[DISTURB_PUNCH][7] == 600);
    ENSURE_NEAR(e.survived, 92.0 / 96, 1e-12);
    ENSURE_NEAR(e.recovered, 92.0 / 96, 1e-12);
    endurance_of(&e, &results, 0, list.courses, "punch");
    ENSURE(e.n == 48 && e.survived == 1);
    free(results.outcomes);
    courses_free(&list);
}

/* Every robot of omni lies differently; on back and front the first of them stays so, others and all on a
 * side may roll. */
static void test_omni(void)
{
    hrc_error err;
    course_list list = {0};
    config cfg = config_default();
    ENSURE_OK(courses_builtin(&list, "omni", &cfg, &err));
    ENSURE(list.n == 32);
    for (int i = 0; i < list.n; i++) {
        const course *c = &list.courses[i];
        double up[3];
        ENSURE(c->own_start && c->start[2] < 0.35 && !strcmp(c->category, POSTURE_NAME[i / 8]));
        quat_rotate_inv(up, c->start + 3, (double[3]){0, 0, 1});
        ENSURE(i % 8 || i >= 16 || up[0] * (i ? -1 : 1) > 0.9);
        for (int k = 0; k < i; k++) {
            double apart = 0;
            for (int j = 7; j < HRC_NQ; j++) apart += fabs(c->start[j] - list.courses[k].start[j]);
            ENSURE(apart > (i % 8 && k % 8 ? 1.0 : 0.01));
        }
    }
    courses_free(&list);
}

/* The interval holds the mean and narrows with more data; a category takes only its own. */
static void test_summary(void)
{
    static course courses[40];
    static outcome outcomes[40];
    evaluation results = {1, 40, outcomes};
    summary all, part;
    for (int i = 0; i < 40; i++) {
        courses[i].category = i < 10 ? "few" : "many";
        outcomes[i].result.figures.cr = i % 2;
        outcomes[i].result.figures.joint_rad = i < 10 ? 5 : 1;
    }
    summarise(&all, &results, 0, courses, NULL);
    summarise(&part, &results, 0, courses, "few");
    ENSURE(all.n == 40 && part.n == 10 && part.mean.joint_rad == 5 && all.mean.joint_rad == 2);
    ENSURE(part.low.joint_rad == 5 && part.high.joint_rad == 5 && all.mean.cr == 0.5);
    ENSURE_NEAR(all.high.cr - all.low.cr, 2 * 1.96 * sqrt(0.25 / 40), 0.08);
    ENSURE(part.high.cr - part.low.cr > all.high.cr - all.low.cr);
    const char *names[2];
    ENSURE(categories_of(names, 2, courses, 40) == 2 && !strcmp(names[1], "many"));
}

TEST_TABLE({"metrics.frame", test_frame}, {"metrics.bounds", test_bounds}, {"metrics.tally", test_tally},
           {"metrics.endurance", test_endurance}, {"metrics.omni", test_omni},
           {"metrics.summary", test_summary})
