/* Arena, random numbers, thread pool, config, text. */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/config.h"
#include "base/pool.h"
#include "base/rng.h"
#include "base/text.h"
#include "test.h"

static void test_arena(void)
{
    arena a = {0};
    char *last = NULL;
    for (int i = 0; i < 1000; i++) {
        char *p = arena_alloc(&a, (size_t)i * 7, 1);
        ENSURE(p && p != last && (uintptr_t)p % 64 == 0);
        for (int k = 0; k < i * 7; k++) ENSURE(p[k] == 0);
        memset(p, 0xff, (size_t)i * 7);
        last = p;
    }
    ENSURE(!arena_alloc(&a, SIZE_MAX / 2, 8));
    ENSURE(!arena_alloc(&a, SIZE_MAX / 4, 1)); /* more than there is, and nothing breaks */
    ENSURE(!strcmp(arena_strdup(&a, "word"), "word"));
    arena_free(&a);
    ENSURE(!a.head);
}

/* Vectors of the authors of Philox (Random123, kat_vectors). */
static void test_philox_vectors(void)
{
    static const struct {
        uint32_t counter[4], key[2], expected[4];
    } KNOWN[] = {
        {{0, 0, 0, 0}, {0, 0}, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
        {{~0u, ~0u, ~0u, ~0u}, {~0u, ~0u}, {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
        {{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
         {0xa4093822, 0x299f31d0},
         {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
    };
    for (int i = 0; i < COUNT(KNOWN); i++) {
        uint32_t out[4];
        philox4x32(out, KNOWN[i].counter, KNOWN[i].key);
        ENSURE(memcmp(out, KNOWN[i].expected, sizeof out) == 0);
    }
}

static void test_rng_moments(void)
{
    rng r = rng_make(42, 7);
    double sum = 0, square = 0, low = 1, high = 0;
    int counts[7] = {0}, n = 200000;
    for (int i = 0; i < n; i++) {
        double x = (double)rng_normal(&r), u = rng_double(&r);
        sum += x, square += x * x;
        low = fmin(low, u), high = fmax(high, u);
        counts[rng_below(&r, 7)]++;
    }
    ENSURE_NEAR(sum / n, 0, 0.01);
    ENSURE_NEAR(square / n, 1, 0.02);
    ENSURE(low >= 0 && low < 1e-4 && high < 1 && high > 1 - 1e-4);
    for (int i = 0; i < 7; i++) ENSURE_NEAR(counts[i], n / 7.0, 600);
}

static void test_rng_streams(void)
{
    rng a = rng_make(1, 0), b = rng_make(1, 1), again = rng_make(1, 0);
    int same = 0;
    for (int i = 0; i < 100; i++) {
        uint32_t x = rng_u32(&a);
        ENSURE(x == rng_u32(&again));
        same += x == rng_u32(&b);
    }
    ENSURE(same == 0);
}

static void mark_range(void *ctx, int begin, int end, int worker)
{
    (void)worker;
    atomic_int *seen = ctx;
    for (int i = begin; i < end; i++) atomic_fetch_add(&seen[i], 1);
}

static void mark_item(void *ctx, int item, int worker)
{
    mark_range(ctx, item, item + 1, worker);
}

/* Every item once, whatever the number of threads and items, many times over (wake-ups and sleeps). */
static void test_pool_covers_everything(void)
{
    hrc_error err;
    for (int threads = 1; threads <= 4; threads++) {
        pool *p;
        ENSURE_OK(pool_create(&p, threads, &err));
        ENSURE(pool_threads(p) == threads);
        for (int n = 0; n < 60; n++) {
            atomic_int seen[64] = {0};
            pool_ranges(p, n, mark_range, seen);
            pool_items(p, n, mark_item, seen);
            for (int i = 0; i < 64; i++) ENSURE(seen[i] == (i < n ? 2 : 0));
        }
        pool_free(p);
    }
}

static hrc_status parse(config *c, const char *text_of_file, hrc_error *err)
{
    return config_parse(c, "a.ini", (file_view){text_of_file, strlen(text_of_file)}, err);
}

static void test_config_reads(void)
{
    hrc_error err;
    config c = config_default();
    ENSURE(c.sim_substeps == 4 && c.sim_timestep == 0.005 && !strcmp(c.sim_feet, "exact"));
    ENSURE_OK(parse(
        &c, "# note\n[sim]  # more\nsubsteps = 2 # less\n feet=light\r\n\n[motion]\n  # note\nseam = 25",
        &err));
    ENSURE(c.sim_substeps == 2 && !strcmp(c.sim_feet, "light") && c.motion_seam == 25);
    ENSURE_OK(config_override(&c, "sim.friction=1.25", &err));
    ENSURE(c.sim_friction == 1.25);
    /* What is printed reads back to the same settings. */
    char *written = config_text(&c);
    config again = config_default();
    ENSURE_OK(parse(&again, written, &err));
    char *twice = config_text(&again);
    ENSURE(!strcmp(written, twice));
    free(written);
    free(twice);
}

static void test_config_refuses(void)
{
    static const struct {
        const char *text, *sentence;
    } BAD[] = {
        {"[sim]\nsubstep = 2", "a.ini:2: there is no setting sim.substep"},
        {"[sim]\nsubsteps = 2.5", "a.ini:2: sim.substeps = \"2.5\", expected a whole number"},
        {"[sim]\nsubsteps = nan", "expected a whole number"},
        {"[sim]\n\nfriction = 9", "a.ini:3: sim.friction = 9 is out of range, expected 0 to 5"},
        {"[sim]\nfeet = wide", "expected one of exact|light"},
        {"[sim]\nfeet =", "expected one of exact|light"},
        {"[sim]\nfeet = exact|light", "expected one of exact|light"},
        {"[planner]\nratio = 2", "a.ini:2: planner.ratio is retired, it is always 2 now; leave it out"},
        {"[ppo]\nprecision = float", "a.ini:2: ppo.precision is retired; set train.precision instead"},
        {"[env]\nend_height = 0.3", "env.end_height is retired, each method has its own value; leave it out"},
        {"[sim\n", "is not a [section]"},
        {"[sim]\njunk\n", "a.ini:2: \"junk\" is not key = value"},
    };
    for (int i = 0; i < COUNT(BAD); i++) {
        hrc_error err = {""};
        config c = config_default(), before = c;
        ENSURE(parse(&c, BAD[i].text, &err) < 0);
        if (!strstr(err.text, BAD[i].sentence)) test_fail(__FILE__, __LINE__, "found: %s", err.text);
        ENSURE(c.sim_substeps == before.sim_substeps && c.sim_friction == before.sim_friction);
    }
    hrc_error err;
    config c = config_default();
    ENSURE(config_override(&c, "sim.friction", &err) < 0);
    ENSURE(config_load(&c, test_path("missing.ini"), &err) < 0 && strstr(err.text, "missing.ini"));
}

/* A checkpoint of an earlier version: what it set is what is done, or it is refused by name. */
static void test_config_stored(void)
{
    hrc_error err;
    config c = config_default();
    ENSURE_OK(config_parse_stored(
        &c, "run", "[planner]\nnoise_pos = 0.040000000000000001\nmirror = on\n[sim]\nsubsteps = 2\n", &err));
    ENSURE(c.sim_substeps == 2);
    ENSURE_OK(config_parse_stored(&c, "run", "[ppo]\nprecision = auto\n[world]\nprecision = bf16\n", &err));
    ENSURE(!strcmp(c.train_precision, "bf16"));
    ENSURE(config_parse_stored(&c, "run", "[sim]\nsubsteps = 3\n[planner]\nmirror = off\n", &err) < 0);
    ENSURE(strstr(err.text, "run:4: planner.mirror was off, but is always on now") && c.sim_substeps == 2);
    ENSURE(config_parse_stored(&c, "run", "[planner]\nmirrors = off\n", &err) < 0);
    ENSURE(strstr(err.text, "there is no setting planner.mirrors"));
}

static void test_text_grows(void)
{
    text t = {0};
    ENSURE(!text_ok(&t));
    for (int i = 0; i < 5000; i++) text_add(&t, "%04d ", i);
    ENSURE(text_ok(&t) && t.size == 25000 && !strcmp(t.data + 24990, "4998 4999 "));
    text_free(&t);
}

TEST_TABLE({"arena.blocks", test_arena}, {"rng.philox_vectors", test_philox_vectors},
           {"rng.moments", test_rng_moments}, {"rng.streams", test_rng_streams},
           {"pool.covers_everything", test_pool_covers_everything}, {"config.reads", test_config_reads},
           {"config.refuses", test_config_refuses}, {"config.stored", test_config_stored},
           {"text.grows", test_text_grows})
