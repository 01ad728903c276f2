#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/rng.h"
#include "base/rot.h"
#include "motion/pack.h"
#include "synthetic.h"
#include "test.h"

static const corpus_note PLAIN = {.description = "", .keypoint_error = NAN};

/* Three clips at different rates; the second slides away from the origin. */
static void make_clips(clip c[3])
{
    hrc_error err;
    const char *names[] = {"alpha", "beta", "gamma"}, *kinds[] = {"dance", "locomotion", "dance"};
    const double rates[] = {50, 60, 30};
    for (int i = 0; i < 3; i++) {
        synthetic_turn(&c[i], 120, rates[i]);
        c[i].name = names[i];
        ENSURE_OK(clip_label(&c[i], kinds[i], "formula", "CC0", &err));
    }
    for (int i = 0; i < 120; i++) clip_frame(&c[1], i)[0] = (float)(0.003 * i - 3);
}

static void write_three(const char *path)
{
    hrc_error err;
    clip c[3];
    corpus_item items[3];
    const corpus_left_out out[] = {{"delta", "frame 3: left_knee_joint is 1.0000 rad beyond its limit"}};
    const tensor_meta meta[] = {{"acknowledgement", "thanks"}};
    make_clips(c);
    for (int i = 0; i < 3; i++) {
        const corpus_note note = {i ? "" : "turn, \"sway\"", i ? NAN : 0.031, .exact = i == 2};
        ENSURE_OK(corpus_admit(&items[i], &c[i], &note, &err));
        clip_free(&c[i]);
    }
    items[1].entry.split = CORPUS_HELDOUT;
    ENSURE_OK(corpus_write(path, items, 3, out, 1, meta, 1, &err));
    for (int i = 0; i < 3; i++) corpus_item_free(&items[i]);
}

static void test_round_trip(void)
{
    hrc_error err;
    corpus all;
    clip c[3], original, back;
    write_three(test_path("three.safetensors"));
    ENSURE_OK(corpus_open(&all, test_path("three.safetensors"), &err));
    ENSURE(all.nclips == 3 && corpus_find(&all, "beta") == 1 && corpus_find(&all, "bet") == -1);
    ENSURE(all.clips[0].split == CORPUS_TRAIN && all.clips[1].split == CORPUS_HELDOUT);
    ENSURE(all.nleft_out == 1 && !strcmp(all.left_out[0].name, "delta"));
    ENSURE(!strcmp(tensorfile_meta(&all.file, "acknowledgement"), "thanks"));
    ENSURE(!strcmp(all.clips[0].description, "turn, \"sway\""));
    ENSURE_NEAR(all.clips[0].quality.keypoint_error, 0.031, 1e-9);
    ENSURE(isnan(all.clips[1].quality.keypoint_error) && isnan(all.clips[0].quality.flight_accel));
    ENSURE(all.clips[2].nphases == 1 && all.clips[2].phases[0].kind == PHASE_STANDING);
    make_clips(c);
    for (int i = 0; i < 3; i++) {
        ENSURE_OK(clip_resample(&original, &c[i], 50, &err));
        ENSURE_OK(corpus_clip(&all, i, &back, &err));
        ENSURE(back.fps == 50 && !strcmp(back.name, c[i].name) && !strcmp(back.category, c[i].category));
        ENSURE(!strcmp(back.licence, "CC0") && clip_distance(&original, &back) < 2e-4);
        clip_free(&original);
        clip_free(&back);
        clip_free(&c[i]);
    }
    corpus_close(&all);
}

/* Poses all over the joints' ranges and at their ends, any orientation, `travel` m long. */
static void wild_clip(clip *c, double travel)
{
    hrc_error err;
    rng r = rng_make(5, 0);
    ENSURE_OK(clip_create(c, 2000, 50, "wild", &err));
    for (int i = 0; i < c->n; i++) {
        float *q = clip_frame(c, i);
        double quat[4];
        for (int k = 0; k < 3; k++) q[k] = (float)(10 + travel * (rng_uniform(&r, 0, 1) - 0.5));
        for (int k = 0; k < 4; k++) quat[k] = rng_normal(&r);
        quat_normalize(quat);
        for (int k = 0; k < 4; k++) q[3 + k] = (float)quat[k];
        for (int j = 0; j < HRC_JOINTS; j++)
            q[7 + j] = i % 50 ? rng_uniform(&r, (float)G1_JOINT[j].lo, (float)G1_JOINT[j].hi)
                              : (float)(i % 100 ? G1_JOINT[j].lo : G1_JOINT[j].hi);
    }
}

/* The bounds that are promised, through units, block and back: against the plain arrays. corpus_admit would
 * refuse such a motion as bad. */
static void check_bound(double travel, double position_bound, bool exact)
{
    hrc_error err;
    clip c;
    arena memory = {0};
    wild_clip(&c, travel);
    const double step = travel / 65534;
    corpus_entry e = {.origin = {10, 10, 10}, .step = {step, step, step}};
    double lo[HRC_JOINTS], hi[HRC_JOINTS];
    uint16_t *units = calloc((size_t)c.n * HRC_NQ, sizeof *units),
             *back = calloc((size_t)c.n * HRC_NQ, sizeof *back);
    ENSURE(units && back);
    for (int j = 0; j < HRC_JOINTS; j++) lo[j] = G1_JOINT[j].lo, hi[j] = G1_JOINT[j].hi;
    corpus_choose_grain(&e, lo, hi, exact);
    for (int i = 0; i < c.n; i++) {
        corpus_encode(units + i * HRC_NQ, clip_frame(&c, i), &e, lo, hi);
        for (int k = 0; k < HRC_NQ; k++)
            units[i * HRC_NQ + k] = (uint16_t)(units[i * HRC_NQ + k] / e.grain[k]);
    }
    ENSURE_OK(pack_codes(&memory, units, c.n, &e.block, &e.block_size, &err));
    ENSURE_OK(unpack_codes(back, c.n, e.block, e.block_size, &err));
    ENSURE(memcmp(units, back, (size_t)c.n * HRC_NQ * sizeof *units) == 0);
    for (int i = 0; i < c.n; i++) {
        float frame[HRC_NQ];
        double p[4], q[4];
        corpus_decode(frame, back + i * HRC_NQ, &e, lo, hi);
        for (int k = 0; k < 3; k++) ENSURE_NEAR(frame[k], clip_frame(&c, i)[k], position_bound + 1e-6);
        for (int k = 0; k < 4; k++) p[k] = clip_frame(&c, i)[3 + k], q[k] = frame[3 + k];
        ENSURE(quat_angle(p, q) < 0.1e-3);
        for (int k = 7; k < HRC_NQ; k++) {
            ENSURE_NEAR(frame[k], clip_frame(&c, i)[k], 0.05e-3);
            ENSURE(frame[k] > lo[k - 7] - 1e-6 && frame[k] < hi[k - 7] + 1e-6);
        }
    }
    free(units);
    free(back);
    arena_free(&memory);
    clip_free(&c);
}

static void test_error_bound(void)
{
    check_bound(2, 0.1e-3, false);
    check_bound(13, 0.1e-3, false);
    check_bound(60, 0.5e-3, false);
    check_bound(2, 1.0 / 65534, true); /* all 16 bits: half a step */
}

/* Sweeps, steps, still channels and noise of any size come back to the bit, however short the clip is. */
static void test_lossless(void)
{
    static const int LENGTHS[] = {1, 2, 3, 4, 5, 6, 255, 3000};
    rng r = rng_make(3, 0);
    for (int l = 0; l < COUNT(LENGTHS); l++) {
        const int n = LENGTHS[l];
        hrc_error err;
        arena memory = {0};
        const uint8_t *block;
        int64_t size;
        const size_t count = (size_t)n * HRC_NQ;
        uint16_t *codes = calloc(count, sizeof *codes), *back = calloc(count, sizeof *back);
        ENSURE(codes && back);
        for (int i = 0; i < n; i++)
            for (int c = 0; c < HRC_NQ; c++) {
                const double t = 0.02 * i, wave = 32767 * sin(0.1 * c * t);
                codes[i * HRC_NQ + c] = (uint16_t)(c % 6 == 0   ? 40000
                                                   : c % 6 == 1 ? (i / 7) * 20000
                                                   : c % 6 == 2 ? (int)rng_u32(&r) & 0xffff
                                                   : c % 6 == 3 ? (int)rng_u32(&r) & 7
                                                                : (int)wave + 32768);
            }
        ENSURE_OK(pack_codes(&memory, codes, n, &block, &size, &err));
        ENSURE(pack_holds(block, size, n) && !pack_holds(block, size, n + 1));
        ENSURE_OK(unpack_codes(back, n, block, size, &err));
        ENSURE(memcmp(codes, back, count * sizeof *codes) == 0);
        free(codes);
        free(back);
        arena_free(&memory);
    }
}

/* A block with any byte changed or cut off is refused or gives other codes; nothing else happens. A block
 * that claims more frames than zstd could put into its bytes is refused before there is memory for them. */
static void test_hostile_blocks(void)
{
    hrc_error err;
    arena memory = {0};
    enum { N = 40 };
    uint16_t codes[N * HRC_NQ], back[N * HRC_NQ];
    const uint8_t *block;
    int64_t size;
    for (int i = 0; i < N * HRC_NQ; i++) codes[i] = (uint16_t)(i * i);
    ENSURE_OK(pack_codes(&memory, codes, N, &block, &size, &err));
    uint8_t *copy = ARENA_NEW(&memory, uint8_t, size);
    ENSURE(copy);
    int refused = 0;
    for (int64_t i = 0; i < size; i++) {
        memcpy(copy, block, (size_t)size);
        copy[i] ^= 0x55;
        refused += unpack_codes(back, N, copy, size, &err) == HRC_EFORMAT;
        memcpy(copy, block, (size_t)size);
        ENSURE(unpack_codes(back, N, copy, i, &err) == HRC_EFORMAT);
    }
    ENSURE(refused > 5);
    /* magic, one segment, 8 bytes of length */
    const uint8_t head[] = {0x28, 0xb5, 0x2f, 0xfd, 0xe0};
    const uint64_t length = 36 + 72 * (uint64_t)1000000;
    memcpy(copy, head, sizeof head);
    for (int i = 0; i < 8; i++) copy[sizeof head + (size_t)i] = (uint8_t)(length >> 8 * i);
    ENSURE(!pack_holds(copy, sizeof head + 8, 1000000));
    ENSURE(pack_holds(copy, 2000, 1000000)); /* that many bytes could */
    arena_free(&memory);
}

/* An hour of an easy motion, 180 000 frames with the table of 250 clips; real motion: test/shipped.c. */
static void test_size(void)
{
    hrc_error err;
    clip c;
    corpus_item *items = calloc(250, sizeof *items);
    ENSURE(items);
    synthetic_turn(&c, 720, 50);
    for (int i = 0; i < 250; i++) {
        char name[32];
        if (i == 0)
            ENSURE_OK(corpus_admit(&items[0], &c,
                                   &(corpus_note){"a description of usual length", 0.04, false}, &err));
        else
            items[i] = items[0];
        snprintf(name, sizeof name, "clip_%d", i);
        items[i].entry.name = arena_strdup(&c.memory, name);
        items[i].entry.licence = "free for research and commercial use, with acknowledgement";
    }
    ENSURE_OK(corpus_write(test_path("hour.safetensors"), items, 250, NULL, 0, NULL, 0, &err));
    struct stat info;
    ENSURE(stat(test_path("hour.safetensors"), &info) == 0);
    printf("(%.2f MB) ", (double)info.st_size * 1e-6);
    ENSURE(info.st_size < 5000000);
    items[1].entry.name = items[0].entry.name;
    ENSURE(corpus_write(test_path("x"), items, 2, NULL, 0, NULL, 0, &err) == HRC_EINVAL);
    ENSURE(strstr(err.text, "two clips are called \"clip_0\""));
    ENSURE(corpus_write(test_path("x"), items, 0, NULL, 0, NULL, 0, &err) == HRC_EINVAL);
    corpus_item_free(&items[0]);
    free(items);
    clip_free(&c);
}

static void test_same_bytes(void)
{
    write_three(test_path("one.safetensors"));
    write_three(test_path("two.safetensors"));
    ENSURE(test_shell(NULL, 0, "cmp $T/one.safetensors $T/two.safetensors") == 0);
}

static void expect_refusal(clip *c, const char *sentence)
{
    hrc_error err = {0};
    corpus_item item;
    hrc_status status = corpus_admit(&item, c, &PLAIN, &err);
    if (status >= 0 || !strstr(err.text, sentence) || item.entry.block || item.motion.qpos)
        test_fail(__FILE__, __LINE__, "expected \"%s\", found %d \"%s\"", sentence, status, err.text);
}

static void test_refusals(void)
{
    clip c;
    synthetic_turn(&c, 20, 50);
    expect_refusal(&c, "turn: lasts 0.40 s, expected at least 0.5");
    clip_free(&c);
    synthetic_turn(&c, 60, 50);
    clip_frame(&c, 7)[7 + 3] = (float)G1_JOINT[3].hi + 0.01f;
    expect_refusal(&c, "turn: frame 7: left_knee_joint is 0.0100 rad beyond its limit");
    clip_free(&c);
    synthetic_turn(&c, 60, 50);
    clip_frame(&c, 59)[1] = 100;
    expect_refusal(&c, "turn: travels 100.0 m");
    clip_free(&c);
}

/* ---- Reading what is broken ---- */

static void expect_broken(const char *path, const char *sentence)
{
    hrc_error err = {0};
    corpus all;
    hrc_status status = corpus_open(&all, path, &err);
    if (status >= 0 || !strstr(err.text, sentence) || all.clips)
        test_fail(__FILE__, __LINE__, "expected \"%s\", found %d \"%s\"", sentence, status, err.text);
}

/* The good file with one text of the same length put in place of another. */
static void test_broken(void)
{
    static const char *const CASES[][3] = {
        {"heracles-corpus", "heracles-clippy", "format is \"heracles-clippy\""},
        {"left_knee_joint", "left_neck_joint", "joint_names"},
        {"\"fps\":\"50\"", "\"fps\":\"60\"", "fps is \"60\""},
        {"\\\"split\\\":\\\"heldout\\\"", "\\\"split\\\":\\\"hideout\\\"", "split \"hideout\""},
        {"[\\\"standing\\\"", "[\\\"standink\\\"", "a phase is \"standink\""},
        {"\\\"frames\\\":120", "\\\"frames\\\":119", "phase"},
        {"\\\"frames\\\":120", "\\\"frames\\\":000", "clips"},
        {"\\\"frames\\\":120", "\\\"frbmes\\\":120", "frames is not a whole number"},
        {"\\\"category\\\":", "\\\"categorz\\\":", "\"category\" is not a text"},
        {"\\\"reason\\\":", "\\\"reasom\\\":", "metadata left_out: entry 0: \"reason\" is not a text"},
        {"\\\"verdict\\\":", "\\\"verdick\\\":", "\"verdict\" is not a text"},
        {"\"grain\":{", "\"grbin\":{", "tensor \"grain\" is missing"},
        {"(\xb5\x2f\xfd", "(\xb5\x2f\xfe", "clip \"alpha\": a block of "},
        {"\"clips\":", "\"clipz\":", "metadata \"clips\" is missing"},
    };
    hrc_error err;
    file_view whole;
    write_three(test_path("good.safetensors"));
    ENSURE_OK(file_map(test_path("good.safetensors"), &whole, &err));
    char *copy = malloc(whole.size);
    ENSURE(copy);
    for (int i = 0; i < COUNT(CASES); i++) {
        memcpy(copy, whole.data, whole.size);
        char *at = memmem(copy, whole.size, CASES[i][0], strlen(CASES[i][0]));
        if (!at) test_fail(__FILE__, __LINE__, "case %d: no %s in the file", i, CASES[i][0]);
        memcpy(at, CASES[i][1], strlen(CASES[i][1]));
        test_write(test_path("broken.safetensors"), copy, whole.size);
        expect_broken(test_path("broken.safetensors"), CASES[i][2]);
    }
    corpus all;
    for (size_t n = 0; n < whole.size; n += n < 4000 ? 61 : 1009) /* truncated anywhere */
        ENSURE(corpus_parse(&all, "x", (file_view){whole.data, n}, &err) < 0 && !all.clips);
    free(copy);
    file_unmap(&whole);
}

/* Sizes of blocks that go beyond the file, or leave bytes over, are found before anything is unpacked. */
static void test_hostile_sizes(void)
{
    static const struct {
        int clip, by;
        const char *sentence;
    } CASES[] = {{0, 1 << 30, "does not hold 120 frames"},
                 {0, -100000, "does not hold 120 frames"},
                 {2, 1, "clip \"gamma\": a block of "},
                 {2, -1, "1 bytes follow the block of the last clip"}};
    hrc_error err;
    file_view whole;
    tensorfile file;
    write_three(test_path("good.safetensors"));
    ENSURE_OK(file_map(test_path("good.safetensors"), &whole, &err));
    ENSURE_OK(tensorfile_parse(&file, "x", whole, &err));
    const size_t at = (size_t)((const char *)tensorfile_find(&file, "size")->data - whole.data);
    tensorfile_close(&file);
    char *copy = malloc(whole.size);
    ENSURE(copy);
    for (int i = 0; i < COUNT(CASES); i++) {
        int32_t size;
        memcpy(copy, whole.data, whole.size);
        memcpy(&size, copy + at + 4 * CASES[i].clip, sizeof size);
        size += CASES[i].by;
        memcpy(copy + at + 4 * CASES[i].clip, &size, sizeof size);
        test_write(test_path("broken.safetensors"), copy, whole.size);
        expect_broken(test_path("broken.safetensors"), CASES[i].sentence);
    }
    free(copy);
    file_unmap(&whole);
}

/* test/data/turn.corpus is from before blocks, blocks.corpus the same in blocks: 26 frames of synthetic_turn.
 */
static void test_files_of_before(void)
{
    static const char *const FILES[] = {"test/data/turn.corpus", "test/data/blocks.corpus"};
    for (int i = 0; i < COUNT(FILES); i++) {
        hrc_error err;
        corpus all;
        clip c, original;
        ENSURE_OK(corpus_open(&all, FILES[i], &err));
        ENSURE(all.nclips == 1 && (all.frames != NULL) == (i == 0));
        ENSURE_OK(corpus_clip(&all, 0, &c, &err));
        synthetic_turn(&original, c.n, 50);
        ENSURE(c.n == 26 && clip_distance(&original, &c) < 2e-4);
        clip_free(&original);
        clip_free(&c);
        corpus_close(&all);
    }
}

/* Wherever a clip is taken, FILE#NAME is one of a corpus. */
static void test_by_name(void)
{
    hrc_error err;
    clip c;
    char path[512];
    write_three(test_path("three.safetensors"));
    snprintf(path, sizeof path, "%s#beta", test_path("three.safetensors"));
    clip_decisions why;
    ENSURE_OK(clip_load(&c, path, NULL, &why, &err));
    ENSURE(!strcmp(c.name, "beta") && c.n == 99 + 1 && strstr(why.format, "corpus"));
    clip_free(&c);
    snprintf(path, sizeof path, "%s#nobody", test_path("three.safetensors"));
    ENSURE(clip_load(&c, path, NULL, NULL, &err) == HRC_EINVAL && strstr(err.text, "no clip \"nobody\""));
    ENSURE(clip_load(&c, test_path("three.safetensors"), NULL, NULL, &err) == HRC_EFORMAT);
    ENSURE(strstr(err.text, "#NAME"));
}

TEST_TABLE({"corpus.round_trip", test_round_trip}, {"corpus.error_bound", test_error_bound},
           {"corpus.lossless", test_lossless}, {"corpus.hostile_blocks", test_hostile_blocks},
           {"corpus.hostile_sizes", test_hostile_sizes}, {"corpus.files_of_before", test_files_of_before},
           {"corpus.size", test_size}, {"corpus.same_bytes", test_same_bytes},
           {"corpus.refusals", test_refusals}, {"corpus.broken", test_broken},
           {"corpus.by_name", test_by_name})
