#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/rng.h"
#include "base/rot.h"
#include "motion/corpus_codes.h"
#include "synthetic.h"
#include "test.h"

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
        ENSURE_OK(corpus_admit(&items[i], &c[i], i ? "" : "turn, \"sway\"", i ? NAN : 0.031, &err));
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

/* The bound that is promised, on poses all over the joints' ranges, any orientation, 60 m of travel. */
static void test_error_bound(void)
{
    hrc_error err;
    clip c;
    corpus_item item;
    rng r = rng_make(5, 0);
    ENSURE_OK(clip_create(&c, 2000, 50, "wild", &err));
    for (int i = 0; i < c.n; i++) {
        float *q = clip_frame(&c, i);
        double quat[4];
        for (int k = 0; k < 3; k++) q[k] = rng_uniform(&r, -20, 40);
        for (int k = 0; k < 4; k++) quat[k] = rng_normal(&r);
        quat_normalize(quat);
        for (int k = 0; k < 4; k++) q[3 + k] = (float)quat[k];
        for (int j = 0; j < HRC_JOINTS; j++)
            q[7 + j] = i % 50 ? rng_uniform(&r, (float)G1_JOINT[j].lo, (float)G1_JOINT[j].hi)
                              : (float)(i % 100 ? G1_JOINT[j].lo : G1_JOINT[j].hi);
    }
    /* Such a motion is refused as bad: go to the codes directly. */
    ENSURE(corpus_admit(&item, &c, "", NAN, &err) == HRC_EINVAL && !item.codes);

    corpus_entry e = {.origin = {10, 10, 10}, .step = {60 / 65534.0, 60 / 65534.0, 60 / 65534.0}};
    double lo[HRC_JOINTS], hi[HRC_JOINTS];
    for (int j = 0; j < HRC_JOINTS; j++) lo[j] = G1_JOINT[j].lo, hi[j] = G1_JOINT[j].hi;
    for (int i = 0; i < c.n; i++) {
        int16_t codes[HRC_NQ];
        float back[HRC_NQ];
        double p[4], q[4];
        corpus_encode(codes, clip_frame(&c, i), &e, lo, hi);
        corpus_decode(back, codes, &e, lo, hi);
        for (int k = 0; k < 3; k++) ENSURE_NEAR(back[k], clip_frame(&c, i)[k], 0.5e-3);
        for (int k = 0; k < 4; k++) p[k] = clip_frame(&c, i)[3 + k], q[k] = back[3 + k];
        ENSURE(quat_angle(p, q) < 0.1e-3);
        for (int k = 7; k < HRC_NQ; k++) {
            ENSURE_NEAR(back[k], clip_frame(&c, i)[k], 0.05e-3);
            ENSURE(back[k] > lo[k - 7] - 1e-6 && back[k] < hi[k - 7] + 1e-6);
        }
    }
    clip_free(&c);
}

/* An hour, 180 000 frames, must stay under 15 MB: 72 bytes a frame and the table of 250 clips. */
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
            ENSURE_OK(corpus_admit(&items[0], &c, "a description of usual length", 0.04, &err));
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
    ENSURE(info.st_size < 15000000);
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
    hrc_status status = corpus_admit(&item, c, "", NAN, &err);
    if (status >= 0 || !strstr(err.text, sentence) || item.codes || item.motion.qpos)
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
        {"\"first\":{", "\"fjrst\":{", "tensor \"first\" is missing"},
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
           {"corpus.size", test_size}, {"corpus.same_bytes", test_same_bytes},
           {"corpus.refusals", test_refusals}, {"corpus.broken", test_broken},
           {"corpus.by_name", test_by_name})
