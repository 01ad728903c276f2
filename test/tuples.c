/* Training tuples of the planner. */
#include "learn/tuples.h"

#include <stdlib.h>
#include <string.h>

#include "base/rot.h"
#include "robot/fk.h"
#include "test.h"

enum { N = 200 };

/* A robot that walks along a curve with swinging joints. */
static void make_motion(float *qpos, int n)
{
    for (int i = 0; i < n; i++) {
        float t = (float)i / PLAN_FPS, turn[3] = {0.1f * sinf(2 * t), 0.1f * cosf(3 * t), 0.4f * t};
        float *q = qpos + i * HRC_NQ;
        q[0] = 0.8f * t, q[1] = 0.2f * sinf(t), q[2] = 0.75f + 0.02f * sinf(5 * t);
        quat_expf(q + 3, turn);
        for (int j = 0; j < HRC_JOINTS; j++) q[7 + j] = (float)G1_JOINT[j].q0 + 0.2f * sinf(3 * t + (float)j);
    }
}

static tuple_options plain_options(void)
{
    return (tuple_options){.layout = {PLAN_PAPER, PLAN_H, true, false, false},
                           .stride = 5,
                           .max_segment = 100,
                           .noise_joint = 0.1f,
                           .noise_pos = 0.03f,
                           .noise_rot = 0.05f};
}

static tuple_options anchored_options(void)
{
    tuple_options o = plain_options();
    o.layout = (plan_layout){PLAN_ANCHORED, PLAN_H, true, true, true};
    return o;
}

static tuple_set *make_set(const tuple_options *o, int threads)
{
    static float qpos[N * HRC_NQ];
    hrc_error err;
    pool *p;
    tuple_set *set;
    make_motion(qpos, N);
    tuple_clip clips[3] = {{qpos, N}, {qpos, PLAN_H}, {qpos, PLAN_H + 1}}; /* the second is too short */
    ENSURE_OK(pool_create(&p, threads, &err));
    ENSURE_OK(tuples_create(&set, clips, 3, NULL, o, p, &err));
    pool_free(p);
    return set;
}

typedef struct {
    float cond[PLAN_COND_MAX], residual[PLAN_K * PLAN_D], weight[PLAN_K * PLAN_D];
} tuple;

static tuple draw(const tuple_set *set, int start, uint64_t stream)
{
    tuple t;
    rng r = rng_make(9, stream);
    memset(&t, 0, sizeof t);
    tuple_make(set, start, &r, t.cond, t.residual, t.weight);
    return t;
}

/* The paper's form without noise: the keyframes are the motion itself, keyframe 0 the state, the last one
 * frame H. */
static void test_keyframes_are_the_motion(void)
{
    static float qpos[N * HRC_NQ];
    make_motion(qpos, N);
    tuple_options o = plain_options();
    tuple_set *set = make_set(&o, 1);
    ENSURE(tuples_count(set) == (N - PLAN_H - 1) / 5 + 1 + 1);
    for (int start = 0; start < 30; start++) {
        tuple t = draw(set, start, 0);
        const float *state = qpos + start * 5 * HRC_NQ;
        plan_frame frame = plan_frame_of(state);
        float own[PLAN_D], last[PLAN_D];
        plan_token(own, &frame, state, state);
        plan_token(last, &frame, state, state + PLAN_H * HRC_NQ);
        for (int d = 0; d < PLAN_D; d++) {
            ENSURE(t.residual[d] == 0 && t.weight[d] == 1);
            ENSURE_NEAR(own[d] + t.residual[7 * PLAN_D + d], last[d], 1e-6);
        }
    }
    tuples_free(set);
}

/* The command lies H to l_max frames ahead, short distances as likely as long ones on a log scale. */
static void test_segment_lengths(void)
{
    tuple_options o = plain_options();
    tuple_set *set = make_set(&o, 1);
    int below = 0, n = 4000;
    for (int i = 0; i < n; i++) {
        tuple t = draw(set, 0, (uint64_t)i);
        float ahead = t.cond[PLAN_D + plan_root_at()]; /* root moves 0.8 m/s along x, and turns little */
        ENSURE(ahead > 0.14f && ahead < 1.65f);
        below += ahead < 0.8f * sqrtf(10 * 100) / PLAN_FPS; /* the geometric middle: 31.6 frames */
    }
    tuples_free(set);
    ENSURE_NEAR((double)below / n, 0.5, 0.04);
}

/* Which frame of the motion the reference of this tuple ends with: its conditions say so. */
static int segment_of(const tuple *t, const float *qpos, int start, float error[2])
{
    const plan_frame frame = plan_frame_of(qpos + (size_t)start * HRC_NQ);
    int best = -1;
    error[0] = error[1] = INFINITY;
    for (int end = start + PLAN_H; end < N; end++) {
        const float *first = qpos + (size_t)(end - PLAN_H) * HRC_NQ;
        plan_frame here = frame;
        float code[PLAN_D], off = 0;
        here.x = first[0], here.y = first[1];
        for (int side = 0; side < 2; side++) {
            plan_encode(code, PLAN_D, &here, first + side * PLAN_H * HRC_NQ);
            for (int d = 0; d < PLAN_D; d++)
                off = fmaxf(off, fabsf(code[d] - t->cond[(1 + side) * PLAN_D + d]));
        }
        if (off < error[0])
            error[1] = error[0], error[0] = off, best = end;
        else if (off < error[1])
            error[1] = off;
    }
    return best;
}

/* Anchored: the reference is the end of the segment, and base + s x the motion's own next frames. */
static void test_anchored(void)
{
    static float qpos[N * HRC_NQ];
    make_motion(qpos, N);
    tuple_options o = anchored_options();
    o.max_segment = 60;
    tuple_set *set = make_set(&o, 1);
    int at_once = 0, later = 0;
    for (int i = 0; i < 300; i++) {
        const int start = i % 30;
        const float *state = qpos + (size_t)start * 5 * HRC_NQ;
        tuple t = draw(set, start, (uint64_t)i);
        float error[2], base[PLAN_K][PLAN_D], truth[PLAN_D], pose[HRC_NQ];
        plan_question q;
        const int end = segment_of(&t, qpos, start * 5, error);
        ENSURE(error[0] < 1e-5f && error[1] > 1e-3f && end - start * 5 <= 60);
        memcpy(q.state, state, sizeof q.state);
        memcpy(q.reference, qpos + (size_t)(end - PLAN_H) * HRC_NQ, sizeof(float) * HRC_NQ * (PLAN_H + 1));
        const float s = plan_off(q.state, q.reference[0], true),
                    lost = plan_lost(q.state, q.reference[0], true);
        const float unit = fmaxf(plan_unit(&o.layout, lost), 0.25f);
        ENSURE_NEAR(t.cond[3 * PLAN_D], logf(fmaxf(s, 0.05f)), 1e-5);
        ENSURE_NEAR(t.weight[PLAN_D], fmaxf(lost, 0.1f), 1e-6);
        const plan_frame frame = plan_frame_of(state);
        memcpy(q.under_way, state,
               sizeof q.under_way); /* a plan under way has it where it is: there is no noise */
        plan_base(base, &o.layout, &q, q.state);
        plan_continue(base, &o.layout, &q, lost);
        for (int k = 1; k < PLAN_K; k++) {
            plan_window_at(pose, (const float(*)[HRC_NQ])state, (float)(k * PLAN_H) / (PLAN_K - 1), PLAN_H);
            plan_token(truth, &frame, state, pose);
            for (int d = 0; d < PLAN_D; d++)
                ENSURE_NEAR(base[k][d] + unit * t.residual[k * PLAN_D + d], truth[d], 1e-5);
        }
        const bool own = end == start * 5 + PLAN_H; /* the reference is what the motion does now */
        for (int k = 0; k < PLAN_K * PLAN_D && own; k++) ENSURE_NEAR(t.residual[k], 0, 1e-4);
        at_once += own, later += !own;
    }
    tuples_free(set);
    ENSURE(at_once > 3 && later > 200);
}

/* Starts near the ground count several times, the others once. */
static void test_low_starts_repeat(void)
{
    static float qpos[N * HRC_NQ];
    hrc_error err;
    pool *p;
    tuple_set *set;
    tuple_options o = plain_options();
    make_motion(qpos, N);
    for (int i = 0; i < N / 2; i++) qpos[i * HRC_NQ + 2] = 0.2f;
    o.low_repeat = 4;
    ENSURE_OK(pool_create(&p, 1, &err));
    ENSURE_OK(tuples_create(&set, &(tuple_clip){qpos, N}, 1, NULL, &o, p, &err));
    pool_free(p);
    int starts = (N - PLAN_H - 1) / 5 + 1, low = N / 2 / 5;
    ENSURE(tuples_count(set) == starts + 3 * low);
    tuples_free(set);
}

/* Keyframes are clean in both forms. Anchored they are counted from the clean state, so that noise asks for
 * no correction: on the reference x is 0, whatever the noise. */
static void test_noise_is_on_the_start_alone(void)
{
    for (int form = 0; form < 2; form++) {
        tuple_options o = form ? plain_options() : anchored_options();
        o.max_segment = PLAN_H;
        tuple_options clean = o;
        o.noise = true;
        tuple_set *noisy = make_set(&o, 1), *plain = make_set(&clean, 1);
        double spread = 0;
        for (int i = 0; i < 500; i++) {
            tuple a = draw(noisy, 3, (uint64_t)i), b = draw(plain, 3, (uint64_t)i);
            for (int j = 0; j < HRC_JOINTS; j++) {
                spread += pow((double)(a.cond[j] - b.cond[j]), 2) / (500 * HRC_JOINTS);
                if (form)
                    ENSURE_NEAR(a.cond[j] + a.residual[5 * PLAN_D + j],
                                b.cond[j] + b.residual[5 * PLAN_D + j], 1e-5);
            }
            for (int d = 0; d < PLAN_D; d++) ENSURE(a.residual[d] == 0);
            for (int d = 0; d < PLAN_K * PLAN_D && !form; d++) ENSURE_NEAR(a.residual[d], 0, 1e-4);
            ENSURE(fabsf(a.cond[plan_root_at()]) < 1e-6f); /* its own frame: over the origin */
        }
        tuples_free(noisy);
        tuples_free(plain);
        ENSURE_NEAR(sqrt(spread), 0.1 / sqrt(5), 0.004); /* mean of u^4 is 1/5 */
    }
}

/* Against the definition: central differences of the tracked links in every channel of the state. */
static void test_weights_are_the_jacobian(void)
{
    static float qpos[N * HRC_NQ];
    make_motion(qpos, N);
    for (int frame = 0; frame < N; frame += 40) {
        float w[PLAN_D], state[PLAN_D];
        const float *pose = qpos + frame * HRC_NQ;
        kinematic_weight(w, pose);
        plan_frame origin = plan_frame_of(pose);
        plan_token(state, &origin, pose, pose);
        for (int d = 0; d < PLAN_D; d++) {
            double positions[2][G1_LINKS][3], sum = 0, delta = 1e-2;
            for (int side = 0; side < 2; side++) {
                float moved[PLAN_D], back[HRC_NQ];
                double q[HRC_NQ];
                fk_pose links;
                memcpy(moved, state, sizeof moved);
                moved[d] += (float)(side ? -delta : delta);
                plan_pose(back, &origin, pose, moved);
                for (int i = 0; i < HRC_NQ; i++) q[i] = (double)back[i];
                fk(&links, q);
                memcpy(positions[side], links.pos, sizeof links.pos);
            }
            for (int b = 0; b < G1_TRACKED; b++)
                for (int i = 0; i < 3; i++)
                    sum += pow((positions[0][G1_TRACKED_LINK[b]][i] - positions[1][G1_TRACKED_LINK[b]][i]) /
                                   (2 * delta),
                               2);
            ENSURE_NEAR(w[d], sum, 1e-3 + 2e-3 * sum);
        }
    }
}

static void test_weights_have_mean_one(void)
{
    tuple_options o = plain_options();
    o.weighted = true;
    o.stride = 1;
    tuple_set *one = make_set(&o, 1), *two = make_set(&o, 2);
    double sum[PLAN_D] = {0};
    int n = tuples_count(one);
    for (int i = 0; i < n; i++) {
        tuple a = draw(one, i, (uint64_t)i), b = draw(two, i, (uint64_t)i);
        ENSURE(!memcmp(&a, &b, sizeof a)); /* whatever the number of threads */
        for (int d = 0; d < PLAN_D; d++) sum[d] += (double)a.weight[d] / n;
    }
    tuples_free(one);
    tuples_free(two);
    for (int d = 0; d < PLAN_D; d++)
        ENSURE_NEAR(sum[d], 1, 0.1); /* starts leave out the last frames of a clip */
}

static void test_statistics(void)
{
    tuple_options o = plain_options();
    tuple_set *set = make_set(&o, 1);
    plan_scales s;
    tuples_measure(set, 1, &s);
    tuples_free(set);
    const float *first = s.residual_std + PLAN_D, *last = s.residual_std + 7 * PLAN_D;
    for (int d = 0; d < HRC_JOINTS; d++) ENSURE(first[d] > 0 && first[d] < last[d] && last[d] < 1);
    for (int d = 0; d < HRC_JOINTS; d++) ENSURE_NEAR(s.cond_mean[d], G1_JOINT[d].q0, 0.06);
    ENSURE_NEAR(s.cond_mean[plan_root_at() + 2], 0.75, 0.01);
}

/* ---- Practice ---- */

static lesson lying_lesson(float height, uint64_t seed)
{
    lesson one;
    rng r = rng_make(40, seed);
    float motion[HRC_NQ];
    make_motion(motion, 1);
    memcpy(one.state, motion, sizeof one.state);
    one.state[2] = height;
    for (int i = 0; i < HRC_NV; i++) one.qvel[i] = rng_normal(&r);
    memcpy(one.under_way, one.state, sizeof one.under_way);
    for (int i = 0; i < LESSON_WINDOW; i++) memcpy(one.reference[i], motion, sizeof motion);
    for (int k = 0; k < PLAN_K; k++) {
        memcpy(one.guide[k], one.state, sizeof one.state);
        for (int i = 7; i < HRC_NQ; i++) one.guide[k][i] += 0.02f * (float)k * rng_normal(&r);
        one.guide[k][2] += 0.01f * (float)k;
    }
    return one;
}

/* A share of tuples is from practice, its labels by the square root of how many lessons they have; what is to
 * be learned of a lesson is its guide. */
static void test_practice(void)
{
    static float qpos[N * HRC_NQ];
    hrc_error err;
    pool *p;
    tuple_set *set, *without;
    lessons l = {.horizon = PLAN_H};
    tuple_options o = anchored_options();
    o.practice = 0.4f;
    make_motion(qpos, N);
    for (int i = 0; i < 104; i++) { /* a hundred at 0.2 m, four at 0.3 m */
        lesson one = lying_lesson(i < 100 ? 0.2f : 0.3f, (uint64_t)i);
        one.guide[0][8] += 1; /* begins anew: with its own robot */
        ENSURE_OK(lessons_add(&l, &one, i < 100 ? 3 : 20, i, &err));
    }
    ENSURE_OK(pool_create(&p, 1, &err));
    ENSURE_OK(tuples_create(&set, &(tuple_clip){qpos, N}, 1, &l, &o, p, &err));
    ENSURE_OK(tuples_create(&without, &(tuple_clip){qpos, N}, 1, NULL, &o, p, &err));
    ENSURE(tuples_digest(set) != tuples_digest(without));
    const uint64_t digest = tuples_digest(set);
    l.list[50].guide[3][9] += 1e-3f;
    ENSURE(tuples_digest(set) != digest);
    int n = 6000, of_clips = 0, common = 0, rare = 0;
    for (int i = 0; i < n; i++) {
        tuple t = {0};
        rng r = rng_make(41, (uint64_t)i);
        tuple_draw(set, &r, t.cond, t.residual, t.weight);
        const float height = t.cond[plan_root_at() + 2];
        const int found = fabsf(height - 0.2f) < 1e-5f ? 0 : fabsf(height - 0.3f) < 1e-5f ? 1 : -1;
        of_clips += found < 0, common += found == 0, rare += found == 1;
        if (found < 0) continue;
        ENSURE(t.weight[PLAN_D] == 1); /* lost: s is 1 */
        bool known = false;
        for (int k = found ? 100 : 0; k < (found ? 104 : 100) && !known; k++) {
            const lesson *one = &l.list[k];
            plan_question q;
            float base[PLAN_K][PLAN_D], token[PLAN_D], off = 0;
            lesson_question(&q, one, PLAN_H);
            const plan_frame frame = plan_frame_of(one->state);
            plan_base(base, &o.layout, &q, q.state);
            plan_continue(base, &o.layout, &q, 1);
            plan_token(token, &frame, one->guide[0], one->guide[5]);
            for (int d = 0; d < PLAN_D; d++)
                off = fmaxf(off, fabsf(base[5][d] + t.residual[5 * PLAN_D + d] - token[d]));
            known = off < 1e-5f;
        }
        ENSURE(known);
    }
    printf("(%d clips, %d and %d lessons) ", of_clips, common, rare);
    ENSURE_NEAR((double)(common + rare) / n, 0.4, 0.02);
    ENSURE_NEAR((double)rare / (common + rare), 1.0 / 6, 0.025); /* sqrt 4 of sqrt 4 + sqrt 100 */
    tuples_free(set);
    tuples_free(without);
    pool_free(p);
    lessons_free(&l);
}

/* Guides that go on from the plan under way are shown with other lessons' robots, too; those that begin anew
 * are not. */
static void test_borrowed(void)
{
    enum { NL = 40, W = 3 * PLAN_D + 1 + HRC_NV };
    static float qpos[N * HRC_NQ];
    hrc_error err;
    pool *p;
    tuple_set *set;
    lessons l = {.horizon = PLAN_H};
    tuple_options o = anchored_options();
    o.practice = 1;
    make_motion(qpos, N);
    for (int i = 0; i < NL; i++) { /* told apart by the first joint; odd ones begin anew */
        lesson one = lying_lesson(0.2f, (uint64_t)i);
        one.state[7] = 0.01f * (float)i;
        one.under_way[7] = one.guide[0][7] = 1 + 0.01f * (float)i;
        if (i % 2) one.guide[0][8] += 1;
        ENSURE_OK(lessons_add(&l, &one, 3, i, &err));
    }
    ENSURE_OK(pool_create(&p, 1, &err));
    ENSURE_OK(tuples_create(&set, &(tuple_clip){qpos, N}, 1, &l, &o, p, &err));
    int even = 0, borrowed = 0;
    for (int i = 0; i < 4000; i++) {
        tuple t = {0};
        rng r = rng_make(43, (uint64_t)i);
        tuple_draw(set, &r, t.cond, t.residual, t.weight);
        if (t.cond[W] < 0.9f) continue; /* no plan under way */
        const int robot = (int)(100 * t.cond[0] + 0.5f), guide = (int)(100 * t.cond[W] - 99.5f);
        ENSURE(robot >= 0 && robot < NL && guide >= 0 && guide < NL);
        if (guide % 2) ENSURE(robot == guide);
        even += guide % 2 == 0, borrowed += robot != guide;
        /* what is to be learned is the guide's next pose, whose ever the robot is */
        ENSURE_NEAR(t.cond[W] + t.residual[5 * PLAN_D], l.list[guide].guide[5][7], 1e-4);
    }
    printf("(%d of %d) ", borrowed, even);
    ENSURE(borrowed > 0.35 * even && borrowed < 0.55 * even);
    tuples_free(set);
    pool_free(p);
    lessons_free(&l);
}

static void test_refuses_short_clips(void)
{
    float qpos[PLAN_H * HRC_NQ];
    hrc_error err;
    pool *p;
    tuple_set *set;
    tuple_options o = plain_options();
    make_motion(qpos, PLAN_H);
    ENSURE_OK(pool_create(&p, 1, &err));
    hrc_status status = tuples_create(&set, &(tuple_clip){qpos, PLAN_H}, 1, NULL, &o, p, &err);
    pool_free(p);
    ENSURE(status < 0 && strstr(err.text, "none of 1 clips has the 11 frames"));
}

TEST_TABLE({"tuples.keyframes_are_the_motion", test_keyframes_are_the_motion},
           {"tuples.segment_lengths", test_segment_lengths}, {"tuples.anchored", test_anchored},
           {"tuples.low_starts_repeat", test_low_starts_repeat},
           {"tuples.noise_is_on_the_start_alone", test_noise_is_on_the_start_alone},
           {"tuples.weights_are_the_jacobian", test_weights_are_the_jacobian},
           {"tuples.weights_have_mean_one", test_weights_have_mean_one},
           {"tuples.statistics", test_statistics}, {"tuples.practice", test_practice},
           {"tuples.borrowed", test_borrowed}, {"tuples.refuses_short_clips", test_refuses_short_clips})
