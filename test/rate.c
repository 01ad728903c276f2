#include "motion/import/rate.h"

#include <glob.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/json.h"
#include "motion/import/formats.h"
#include "robot/capsules.h"
#include "shell.h"
#include "synthetic.h"
#include "test.h"

static void test_names(void)
{
    static const struct {
        const char *path;
        double rate;
    } CASES[] = {
        {"walk_60fps.csv", 60},
        {"walk-120-fps.csv", 120},
        {"a/50hz/walk.csv", 50},
        {"a/60fps/b/walk.csv", 0},
        {"walk1_subject5.csv", 30},
        {"lafan1-g1/x.csv", 30},
        {"g1-moves/J_x.csv", 60},
        {"bones-seed/x.csv", 120},
        {"walk.csv", 0},
        {"fps.csv", 0},
        {"9fpsx.csv", 0},
        {"subject1.csv", 0},
        {"/60fps.csv", 60},
    };
    for (int i = 0; i < COUNT(CASES); i++) {
        char word[40];
        double rate = rate_of_name(CASES[i].path, word, sizeof word);
        if (rate != CASES[i].rate) test_fail(__FILE__, __LINE__, "%s: %g", CASES[i].path, rate);
    }
}

/* Hops in free fall, `lower` times as high as they would be: with stands of as many frames between. */
static void make_hops(clip *c, double fps, double lower, int n)
{
    hrc_error err;
    int air = (int)(0.4 * fps), hop = 2 * air;
    double stance[HRC_NQ];
    g1_default_qpos(stance);
    ENSURE_OK(clip_create(c, n * hop + air, fps, "hops", &err));
    for (int i = 0; i < c->n; i++) {
        int at = i % hop - air;
        double t = at / fps, up = at > 0 && i > air ? 0.5 * 9.81 * t * (air / fps - t) / lower : 0;
        for (int k = 0; k < HRC_NQ; k++) clip_frame(c, i)[k] = (float)(stance[k] + (k == 2 ? up : 0));
    }
}

static double settled(clip *c, double file, clip_decisions *why)
{
    *why = (clip_decisions){0};
    rate_settle(c, &(rate_source){.path = "hops.csv", .file = file, .usual = 30}, why);
    return c->fps;
}

static void test_flights(void)
{
    clip c;
    clip_decisions why;
    make_hops(&c, 120, 1, 5); /* at 30 fps they would fall sixteen times too slowly */
    ENSURE(settled(&c, 0, &why) == 120 && strstr(why.fps, "from the motion, which cannot have the usual 30"));
    ENSURE(strstr(why.fps, "flights allow 5") && strstr(why.fps, "--in-fps"));
    ENSURE(settled(&c, 30, &why) == 30 && strstr(why.fps, "30, from the file; but 5 flights fall as only"));
    ENSURE(settled(&c, 120, &why) == 120 && !strcmp(why.fps, "120, from the file"));
    clip_free(&c);
    make_hops(&c, 60, 2, 5); /* half as high as they should be */
    ENSURE(settled(&c, 0, &why) == 60 && strstr(why.fps, "from the motion"));
    clip_free(&c);
    make_hops(&c, 30, 2, 5); /* scaled down: still no reason to doubt */
    ENSURE(settled(&c, 0, &why) == 30 && strstr(why.fps, "assumed"));
    ENSURE(settled(&c, 30, &why) == 30 && !strcmp(why.fps, "30, from the file"));
    clip_free(&c);
    synthetic_turn(&c, 60, 50);
    ENSURE(settled(&c, 0, &why) == 30 &&
           strstr(why.fps, "assumed: the file does not say; nor does the motion"));
    clip_free(&c);
}

static void test_velocities(void)
{
    enum { N = 100 };
    double q[N][2], v[N][3];
    for (int i = 0; i < N; i++) {
        q[i][0] = 7, q[i][1] = sin(0.05 * i);
        v[i][0] = v[i][1] = 1, v[i][2] = 60 * 0.05 * cos(0.05 * i);
    }
    npy a = {.kind = 'f', .item = 8, .ndim = 2, .shape = {N, 2}, .count = 2 * N, .data = (const char *)q};
    npy b = {.kind = 'f', .item = 8, .ndim = 2, .shape = {N, 3}, .count = 3 * N, .data = (const char *)v};
    ENSURE(rate_from_velocities(&a, 1, &b, 2) == 60);
    for (int i = 0; i < N; i++) q[i][1] = 3;
    ENSURE(rate_from_velocities(&a, 1, &b, 2) == 0); /* nothing moves */
}

/* Two public sets of known rates, under names that do not tell: none may be decided wrongly, and those that
 * fly at 60 must be found. */
static void test_public_sets(void)
{
    glob_t files;
    int decided = 0;
    if (glob("../shared/data/lafan1-g1/*s*.csv", 0, NULL, &files) != 0) SKIP("no ../shared/data");
    size_t lafan1 = files.gl_pathc;
    ENSURE(glob("../shared/data/g1-moves/[JM]_*.csv", GLOB_APPEND, NULL, &files) == 0);
    for (size_t i = 0; i < files.gl_pathc; i += i < lafan1 ? 5 : 1) {
        hrc_error err;
        clip c;
        file_view bytes;
        ENSURE_OK(file_map(files.gl_pathv[i], &bytes, &err));
        ENSURE_OK(clip_parse(&c, "x.csv", bytes, &(clip_options){.quat = "xyzw"}, NULL, &err));
        file_unmap(&bytes);
        ENSURE(c.fps == 30 || (i >= lafan1 && c.fps == 60));
        decided += c.fps == 60;
        clip_free(&c);
    }
    globfree(&files);
    ENSURE(decided >= 4);
}

/* The commands that read motions take the rate. */
static void test_commands(void)
{
    hrc_error err;
    clip c;
    synthetic_turn(&c, 61, 60);
    ENSURE_OK(clip_save(&c, test_path("turn.csv"), &err));
    clip_free(&c);
    ENSURE(shell("$HERACLES motion info $T/turn.csv --quat xyzw") == 0 && says("30, assumed"));
    ENSURE(shell("$HERACLES motion info $T/turn.csv --quat xyzw --in-fps 60") == 0 &&
           says("60, as asked for"));
    ENSURE(
        shell(
            "$HERACLES motion convert $T/turn.csv --quat xyzw --in-fps 60 --fps 50 -o $T/turn.safetensors") ==
        0);
    ENSURE(shell("$HERACLES motion convert $T/turn.csv --quat xyzw -o $T/half.safetensors") == 0 &&
           says("turn.csv: frame rate 30, assumed"));
    ENSURE(shell("$HERACLES view $T/turn.csv --quat xyzw -o $T/page.html") == 0 &&
           says("frame rate 30, assumed"));
    ENSURE(shell("$HERACLES eval $T/turn.csv --quat xyzw --method pd --limit 0.2") == 0 &&
           says("frame rate 30, assumed"));
    ENSURE(shell("$HERACLES eval $T/turn.csv --quat xyzw --in-fps 60 --method pd --limit 0.2") == 0 &&
           !says("frame rate"));
    ENSURE(shell("$HERACLES play $T/turn.csv --quat xyzw --planner off --port 0 --seconds 0.1") == 0 &&
           says("frame rate 30, assumed"));
    ENSURE(shell("$HERACLES motion fix $T/turn.csv --quat xyzw -o $T/fixed.safetensors") == 0 &&
           says("frame rate 30, assumed"));
    /* a suite that cuts the file into several says it once */
    ENSURE(
        shell(
            "printf 'clip,first,last,category,hold\\nturn.csv,0,20,turn,0\\nturn.csv,20,40,turn,0\\n' > $T/s.csv;"
            "$HERACLES eval --suite $T/s.csv --quat xyzw --method pd --limit 0.2") == 0);
    const char *first = strstr(shell_output, "frame rate 30, assumed");
    ENSURE(first && !strstr(first + 1, "frame rate 30, assumed"));
    json_t *object = shell_json("$HERACLES view $T/turn.csv --quat xyzw --in-fps 60 --json -o $T/page.html");
    ENSURE_NEAR(
        json_real_value(json_object_get(json_array_get(json_object_get(object, "items"), 0), "seconds")), 1,
        1e-6);
    json_decref(object);
    static const char *const READERS[] = {"run",
                                          "eval",
                                          "eval planner",
                                          "demo",
                                          "play",
                                          "train",
                                          "train tracker",
                                          "train planner",
                                          "practice",
                                          "deploy",
                                          "plan",
                                          "view",
                                          "motion sheet",
                                          "motion fix",
                                          "motion cut",
                                          "motion convert",
                                          "motion info",
                                          "corpus build",
                                          "export",
                                          "bench env",
                                          "bench train-tracker"};
    for (int i = 0; i < COUNT(READERS); i++) {
        char line[120];
        snprintf(line, sizeof line, "$HERACLES %s --help", READERS[i]);
        ENSURE(shell(line) == 0 && says("--in-fps"));
    }
}

TEST_TABLE({"rate.names", test_names}, {"rate.flights", test_flights}, {"rate.velocities", test_velocities},
           {"rate.public_sets", test_public_sets}, {"rate.commands", test_commands})
