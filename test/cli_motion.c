/* The `motion` commands as a user meets them: shell_output, exit codes, files. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "motion/clip.h"
#include "shell.h"
#include "synthetic.h"

static void write_clip(const char *name, int n, double fps)
{
    hrc_error err;
    clip c;
    synthetic_turn(&c, n, fps);
    ENSURE_OK(clip_label(&c, "dance", "made by formula", "none", &err));
    ENSURE_OK(clip_save(&c, test_path(name), &err));
    clip_free(&c);
}

static void test_help(void)
{
    static const char *const COMMAND[] = {"info", "convert", "cut", "fix"};
    for (int i = 0; i < 4; i++) {
        char line[128];
        snprintf(line, sizeof line, "$HERACLES motion %s --help", COMMAND[i]);
        ENSURE(shell(line) == 0 && says("usage: heracles motion") && says("example:\n  heracles motion"));
    }
    ENSURE(shell("$HERACLES --help") == 0 && says("motion info") && says("motion fix"));
}

static void test_info(void)
{
    write_clip("a.safetensors", 200, 50);
    write_clip("b.csv", 200, 50);
    ENSURE(shell("$HERACLES motion info $T/a.safetensors") == 0);
    ENSURE(says("safetensors clip") && says("verdict") && says("3.98 s, 200 frames at 50 fps"));
    ENSURE(says("dance") && says("made by formula"));
    ENSURE(shell("$HERACLES motion info $T/a.safetensors $T/b.csv --in-fps 50 --quat xyzw") == 0);
    ENSURE(says("2 clips, 0.1 min"));
}

static void test_info_json(void)
{
    write_clip("a.safetensors", 200, 50);
    json_t *object = shell_json("$HERACLES motion info --json $T/a.safetensors $T/a.safetensors");
    json_t *clips = json_object_get(object, "clips"), *first = json_array_get(clips, 0);
    ENSURE(json_array_size(clips) == 2);
    ENSURE(!strcmp(json_string_value(json_object_get(first, "name")), "turn"));
    ENSURE_NEAR(json_number_value(json_object_get(first, "seconds")), 3.98, 1e-9);
    ENSURE(json_integer_value(json_object_get(first, "frames")) == 200);
    ENSURE(json_string_value(json_object_get(json_object_get(first, "decided"), "quat")));
    static const char *const KEY[] = {"verdict",     "reasons",    "root_height_m",   "joint_limits",
                                      "joint_speed", "foot_skate", "floor",           "floating",
                                      "flight",      "jumps",      "self_penetration"};
    for (int i = 0; i < (int)(sizeof KEY / sizeof *KEY); i++) ENSURE(json_object_get(first, KEY[i]));
    ENSURE(json_is_null(json_object_get(json_object_get(first, "flight"), "acceleration_mps2")));
    json_decref(object);
}

/* Two metres of walking in two seconds, by a person of 1.6 m: in centimetres and in CMU's unit. */
static void write_person(const char *name, double unit)
{
    char text[4096];
    int used =
        snprintf(text, sizeof text,
                 "HIERARCHY\nROOT Hips\n{\nOFFSET 0 0 0\nCHANNELS 6 Xposition Yposition Zposition "
                 "Zrotation Yrotation Xrotation\nJOINT Leg\n{\nOFFSET 0 %g 0\nCHANNELS 3 Zrotation "
                 "Yrotation Xrotation\nEnd Site\n{\nOFFSET 0 %g 0\n}\n}\nJOINT Head\n{\nOFFSET 0 %g 0\n"
                 "CHANNELS 3 Zrotation Yrotation Xrotation\nEnd Site\n{\nOFFSET 0 %g 0\n}\n}\n}\n"
                 "MOTION\nFrames: 21\nFrame Time: 0.1\n",
                 -0.5 / unit, -0.4 / unit, 0.5 / unit, 0.2 / unit);
    for (int i = 0; i <= 20; i++)
        used += snprintf(text + used, sizeof text - (size_t)used, "%g %g 0 0 0 0 0 0 0 0 0 0\n",
                         0.1 * i / unit, 0.9 / unit);
    test_write(test_path(name), text, (size_t)used);
}

static void test_info_bvh(void)
{
    write_person("cm.bvh", 0.01);
    write_person("cmu.bvh", 0.056444);
    ENSURE(shell("$HERACLES motion info $T/cm.bvh") == 0);
    ENSURE(says("centimetre") && says("height             1.60 m") && says("21 frames at 10 fps"));
    json_t *object = shell_json("$HERACLES motion info --json $T/cmu.bvh");
    json_t *person = json_array_get(json_object_get(object, "clips"), 0);
    ENSURE_NEAR(json_number_value(json_object_get(person, "unit_m")), 0.056444, 1e-9);
    ENSURE_NEAR(json_number_value(json_object_get(person, "height_m")), 1.6, 1e-3);
    ENSURE_NEAR(json_number_value(json_object_get(person, "travelled_m")), 2.0, 1e-3);
    ENSURE_NEAR(json_number_value(json_object_get(person, "seconds")), 2.0, 1e-6);
    json_decref(object);
    write_clip("a.safetensors", 50, 50);
    ENSURE(shell("$HERACLES motion info $T/cm.bvh $T/cmu.bvh $T/a.safetensors") == 0);
    ENSURE(says("2 human motions") && says("1 clip,"));
    ENSURE(shell("head -c 300 $T/cm.bvh > $T/short.bvh; $HERACLES motion info $T/short.bvh") == 1);
    ENSURE(says("short.bvh: line"));
}

/* A bad file among good ones: the others are shown, the sentence names it, the exit code tells. */
static void test_info_errors(void)
{
    write_clip("a.safetensors", 50, 50);
    ENSURE(shell("$HERACLES motion info $T/a.safetensors $T/missing.csv") == 1);
    ENSURE(says("1 clip,") && says("missing.csv: ") && says("1 file could not be read"));
    ENSURE(shell("$HERACLES motion info --json $T/missing.csv 2>/dev/null") == 1 && says("\"error\": "));
    ENSURE(shell("head -c 3000 $T/a.safetensors > $T/cut.safetensors; "
                 "$HERACLES motion info $T/cut.safetensors") == 1);
    ENSURE(says("heracles: ") && says("cut.safetensors: "));
    test_write(test_path("odd.csv"), "1,2,3\n", 6);
    ENSURE(shell("$HERACLES motion info $T/odd.csv") == 1 && says("odd.csv"));
    ENSURE(shell("$HERACLES motion info $T") == 1 && says("is a folder, and not one of SONIC's"));
    ENSURE(shell("$HERACLES motion info") == 2);
    ENSURE(shell("$HERACLES motion info $T/a.safetensors --quat wzyx") == 2 && says("--quat is"));
    ENSURE(shell("$HERACLES motion info $T/a.safetensors --in-fps none") == 2);
    ENSURE(shell("$HERACLES motion info $T/a.safetensors --nonsense") == 2 &&
           says("try 'heracles motion info"));
}

static void test_convert(void)
{
    hrc_error err;
    clip original, back;
    write_clip("a.safetensors", 120, 50);
    ENSURE(shell("$HERACLES motion convert $T/a.safetensors -o $T/c.csv") == 0 &&
           says("does not hold the rate"));
    ENSURE(shell("$HERACLES motion convert $T/c.csv --quat xyzw --in-fps 50 --name turned --category spin "
                 "-o $T/d.safetensors") == 0);
    synthetic_turn(&original, 120, 50);
    ENSURE_OK(clip_load(&back, test_path("d.safetensors"), NULL, NULL, &err));
    ENSURE(clip_distance(&original, &back) < 1e-5 && back.fps == 50);
    ENSURE(!strcmp(back.name, "turned") && !strcmp(back.category, "spin") && !strcmp(back.source, ""));
    clip_free(&back);
    json_t *object =
        shell_json("$HERACLES motion convert $T/a.safetensors --fps 25 --json --quiet -o $T/e.safetensors");
    ENSURE(json_integer_value(json_object_get(object, "frames")) == 60);
    json_decref(object);
    ENSURE_OK(clip_load(&back, test_path("e.safetensors"), NULL, NULL, &err));
    ENSURE(back.n == 60 && back.fps == 25 && !strcmp(back.category, "dance"));
    clip_free(&back), clip_free(&original);
}

/* Every format leads back to the same frames. */
static void test_round_trip(void)
{
    hrc_error err;
    clip original, back;
    write_clip("a.safetensors", 80, 50);
    ENSURE(shell("$HERACLES motion convert $T/a.safetensors -o $T/r.npz && "
                 "$HERACLES motion convert $T/r.npz -o $T/r.csv && "
                 "$HERACLES motion convert $T/r.csv --quat xyzw --in-fps 50 -o $T/r.safetensors") == 0);
    synthetic_turn(&original, 80, 50);
    ENSURE_OK(clip_load(&back, test_path("r.safetensors"), NULL, NULL, &err));
    ENSURE(clip_distance(&original, &back) < 1e-5 && back.fps == 50);
    clip_free(&back), clip_free(&original);
}

static void test_convert_errors(void)
{
    write_clip("a.safetensors", 50, 50);
    ENSURE(shell("$HERACLES motion convert $T/a.safetensors") == 2 && says("-o FILE is missing"));
    ENSURE(shell("$HERACLES motion convert $T/a.safetensors -o $T/x.txt") == 1 && says("x.txt"));
    ENSURE(access(test_path("x.txt"), F_OK) != 0);
    ENSURE(shell("$HERACLES motion convert $T/missing.csv -o $T/x.csv") == 1);
    ENSURE(access(test_path("x.csv"), F_OK) != 0);
    ENSURE(shell("$HERACLES motion convert $T/a.safetensors -o $T/no/where.csv") == 1 && says("where.csv"));
    ENSURE(shell("$HERACLES motion convert $T/a.safetensors --fps -3 -o $T/x.csv") == 2);
}

static void test_cut(void)
{
    hrc_error err;
    clip original, back;
    write_clip("a.safetensors", 120, 50);
    ENSURE(shell("$HERACLES motion cut $T/a.safetensors --first 20 --last 59 -o $T/cut.safetensors") == 0);
    synthetic_turn(&original, 120, 50);
    ENSURE_OK(clip_load(&back, test_path("cut.safetensors"), NULL, NULL, &err));
    ENSURE(back.n == 40);
    ENSURE(memcmp(clip_frame(&back, 0), clip_frame(&original, 20), 40 * HRC_NQ * sizeof(float)) == 0);
    clip_free(&back), clip_free(&original);
    json_t *object =
        shell_json("$HERACLES motion cut $T/a.safetensors --first 100 --json --quiet -o $T/f.safetensors");
    ENSURE(json_integer_value(json_object_get(object, "frames")) == 20);
    json_decref(object);
    ENSURE(shell("$HERACLES motion cut $T/a.safetensors --first 100 --last 120 -o $T/g.safetensors") == 1);
    ENSURE(says("0 to 119") && access(test_path("g.safetensors"), F_OK) != 0);
    ENSURE(shell("$HERACLES motion cut $T/a.safetensors --first 1.5 -o $T/g.safetensors") == 2);
    ENSURE(shell("$HERACLES motion cut $T/a.safetensors --last 0 -o $T/g.safetensors") == 0);
}

/* A motion with a spike, under the floor, with a seam. */
static void write_broken(void)
{
    hrc_error err;
    clip c;
    synthetic_turn(&c, 250, 50);
    clip_frame(&c, 60)[7 + 18] += 0.5f;
    for (int i = 150; i < 200; i++) clip_frame(&c, i)[2] -= 0.08f;
    for (int i = 100; i < c.n; i++) clip_frame(&c, i)[0] += 0.1f;
    ENSURE_OK(clip_save(&c, test_path("broken.safetensors"), &err));
    clip_free(&c);
}

static void test_fix(void)
{
    write_broken();
    ENSURE(shell("$HERACLES motion fix $T/broken.safetensors -o $T/fixed.safetensors") == 0);
    ENSURE(says("before") && says("usable"));
    json_t *object = shell_json("$HERACLES motion fix $T/broken.safetensors --motion.seam=100 --json --quiet "
                                "-o $T/piece.safetensors");
    json_t *before = json_object_get(object, "before"), *clips = json_object_get(object, "clips");
    ENSURE(json_number_value(json_object_get(json_object_get(before, "floor"), "lowest_m")) < -0.07);
    ENSURE(json_array_size(clips) == 3);
    for (size_t i = 0; i < 3; i++) {
        json_t *after = json_object_get(json_array_get(clips, i), "after");
        ENSURE(json_number_value(json_object_get(json_object_get(after, "floor"), "lowest_m")) > -0.0051);
        ENSURE(!strcmp(json_string_value(json_object_get(after, "verdict")), "good"));
    }
    ENSURE(json_integer_value(json_object_get(json_array_get(clips, 1), "first_frame")) == 100);
    json_decref(object);
    ENSURE(access(test_path("piece-3.safetensors"), F_OK) == 0);
    ENSURE(access(test_path("piece.safetensors"), F_OK) != 0 &&
           access(test_path("piece-4.safetensors"), F_OK) != 0);
    ENSURE(shell("$HERACLES motion info $T/piece-1.safetensors $T/piece-2.safetensors") == 0);
    ENSURE(says("turn-1") && says("2 good"));
}

static void test_fix_errors(void)
{
    write_broken();
    ENSURE(shell("$HERACLES motion fix $T/broken.safetensors") == 2);
    ENSURE(shell("$HERACLES motion fix $T/missing.safetensors -o $T/y.safetensors") == 1);
    ENSURE(shell("$HERACLES motion fix $T/broken.safetensors --motion.seam=9 -o $T/y.safetensors") == 1);
    ENSURE(says("no piece between seams"));
    ENSURE(shell("$HERACLES motion fix $T/broken.safetensors --motion.seam=x -o $T/y.safetensors") == 2);
    /* The third file cannot be written: the first two go again. */
    ENSURE(shell("mkdir $T/z-3.safetensors; "
                 "$HERACLES motion fix $T/broken.safetensors --motion.seam=100 -o $T/z.safetensors") == 1);
    ENSURE(access(test_path("z-1.safetensors"), F_OK) != 0 &&
           access(test_path("z-2.safetensors"), F_OK) != 0);
}

/* Without any step the frames pass unchanged. */
static void test_fix_switches(void)
{
    hrc_error err;
    clip in, out;
    write_broken();
    ENSURE(shell("$HERACLES motion fix $T/broken.safetensors --no-median --no-lowpass --no-clamp --no-lift "
                 "-o $T/same.safetensors") == 0);
    ENSURE_OK(clip_load(&in, test_path("broken.safetensors"), NULL, NULL, &err));
    ENSURE_OK(clip_load(&out, test_path("same.safetensors"), NULL, NULL, &err));
    ENSURE(clip_distance(&in, &out) == 0);
    clip_free(&in), clip_free(&out);
}

static void test_real(void)
{
    if (access("../shared/data/lafan1-g1", R_OK) != 0) SKIP("no ../shared/data");
    ENSURE(shell("$HERACLES motion info ../shared/data/lafan1-g1/walk*.csv") == 0);
    ENSURE(says("walk1_subject1") && says(" 0 bad"));
    json_t *object = shell_json("$HERACLES motion info --json ../shared/data/cmu-bvh/02_01.bvh");
    json_t *person = json_array_get(json_object_get(object, "clips"), 0);
    ENSURE_NEAR(json_number_value(json_object_get(person, "unit_m")), 0.056444, 1e-9);
    double height = json_number_value(json_object_get(person, "height_m"));
    ENSURE(height > 1.3 && height < 1.8); /* the highest joint is inside the head */
    json_decref(object);
}

TEST_TABLE({"cli_motion.help", test_help}, {"cli_motion.info", test_info},
           {"cli_motion.info_json", test_info_json}, {"cli_motion.info_bvh", test_info_bvh},
           {"cli_motion.info_errors", test_info_errors}, {"cli_motion.convert", test_convert},
           {"cli_motion.round_trip", test_round_trip}, {"cli_motion.convert_errors", test_convert_errors},
           {"cli_motion.cut", test_cut}, {"cli_motion.fix", test_fix},
           {"cli_motion.fix_errors", test_fix_errors}, {"cli_motion.fix_switches", test_fix_switches},
           {"cli_motion.real", test_real})
