/* The planner's commands: train, evaluate, plan, on motions of the repository. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/tensorfile.h"
#include "learn/comm.h"
#include "shell.h"

#define SMALL                                                                                                \
    "--planner.width=32 --planner.depth=1 --planner.batch=16 --planner.warmup=5 --planner.rate=3e-3 "

static void train_small(void)
{
    json_t *j = shell_json(
        "$HERACLES train planner --overwrite motions/wave.safetensors motions/floor.safetensors -o "
        "$T/p.safetensors " SMALL "--planner.steps=30 --log-every 10 --json --quiet");
    bool complete = json_is_true(json_object_get(j, "complete"));
    json_decref(j);
    ENSURE(complete);
}

static void test_train_and_log(void)
{
    train_small();
    ENSURE(shell("wc -l < $T/p.safetensors.log.jsonl") == 0 && atoi(shell_output) == 3);
    ENSURE(shell("head -1 $T/p.safetensors.log.jsonl") == 0);
    json_t *j = json_loads(shell_output, 0, NULL);
    double step = json_number_value(json_object_get(j, "step")),
           loss = json_number_value(json_object_get(j, "loss"));
    json_decref(j);
    ENSURE(step == 10 && loss > 0);
    ENSURE(shell("test -s $T/p.safetensors && test -s $T/p.safetensors.checkpoint") == 0);
}

/* 30 steps at once, and 10 and 20 more after a stop, are the same file. */
static void test_resume(void)
{
    train_small();
    ENSURE(shell("set -e; files='motions/wave.safetensors motions/floor.safetensors'\n"
                 "$HERACLES train planner $files -o $T/resumed.safetensors " SMALL
                 "--planner.steps=30 --minutes 0 --quiet\n"
                 "$HERACLES train planner $files -o $T/resumed.safetensors " SMALL
                 "--planner.steps=30 --resume --quiet\n"
                 "cmp $T/p.safetensors $T/resumed.safetensors") == 0);
}

static double last_loss(const char *log)
{
    char command[128];
    snprintf(command, sizeof command, "tail -n 1 $T/%s", log);
    ENSURE(shell(command) == 0);
    json_t *j = json_loads(shell_output, 0, NULL);
    double loss = json_number_value(json_object_get(j, "loss"));
    json_decref(j);
    return loss;
}

/* Three processes, each with a part of every batch, learn what one learns, but for the order of sums. */
static void test_processes(void)
{
    if (!strstr(comm_name(), "MPI")) SKIP("built without MPI=1");
    train_small();
    ENSURE(shell("export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1\n"
                 "mpirun -n 3 --oversubscribe $HERACLES train planner motions/wave.safetensors "
                 "motions/floor.safetensors -o $T/m.safetensors " SMALL
                 "--planner.steps=30 --log-every 10 --threads 1 --quiet") == 0);
    ENSURE(shell("wc -l < $T/m.safetensors.log.jsonl") == 0 && atoi(shell_output) == 3); /* one writes */
    double one = last_loss("p.safetensors.log.jsonl"), three = last_loss("m.safetensors.log.jsonl");
    ENSURE_NEAR(three, one, 1e-4);
    ENSURE(shell("export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1\n"
                 "mpirun -n 3 --oversubscribe $HERACLES train planner motions/wave.safetensors -o "
                 "$T/x.safetensors --planner.batch=2") != 0);
    ENSURE(strstr(shell_output, "planner.batch = 2, expected at least one for each of 3 processes"));
}

static double joint_error(const json_t *row, const char *method)
{
    return json_number_value(json_object_get(json_object_get(row, method), "joint_rad"));
}

static void test_evaluate(void)
{
    train_small();
    json_t *j = shell_json("$HERACLES eval planner --model $T/p.safetensors motions/wave.safetensors "
                           "motions/floor.safetensors --starts 24 --json --quiet");
    json_t *distances = json_object_get(j, "distances"), *identity = json_object_get(j, "identity");
    bool complete = json_array_size(distances) == 4;
    for (size_t i = 0; i < json_array_size(distances); i++) {
        json_t *row = json_array_get(distances, i);
        complete = complete && json_object_get(row, "planner") && json_object_get(row, "base") &&
                   json_object_get(row, "hold") && json_object_get(row, "reference");
    }
    double near = joint_error(json_array_get(distances, 0), "reference"),
           far = joint_error(json_array_get(distances, 3), "reference");
    double joints = json_number_value(json_object_get(identity, "joint_rad")),
           root = json_number_value(json_object_get(identity, "root_cm"));
    json_decref(j);
    ENSURE(complete && near < far); /* the reference is farther ahead of the robot */
    /* A planner that has learned nothing passes the reference through. */
    ENSURE(joints < 1e-5 && root < 1e-3);
}

/* What ships is nearer to what people do than the reference itself when that is far ahead, and than plans on
 * which nothing is written, if only by the few where a robot would be lost. */
static void test_shipped(void)
{
    json_t *j = shell_json("$HERACLES eval planner --model models/planner.safetensors --corpus "
                           "motions/cmu.safetensors --starts 100 --json --quiet");
    json_t *distances = json_object_get(j, "distances");
    for (size_t i = 1; i < 4; i++) {
        json_t *row = json_array_get(distances, i);
        const double ours = joint_error(row, "planner"), base = joint_error(row, "base");
        ENSURE(ours > 0 && ours < base && ours < 0.95 * joint_error(row, "reference"));
    }
    json_decref(j);
}

static void test_plan(void)
{
    train_small();
    json_t *j =
        shell_json("$HERACLES plan --model $T/p.safetensors --state motions/floor.safetensors@-1 --json");
    size_t frames = json_array_size(json_object_get(j, "qpos"));
    json_decref(j);
    ENSURE(frames == 11);
    ENSURE(shell("$HERACLES plan --model $T/p.safetensors --state motions/wave.safetensors@0 --target "
                 "motions/wave.safetensors@100 --chain 0.4 -o $T/c.safetensors && $HERACLES motion info "
                 "$T/c.safetensors --json >/dev/null") == 0);
}

static void test_bad_input(void)
{
    static const struct {
        const char *line, *words;
        int code;
    } BAD[] = {
        {"$HERACLES train planner -o $T/x.safetensors", "give --corpus FILE or motion files", 2},
        {"$HERACLES train planner motions/wave.safetensors", "--out is missing", 2},
        {"$HERACLES train planner $T/none.csv -o $T/x.safetensors --quiet", "none.csv: cannot open", 1},
        {"$HERACLES train planner motions/wave.safetensors -o $T/x.safetensors --planner.dims=36 --quiet",
         "planner.dims = 36, expected 38 or 35", 1},
        {"$HERACLES plan --model motions/wave.safetensors --state motions/wave.safetensors@0",
         "format is \"heracles-clip\", expected \"heracles-planner\"", 1},
        {"$HERACLES eval planner motions/wave.safetensors", "--model is missing", 2},
    };
    for (size_t i = 0; i < sizeof BAD / sizeof *BAD; i++) {
        int code = shell(BAD[i].line);
        if (code != BAD[i].code || !strstr(shell_output, BAD[i].words))
            test_fail(__FILE__, __LINE__, "%s: exit %d: %.300s", BAD[i].line, code, shell_output);
    }
    ENSURE(shell("test -e $T/x.safetensors") == 1);
    train_small();
    ENSURE(
        shell(
            "$HERACLES corpus build motions/wave.safetensors -o $T/all.safetensors && $HERACLES eval planner "
            "--model $T/p.safetensors --corpus $T/all.safetensors --quiet") == 1);
    ENSURE(says("holds no clip out from training"));
    ENSURE(shell("$HERACLES plan --model $T/p.safetensors --state motions/wave.safetensors@9999") == 1);
    ENSURE(strstr(shell_output, "frame 9999, expected 0 to 400"));
}

static void test_bench(void)
{
    train_small();
    json_t *j = shell_json("$HERACLES bench plan --model $T/p.safetensors --plans 20 --json --quiet");
    json_t *one = json_object_get(j, "bf16_1");
    double p50 = json_number_value(json_object_get(one, "p50_ms")),
           max = json_number_value(json_object_get(one, "max_ms"));
    bool all = json_object_get(j, "params") && json_object_get(j, "fp32_1") && json_object_get(j, "fp32_2") &&
               json_object_get(j, "bf16_2");
    json_decref(j);
    ENSURE(all && p50 > 0 && max >= p50);
}

/* The file is protobuf that names what a runtime looks for; `make check-onnx` runs it in one. */
static void test_export(void)
{
    train_small();
    json_t *j = shell_json("$HERACLES export $T/p.safetensors -o $T/p.onnx --json");
    bool complete = json_array_size(json_object_get(j, "example_v")) == 8 * 38;
    json_decref(j);
    ENSURE(complete);
    ENSURE(
        test_shell(
            NULL, 0,
            "grep -qa velocity_field $T/p.onnx && grep -qa residual_std $T/p.onnx && grep -qa Softmax $T/p.onnx") ==
        0);
    ENSURE(shell("$HERACLES export $T/p.safetensors -o $T/p.txt") == 2);
    ENSURE(shell("$HERACLES export motions/wave.safetensors -o $T/q.onnx; test ! -e $T/q.onnx") == 0);
}

static void test_interrupt_saves(void)
{
    int code = shell(
        "timeout --foreground --preserve-status -s INT 3 $HERACLES train planner motions/wave.safetensors -o "
        "$T/i.safetensors " SMALL "--planner.steps=1000000 --quiet");
    ENSURE(code == 130 && strstr(shell_output, "--resume goes on from here"));
    ENSURE(shell("test -s $T/i.safetensors && test -s $T/i.safetensors.checkpoint") == 0);
}

TEST_TABLE({"cli_planner.train_and_log", test_train_and_log}, {"cli_planner.resume", test_resume},
           {"cli_planner.processes", test_processes}, {"cli_planner.evaluate", test_evaluate},
           {"cli_planner.shipped", test_shipped}, {"cli_planner.plan", test_plan},
           {"cli_planner.bad_input", test_bad_input}, {"cli_planner.bench", test_bench},
           {"cli_planner.export", test_export}, {"cli_planner.interrupt_saves", test_interrupt_saves})
