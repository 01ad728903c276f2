/* heracles eval through the program, with small untrained models. */
#include <stdlib.h>

#include "shell.h"
#include "small.h"

static double number(const json_t *j, const char *key)
{
    const json_t *value = json_object_get(j, key);
    if (!json_is_number(value)) test_fail(__FILE__, __LINE__, "no number \"%s\" in the JSON", key);
    return json_number_value(value);
}

static void test_interface(void)
{
    static const char *const KEYS[] = {"cr",         "joint_rad", "height_m", "ori_rad",
                                       "linvel_mps", "progress",  "n"};
    small_tracker("t.safetensors", "reference");
    json_t *j = shell_json("$HERACLES eval --motion motions/wave.safetensors motions/floor.safetensors "
                           "--tracker $T/t.safetensors --planner off --limit 2 --json");
    json_t *categories = json_object_get(j, "categories");
    ENSURE(json_object_size(categories) >= 1);
    const char *name;
    json_t *part;
    double n = 0;
    for (size_t i = 0; i < sizeof KEYS / sizeof *KEYS; i++) number(j, KEYS[i]);
    json_object_foreach (categories, name, part) {
        for (size_t i = 0; i < sizeof KEYS / sizeof *KEYS; i++) number(part, KEYS[i]);
        n += number(part, "n");
    }
    ENSURE(n == 2 && number(j, "n") == 2 && json_array_size(json_object_get(j, "clips")) == 2);
    double cr = number(j, "cr"), progress = number(j, "progress");
    json_decref(j);
    ENSURE(cr >= 0 && cr <= 1 && progress <= cr);
}

/* Joint targets are the reference's: on its feet for a moment, and then it falls. */
static void test_what_it_measures(void)
{
    small_tracker("t.safetensors", "reference");
    json_t *j = shell_json("$HERACLES eval motions/wave.safetensors --tracker $T/t.safetensors --planner off "
                           "--starts 3 --json");
    json_t *clips = json_object_get(j, "clips");
    ENSURE(json_array_size(clips) == 3);
    double frames = number(json_array_get(clips, 0), "frames");
    for (size_t i = 0; i < 3; i++) {
        const json_t *c = json_array_get(clips, i);
        ENSURE_NEAR(number(c, "first"), (double)(int)((double)i * frames / 3), 1);
        ENSURE_NEAR(number(c, "frames") + number(c, "first"), frames, 0);
        ENSURE(number(c, "progress") > 0.05); /* it does not fall at once */
        ENSURE(number(c, "success") == 0 || number(c, "cr") == 1);
    }
    json_decref(j);
}

static void test_same_bits(void)
{
    small_tracker("t.safetensors", "reference");
    small_planner("p.safetensors", 38);
    const char *line =
        "e=\"$HERACLES eval motions/wave.safetensors motions/floor.safetensors --starts 2 --limit 1 "
        "--tracker $T/t.safetensors --planner $T/p.safetensors --json\"\n"
        "$e --threads 1 > $T/1.json && $e --threads 3 > $T/3.json && $e --seed 1 > $T/s.json\n";
    ENSURE(shell(line) == 0);
    ENSURE(shell("cmp $T/1.json $T/3.json") == 0);
    ENSURE(shell("cmp -s $T/1.json $T/s.json") == 1);
}

/* Figures over several seeds are the means of the runs with each. */
static void test_seeds(void)
{
    small_tracker("t.safetensors", "reference");
    small_planner("p.safetensors", 38);
#define SEEDED                                                                                                 \
    "$HERACLES eval motions/wave.safetensors --limit 3 --tracker $T/t.safetensors --planner $T/p.safetensors " \
    "--json --quiet "
    json_t *first = shell_json(SEEDED "--seed 5"), *second = shell_json(SEEDED "--seed 6"),
           *both = shell_json(SEEDED "--seed 5 --seeds 2");
    double a = number(first, "joint_rad"), b = number(second, "joint_rad");
    ENSURE(a != b && number(both, "seeds") == 2 && number(both, "n") == 1);
    ENSURE_NEAR(number(both, "joint_rad"), 0.5 * (a + b), 1e-9 + 1e-6 * a);
    ENSURE(shell(SEEDED "--seeds 1.5") == 2 && shell(SEEDED "--seeds 65") == 2);
    json_decref(first);
    json_decref(second);
    json_decref(both);
}

static void test_requirements(void)
{
    small_tracker("t.safetensors", "reference");
#define EVAL "$HERACLES eval motions/wave.safetensors --tracker $T/t.safetensors --planner off --limit 0.5 "
    ENSURE(shell(EVAL "--require cr=0.1") == 0);
    ENSURE(shell(EVAL "--require joint_rad=0.0001") == 3 && says("joint_rad is") && says("at most 0.0001"));
    ENSURE(shell(EVAL "--require cr=1.1") == 3);
    ENSURE(shell(EVAL "--require speed=1") == 2 && says("--require is \"speed=1\""));
    ENSURE(shell(EVAL "--require cr=") == 2);
}

static void test_refusals(void)
{
    small_tracker("t.safetensors", "reference");
    ENSURE(shell("$HERACLES eval") == 2 && says("--suite NAME, --motion FILE"));
    ENSURE(shell("$HERACLES eval --suite smoke motions/wave.safetensors") == 2);
    ENSURE(shell("cd $T && $HERACLES eval --suite absent --tracker t.safetensors --planner off") == 1 &&
           says("there is no suite \"absent\""));
    ENSURE(shell(EVAL "$T/absent.csv") == 1 && says("absent.csv"));
    ENSURE(shell("printf 'clip,first,last,category,hold\\n02_99,0,10,walk,0\\n' > $T/s.csv\n"
                 "$HERACLES eval --suite $T/s.csv --tracker $T/t.safetensors --planner off") == 1 &&
           says("clip \"02_99\" is not in"));
    ENSURE(shell("$HERACLES eval motions/wave.safetensors --tracker motions/wave.safetensors") == 1 &&
           says("format is"));
    ENSURE(
        shell(
            "$HERACLES eval motions/wave.safetensors --tracker $T/t.safetensors --planner $T/t.safetensors") ==
            1 &&
        says("is a tracker, expected a planner"));
}

/* A suite of one's own, with clips by path. */
static void test_own_suite(void)
{
    small_tracker("t.safetensors", "reference");
    ENSURE(shell("cp motions/wave.safetensors $T/mine.safetensors\n"
                 "printf 'clip,first,last,category,hold\\nmine.safetensors,0,40,arms,0\\n"
                 "mine.safetensors,20,60,held,0.2\\n' > $T/s.csv") == 0);
    json_t *j =
        shell_json("$HERACLES eval --suite $T/s.csv --tracker $T/t.safetensors --planner off --json --quiet");
    json_t *c = json_object_get(j, "categories");
    double n = number(j, "n"), held = number(json_object_get(c, "held"), "n");
    json_decref(j);
    ENSURE(n == 2 && held == 1);
}

/* Every clip of a corpus, under its category; a suite and motions together are refused. */
static void test_corpus(void)
{
    small_tracker("t.safetensors", "reference");
    ENSURE(
        shell(
            "mkdir -p $T/in && $HERACLES motion convert motions/wave.safetensors -o $T/in/a.csv --quiet && "
            "cp $T/in/a.csv $T/in/b.csv && $HERACLES corpus build --csv-dir $T/in --quat wxyz --category dance "
            "-o $T/two.safetensors --quiet") == 0);
    json_t *j =
        shell_json("$HERACLES eval --corpus $T/two.safetensors --limit 0.4 --tracker $T/t.safetensors "
                   "--planner off --json --quiet");
    const double n = number(json_object_get(json_object_get(j, "categories"), "dance"), "n");
    json_decref(j);
    ENSURE(n == 2);
    ENSURE(shell("$HERACLES eval --suite smoke motions/wave.safetensors") == 2 && says("or --corpus FILE"));
    ENSURE(shell("$HERACLES eval --corpus $T/none.safetensors --tracker $T/t.safetensors --planner off") ==
               1 &&
           says("none.safetensors"));
}

/* Several methods at once, as JSON and CSV; what was kept is not run again and gives the same. */
static void test_methods(void)
{
    small_tracker("t.safetensors", "reference");
    small_planner("p.safetensors", 38);
#define METHODS                                                                                              \
    "$HERACLES eval motions/wave.safetensors --limit 0.4 --tracker $T/t.safetensors --planner "              \
    "$T/p.safetensors --method pd,heracles,mine=$T/t.safetensors,both=$T/t.safetensors+$T/p.safetensors "
    json_t *j = shell_json(METHODS "--keep $T/kept --csv $T/a.csv --json");
    json_t *all = json_object_get(j, "methods"), *both = json_object_get(all, "both");
    json_t *heracles = json_object_get(all, "heracles"), *pd = json_object_get(all, "pd");
    bool same = number(both, "joint_rad") == number(heracles, "joint_rad");
    double plans = number(json_object_get(heracles, "plans"), "made");
    bool other = number(pd, "joint_rad") != number(heracles, "joint_rad");
    size_t n = json_object_size(all);
    json_decref(j);
    ENSURE(n == 4 && same && other && plans == 10);
    ENSURE(shell("ls $T/kept | wc -l") == 0 && atoi(shell_output) == 3); /* "both" is "heracles" */
    ENSURE(shell("wc -l < $T/a.csv") == 0 && atoi(shell_output) == 5);
    ENSURE(shell(METHODS "--keep $T/kept --csv $T/b.csv --quiet && cmp $T/a.csv $T/b.csv") == 0);
    ENSURE(shell(METHODS "--csv $T/c.csv --quiet && cmp $T/a.csv $T/c.csv") == 0);
    ENSURE(shell(METHODS "--keep $T/kept --quiet --control.replan=3 >$T/out && ls $T/kept | wc -l") == 0);
    ENSURE(atoi(shell_output) > 3);
    ENSURE(shell("$HERACLES eval motions/wave.safetensors --method magic") == 2 &&
           says("--method is \"magic\""));
    ENSURE(shell("$HERACLES eval motions/wave.safetensors --method heracles --planner off") == 1 &&
           says("--planner is off"));
    ENSURE(shell("$HERACLES eval --suite omni --limit 3") == 2 &&
           says("--limit is for motions; suite omni has its own"));
}

/* Beside the tracker alone: differences and identity, in JSON and in words; naturalness when asked for. */
static void test_beside(void)
{
    small_tracker("t.safetensors", "reference");
    small_planner("p.safetensors", 38);
#define BESIDE                                                                                               \
    "$HERACLES eval motions/wave.safetensors motions/floor.safetensors --limit 0.6 --tracker "               \
    "$T/t.safetensors --planner $T/p.safetensors --method tracker,heracles "
    json_t *j = shell_json(BESIDE "--natural --json");
    json_t *all = json_object_get(j, "methods"), *with = json_object_get(all, "heracles");
    json_t *against = json_object_get(with, "against"), *identity = json_object_get(against, "identity");
    json_t *natural = json_object_get(json_object_get(with, "natural"), "whole");
    json_t *one = json_array_get(json_object_get(with, "clips"), 0);
    const double difference = number(with, "cr") - number(json_object_get(all, "tracker"), "cr");
    const bool none = !json_object_get(json_object_get(all, "tracker"), "against");
    const size_t categories = json_object_size(json_object_get(against, "cr_difference_by_category"));
    ENSURE_NEAR(number(against, "cr_difference"), difference, 1e-9);
    ENSURE(none && categories == json_object_size(json_object_get(with, "categories")));
    ENSURE(number(identity, "n") >= 1 && number(identity, "joint_ratio") > 0);
    ENSURE(number(natural, "n") == 2 && number(natural, "nearest_rad") > 0.01 &&
           number(natural, "torque_peak") > 0);
    ENSURE(number(json_object_get(json_object_get(one, "natural"), "whole"), "jerk_rms_radps3") > 0);
    json_decref(j);
    ENSURE(shell(BESIDE "--natural --quiet") == 0 && says("heracles less tracker, CR in points:") &&
           says("times that of tracker on the ") && says("whole rollouts"));
    ENSURE(shell("$HERACLES eval motions/wave.safetensors --limit 0.6 --method pd --quiet") == 0 &&
           !says("less") && !says("whole rollouts"));
}

/* The report in a browser: its parts are there, a click plays a rollout, nothing is said on the console. */
static void test_report(void)
{
    if (test_shell(NULL, 0, "command -v chromium") != 0) SKIP("chromium is not installed");
    small_tracker("t.safetensors", "reference");
    small_planner("p.safetensors", 38);
    ENSURE(
        shell(
            "cp motions/wave.safetensors $T/'<b>mine.safetensors'\n"
            "$HERACLES eval $T/'<b>mine.safetensors' motions/floor.safetensors --limit 1 --method "
            "tracker,heracles --natural --tracker $T/t.safetensors --planner $T/p.safetensors -o $T/report.html --quiet") ==
        0);
    ENSURE(
        shell(
            "cat >> $T/report.html <<'END'\n<script>\n"
            "const count = what => document.querySelectorAll(what).length;\n"
            "const seen = [count('#summary tbody tr'), count('#bars svg'), count('#planner circle') > 20,\n"
            "    count('#tokens canvas'), count('#rollouts td button'), count('#against tr'),\n"
            "    count('#natural tr'), overlay.hidden];\n"
            "document.querySelector('#rollouts [data-item=\"2\"]').click();\n"
            "seen.push(overlay.hidden, replay.index, replay.playing);\n"
            "replay.advance(0.3); seen.push(replay.t > 0.2);\n" /* as a picture 0.3 s later would */
            "window.dispatchEvent(new KeyboardEvent('keydown', {key: 'Escape'}));\n"
            "seen.push(overlay.hidden, replay.playing);\n"
            "document.querySelector('#rollouts .both').click();\n"
            "replay.advance(0.1); seen.push(replay.index, replay.other, replay.place.visible, replay.labels.length);\n"
            "const round = svg => { const t = [...svg.querySelectorAll('[text-anchor=end]')].map(x => parseFloat(x.textContent))\n"
            "    .filter(x => x > 0), step = t[0] / 10 ** Math.floor(Math.log10(t[0]) + 1e-9);\n"
            "    return [1, 2, 5].some(x => Math.abs(x - step) < 1e-6); };\n"
            "seen.push([...document.querySelectorAll('#bars svg, #planner svg')].every(round),\n"
            "    /nan|null|undefined|infinity|_/i.test(document.getElementById('report').textContent.replace('<b>mine', '')));\n"
            "document.title = seen.join(' ');\n"
            "</script>\nEND\n"
            "tools/browser \"file://$T/report.html\" --dump-dom > $T/dom 2>&1\n"
            "grep -m1 -o '<title>[^<]*' $T/dom; grep console: $T/dom || true") == 0);
    if (strcmp(shell_output,
               "<title>8 6 true 1 6 2 5 true false 2 true true true false 3 1 true 2 true false\n"))
        test_fail(__FILE__, __LINE__, "%s", shell_output);
}

TEST_TABLE({"eval.interface", test_interface}, {"eval.what_it_measures", test_what_it_measures},
           {"eval.same_bits", test_same_bits}, {"eval.seeds", test_seeds},
           {"eval.requirements", test_requirements}, {"eval.refusals", test_refusals},
           {"eval.methods", test_methods}, {"eval.beside", test_beside}, {"eval.report", test_report},
           {"eval.own_suite", test_own_suite}, {"eval.corpus", test_corpus})
