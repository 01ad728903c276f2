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
    json_t *j = shell_json("$HERACLES train planner motions/wave.safetensors motions/floor.safetensors -o "
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
                 "$HERACLES train planner $files -o $T/r.safetensors " SMALL
                 "--planner.steps=30 --minutes 0 --quiet\n"
                 "$HERACLES train planner $files -o $T/r.safetensors " SMALL
                 "--planner.steps=30 --resume --quiet\n"
                 "cmp $T/p.safetensors $T/r.safetensors") == 0);
}

/* The ways up, and the cases that go with them, of another planner. */
static void test_ways_from(void)
{
    hrc_error err;
    tensorfile shipped, made;
    ENSURE(shell("$HERACLES train planner motions/wave.safetensors -o $T/w.safetensors " SMALL
                 "--planner.steps=1 --ways-from models/planner.safetensors --quiet") == 0);
    ENSURE_OK(tensorfile_open(&shipped, "models/planner.safetensors", &err));
    ENSURE_OK(tensorfile_open(&made, test_path("w.safetensors"), &err));
    int carried = 0;
    for (int i = 0; i < shipped.ntensors; i++) {
        const tensor *a = &shipped.tensors[i], *b = tensorfile_find(&made, a->name);
        if (strncmp(a->name, "getups.", 7) && strncmp(a->name, "known.", 6)) continue;
        ENSURE(b && a->count == b->count);
        ENSURE(memcmp(a->data, b->data, (size_t)a->count * dtype_size(a->type)) == 0);
        carried++;
    }
    ENSURE(carried == 7);
    tensorfile_close(&shipped);
    tensorfile_close(&made);
    ENSURE(shell("$HERACLES train planner motions/wave.safetensors -o $T/n.safetensors " SMALL
                 "--ways-from motions/wave.safetensors --quiet") == 1);
    ENSURE(strstr(shell_output, "motions/wave.safetensors") && shell("test -e $T/n.safetensors") == 1);
    ENSURE(
        shell(
            "$HERACLES train planner motions/wave.safetensors -o $T/n.safetensors --ways-from a --ways-for b") ==
        2);
    ENSURE(says("not both"));
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

static void test_evaluate(void)
{
    train_small();
    json_t *j = shell_json("$HERACLES eval planner --model $T/p.safetensors motions/wave.safetensors "
                           "motions/floor.safetensors --starts 24 --json --quiet");
    json_t *distances = json_object_get(j, "distances");
    bool complete = json_array_size(distances) == 4;
    for (size_t i = 0; i < json_array_size(distances); i++) {
        json_t *row = json_array_get(distances, i);
        complete = complete && json_object_get(row, "planner") && json_object_get(row, "hold") &&
                   json_object_get(row, "linear") && json_object_get(row, "cubic");
    }
    /* At 0.2 s the straight line arrives in time and must beat standing still in a moving clip. */
    double hold = json_number_value(
        json_object_get(json_object_get(json_array_get(distances, 0), "hold"), "joint_rad"));
    double line = json_number_value(
        json_object_get(json_object_get(json_array_get(distances, 0), "linear"), "joint_rad"));
    double first = json_number_value(json_object_get(j, "first_frame"));
    json_decref(j);
    ENSURE(complete && line < 0.5 * hold && first == 0);
}

static double joint_error(const json_t *row, const char *method)
{
    return json_number_value(json_object_get(json_object_get(row, method), "joint_rad"));
}

/* What ships is better than every simple rival from 0.5 s on, and not much worse than the best at 0.2 s. */
static void test_shipped(void)
{
    json_t *j = shell_json("$HERACLES eval planner --model models/planner.safetensors --corpus "
                           "motions/cmu.safetensors --starts 100 --json --quiet");
    json_t *distances = json_object_get(j, "distances");
    for (size_t i = 0; i < 4; i++) {
        json_t *row = json_array_get(distances, i);
        double ours = joint_error(row, "planner"), best = joint_error(row, "hold");
        best = fmin(best, fmin(joint_error(row, "linear"), joint_error(row, "cubic")));
        ENSURE(best > 0 && ours < (i == 0 ? 1.15 : 1) * best);
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
           {"cli_planner.ways_from", test_ways_from}, {"cli_planner.processes", test_processes},
           {"cli_planner.evaluate", test_evaluate}, {"cli_planner.shipped", test_shipped},
           {"cli_planner.plan", test_plan}, {"cli_planner.bad_input", test_bad_input},
           {"cli_planner.bench", test_bench}, {"cli_planner.export", test_export},
           {"cli_planner.interrupt_saves", test_interrupt_saves})
