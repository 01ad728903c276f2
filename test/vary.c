/* Variants of a motion that gets up: another pace, other limbs on the ground, the same standing and floor. */
#include "motion/vary.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "learn/blurs.h"
#include "learn/variants.h"
#include "motion/corpus.h"
#include "robot/capsules.h"
#include "test.h"

#define CORPUS "motions/cmu.safetensors"

static void rising(clip *out)
{
    corpus c;
    hrc_error err;
    ENSURE_OK(corpus_open(&c, CORPUS, &err));
    ENSURE_OK(corpus_clip(&c, corpus_find(&c, "140_02"), out, &err)); /* face down to standing */
    corpus_close(&c);
}

static double lowest(const clip *c, int i)
{
    double qpos[HRC_NQ];
    for (int k = 0; k < HRC_NQ; k++) qpos[k] = (double)clip_frame(c, i)[k];
    return pose_lowest(qpos);
}

static void test_pace(void)
{
    clip c, fast;
    hrc_error err;
    rng dice = rng_make(1, 0);
    rising(&c);
    ENSURE_OK(clip_vary(&fast, &c, 1.25, 0, &dice, &err));
    ENSURE(fast.fps == c.fps && abs(fast.n - (int)(c.n / 1.25)) <= 1 && !strcmp(fast.name, c.name));
    for (int i = 0; i < fast.n; i += 4) /* frame i is now frame 1.25 i */
        for (int k = 0; k < HRC_NQ; k++)
            ENSURE_NEAR((double)clip_frame(&fast, i)[k], (double)clip_frame(&c, i * 5 / 4)[k], 1e-4);
    clip_free(&fast);
    clip_free(&c);
}

static double limb_apart(const clip *a, const clip *b, int i, int first, int last)
{
    double most = 0;
    for (int k = 7 + first; k <= 7 + last; k++)
        most = fmax(most, fabs((double)clip_frame(a, i)[k] - (double)clip_frame(b, i)[k]));
    return most;
}

static void test_bend(void)
{
    clip c, bent;
    hrc_error err;
    rng dice = rng_make(1, 0);
    double legs = 0, arms = 0;
    rising(&c);
    ENSURE_OK(clip_vary(&bent, &c, 1, 0.25, &dice, &err));
    ENSURE(bent.n == c.n);
    for (int i = 0; i < c.n; i++) {
        if (clip_frame(&c, i)[2] > 0.65f) ENSURE(limb_apart(&c, &bent, i, 0, HRC_JOINTS - 1) < 1e-6);
        ENSURE(lowest(&bent, i) > -0.006 && lowest(&bent, i) < lowest(&c, i) + 0.03);
        legs = fmax(legs, limb_apart(&c, &bent, i, 0, 11));
        arms = fmax(arms, limb_apart(&c, &bent, i, 15, HRC_JOINTS - 1));
        for (int j = 0; j < HRC_JOINTS; j++) {
            const double q = (double)clip_frame(&bent, i)[7 + j];
            ENSURE(q >= G1_JOINT[j].lo - 1e-6 && q <= G1_JOINT[j].hi + 1e-6);
            if (i) ENSURE(fabs(q - (double)clip_frame(&bent, i - 1)[7 + j]) < 0.5); /* nothing jumps */
        }
    }
    ENSURE(arms > 0.1 && arms < 1.2);            /* free while it rises */
    ENSURE(legs < arms && lowest(&c, 0) < 0.01); /* carry it nearly all the time */
    clip_free(&bent);
    clip_free(&c);
}

static void test_blur(void)
{
    clip c, blurred;
    hrc_error err;
    rng dice = rng_make(1, 0);
    double squares = 0, turn = 0;
    int n = 0;
    rising(&c);
    ENSURE_OK(clip_cut(&blurred, &c, 0, c.n - 1, &err));
    clip_blur(&blurred, 0.1, 0.1, &dice);
    for (int i = 0; i < c.n; i++) {
        const float *a = clip_frame(&c, i), *b = clip_frame(&blurred, i);
        double dot = 0;
        for (int k = 0; k < 3; k++) ENSURE(a[k] == b[k]);
        for (int k = 3; k < 7; k++) dot += (double)a[k] * (double)b[k];
        turn += 2 * acos(fmin(fabs(dot), 1));
        for (int j = 0; j < HRC_JOINTS; j++, n++) {
            const double off = (double)b[7 + j] - (double)a[7 + j];
            squares += off * off;
            ENSURE((double)b[7 + j] >= G1_JOINT[j].lo - 1e-6 && (double)b[7 + j] <= G1_JOINT[j].hi + 1e-6);
            if (i) ENSURE(fabs((double)(b[7 + j] - clip_frame(&blurred, i - 1)[7 + j])) < 0.5);
        }
    }
    /* Between knots the drift is smaller: 0.86 of its deviation at them. A joint at its limit has half. */
    ENSURE(sqrt(squares / n) > 0.06 && sqrt(squares / n) < 0.11);
    ENSURE(turn / c.n > 0.05 && turn / c.n < 0.3);
    clip_free(&blurred);
    clip_free(&c);
}

/* Rollouts on the ground are shown another motion every time, as long as they need it; others are not. */
static void test_blurs(void)
{
    enum { LENGTH = 40 };
    clip c;
    hrc_error err;
    arena memory = {0};
    blurs b;
    rng dice = rng_make(1, 0);
    imagine_start start = {.n = 0};
    rising(&c);
    obs_frame *frames = ARENA_NEW(&memory, obs_frame, c.n);
    for (int i = 0; i < c.n; i++) frames[i] = (obs_frame){clip_frame(&c, i), NULL};
    ENSURE_OK(blurs_create(&b, 2, LENGTH, &memory, &err));
    start = (imagine_start){.frames = frames, .shown = frames, .n = c.n, .frame = c.n - 20};
    blurs_show(&b, 0, &start, 0.2, 0, &dice); /* stands */
    ENSURE(start.shown == frames && start.shown_first == 0);
    imagine_start one = start, other = start;
    one.frame = other.frame = 10;
    blurs_show(&b, 0, &one, 0.2, 0, &dice);
    blurs_show(&b, 1, &other, 0.2, 0, &dice);
    ENSURE(one.shown_first == 10 && one.shown != other.shown && one.frames == frames);
    for (int i = 0; i < LENGTH; i++) {
        const float *a = one.shown[i].qpos, *o = other.shown[i].qpos, *f = frames[10 + i].qpos;
        ENSURE(memcmp(a, f, 3 * sizeof *a) == 0 && memcmp(a + 7, f + 7, 29 * sizeof *a) != 0);
        ENSURE(memcmp(a + 7, o + 7, 29 * sizeof *a) != 0);
        for (int k = 7; k < HRC_NQ; k++) ENSURE(fabs((double)(a[k] - f[k])) < 1);
    }
    blurs_show(&b, 0, &start, 0, 0.2, &dice);
    ENSURE(start.shown_first == c.n - 20 && start.shown[0].qpos[7] != frames[c.n - 20].qpos[7]);
    arena_free(&memory);
    clip_free(&c);
}

/* The way back, what is shown otherwise, and nothing of motions that do not go to the ground. */
static void test_kinds(void)
{
    const char *const files[] = {CORPUS "#140_02", CORPUS "#91_01", CORPUS "#90_12"}; /* up; walks; falls */
    const variant_options o = {
        .pace = 0.25, .backwards = true, .blurred = 1, .blur = 0.1, .held_s = 0.5, .seed = 3};
    motions m;
    hrc_error err;
    ENSURE_OK(motions_load(&m, NULL, files, 3, false, &err));
    ENSURE_OK(motions_vary(&m, &o, &err));
    ENSURE(m.n == 3 + 1 + 2 + 2);
    const clip *up = &m.clips[0], *down = &m.clips[3], *smooth = &m.clips[6];
    for (int k = 0; k < HRC_NQ; k++) ENSURE(clip_frame(down, 0)[k] == clip_frame(up, up->n - 1)[k]);
    for (int i = 0; i < 4; i++) ENSURE(m.shown[i].motion.n == 0);
    for (int i = 4; i < 8; i++) ENSURE(m.shown[i].motion.n == m.clips[i].n && m.shown[i].still == (i > 5));
    const clip *held = &m.shown[6].motion;
    for (int i = 0; i < up->n; i++)
        for (int k = 0; k < HRC_NQ; k++) {
            ENSURE(clip_frame(held, i)[k] == clip_frame(up, i - i % 25)[k]);
            ENSURE(clip_frame(smooth, i)[k] == clip_frame(up, i < 13 ? 0 : i - 13)[k]);
        }
    motions_free(&m);
}

/* Only what gets up is varied, and never what is held out. */
static void test_motions(void)
{
    const char *const files[] = {CORPUS "#140_02", CORPUS "#91_01"};
    const variant_options two = {.copies = 2, .pace = 0.25, .bend = 0.1, .seed = 3};
    motions m;
    hrc_error err;
    ENSURE_OK(motions_load(&m, NULL, files, 2, false, &err));
    const double seconds = m.train_s;
    ENSURE_OK(motions_vary(&m, &two, &err));
    ENSURE(m.n == 4 && m.train_s == seconds);
    ENSURE(!strcmp(m.clips[2].name, m.clips[0].name) && !strcmp(m.clips[3].name, m.clips[0].name));
    ENSURE(m.clips[2].n != m.clips[0].n && m.clips[2].n != m.clips[3].n);
    motions_free(&m);
    ENSURE_OK(motions_load(&m, NULL, files, 2, false, &err));
    m.heldout[0] = true;
    ENSURE_OK(motions_vary(&m, &two, &err));
    ENSURE(m.n == 2);
    motions_free(&m);
}

TEST_TABLE({"vary.pace", test_pace}, {"vary.bend", test_bend}, {"vary.blur", test_blur},
           {"vary.kinds", test_kinds}, {"vary.blurs", test_blurs}, {"vary.motions", test_motions})
