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
    return (tuple_options){.D = PLAN_D_MAX,
                           .stride = 5,
                           .max_segment = 100,
                           .noise_joint = 0.1f,
                           .noise_pos = 0.03f,
                           .noise_rot = 0.05f};
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
    ENSURE_OK(tuples_create(&set, clips, 3, o, p, &err));
    pool_free(p);
    return set;
}

typedef struct {
    float cond[PLAN_COND_MAX], residual[PLAN_K * PLAN_D_MAX], weight[PLAN_K * PLAN_D_MAX];
} tuple;

static tuple draw(const tuple_set *set, int start, uint64_t stream)
{
    tuple t;
    rng r = rng_make(9, stream);
    memset(&t, 0, sizeof t);
    tuple_make(set, start, &r, t.cond, t.residual, t.weight);
    return t;
}

/* Without noise the keyframes are the motion itself, keyframe 0 the state, the last one frame H. */
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
        float last[PLAN_D_MAX];
        plan_encode(last, PLAN_D_MAX, &frame, state + PLAN_H * HRC_NQ);
        for (int d = 0; d < PLAN_D_MAX; d++) {
            ENSURE(t.residual[d] == 0 && t.weight[d] == 1);
            ENSURE_NEAR(t.cond[d] + t.residual[7 * PLAN_D_MAX + d], last[d], 1e-6);
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
        float ahead = t.cond[PLAN_D_MAX + plan_root_at()]; /* root moves 0.8 m/s along x, and turns little */
        ENSURE(ahead > 0.14f && ahead < 1.65f);
        below += ahead < 0.8f * sqrtf(10 * 100) / PLAN_FPS; /* the geometric middle: 31.6 frames */
    }
    tuples_free(set);
    ENSURE_NEAR((double)below / n, 0.5, 0.04);
}

/* Told when the command is due, a keyframe is the line to it and the residual's share of the way left. */
static void test_timed(void)
{
    static float qpos[N * HRC_NQ];
    make_motion(qpos, N);
    tuple_options o = plain_options();
    o.timed = true;
    tuple_set *set = make_set(&o, 1);
    for (int i = 0; i < 200; i++) {
        int start = i % 30;
        tuple t = draw(set, start, (uint64_t)i);
        const float *state = qpos + start * 5 * HRC_NQ;
        float due = PLAN_H * expf(t.cond[2 * PLAN_D_MAX]), truth[PLAN_D_MAX], command[PLAN_D_MAX];
        plan_frame frame = plan_frame_of(state);
        plan_encode(truth, PLAN_D_MAX, &frame, state + PLAN_H * HRC_NQ);
        plan_encode(command, PLAN_D_MAX, &frame, state + (int)(due + 0.5f) * HRC_NQ);
        float way = PLAN_H / due;
        for (int d = 0; d < PLAN_D_MAX; d++) {
            ENSURE_NEAR(command[d], t.cond[PLAN_D_MAX + d], 1e-6);
            float line = t.cond[d] + way * (command[d] - t.cond[d]);
            float made = line + fmaxf(1 - way, PLAN_UNIT_FLOOR) * t.residual[7 * PLAN_D_MAX + d];
            ENSURE_NEAR(made, truth[d], 1e-5);
        }
    }
    tuples_free(set);
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
    ENSURE_OK(tuples_create(&set, &(tuple_clip){qpos, N}, 1, &o, p, &err));
    pool_free(p);
    int starts = (N - PLAN_H - 1) / 5 + 1, low = N / 2 / 5;
    ENSURE(tuples_count(set) == starts + 3 * low);
    tuples_free(set);
}

static void test_noise_is_on_the_start_alone(void)
{
    tuple_options o = plain_options(), clean = o;
    o.noise = true;
    tuple_set *noisy = make_set(&o, 1), *plain = make_set(&clean, 1);
    double spread = 0;
    for (int i = 0; i < 500; i++) {
        tuple a = draw(noisy, 3, (uint64_t)i), b = draw(plain, 3, (uint64_t)i);
        for (int j = 0; j < HRC_JOINTS; j++) {
            spread += pow((double)(a.cond[j] - b.cond[j]), 2) / (500 * HRC_JOINTS);
            ENSURE_NEAR(a.cond[j] + a.residual[5 * PLAN_D_MAX + j],
                        b.cond[j] + b.residual[5 * PLAN_D_MAX + j], 1e-5);
        }
        for (int d = 0; d < PLAN_D_MAX; d++) ENSURE(a.residual[d] == 0);
        ENSURE(fabsf(a.cond[plan_root_at()]) < 1e-6f); /* its own frame: over the origin */
    }
    tuples_free(noisy);
    tuples_free(plain);
    ENSURE_NEAR(sqrt(spread), 0.1 / sqrt(5), 0.004); /* mean of u^4 is 1/5 */
}

/* Against the definition: central differences of the tracked links in every channel of the state. */
static void test_weights_are_the_jacobian(void)
{
    static float qpos[N * HRC_NQ];
    make_motion(qpos, N);
    for (int frame = 0; frame < N; frame += 40) {
        float w[PLAN_D_MAX], state[PLAN_D_MAX];
        const float *pose = qpos + frame * HRC_NQ;
        kinematic_weight(w, PLAN_D_MAX, pose);
        plan_frame origin = plan_frame_of(pose);
        plan_encode(state, PLAN_D_MAX, &origin, pose);
        for (int d = 0; d < PLAN_D_MAX; d++) {
            double positions[2][G1_LINKS][3], sum = 0, delta = 1e-2;
            for (int side = 0; side < 2; side++) {
                float moved[PLAN_D_MAX], back[HRC_NQ];
                double q[HRC_NQ];
                fk_pose links;
                memcpy(moved, state, sizeof moved);
                moved[d] += (float)(side ? -delta : delta);
                plan_decode(back, PLAN_D_MAX, &origin, moved);
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
    double sum[PLAN_D_MAX] = {0};
    int n = tuples_count(one);
    for (int i = 0; i < n; i++) {
        tuple a = draw(one, i, (uint64_t)i), b = draw(two, i, (uint64_t)i);
        ENSURE(!memcmp(&a, &b, sizeof a)); /* whatever the number of threads */
        for (int d = 0; d < PLAN_D_MAX; d++) sum[d] += (double)a.weight[d] / n;
    }
    tuples_free(one);
    tuples_free(two);
    for (int d = 0; d < PLAN_D_MAX; d++)
        ENSURE_NEAR(sum[d], 1, 0.1); /* starts leave out the last frames of a clip */
}

static void test_statistics(void)
{
    tuple_options o = plain_options();
    tuple_set *set = make_set(&o, 1);
    plan_scales s;
    tuples_measure(set, 1, &s);
    tuples_free(set);
    const float *first = s.residual_std + PLAN_D_MAX, *last = s.residual_std + 7 * PLAN_D_MAX;
    for (int d = 0; d < HRC_JOINTS; d++) ENSURE(first[d] > 0 && first[d] < last[d] && last[d] < 1);
    for (int d = 0; d < HRC_JOINTS; d++) ENSURE_NEAR(s.cond_mean[d], G1_JOINT[d].q0, 0.06);
    ENSURE_NEAR(s.cond_mean[plan_root_at() + 2], 0.75, 0.01);
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
    hrc_status status = tuples_create(&set, &(tuple_clip){qpos, PLAN_H}, 1, &o, p, &err);
    pool_free(p);
    ENSURE(status < 0 && strstr(err.text, "none of 1 clips has the 11 frames"));
}

TEST_TABLE({"tuples.keyframes_are_the_motion", test_keyframes_are_the_motion},
           {"tuples.segment_lengths", test_segment_lengths}, {"tuples.timed", test_timed},
           {"tuples.low_starts_repeat", test_low_starts_repeat},
           {"tuples.noise_is_on_the_start_alone", test_noise_is_on_the_start_alone},
           {"tuples.weights_are_the_jacobian", test_weights_are_the_jacobian},
           {"tuples.weights_have_mean_one", test_weights_have_mean_one},
           {"tuples.statistics", test_statistics}, {"tuples.refuses_short_clips", test_refuses_short_clips})
