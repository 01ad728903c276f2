/* The figures of evaluation on states whose errors are known. */
#include "eval/course.h"

#include <stdlib.h>
#include <string.h>

#include "base/rot.h"
#include "eval/builtin.h"
#include "eval/evaluate.h"
#include "test.h"

static void stance(sim_world *w, float ref[HRC_NQ])
{
    *w = (sim_world){0};
    g1_default_qpos(w->qpos);
    for (int i = 0; i < HRC_NQ; i++) ref[i] = (float)w->qpos[i];
}

static void test_frame(void)
{
    sim_world w;
    float ref[HRC_NQ], rest[HRC_NV] = {0};
    stance(&w, ref);
    frame_error e = frame_compare(&w, ref, rest);
    ENSURE_NEAR(e.joint_rad + e.height_m + e.ori_rad + e.linvel_mps, 0, 1e-6);
    ENSURE_NEAR(e.mpjpe_local_mm + e.mpjpe_global_mm, 0, 1e-3);
    ENSURE(e.complete && e.strict);

    /* 3 cm up, 4 cm aside; joints 0.3 and 0.4; turned by 2 rad, which counts for nothing but links */
    w.qpos[2] += 0.03, w.qpos[1] += 0.04;
    w.qpos[7 + 20] += 0.3, w.qpos[7 + 27] += 0.4;
    e = frame_compare(&w, ref, rest);
    ENSURE_NEAR(e.joint_rad, 0.5, 1e-6);
    ENSURE_NEAR(e.height_m, 0.03, 1e-6);
    ENSURE_NEAR(e.ori_rad, 0, 1e-6);
    stance(&w, ref);
    w.qpos[2] += 0.03, w.qpos[1] += 0.04;
    e = frame_compare(&w, ref, rest);
    ENSURE_NEAR(e.mpjpe_local_mm, 0, 1e-3);
    ENSURE_NEAR(e.mpjpe_global_mm, 50, 1e-2);
    quat_from_yaw(w.qpos + 3, 2);
    w.qvel[0] = cos(2.0), w.qvel[1] = sin(2.0); /* ahead at 1 m/s */
    rest[0] = 1;
    e = frame_compare(&w, ref, rest);
    ENSURE_NEAR(e.ori_rad, 0, 1e-6);
    ENSURE_NEAR(e.linvel_mps, 0, 1e-6);
    ENSURE(e.complete);
}

static void test_bounds(void)
{
    sim_world w;
    double tilt[3] = {0, 1.19, 0}, yaw[4];
    float ref[HRC_NQ], rest[HRC_NV] = {0};
    stance(&w, ref);
    w.qpos[2] -= 0.26;
    frame_error e = frame_compare(&w, ref, rest);
    ENSURE(e.complete && !e.strict);
    w.qpos[2] -= 0.05;
    e = frame_compare(&w, ref, rest);
    ENSURE(!e.complete && !e.strict);
    stance(&w, ref);
    quat_exp(w.qpos + 3, tilt);
    quat_from_yaw(yaw, 2);
    quat_mul(w.qpos + 3, yaw, w.qpos + 3); /* heading does not count */
    e = frame_compare(&w, ref, rest);
    ENSURE_NEAR(e.ori_rad, 1.19, 1e-6);
    ENSURE(e.complete && e.strict); /* 1 - cos 1.19 = 0.63 */
    w.diverged = true;
    e = frame_compare(&w, ref, rest);
    ENSURE(!e.complete && !e.strict);
    stance(&w, ref);
    tilt[1] = 1.4;
    quat_exp(w.qpos + 3, tilt);
    e = frame_compare(&w, ref, rest);
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
    ENSURE_OK(courses_builtin(&list, "disturb", &(builtin_options){0}, &cfg, &err));
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

/* Every robot of omni lies differently, within a seed and across seeds; a seed's robots do not depend on how
 * many seeds are asked for; and none lies as practice lets robots lie, even where the numbers are the same.
 */
static void test_omni(void)
{
    hrc_error err;
    course_list list = {0}, later = {0};
    config cfg = config_default();
    pool *one;
    sim *physics;
    double practice[HRC_NQ];
    ENSURE_OK(courses_builtin(&list, "omni", &(builtin_options){4098, 2, NULL}, &cfg, &err));
    ENSURE_OK(courses_builtin(&later, "omni", &(builtin_options){4099, 1, NULL}, &cfg, &err));
    ENSURE(list.n == 64 && later.n == 32);
    for (int i = 0; i < list.n; i++) {
        const course *c = &list.courses[i];
        ENSURE(c->own_start && c->start[2] < 0.5 && !strcmp(c->category, POSTURE_NAME[i % 32 / 8]));
        ENSURE(i < 32 || !memcmp(c->start, later.courses[i - 32].start, sizeof c->start));
        for (int k = 0; k < i; k++) {
            double apart = 0;
            for (int j = 7; j < HRC_NQ; j++) apart += fabs(c->start[j] - list.courses[k].start[j]);
            ENSURE(apart > 1.0);
        }
    }
    ENSURE_OK(pool_create(&one, 1, &err));
    ENSURE_OK(sim_create(&physics, &cfg, one, &err));
    ENSURE_OK(posture_lying(practice, POSTURE_NAME[0], 0, 4098, physics, 0, &err));
    for (int i = 0; i < 8; i++) ENSURE(memcmp(list.courses[i].start, practice, sizeof practice));
    sim_free(physics);
    pool_free(one);
    courses_free(&list);
    courses_free(&later);
}

/* Shares by time, the median with those who never stand, and what is not known of rollouts that are short. */
static void test_time_to_stand(void)
{
    static const double STANDS[8] = {1, 2, 4.5, 5.5, 7, 9.5, 10.5, -1};
    static course courses[8];
    static outcome outcomes[8];
    evaluation results = {1, 8, outcomes};
    endurance e;
    for (int i = 0; i < 8; i++) {
        courses[i] = (course){.category = i < 4 ? "early" : "late", .own_start = true, .frames = 550};
        outcomes[i].result.stands_s = outcomes[i].result.back_s = STANDS[i];
    }
    endurance_of(&e, &results, 0, courses, NULL);
    ENSURE(e.n == 8 && e.recovered == 3.0 / 8 && e.recovered_late == 6.0 / 8 && isnan(e.back));
    ENSURE_NEAR(e.stand_p50_s, 6.25, 1e-12);
    for (int i = 4; i < 7; i++) outcomes[i].result.stands_s = -1;
    endurance_of(&e, &results, 0, courses, NULL);
    ENSURE(isnan(e.stand_p50_s));
    endurance_of(&e, &results, 0, courses, "early");
    ENSURE(e.n == 4 && e.recovered == 0.75 && e.stand_p50_s == 3.25);
    courses[0].frames = 500; /* who stood after 9.5 s would not be seen for a second */
    endurance_of(&e, &results, 0, courses, NULL);
    ENSURE(isnan(e.recovered_late) && e.recovered == 3.0 / 8);
}

/* A robot that lies while its reference stands for a second, lies down with it, and stands up again: back for
 * a while, but it does not stand. One that never leaves its reference is back at once. */
static void test_back(void)
{
    hrc_error err;
    config cfg = config_default();
    pool *one;
    sim *physics;
    double lying[HRC_NQ], stance[HRC_NQ];
    ENSURE_OK(pool_create(&one, 1, &err));
    ENSURE_OK(sim_create(&physics, &cfg, one, &err));
    ENSURE_OK(posture_lying(lying, POSTURE_NAME[0], 0, 0, physics, 0, &err));
    g1_default_qpos(stance);
    for (int stays = 0; stays < 2; stays++) {
        clip c;
        course t;
        course_result r;
        ENSURE_OK(clip_create(&c, 201, HRC_RATE_HZ, "down and up", &err));
        for (int i = 0; i < c.n; i++)
            for (int k = 0; k < HRC_NQ; k++)
                clip_frame(&c, i)[k] = (float)((i < 50 || i >= 125) && !stays ? stance : lying)[k];
        ENSURE_OK(course_create(&t, "down and up", "made", &c, true, 0, 4, &err));
        t.own_start = true;
        memcpy(t.start, lying, sizeof lying);
        ENSURE_OK(course_run(&t, &(course_means){.physics = physics}, &r, NULL, &err));
        if (stays)
            ENSURE(r.back_s == 0 && r.stands_s > 0 && r.figures.cr == 1);
        else
            ENSURE(fabs(r.back_s - 1) < 1e-9 && r.stands_s == -1);
        course_free(&t);
    }
    sim_free(physics);
    pool_free(one);
}

/* 6 clips x 8 directions x 3 strengths, a category for each strength; the suites share no push. */
static void test_knockdown(void)
{
    static const char *const SUITE[] = {"knockdown", "knockdown-validation"};
    hrc_error err;
    config cfg = config_default();
    course_list list[2] = {{0}};
    for (int s = 0; s < 2; s++) {
        const char *names[4];
        ENSURE(builtin_suite(SUITE[s]));
        ENSURE_OK(courses_builtin(&list[s], SUITE[s], &(builtin_options){0}, &cfg, &err));
        ENSURE(list[s].n == 144 && categories_of(names, 4, list[s].courses, 144) == 3);
        ENSURE(!strcmp(names[0], "4 m/s") && !strcmp(names[2], "6 m/s"));
        for (int i = 0; i < 144; i++) {
            const course *c = &list[s].courses[i];
            const double after = c->frames / 50.0 - c->disturb[0].t_s;
            ENSURE(c->ndisturb == 1 && !c->own_start && fabs(after - 7) < 1e-9);
            ENSURE_NEAR(vec_norm(c->disturb[0].xyz), 4 + i / 48, 1e-9);
        }
    }
    for (int i = 0; i < 48; i++)
        for (int k = 0; k < 48; k++)
            ENSURE(strncmp(list[0].courses[i].name, list[1].courses[k].name, 5) &&
                   vec_dot(list[0].courses[i].disturb[0].xyz, list[1].courses[k].disturb[0].xyz) < 15.9);
    evaluation results = {1, 144, calloc(144, sizeof *results.outcomes)};
    for (int i = 0; i < 144; i++) results.outcomes[i].result.back_s = i < 48 ? 5.9 : i < 96 ? 6.1 : -1;
    endurance e;
    for (int i = 0; i < 144; i++) results.outcomes[i].result.figures.progress = i != 8 * 5 + 2;
    endurance_of(&e, &results, 0, list[0].courses, NULL);
    ENSURE_NEAR(e.back, 1.0 / 3, 1e-12);
    ENSURE(e.largest[DISTURB_PUSH][1] == 6 && e.largest[DISTURB_PUSH][2] == 0); /* one clip was lost */
    endurance_of(&e, &results, 0, list[0].courses, "4 m/s");
    ENSURE(e.n == 48 && e.back == 1 && isnan(e.recovered_late));
    free(results.outcomes);
    for (int s = 0; s < 2; s++) courses_free(&list[s]);
}

/* Beside the tracker alone: differences by category, and joints where it completes the course. */
static void test_comparison(void)
{
    static course courses[4];
    static outcome outcomes[12]; /* plain PD, tracker, with planner */
    static const double CR[2][4] = {{1, 1, 0.5, 0.7}, {0.9, 1, 0.9, 0.8}};
    const method methods[3] = {
        {.name = "pd"},
        {.name = "tracker", .tracker = (const hrc_model *)courses},
        {.name = "heracles", .tracker = (const hrc_model *)courses, .planner = (const hrc_model *)courses}};
    const evaluation e = {3, 4, outcomes};
    for (int i = 0; i < 4; i++) {
        courses[i].category = i < 2 ? "walk" : "fall";
        for (int m = 0; m < 2; m++) {
            outcomes[4 * (m + 1) + i].result.figures.cr = CR[m][i];
            outcomes[4 * (m + 1) + i].result.figures.joint_rad = m ? 0.6 + i : 0.5 + i;
        }
    }
    ENSURE(compare_base(methods, 3) == 1 && compare_base(methods, 1) == -1);
    ENSURE_NEAR(compare_rate(&e, 1, 2, courses, "walk"), -0.05, 1e-12);
    ENSURE_NEAR(compare_rate(&e, 1, 2, courses, "fall"), 0.25, 1e-12);
    ENSURE_NEAR(compare_rate(&e, 1, 2, courses, NULL), 0.1, 1e-12);
    const identity same = compare_identity(&e, 1, 2),
                   none = compare_identity(&(evaluation){3, 4, outcomes}, 0, 2);
    ENSURE(same.n == 2 && none.n == 0 && isnan(none.ratio));
    ENSURE_NEAR(same.ratio, 2.2 / 2, 1e-12);
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
    courses[39].category = "one";
    summarise(&part, &results, 0, courses, "one");
    ENSURE(part.n == 1 && part.mean.cr == 1 && isnan(part.low.cr) && isnan(part.high.cr));
    courses[39].category = "many";
    const char *names[2];
    ENSURE(categories_of(names, 2, courses, 40) == 2 && !strcmp(names[1], "many"));
}

TEST_TABLE({"metrics.frame", test_frame}, {"metrics.bounds", test_bounds}, {"metrics.tally", test_tally},
           {"metrics.endurance", test_endurance}, {"metrics.omni", test_omni},
           {"metrics.time_to_stand", test_time_to_stand}, {"metrics.back", test_back},
           {"metrics.knockdown", test_knockdown}, {"metrics.comparison", test_comparison},
           {"metrics.summary", test_summary})
