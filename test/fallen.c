/* Robots that fell: which recorded moment is like them, and episodes that begin where they lie. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/rot.h"
#include "motion/corpus.h"
#include "robot/posture.h"
#include "sim/env_fallen.h"
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

/* A walk and a get-up, which robots follow without a policy: the motors aim at the reference, and they fall.
 */
typedef struct {
    config cfg;
    clip clips[2];
    references refs;
    pool *threads;
    env *e;
    float proprio[WORLDS * OBS_PROPRIO], window[WORLDS * OBS_WINDOW], actions[WORLDS * HRC_JOINTS];
    uint8_t end[WORLDS];
} bed;

static bed *bed_make(config cfg, int threads)
{
    static const char *const NAMES[2] = {"91_01", "140_02"};
    bed *b = calloc(1, sizeof *b);
    hrc_error err;
    corpus c;
    ENSURE(b);
    b->cfg = cfg;
    strcpy(b->cfg.tracker_basis, "reference");
    ENSURE_OK(corpus_open(&c, "motions/cmu.safetensors", &err));
    for (int i = 0; i < 2; i++) ENSURE_OK(corpus_clip(&c, corpus_find(&c, NAMES[i]), &b->clips[i], &err));
    corpus_close(&c);
    ENSURE_OK(pool_create(&b->threads, threads, &err));
    ENSURE_OK(references_build(&b->refs, b->clips, 2, true, b->threads, &err));
    ENSURE_OK(env_create(&b->e, &b->cfg, &END_RULES, &b->refs, WORLDS, 1, &(env_starts){.draw = draw_walk},
                         b->threads, &err));
    env_reset(b->e, &(env_arrays){.proprio = b->proprio, .window = b->window});
    return b;
}

static void bed_step(bed *b)
{
    env_step(b->e, b->actions, &(env_arrays){.proprio = b->proprio, .window = b->window, .end = b->end});
}

static void bed_free(bed *b)
{
    env_free(b->e);
    references_free(&b->refs);
    pool_free(b->threads);
    for (int i = 0; i < 2; i++) clip_free(&b->clips[i]);
    free(b);
}

typedef struct {
    int begun, like; /* episodes of the get-up, and those that began on the ground, tilted as it is */
} fallen_count;

static fallen_count fall(double share, int threads)
{
    fallen_count count = {0};
    config cfg = config_default();
    cfg.env_fallen_share = share;
    bed *b = bed_make(cfg, threads);
    for (int step = 0; step < STEPS; step++) {
        bool fresh[WORLDS];
        for (int i = 0; i < WORLDS; i++) fresh[i] = b->end[i] != END_NONE;
        bed_step(b);
        for (int i = 0; i < WORLDS; i++) {
            const env_after *after = env_last(b->e, i);
            if (!fresh[i] || after->clip != 1) continue;
            const ref_clip *up = &b->refs.clips[1];
            const ref_frame *f = &(after->mirrored ? up->mirrored : up->frames)[(int)after->at + 1];
            float qpos[HRC_NQ], tilt = 0;
            for (int k = 0; k < HRC_NQ; k++) qpos[k] = (float)after->qpos[k];
            posture robot = posture_of(qpos), reference = posture_of(f->qpos);
            for (int k = 0; k < 3; k++) tilt += robot.up[k] * reference.up[k];
            count.begun++;
            count.like += robot.height < 0.45f && reference.height < 0.45f && tilt > 0.5f &&
                          hypotf(qpos[0] - f->qpos[0], qpos[1] - f->qpos[1]) < 0.2f;
        }
    }
    bed_free(b);
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

/* Guided episodes: what is followed is the get-up, what is shown the walk, which stays or moves on, and heads
 * where the robot does or up to 0.7 rad elsewhere. */
static void test_guided(void)
{
    config cfg = config_default();
    cfg.env_fallen_share = cfg.env_guided_share = 1;
    strcpy(cfg.env_perturb, "off");
    bed *b = bed_make(cfg, 1);
    int guided = 0, stays = 0, moves = 0;
    for (int step = 0; step < STEPS; step++) {
        float before[WORLDS][OBS_M];
        for (int i = 0; i < WORLDS; i++)
            memcpy(before[i], b->window + (size_t)i * OBS_WINDOW, sizeof before[i]);
        bed_step(b);
        for (int i = 0; i < WORLDS; i++) {
            const env_after *after = env_last(b->e, i);
            float qpos[HRC_NQ], qvel[HRC_NV];
            ENSURE(after->at >= 0 && after->at < b->refs.clips[after->clip].n);
            ENSURE((after->clip == 1) == (after->shown_clip == 0));
            if (after->shown_clip < 0) continue;
            guided++, stays += after->shown_pace == 0, moves += after->shown_pace > 0;
            ref_pose_between(qpos, qvel, &b->refs.clips[0], after->shown_mirrored,
                             after->shown_at + after->shown_pace, after->shown_pace);
            for (int k = 0; k < HRC_JOINTS; k++)
                ENSURE_NEAR((double)before[i][OBS_REF_Q + k], (double)qpos[7 + k], 1e-5);
        }
    }
    ENSURE(guided > STEPS && stays > 0 && moves > 0);
    bed_free(b);
}

/* Episodes of a tenth of a second, over before a robot falls: after each the robot is thrown to the ground
 * and guided up from there, or none is. */
static void test_toppled(void)
{
    for (int share = 0; share < 2; share++) {
        config cfg = config_default();
        cfg.env_fallen_share = 0, cfg.env_toppled_share = share, cfg.env_episode_s = 0.1;
        bed *b = bed_make(cfg, 1);
        int thrown = 0, down = 0;
        for (int step = 0; step < 40; step++) {
            bool fresh[WORLDS];
            for (int i = 0; i < WORLDS; i++) fresh[i] = b->end[i] == END_EPISODE;
            bed_step(b);
            for (int i = 0; i < WORLDS; i++) {
                const env_after *after = env_last(b->e, i);
                float qpos[HRC_NQ];
                for (int k = 0; k < HRC_NQ; k++) qpos[k] = (float)after->qpos[k];
                const posture robot = posture_of(qpos);
                if (!fresh[i] || after->clip != 1) continue;
                thrown += after->shown_clip == 0, down += posture_down(&robot);
            }
        }
        ENSURE(share ? thrown >= WORLDS && down > 0.7 * thrown : !thrown);
        bed_free(b);
    }
}

static env_one lying_robot(const bed *b, sim *s, int frame, double speed)
{
    env_one w = {.dice = rng_make(1, 1)};
    const ref_frame *f = &b->refs.clips[1].frames[frame];
    double qpos[HRC_NQ], qvel[HRC_NV];
    for (int i = 0; i < HRC_NQ; i++) qpos[i] = (double)f->qpos[i];
    for (int i = 0; i < HRC_NV; i++) qvel[i] = speed * (double)f->qvel[i];
    sim_reset(s, &w.sim, qpos, qvel);
    return w;
}

/* A guided robot that lost its get-up: another begins from where it lies, by the pose alone, and what it is
 * shown stays, turned as the robot is. One that is on its feet is left as it is. */
static void test_guided_again(void)
{
    config cfg = config_default();
    hrc_error err;
    sim *s;
    arena memory = {0};
    fallen_index x;
    bed *b = bed_make(cfg, 1);
    const env_options o = env_options_of(&cfg, 0.02);
    ENSURE_OK(sim_create(&s, &cfg, b->threads, &err));
    ENSURE_OK(fallen_index_build(&x, &b->refs, &memory, &err));
    ENSURE(x.n > 4);
    const fallen_moment *m = &x.moments[x.n / 2];
    for (uint64_t seed = 1; seed < 4; seed++) {
        env_one w = lying_robot(b, s, m->frame, 1);
        float before[4], after[4];
        w.dice = rng_make(seed, seed), w.guided = true, w.shown = (env_place){0, 30, 1, false},
        w.shown_yaw = 0.3;
        double turn[4], yaw[3] = {0, 0, 1.1};
        quat_exp(turn, yaw);
        quat_mul(w.sim.qpos + 3, turn, w.sim.qpos + 3);
        for (int k = 0; k < 4; k++) before[k] = (float)w.sim.qpos[3 + k];
        ENSURE(guide_again(&w, s, &b->refs, &o, &x));
        for (int k = 0; k < 4; k++) after[k] = (float)w.sim.qpos[3 + k];
        ENSURE(w.guided && w.clip == 1 && fabs(w.at - m->frame) <= 30 && w.shown.at == 30 &&
               w.stands_at > w.at);
        ENSURE_NEAR(w.shown_yaw, 0.3 + (double)heading_between(before, after), 1e-6);
        if (!m->mirrored) ENSURE_NEAR((double)heading_between(before, after), -1.1, 0.3);
    }
    env_one up = lying_robot(b, s, b->refs.clips[1].n - 1, 0);
    up.guided = true;
    ENSURE(!guide_again(&up, s, &b->refs, &o, &x));
    arena_free(&memory);
    sim_free(s);
    bed_free(b);
}

/* A motion with leaps teaches no get-up. */
static void test_leaps(void)
{
    config cfg = config_default();
    hrc_error err;
    arena memory = {0};
    fallen_index x;
    bed *b = bed_make(cfg, 1);
    ENSURE_OK(fallen_index_build(&x, &b->refs, &memory, &err));
    ENSURE(x.n > 0);
    b->refs.clips[1].leaps = true;
    ENSURE_OK(fallen_index_build(&x, &b->refs, &memory, &err));
    ENSURE(x.n == 0);
    arena_free(&memory);
    bed_free(b);
}

/* Where the get-up stands, what was shown is followed, at the robot's own place and heading. */
static void test_guided_ends(void)
{
    config cfg = config_default();
    hrc_error err;
    sim *s;
    bed *b = bed_make(cfg, 1);
    const env_options o = env_options_of(&cfg, 0.02);
    env_one w = {.dice = rng_make(1, 1), .clip = 1, .guided = true, .shown = {0, 40, 0, false}};
    ENSURE_OK(sim_create(&s, &cfg, b->threads, &err));
    const float *stance = b->refs.clips[1].frames[b->refs.clips[1].n - 1].qpos;
    double qvel[HRC_NV] = {0.3}, qpos[HRC_NQ];
    for (int i = 0; i < HRC_NQ; i++) qpos[i] = (double)stance[i];
    sim_reset(s, &w.sim, qpos, qvel);
    for (int i = 0; i < HRC_JOINTS; i++) w.action[i] = (float)i;
    end_guided(&w, s, &b->refs, &o);
    const float *shown = b->refs.clips[0].frames[40].qpos;
    float now[4];
    for (int k = 0; k < 4; k++) now[k] = (float)w.sim.qpos[3 + k];
    ENSURE(w.clip == 0 && w.at == 40 && w.pace == 0 && !w.guided && w.hard && !w.lost);
    ENSURE_NEAR((double)heading_between(now, shown + 3), 0, 1e-3);
    ENSURE_NEAR(w.sim.qpos[0], (double)shown[0], 1e-6);
    ENSURE_NEAR(w.sim.qpos[2], qpos[2], 1e-12);
    ENSURE_NEAR(hypot(w.sim.qvel[0], w.sim.qvel[1]), 0.3, 1e-6);
    for (int i = 0; i < HRC_JOINTS; i++) ENSURE(w.action[i] == (float)i && w.sim.qpos[7 + i] == qpos[7 + i]);
    sim_free(s);
    bed_free(b);
}

TEST_TABLE({"fallen.heading", test_heading}, {"fallen.distance", test_distance},
           {"fallen.starts", test_starts}, {"fallen.guided", test_guided}, {"fallen.toppled", test_toppled},
           {"fallen.guided_again", test_guided_again}, {"fallen.leaps", test_leaps},
           {"fallen.guided_ends", test_guided_ends})
