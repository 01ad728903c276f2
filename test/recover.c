/* Getting up: the recorded ways in a set of clips, and how a fallen robot is led along one. */
#include "track/recover.h"

#include <math.h>
#include <string.h>

#include "base/rot.h"
#include "eval/ways.h"
#include "learn/rises.h"
#include "motion/corpus.h"
#include "small.h"
#include "test.h"

typedef struct {
    arena memory;
    getups ways;
    recovery r;
    hrc_frame standing, lying; /* references */
} bed;

static void bed_make(bed *b)
{
    const char *const NAMES[] = {"140_02", "91_01"}; /* face down to standing; a walk */
    const clip *clips[COUNT(NAMES)];
    clip all[COUNT(NAMES)];
    corpus c;
    hrc_error err;
    *b = (bed){0};
    ENSURE_OK(corpus_open(&c, "motions/cmu.safetensors", &err));
    for (int i = 0; i < COUNT(NAMES); i++) {
        ENSURE_OK(corpus_clip(&c, corpus_find(&c, NAMES[i]), &all[i], &err));
        clips[i] = &all[i];
    }
    ENSURE_OK(rises_find(&b->ways, clips, COUNT(NAMES), &b->memory, &err));
    for (int i = 0; i < COUNT(NAMES); i++) clip_free(&all[i]);
    corpus_close(&c);
    ENSURE_OK(recovery_create(&b->r, &b->ways, &err));
    b->standing.qpos[2] = 0.76f, b->standing.qpos[3] = 1;
    b->lying.qpos[2] = 0.12f, b->lying.qpos[3] = b->lying.qpos[5] = 0.70710678f; /* on its face */
}

static void bed_free(bed *b)
{
    recovery_free(&b->r);
    arena_free(&b->memory);
}

/* Frame i of the way, elsewhere on the floor and with another heading. */
static void elsewhere(float qpos[HRC_NQ], const bed *b, int i)
{
    float turn[4];
    const hrc_motion way = getups_way(&b->ways, 0);
    memcpy(qpos, way.qpos + (size_t)(i < way.n ? i : way.n - 1) * HRC_NQ, sizeof(float) * HRC_NQ);
    quat_from_yawf(turn, 2.2f);
    quat_mulf(qpos + 3, turn, qpos + 3);
    quat_rotatef(qpos, turn, qpos);
    qpos[0] += 3, qpos[1] -= 1;
}

static void test_ways(void)
{
    static bed b;
    bed_make(&b);
    ENSURE(b.ways.n == 1 && b.ways.length[0] == b.ways.frames && b.ways.frames > 150);
    ENSURE(b.ways.qpos[0][2] < 0.3f && b.ways.qpos[b.ways.frames - 1][2] > 0.65f);
    bed_free(&b);
}

static void test_led_up(void)
{
    static bed b;
    bed_make(&b);
    const int from = 20;
    float qpos[HRC_NQ];
    elsewhere(qpos, &b, from);
    int steps = 0;
    while (!b.r.active && steps < 100) recovery_step(&b.r, qpos, &b.standing), steps++;
    ENSURE(b.r.active && steps > 5 && steps < 50);
    hrc_frame led;
    follow_frame(&b.r.way, 0, &led);
    for (int k = 0; k < HRC_NQ; k++)
        if (k < 3 || k > 6) ENSURE_NEAR((double)led.qpos[k], (double)qpos[k], 0.1);
    ENSURE(quat_anglef(led.qpos + 3, qpos + 3) < 0.1f);
    /* who comes along gets to the end of it and is let go */
    int frame = b.r.way.frame;
    for (steps = 0; b.r.active && steps < 1000; steps++) {
        elsewhere(qpos, &b, frame++);
        recovery_step(&b.r, qpos, &b.standing);
        follow_advance(&b.r.way);
    }
    ENSURE(!b.r.active && b.r.count == 1 && qpos[2] > 0.62f);
    ENSURE(b.r.way.frame > b.ways.frames - 40);
    bed_free(&b);
}

static void test_tries_again(void)
{
    static bed b;
    bed_make(&b);
    float qpos[HRC_NQ];
    elsewhere(qpos, &b, 20);
    for (int i = 0; i < 1000; i++) {
        recovery_step(&b.r, qpos, &b.standing);
        if (b.r.active) follow_advance(&b.r.way);
    }
    ENSURE(b.r.active && b.r.count >= 2); /* it lies and lies */
    recovery_step(&b.r, qpos, &b.lying);
    ENSURE(!b.r.active); /* now it should */
    bed_free(&b);
}

static void test_left_alone(void)
{
    static bed b;
    bed_make(&b);
    float qpos[HRC_NQ];
    elsewhere(qpos, &b, 20);
    for (int i = 0; i < 100; i++) ENSURE(!recovery_step(&b.r, qpos, &b.lying)); /* lies as it should */
    elsewhere(qpos, &b, b.ways.frames - 1);
    for (int i = 0; i < 100; i++) ENSURE(!recovery_step(&b.r, qpos, &b.standing)); /* stands */
    bed_free(&b);
}

/* The reference sits where the robot still lies on its face: it is led, and let go where it has come as far.
 */
static void test_sits(void)
{
    static bed b;
    bed_make(&b);
    hrc_frame sits = {.qpos = {0, 0, 0.16f, 1}}, there;
    float qpos[HRC_NQ];
    elsewhere(qpos, &b, 20);
    ENSURE(sits.qpos[2] < qpos[2] + 0.2f);
    int steps = 0;
    while (!b.r.active && steps < 100) recovery_step(&b.r, qpos, &sits), steps++;
    ENSURE(b.r.active && steps > 5);
    const int half = b.ways.frames / 2; /* kneeling or so */
    elsewhere(qpos, &b, half);
    memcpy(there.qpos, b.ways.qpos[half], sizeof there.qpos); /* at the way's own place and heading */
    there.qpos[2] += 0.05f;
    ENSURE(there.qpos[2] < 0.6f && recovery_step(&b.r, qpos, &there) && !b.r.active);
    bed_free(&b);
}

/* Three robots, of which two lie alike, and three entries. */
static void test_best_way(void)
{
    const float apart[9] = {0, 0.1f, 9, 0.1f, 0, 9, 9, 9, 0}, seconds[3] = {2, 4, 1};
    const bool stands[9] = {true, true, false, false, true, false, false, false, false};
    const ways_known known = {3, 3, apart, stands, seconds};
    ENSURE(ways_best(&known, 0, -1) == 1); /* the faster one gets its neighbour not up */
    ENSURE(ways_best(&known, 0, 1) == 0);  /* of whom nothing is known here */
    ENSURE(ways_best(&known, 1, -1) == 1);
    ENSURE(ways_best(&known, 2, -1) == -1);
}

/* With cases a robot is led as the one that lay like it, wherever on the way that was. */
static void test_cases(void)
{
    static bed b;
    hrc_error err;
    float qpos[HRC_NQ], lying[2][HRC_NQ];
    int32_t led[2][2] = {{0, 33}, {0, 71}};
    bed_make(&b);
    recovery_free(&b.r);
    elsewhere(qpos, &b, 20);
    memcpy(lying[1], qpos, sizeof qpos);
    memcpy(lying[0], b.ways.qpos[90], sizeof qpos);
    b.ways.cases = 2, b.ways.lying = lying, b.ways.led = led;
    ENSURE_OK(recovery_create(&b.r, &b.ways, &err));
    while (!recovery_step(&b.r, qpos, &b.standing)) continue;
    ENSURE(b.r.active && b.r.way.frame == 71);
    bed_free(&b);
}

/* Ways and cases through a file, and what a file may not say. */
static void test_file(void)
{
    static bed b;
    hrc_error err;
    getups back;
    tensorfile file;
    tensor tensors[GETUPS_TENSORS];
    float lying[1][HRC_NQ];
    int32_t led[1][2] = {{0, 71}};
    bed_make(&b);
    memcpy(lying[0], b.ways.qpos[20], sizeof lying[0]);
    b.ways.cases = 1, b.ways.lying = lying, b.ways.led = led;
    for (int bad = 0; bad < 3; bad++) {
        if (bad == 1) led[0][1] = b.ways.frames;
        if (bad == 2) led[0][1] = 0, lying[0][9] = NAN;
        ENSURE_OK(
            tensorfile_write(test_path("ways"), tensors, getups_tensors(tensors, &b.ways), NULL, 0, &err));
        ENSURE_OK(tensorfile_open(&file, test_path("ways"), &err));
        const hrc_status status = getups_read(&back, &file, &b.memory, &err);
        if (bad == 1) ENSURE(status == HRC_EFORMAT && strstr(err.text, "getups.led[0] is way 0, frame"));
        if (bad == 2) ENSURE(status == HRC_ENONFINITE && strstr(err.text, "getups.lying, case 0"));
        if (!bad) ENSURE(status == HRC_OK && back.n == 1 && back.cases == 1 && back.led[0][1] == 71);
        if (!bad) ENSURE(memcmp(back.lying, lying, sizeof lying) == 0 && back.frames == b.ways.frames);
        tensorfile_close(&file);
    }
    bed_free(&b);
}

/* Of somebody who cannot get up there are no cases, and no way is dropped; of somebody who can there are. */
static void test_kept_ways(void)
{
    static bed b;
    hrc_error err;
    hrc_model *model;
    pool *threads;
    const config cfg = config_default();
    bed_make(&b);
    const int before = b.ways.frames;
    const ways_options few = {.a_side = 1};
    ways_result r;
    small_tracker("t.safetensors", "reference");
    ENSURE_OK(hrc_model_load(&model, test_path("t.safetensors"), &err));
    ENSURE_OK(pool_create(&threads, 2, &err));
    ENSURE_OK(ways_keep(&b.ways, model, &cfg, threads, &b.memory, &few, &r, &err));
    ENSURE(r.up == 0 && r.unseen == 0 && b.ways.cases == 0 && b.ways.frames == before);
    hrc_model_free(model);
    ENSURE_OK(hrc_model_load(&model, "models/tracker.safetensors", &err)); /* this one can */
    ENSURE_OK(ways_keep(&b.ways, model, &cfg, threads, &b.memory, &few, &r, &err));
    ENSURE(r.up >= 0.25 && r.robots > 4 && b.ways.cases == (int)(r.robots * r.up + 0.5) && b.ways.n == 1);
    for (int i = 0; i < b.ways.cases; i++)
        ENSURE(b.ways.led[i][0] == 0 && b.ways.led[i][1] % 50 == 0 && b.ways.lying[i][2] < 0.4f);
    hrc_model_free(model);
    pool_free(threads);
    bed_free(&b);
}

TEST_TABLE({"recover.ways", test_ways}, {"recover.led_up", test_led_up},
           {"recover.tries_again", test_tries_again}, {"recover.left_alone", test_left_alone},
           {"recover.sits", test_sits}, {"recover.best_way", test_best_way}, {"recover.cases", test_cases},
           {"recover.file", test_file}, {"recover.kept_ways", test_kept_ways})
