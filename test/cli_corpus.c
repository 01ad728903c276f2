/* The `corpus` commands as a user meets them. */
#include <string.h>

#include "eval/rollout.h"
#include "motion/corpus.h"
#include "motion/suite.h"
#include "shell.h"
#include "synthetic.h"

/* A folder $T/in with a clip of 4 s, one that is beyond a limit, and one that is no motion at all. */
static void make_folder(void)
{
    hrc_error err;
    clip c;
    ENSURE(shell("rm -rf $T/in && mkdir $T/in && echo hello > $T/in/c.csv") == 0);
    synthetic_turn(&c, 120, 30);
    ENSURE_OK(clip_save(&c, test_path("in/a.csv"), &err));
    clip_frame(&c, 50)[7 + 3] = (float)G1_JOINT[3].hi + 0.5f;
    ENSURE_OK(clip_save(&c, test_path("in/b.csv"), &err));
    clip_free(&c);
}

static void test_build(void)
{
    make_folder();
    ENSURE(
        shell(
            "$HERACLES corpus build --csv-dir $T/in --category dance --licence CC0 -o $T/built.safetensors") ==
        0);
    ENSURE(says("b: frame 50: left_knee_joint is 0.5") && says("c.csv: line 1") && says("1 clip, 0.1 min"));
    json_t *info = shell_json("$HERACLES corpus info $T/built.safetensors --json");
    ENSURE(json_integer_value(json_object_get(info, "clips")) == 1);
    ENSURE_NEAR(json_number_value(json_object_get(info, "seconds")), 4, 0.05);
    json_t *dance = json_object_get(json_object_get(info, "categories"), "dance");
    ENSURE(json_integer_value(json_object_get(dance, "clips")) == 1);
    json_t *row = json_array_get(json_object_get(info, "list"), 0);
    ENSURE(!strcmp(json_string_value(json_object_get(row, "name")), "a"));
    ENSURE(!strcmp(json_string_value(json_object_get(row, "licence")), "CC0"));
    ENSURE(json_array_size(json_object_get(info, "left_out")) == 2);
    json_decref(info);
    ENSURE(shell("$HERACLES corpus info $T/built.safetensors --clips") == 0);
    ENSURE(says("dance") && says("left out: ") && says("acknowledgement") == false);
}

/* `--fix` clamps, so that b gets in; the bytes do not depend on the number of threads. */
static void test_same_bytes(void)
{
    make_folder();
    ENSURE(
        shell(
            "cd $T && for n in 1 3; do $HERACLES corpus build --csv-dir in --fix --threads $n -o $n.safetensors "
            "--quiet || exit; done; cmp 1.safetensors 3.safetensors") == 0);
    ENSURE(shell("$HERACLES corpus info $T/1.safetensors") == 0 && says(": 2 clips"));
}

/* `--lift` raises what is under the floor and leaves the rest alone. */
static void test_lift(void)
{
    hrc_error err;
    clip c;
    corpus all;
    synthetic_turn(&c, 100, 50);
    for (int i = 0; i < c.n; i++) clip_frame(&c, i)[2] -= 0.03f;
    ENSURE_OK(clip_save(&c, test_path("deep.safetensors"), &err));
    ENSURE(shell("cd $T && $HERACLES corpus build deep.safetensors --lift -o lifted.safetensors") == 0);
    ENSURE_OK(corpus_open(&all, test_path("lifted.safetensors"), &err));
    clip back;
    ENSURE_OK(corpus_clip(&all, 0, &back, &err));
    ENSURE(all.clips[0].quality.low_min > -0.006);
    for (int k = 7; k < HRC_NQ; k++) ENSURE_NEAR(clip_frame(&back, 50)[k], clip_frame(&c, 50)[k], 1e-4);
    clip_free(&back);
    clip_free(&c);
    corpus_close(&all);
}

/* A rollout of 5 s that lies for `lies` seconds, then stands, with a knee as far as that beyond its limit. */
static void save_rollout(const char *path, const char *name, double lies, float beyond)
{
    hrc_error err;
    rollout r;
    clip c;
    synthetic_turn(&c, 250, 50);
    ENSURE_OK(rollout_create(&r, 250, 50, name, 0, 0, &err));
    memcpy(r.qpos, c.qpos, 250 * HRC_NQ * sizeof(float));
    for (int i = 0; i < 250; i++) {
        float *q = r.qpos + (size_t)i * HRC_NQ;
        if (i < 50 * lies) q[2] -= 0.5f;
        q[7 + 3] = (float)G1_JOINT[3].hi + beyond;
    }
    ENSURE_OK(rollout_save(&r, path, &err));
    rollout_free(&r);
    clip_free(&c);
}

/* `--get-ups` trims, and leaves out with the reason; equal names are told apart by their files. The
 * simulator's limits give way, but not that far. */
static void test_get_ups(void)
{
    hrc_error err;
    corpus all;
    clip back;
    ENSURE(shell("rm -rf $T/rolled && mkdir $T/rolled") == 0);
    save_rollout(test_path("rolled/x1.safetensors"), "lying", 1, 0.1f);
    save_rollout(test_path("rolled/x2.safetensors"), "lying", 2, 0);
    save_rollout(test_path("rolled/x3.safetensors"), "stays", 4.5, 0);
    save_rollout(test_path("rolled/x4.safetensors"), "folded", 1, 0.5f);
    ENSURE(shell("cd $T && $HERACLES corpus build --csv-dir rolled --get-ups --lift -o up.safetensors") == 0);
    ENSURE(says("left out: stays: never stands for 1 s") && says("2 clips") && says("2 left out"));
    ENSURE(says("left out: folded: frame 0: left_knee_joint is 0.5000 rad beyond its limit"));
    ENSURE_OK(corpus_open(&all, test_path("up.safetensors"), &err));
    int one = corpus_find(&all, "lying-x1"), two = corpus_find(&all, "lying-x2");
    ENSURE(one >= 0 && two >= 0 && all.clips[one].split == CORPUS_TRAIN);
    ENSURE(all.clips[one].n == 101 && all.clips[two].n == 151);
    ENSURE_OK(corpus_clip(&all, one, &back, &err));
    ENSURE_NEAR(clip_frame(&back, 100)[7 + 3], G1_JOINT[3].hi, 1e-4);
    clip_free(&back);
    corpus_close(&all);
}

static void test_pieces(void)
{
    make_folder();
    ENSURE(
        shell("cd $T && $HERACLES corpus build in/a.csv --motion.seam=50 --skip-start 10 -o p.safetensors") ==
        0);
    ENSURE(shell("$HERACLES corpus info $T/p.safetensors --clips") == 0);
    ENSURE(says("a-1 ") && says("a-2 ") && says("a-3 ") && !says("a-4 "));
    json_t *info = shell_json("$HERACLES corpus info $T/p.safetensors --json");
    json_t *list = json_object_get(info, "list");
    ENSURE(json_integer_value(json_object_get(json_array_get(list, 0), "frames")) == 66); /* 40 of 30 fps */
    ENSURE(json_integer_value(json_object_get(json_array_get(list, 1), "frames")) == 82);
    json_decref(info);
}

static void test_manifest_build(void)
{
    make_folder();
    const char text[] = "id,category,description,left_out\na,daily,\"turn, slowly\",\nmissing,daily,,\n"
                        "b,daily,,stands on a ball\n";
    test_write(test_path("m.csv"), text, sizeof text - 1);
    const char held[] = "clip,first,last,category,hold\na,0,10,daily,0\n";
    test_write(test_path("held.csv"), held, sizeof held - 1);
    ENSURE(shell("cd $T && $HERACLES corpus build --csv-dir in --manifest m.csv --heldout ./held.csv "
                 "--acknowledgement 'thanks to all' -o m.safetensors") == 0);
    ENSURE(says("left out: in/missing.csv") && says("left out: b.csv: stands on a ball"));
    ENSURE(shell("cd $T && $HERACLES corpus build --csv-dir in --manifest m.csv --all -o all.safetensors") ==
           0);
    ENSURE(says("left out: b: frame 50: left_knee_joint"));
    ENSURE(shell("$HERACLES corpus info $T/m.safetensors --clips") == 0);
    ENSURE(says("daily") && says("turn, slowly") && says("heldout") && says("thanks to all"));
    /* what is held out makes suites; a clip of the corpus serves as a file */
    ENSURE(shell("cd $T && $HERACLES corpus suites m.safetensors -o suites && cat suites/heldout101.csv") ==
           0);
    ENSURE(says("a,0,198,daily,0"));
    ENSURE(
        shell("cd $T && $HERACLES motion convert m.safetensors#a -o a.npz && $HERACLES motion info a.npz") ==
        0);
    ENSURE(shell("cd $T && $HERACLES motion info m.safetensors#a") == 0 && says("clip of a corpus"));
    ENSURE(shell("cd $T && $HERACLES motion info m.safetensors#b") == 1 && says("no clip \"b\" among its 1"));
}

/* Clips of the suites are apart from training, each in its own split, and keep all bits. */
static void test_splits(void)
{
    hrc_error err;
    corpus all;
    clip c;
    static const char HELD[] = "clip,first,last,category,hold\n123_01,0,50,dance,0\n", /* = 70_01 */
        VALID[] = "clip,first,last,category,hold\n70_02,0,50,dance,0\n";
    ENSURE(shell("rm -rf $T/in && mkdir $T/in") == 0);
    synthetic_turn(&c, 120, 50);
    for (int i = 0; i < 3; i++) {
        char path[32];
        snprintf(path, sizeof path, "in/70_%02d.csv", i + 1);
        ENSURE_OK(clip_save(&c, test_path(path), &err));
    }
    clip_free(&c);
    test_write(test_path("held.csv"), HELD, strlen(HELD));
    test_write(test_path("valid.csv"), VALID, strlen(VALID));
    ENSURE(
        shell("cd $T && $HERACLES corpus build --csv-dir in --heldout ./held.csv --validation ./valid.csv -o "
              "s.safetensors") == 0);
    ENSURE_OK(corpus_open(&all, test_path("s.safetensors"), &err));
    const corpus_split expected[] = {CORPUS_HELDOUT, CORPUS_VALIDATION, CORPUS_TRAIN};
    for (int i = 0; i < 3; i++)
        ENSURE(all.clips[i].split == expected[i] && (all.clips[i].grain[7 + 5] == 1) == (i < 2));
    corpus_close(&all);
    ENSURE(shell("$HERACLES corpus info $T/s.safetensors --clips") == 0 && says(" validation ") &&
           says(" heldout "));
}

/* A clip twice is one; what the tracker does not follow is none; what a suite names is not asked. The figures
 * of the rollouts are kept. */
static void test_select(void)
{
    hrc_error err;
    clip c;
    static const char HELD[] = "clip,first,last,category,hold\nd,0,50,daily,0\n";
    ENSURE(shell("rm -rf $T/in && mkdir $T/in && rm -f $T/followed.csv") == 0);
    synthetic_turn(&c, 120, 50);
    static const char *const NAMES[] = {"in/a.csv", "in/b.csv", "in/d.csv"};
    for (int i = 0; i < COUNT(NAMES); i++) ENSURE_OK(clip_save(&c, test_path(NAMES[i]), &err));
    clip_free(&c);
    test_write(test_path("held.csv"), HELD, strlen(HELD));
    ENSURE(shell("cd $T && $HERACLES corpus build --csv-dir in --category locomotion --heldout ./held.csv -o "
                 "s.safetensors") == 0);
    ENSURE(shell("$HERACLES corpus select $T/s.safetensors --threads 1 --followed $T/followed.csv -o "
                 "$T/list.csv && cat $T/followed.csv $T/list.csv") == 0);
    ENSURE(says("2 of 3 clips") && says("\na,1.0000\nb,1.0000\n") && says("\na,locomotion,,\n") &&
           says("\nb,locomotion,,\"0 % of it is new, expected at least 20\"\n") &&
           says("\nd,locomotion,,\n"));
    /* by the figures of the file, which are not made again */
    ENSURE(shell("cd $T && printf 'clip,followed\\na,0.1\\nb,1\\n' > followed.csv && $HERACLES corpus "
                 "select s.safetensors --followed followed.csv -o list.csv && cat list.csv") == 0);
    ENSURE(says("\na,locomotion,,\"the tracker follows 10 % of it, expected at least 20\"") &&
           says("\nb,locomotion,,\n"));
    ENSURE(shell("cd $T && sed -i /^b/d followed.csv && $HERACLES corpus select s.safetensors --followed "
                 "followed.csv -o none.csv") == 1 &&
           says("followed.csv: has no line for clip \"b\""));
    ENSURE(shell("test -e $T/none.csv") == 1);
}

static void test_usage(void)
{
    make_folder();
    ENSURE(shell("$HERACLES corpus build --help") == 0 && says("--csv-dir") && says("example"));
    ENSURE(shell("$HERACLES corpus build -o $T/refused") == 2 && says("no motions given"));
    ENSURE(shell("$HERACLES corpus build $T/in/a.csv") == 2 && says("-o FILE is missing"));
    ENSURE(shell("$HERACLES corpus build $T/in/a.csv --manifest m -o $T/refused") == 2 && says("one folder"));
    ENSURE(shell("$HERACLES corpus build --csv-dir $T/nowhere -o $T/refused") == 1 &&
           says("nowhere: cannot be read"));
    ENSURE(shell("$HERACLES corpus build $T/in/c.csv -o $T/none") == 1 && says("none of the 1 files"));
    ENSURE(shell("test -e $T/none") == 1);
    ENSURE(shell("$HERACLES corpus info $T/in/a.csv") == 1 && says("a.csv"));
    ENSURE(shell("$HERACLES corpus build $T/in/a.csv -o $T/y.safetensors && $HERACLES corpus suites "
                 "$T/y.safetensors -o $T/s") == 1 &&
           says("holds out no clip"));
    ENSURE(shell("$HERACLES corpus build $T/in/a.csv $T/in/a.csv -o $T/refused") == 1 &&
           says("two clips are called \"a\""));
}

static void test_manifest(void)
{
    static const char *const CASES[][2] = {
        {"", "x:1: no column \"id\""},
        {"id,kind\n", "x:1: no column \"category\""},
        {"id,category\n", "x: has a header but no rows"},
        {"id,category\na\n", "x:2: 1 fields, expected 2"},
        {"id,category\na,\"b\n", "a quote that stays open"},
        {"id,category\n,b\n", "x:2: the id is empty"},
        {"id,category,fps\na,b,fast\n", "x:2: fps is \"fast\", expected a frame rate or nothing"},
        {"id,category\na,b\na,b\n", "x:3: the id \"a\" was there already"},
    };
    hrc_error err = {0};
    manifest m;
    for (int i = 0; i < COUNT(CASES); i++)
        if (manifest_parse(&m, "x", (file_view){CASES[i][0], strlen(CASES[i][0])}, &err) >= 0 ||
            !strstr(err.text, CASES[i][1]) || m.rows)
            test_fail(__FILE__, __LINE__, "expected \"%s\", found \"%s\"", CASES[i][1], err.text);
    const char good[] = "fps,description,id,category\r\n60,\"a \"\"b\"\", c\",02_01,walk\r\n\r\n,,02_02,run";
    ENSURE_OK(manifest_parse(&m, "x", (file_view){good, sizeof good - 1}, &err));
    ENSURE(m.n == 2 && !strcmp(m.rows[0].description, "a \"b\", c") && !strcmp(m.rows[0].id, "02_01"));
    ENSURE(m.rows[0].fps == 60 && m.rows[1].fps == 0);
    ENSURE(!strcmp(m.rows[1].description, "") && !strcmp(m.rows[1].category, "run"));
    manifest_free(&m);
}

TEST_TABLE({"cli_corpus.build", test_build}, {"cli_corpus.same_bytes", test_same_bytes},
           {"cli_corpus.lift", test_lift}, {"cli_corpus.get_ups", test_get_ups},
           {"cli_corpus.pieces", test_pieces}, {"cli_corpus.manifest", test_manifest_build},
           {"cli_corpus.splits", test_splits}, {"cli_corpus.select", test_select},
           {"cli_corpus.usage", test_usage}, {"manifest.parse", test_manifest})
