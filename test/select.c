/* What decides whether a clip is worth having, and what it is. */
#include <string.h>

#include "motion/clip.h"
#include "motion/diverse.h"
#include "motion/phases.h"
#include "synthetic.h"
#include "test.h"

static const phase STANDS[] = {{.kind = PHASE_STANDING, .first = 0, .last = 99}};

static void expect_kind(const clip *c, const phase *phases, int n, const char *called, const char *expected)
{
    const char *found = kind_of(c, phases, n, called);
    if (strcmp(found, expected) != 0)
        test_fail(__FILE__, __LINE__, "%s became %s, expected %s", called, found, expected);
}

/* The clip of 2 s, gliding at so many m/s. */
static void gliding(clip *c, double speed)
{
    synthetic_turn(c, 100, 50);
    for (int i = 0; i < c->n; i++) clip_frame(c, i)[0] = (float)(speed * i / 50), clip_frame(c, i)[1] = 0;
}

static void test_kinds(void)
{
    static const struct {
        double speed;
        const char *called, *expected;
    } CASES[] = {
        {2.0, "locomotion", "running"},    {2.0, "daily", "running"},     {2.0, "jumps_acro", "jumps_acro"},
        {1.6, "locomotion", "locomotion"}, {0.6, "daily", "locomotion"},  {0.4, "daily", "daily"},
        {0.6, "dance", "dance"},           {0.02, "locomotion", "daily"}, {0.02, "balance", "balance"}};
    clip c;
    for (int i = 0; i < COUNT(CASES); i++) {
        gliding(&c, CASES[i].speed);
        expect_kind(&c, STANDS, 1, CASES[i].called, CASES[i].expected);
        clip_free(&c);
    }
}

static void test_over_and_down(void)
{
    clip c;
    const phase down[] = {{PHASE_STANDING, POSTURE_NONE, 0, 59}, {PHASE_DOWN, POSTURE_PRONE, 60, 99}},
                briefly[] = {{PHASE_STANDING, POSTURE_NONE, 0, 60}, {PHASE_DOWN, POSTURE_PRONE, 61, 99}};
    gliding(&c, 0);
    expect_kind(&c, down, 2, "martial", "fall_recovery");
    expect_kind(&c, briefly, 2, "martial", "martial");
    expect_kind(&c, STANDS, 1, "fall_recovery", "fall_recovery");
    float *over = clip_frame(&c, 50);
    over[3] = 0, over[4] = 1, over[5] = over[6] = 0; /* half a turn about x */
    expect_kind(&c, STANDS, 1, "daily", "jumps_acro");
    over[2] = 0.2f; /* lying on its head: no flip */
    expect_kind(&c, STANDS, 1, "dance", "dance");
    clip_free(&c);
}

/* Of a clip against others: itself, moved and turned; its mirror image; slower; another pose. */
static void test_moments(void)
{
    hrc_error err;
    clip c;
    moments all = {0}, own = {0};
    synthetic_turn(&c, 131, 50);
    ENSURE(moments_new(&own, &all, 0.5) == 0);
    ENSURE_OK(moments_add(&all, &c, &err));
    ENSURE(all.n == 5);
    for (int i = 0; i < c.n; i++) clip_frame(&c, i)[0] += 7, clip_frame(&c, i)[1] -= 3;
    ENSURE_OK(moments_add(&own, &c, &err));
    ENSURE(moments_new(&own, &all, 1e-3) == 0);
    own.n = 0;
    clip_mirror(&c);
    ENSURE_OK(moments_add(&own, &c, &err));
    ENSURE(moments_new(&own, &all, 0.5) == 1); /* turns the other way */
    own.n = 0;
    clip_mirror(&c);
    for (int i = 60; i < c.n; i++) clip_frame(&c, i)[7 + 3] += 1.5f; /* a knee, from the middle on */
    ENSURE_OK(moments_add(&own, &c, &err));
    ENSURE_NEAR(moments_new(&own, &all, 0.3), 0.6, 1e-9); /* those of frames 50, 75 and 100 on */
    ENSURE(moments_new(&own, &all, 1) == 0);
    own.n = 0;
    c.n = 10; /* shorter than a moment */
    ENSURE_OK(moments_add(&own, &c, &err));
    ENSURE(own.n == 1);
    clip_free(&c);
    moments_free(&own);
    moments_free(&all);
}

/* 0.2 rad in every joint are 0.4 apart, as the header says; 0.5 m/s are 1. */
static void test_distances(void)
{
    hrc_error err;
    clip c;
    moments a = {0}, b = {0};
    gliding(&c, 0);
    for (int i = 0; i < c.n; i++) memcpy(clip_frame(&c, i) + 2, clip_frame(&c, 0) + 2, 34 * sizeof(float));
    ENSURE_OK(moments_add(&a, &c, &err));
    for (int i = 0; i < c.n; i++)
        for (int k = 7; k < HRC_NQ; k++) clip_frame(&c, i)[k] += 0.2f;
    ENSURE_OK(moments_add(&b, &c, &err));
    ENSURE(moments_new(&b, &a, 0.42) == 0 && moments_new(&b, &a, 0.38) == 1);
    for (int i = 0; i < c.n; i++) {
        for (int k = 7; k < HRC_NQ; k++) clip_frame(&c, i)[k] -= 0.2f;
        clip_frame(&c, i)[0] = 0.01f * (float)i;
    }
    b.n = 0;
    ENSURE_OK(moments_add(&b, &c, &err));
    ENSURE(moments_new(&b, &a, 1.01) == 0 && moments_new(&b, &a, 0.99) == 1);
    clip_free(&c);
    moments_free(&a);
    moments_free(&b);
}

TEST_TABLE({"select.kinds", test_kinds}, {"select.over_and_down", test_over_and_down},
           {"select.moments", test_moments}, {"select.distances", test_distances})
