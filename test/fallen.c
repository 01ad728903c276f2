/* Robots that fell: which recorded moment is like them, and episodes that begin where they lie. */
#include <math.h>
#include <string.h>

#include "base/rot.h"
#include "motion/corpus.h"
#include "robot/posture.h"
#include "sim/env.h"
#include "test.h"

enum { WORLDS = 8, STEPS = 150 };

static void test_heading(void)
{
    /* lying on the side: roll by 100 degrees, then any heading */
    const float lying[3] = {1.75f, 0, 0};
    float a[4], back[4], turned[4];
    quat_expf(a, lying);
    for (int i = 0; i < 12; i++) {
        float yaw[4], b[4], turn[4];
        quat_from_yawf(yaw, (float)(i - 6) * 0.5f);
        quat_mulf(b, yaw, a);
        heading_turn(turn, a, b);
        quat_mulf(turned, turn, a);
        ENSURE_NEAR((double)quat_anglef(turned, b), 0, 1e-3);
    }
    /* no other turn about the vertical brings a tilted pose nearer */
    const float other[3] = {0.4f, 1.1f, -2.f};
    float b[4], turn[4];
    quat_expf(b, other);
    heading_turn(turn, a, b);
    quat_mulf(back, turn, a);
    for (int i = 0; i < 60; i++) {
        float yaw[4];
        quat_from_yawf(yaw, (float)i * 0.105f);
        quat_mulf(turned, yaw, a);
        ENSURE(quat_anglef(turned, b) >= quat_anglef(back, b) - 1e-4f);
    }
}

static void test_distance(void)
{
    float a[HRC_NQ] = {5, -3, 0.2f, 1}, b[HRC_NQ] = {0, 0, 0.2f, 1};
    quat_from_yawf(b + 3, 2);
    posture p = posture_of(a), q = posture_of(b);
    ENSURE_NEAR((double)posture_distance(&p, &q), 0, 1e-6); /* place and heading do not matter */
    for (int i = 7; i < HRC_NQ; i++) b[i] = 0.5f;
    q = posture_of(b);
    ENSURE_NEAR((double)posture_distance(&p, &q), 1, 0.05);
    ENSURE(posture_down(&p));
}

/* Always from the walk, clip 0. */
static void draw_walk(const void *ctx, rng *r, int *which, int *frame)
{
    (void)ctx;
    *which = 0;
    *frame = (int)(rng_double(r) * 200);
}

typedef struct {
    int begun, like; /* episodes of the get-up, and those that began on the ground, tilted as it is */
} fallen_count;

/* Runs without a policy: the motors aim at the reference, and everybody falls. */
static fallen_count fall(double share, int threads)
{
    static float proprio[WORLDS * OBS_PROPRIO], window[WORLDS * OBS_WINDOW], actions[WORLDS * HRC_JOINTS];
    static uint8_t end[WORLDS];
    const char *const NAMES[2] = {"91_01", "140_02"};
    hrc_error err;
    corpus c;
    clip clips[2];
    references refs;
    pool *pool_threads;
    env *e;
    fallen_count count = {0};
    config cfg = config_default();
    cfg.env_fallen_share = share;
    strcpy(cfg.tracker_basis, "reference");
    ENSURE_OK(corpus_open(&c, "motions/cmu.safetensors", &err));
    for (int i = 0; i < 2; i++) ENSURE_OK(corpus_clip(&c, corpus_find(&c, NAMES[i]), &clips[i], &err));
    ENSURE_OK(pool_create(&pool_threads, threads, &err));
    ENSURE_OK(references_build(&refs, clips, 2, true, pool_threads, &err));
    ENSURE_OK(env_create(&e, &cfg, &refs, WORLDS, 1, &(env_starts){.draw = draw_walk}, pool_threads, &err));
    env_arrays out = {.proprio = proprio, .window = window, .end = end};
    env_reset(e, &out);
    for (int step = 0; step < STEPS; step++) {
        bool fresh[WORLDS];
        for (int i = 0; i < WORLDS; i++) fresh[i] = end[i] != END_NONE;
        env_step(e, actions, &out);
        for (int i = 0; i < WORLDS; i++) {
            const env_after *after = env_last(e, i);
            if (!fresh[i] || after->clip != 1) continue;
            const ref_frame *f =
                &(after->mirrored ? refs.clips[1].mirrored : refs.clips[1].frames)[(int)after->at + 1];
            float qpos[HRC_NQ], tilt = 0;
            for (int k = 0; k < HRC_NQ; k++) qpos[k] = (float)after->qpos[k];
            posture robot = posture_of(qpos), reference = posture_of(f->qpos);
            for (int k = 0; k < 3; k++) tilt += robot.up[k] * reference.up[k];
            count.begun++;
            count.like += robot.height < 0.45f && reference.height < 0.45f && tilt > 0.5f &&
                          hypotf(qpos[0] - f->qpos[0], qpos[1] - f->qpos[1]) < 0.2f;
        }
    }
    env_free(e);
    references_free(&refs);
    pool_free(pool_threads);
    for (int i = 0; i < 2; i++) clip_free(&clips[i]);
    corpus_close(&c);
    return count;
}

static void test_starts(void)
{
    fallen_count never = fall(0, 1), always = fall(1, 1), again = fall(1, 2);
    printf("(%d episodes began fallen, %d of them like the recording) ", always.begun, always.like);
    ENSURE(never.begun == 0);
    ENSURE(always.begun >= 4 && always.like >= 0.6 * always.begun);
    ENSURE(again.begun == always.begun && again.like == always.like); /* whatever the threads */
}

TEST_TABLE({"fallen.heading", test_heading}, {"fallen.distance", test_distance},
           {"fallen.starts", test_starts})
