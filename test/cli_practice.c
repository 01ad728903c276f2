/* heracles practice, and training with what it gives. */
#include <stdlib.h>

#include "learn/lessons.h"
#include "learn/practice.h"
#include "shell.h"
#include "small.h"

/* Short attempts at situations of one short clip: little comes back, but something does. */
#define PRACTICE                                                                                             \
    "$HERACLES practice --planner $T/p.safetensors motions/floor.safetensors --guided --trials 2 --quiet "
#define CHEAP "--attempts 1 --seconds 4 "
#define SMALL                                                                                                \
    "motions/wave.safetensors --planner.width=16 --planner.heads=2 --planner.depth=1 --planner.batch=8 "     \
    "--planner.warmup=1 --train.precision=float --quiet "

static void test_report(void)
{
    small_planner("p.safetensors", 38);
    json_t *j = shell_json(PRACTICE "--situations 6 --attempts 2 --seconds 6 -o $T/l.safetensors --json");
    json_t *kinds = json_object_get(j, "by_situation");
    json_int_t tried = 0, lessons_counted = 0, all = json_integer_value(json_object_get(j, "lessons"));
    for (size_t i = 0; i < json_array_size(kinds); i++) {
        const json_t *kind = json_array_get(kinds, i);
        const char *posture;
        json_t *count;
        tried += json_integer_value(json_object_get(kind, "tried"));
        json_object_foreach (json_object_get(kind, "lessons"), posture, count)
            lessons_counted += json_integer_value(count);
    }
    const json_int_t situations = json_integer_value(json_object_get(j, "situations"));
    const size_t nkinds = json_array_size(kinds);
    json_decref(j);
    ENSURE(situations == 6 && nkinds == SITUATIONS && tried > 2 && tried <= 6);
    ENSURE(all > 0 && lessons_counted == all);
    hrc_error err;
    lessons l = {0};
    ENSURE_OK(lessons_load(&l, test_path("l.safetensors"), &err));
    ENSURE(l.n == all && l.horizon == PLAN_H);
    lessons_free(&l);
    ENSURE(shell("ls $T | grep -c part") == 1); /* none */
    ENSURE(shell(PRACTICE "--situations 6 -o $T/l.safetensors") == 1 &&
           says("l.safetensors: is there already"));
}

/* The same file from one thread, from two, and from a run that was interrupted and went on. */
static void test_resume(void)
{
    small_planner("p.safetensors", 38);
    ENSURE(shell(PRACTICE CHEAP "--situations 66 --threads 1 -o $T/one.safetensors") == 0);
    ENSURE(shell(PRACTICE CHEAP "--situations 66 --threads 2 -o $T/two.safetensors") == 0);
    ENSURE(shell("cmp $T/one.safetensors $T/two.safetensors") == 0);
    int code = 0;
    for (int i = 0; i < 5 && code != 130; i++) /* until it is caught before the end */
        code = shell(
            "rm -f $T/cut.*\n" PRACTICE CHEAP
            "--situations 66 --threads 2 --checkpoint-minutes 0 -o $T/cut.safetensors & run=$!\n"
            "until test -e $T/cut.safetensors.part-0 || test -e $T/cut.safetensors; do sleep 0.02; done\n"
            "kill -INT $run; wait $run");
    ENSURE(code == 130 && says("--resume goes on from here"));
    ENSURE(shell("test ! -e $T/cut.safetensors && test -s $T/cut.safetensors.part-0") == 0);
    ENSURE(shell(PRACTICE CHEAP "--situations 66 --seed 3 --resume -o $T/cut.safetensors") == 1);
    ENSURE(says("cut.safetensors.part-0: seed is \"0\", expected \"3\": this is another run's"));
    ENSURE(shell(PRACTICE CHEAP "--situations 66 --noise 0.5 --resume -o $T/cut.safetensors") == 1);
    ENSURE(says("this is another run's"));
    ENSURE(shell("test -s $T/cut.safetensors.part-0") == 0);
    ENSURE(shell(PRACTICE CHEAP "--situations 66 --resume -o $T/cut.safetensors") == 0);
    ENSURE(shell("cmp $T/one.safetensors $T/cut.safetensors && test ! -e $T/cut.safetensors.part-0") == 0);
    ENSURE(shell(PRACTICE CHEAP "--situations 20 --seed 3 -o $T/other.safetensors") == 0);
    ENSURE(shell("cmp -s $T/one.safetensors $T/other.safetensors") == 1);
}

/* What tells this run's parts from another's. */
static void read_run(char out[32])
{
    hrc_error err;
    tensorfile file;
    ENSURE(shell(PRACTICE CHEAP "--situations 1 -o $T/run.safetensors") == 0);
    ENSURE_OK(tensorfile_open(&file, test_path("run.safetensors"), &err));
    snprintf(out, 32, "%s", tensorfile_meta(&file, "run"));
    tensorfile_close(&file);
}

static void write_part(const char *run, const char *next, const char *counts, int label)
{
    hrc_error err;
    lessons l = {.horizon = PLAN_H};
    const lesson one = {0};
    const tensor_meta meta[] = {
        {"next", next}, {"seed", "0"}, {"run", run}, {"ranks", "1"}, {"counts", counts}};
    ENSURE_OK(lessons_add(&l, &one, label, 0, &err));
    ENSURE_OK(lessons_save(&l, test_path("h.safetensors.part-0"), meta, 5, &err));
    lessons_free(&l);
}

/* A file that says it is a practice under way, and is not. */
static void test_hostile_part(void)
{
    static const char *const GOOD = "0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 ";
    static const struct {
        const char *next, *counts;
        int label;
        const char *words;
    } BAD[] = {{"-5", GOOD, 0, "next is \"-5\", expected 0 to 1"},
               {"9999999999", GOOD, 0, "next is \"9999999999\""},
               {"x", GOOD, 0, "next is \"x\""},
               {"0", "", 0, "has no counts"},
               {"0", "1 2 3", 0, "has no counts"},
               {"0", GOOD, 31, "label 0 is 31, expected under 30"},
               {"0", GOOD, SITUATIONS * LESSON_POSTURES, "label 0 is 30"}};
    char run[32];
    small_planner("p.safetensors", 38);
    read_run(run);
    for (size_t i = 0; i < sizeof BAD / sizeof *BAD; i++) {
        write_part(run, BAD[i].next, BAD[i].counts, BAD[i].label);
        if (shell(PRACTICE CHEAP "--situations 1 --resume -o $T/h.safetensors") != 1 || !says(BAD[i].words))
            test_fail(__FILE__, __LINE__, "case %zu: %.200s", i, shell_output);
        ENSURE(says("h.safetensors.part-0") && shell("test ! -e $T/h.safetensors") == 0);
    }
    write_part(run, "1", GOOD, 0);
    ENSURE(shell(PRACTICE CHEAP "--situations 1 --resume -o $T/h.safetensors") == 0);
}

static void test_bad_input(void)
{
    static const struct {
        const char *line, *words;
        int code;
    } BAD[] = {
        {"$HERACLES practice motions/wave.safetensors", "--out is missing", 2},
        {"$HERACLES practice -o $T/x.safetensors", "give --corpus FILE or motion files", 2},
        {"$HERACLES practice --corpus motions/cmu.safetensors motions/wave.safetensors -o $T/x.safetensors",
         "give --corpus FILE or motion files", 2},
        {"$HERACLES practice motions/wave.safetensors -o $T/x.safetensors --situations 0", "--situations", 2},
        {"$HERACLES practice motions/wave.safetensors -o $T/x.safetensors --situations many", "--situations",
         2},
        {"$HERACLES practice motions/wave.safetensors -o $T/x.safetensors --attempts 7", "--attempts", 2},
        {"$HERACLES practice motions/wave.safetensors -o $T/x.safetensors --keep -1", "--keep", 2},
        {"$HERACLES practice motions/wave.safetensors -o $T/x.safetensors --noise nan", "--noise", 2},
        {"$HERACLES practice motions/wave.safetensors -o $T/x.safetensors --seconds 1", "--seconds", 2},
        {"$HERACLES practice motions/wave.safetensors -o $T/x.safetensors --tracker $T/none",
         "none: cannot open", 1},
        {"$HERACLES practice motions/wave.safetensors -o $T/x.safetensors --planner $T/none",
         "none: cannot open", 1},
        {PRACTICE "--tracker $T/p.safetensors -o $T/x.safetensors",
         "p.safetensors: is a planner, expected a tracker", 1},
        {"$HERACLES practice motions/wave.safetensors --planner models/tracker.safetensors -o $T/x.safetensors",
         "tracker.safetensors: is a tracker, expected a planner", 1},
        {PRACTICE "--tracker motions/wave.safetensors -o $T/x.safetensors", "wave.safetensors: format is", 1},
        {PRACTICE "$T/none.csv -o $T/x.safetensors", "none.csv: cannot open", 1},
        {"$HERACLES practice --corpus $T/none --planner $T/p.safetensors -o $T/x.safetensors",
         "none: cannot open", 1},
        {PRACTICE CHEAP "--situations 1 -o $T/no/where.safetensors", "no/where.safetensors", 1},
    };
    small_planner("p.safetensors", 38);
    for (size_t i = 0; i < sizeof BAD / sizeof *BAD; i++) {
        int code = shell(BAD[i].line);
        if (code != BAD[i].code || !says(BAD[i].words))
            test_fail(__FILE__, __LINE__, "%s: exit %d: %.300s", BAD[i].line, code, shell_output);
    }
    ENSURE(shell("ls $T | grep x.safetensors") == 1);
}

static void write_lessons(const char *name, int n, float height)
{
    hrc_error err;
    lessons l = {.horizon = PLAN_H};
    double stance[HRC_NQ];
    lesson one = {0};
    g1_default_qpos(stance);
    for (int i = 0; i < HRC_NQ; i++) {
        one.state[i] = one.under_way[i] = (float)stance[i];
        for (int k = 0; k < LESSON_WINDOW; k++) one.reference[k][i] = (float)stance[i];
        for (int k = 0; k < PLAN_K; k++) one.guide[k][i] = (float)stance[i] + 0.01f * (float)k;
    }
    one.state[2] = height;
    for (int i = 0; i < n; i++) ENSURE_OK(lessons_add(&l, &one, i % 3, i, &err));
    ENSURE_OK(lessons_save(&l, test_path(name), NULL, 0, &err));
    lessons_free(&l);
}

/* Do both hold the same weights? What they say of their training does not count. */
static bool same_weights(const char *a, const char *b)
{
    hrc_error err;
    tensorfile x, y;
    bool same = true;
    ENSURE_OK(tensorfile_open(&x, test_path(a), &err));
    ENSURE_OK(tensorfile_open(&y, test_path(b), &err));
    for (int i = 0; i < x.ntensors; i++) {
        const tensor *t = &x.tensors[i], *u = tensorfile_find(&y, t->name);
        ENSURE(u && u->count == t->count);
        same = same && !memcmp(t->data, u->data, (size_t)t->count * dtype_size(t->type));
    }
    tensorfile_close(&x);
    tensorfile_close(&y);
    return same;
}

/* Lessons change what is learned; a run goes on only with the lessons it began with. */
static void test_train(void)
{
    write_lessons("a.safetensors", 5, 0.2f);
    write_lessons("b.safetensors", 4, 0.3f);
    ENSURE(shell("set -e\ntrain=\"$HERACLES train planner " SMALL "--planner.steps=6\"\n"
                 "$train -o $T/none.safetensors\n"
                 "$train -o $T/pa.safetensors --practice $T/a.safetensors\n"
                 "$train -o $T/again.safetensors --practice $T/a.safetensors\n"
                 "$train -o $T/both.safetensors --practice $T/a.safetensors,$T/b.safetensors\n"
                 "$train -o $T/zero.safetensors --practice $T/a.safetensors --planner.practice=0\n") == 0);
    ENSURE(shell("cmp $T/pa.safetensors $T/again.safetensors") == 0);
    ENSURE(!same_weights("pa.safetensors", "none.safetensors"));
    ENSURE(!same_weights("pa.safetensors", "both.safetensors"));
    ENSURE(!same_weights("pa.safetensors", "zero.safetensors"));
    ENSURE(shell("grep -qa 'and 9 lessons of practice' $T/both.safetensors") == 0);
#define GO_ON "$HERACLES train planner " SMALL "--planner.steps=8 --resume -o $T/pa.safetensors "
    ENSURE(shell(GO_ON "--practice $T/b.safetensors") == 1 &&
           says("pa.safetensors.checkpoint: the motions or lessons of practice are others"));
    ENSURE(shell(GO_ON) == 1 && says("the motions or lessons of practice are others"));
    ENSURE(shell(GO_ON "--practice $T/a.safetensors") == 0);
#define NEW "$HERACLES train planner " SMALL "--planner.steps=2 -o $T/x.safetensors "
    ENSURE(shell(NEW "--practice motions/wave.safetensors") == 1);
    ENSURE(says("wave.safetensors: format is \"heracles-clip\", expected \"heracles-practice\""));
    ENSURE(shell(NEW "--practice $T/absent") == 1 && says("absent: cannot open"));
    ENSURE(shell(NEW "--practice $T/a.safetensors --planner.horizon=20") == 1);
    ENSURE(says("a.safetensors: plans of 10 frames, but planner.horizon = 20"));
    ENSURE(shell("ls $T | grep x.safetensors") == 1);
}

TEST_TABLE({"cli_practice.report", test_report}, {"cli_practice.resume", test_resume},
           {"cli_practice.hostile_part", test_hostile_part}, {"cli_practice.bad_input", test_bad_input},
           {"cli_practice.train", test_train})
