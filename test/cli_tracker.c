/* heracles train tracker as a user runs it: log, model, resume after kill -9, Ctrl-C, refusals, several
 * processes. */
#include <math.h>
#include <stdlib.h>

#include "learn/comm.h"
#include "motion/clip.h"
#include "shell.h"
#include "track/tracker.h"

#define SMALL                                                                                                \
    "--tracker.encoder_width=16 --tracker.action_width=16 --tracker.critic_width=16 --tracker.token=8 "      \
    "--ppo.worlds=6 --ppo.horizon=8 --ppo.minibatches=2 --train.precision=float --log-seconds 0 --trials 2 "
#define TRAIN "$HERACLES train tracker --method ppo --quiet --threads 1 --motion $D/turn.csv " SMALL
#define IN_TEST "D=$PWD/test/data; cd $T; "

static void test_train(void)
{
    json_t *report = shell_json(IN_TEST TRAIN "--iterations 2 -o trained.safetensors --json");
    ENSURE(json_number_value(json_object_get(report, "iterations")) == 2);
    ENSURE(json_integer_value(json_object_get(report, "samples")) == 96);
    ENSURE(json_is_true(json_object_get(report, "complete")));
    ENSURE(json_integer_value(json_object_get(report, "trials")) == 2);
    json_decref(report);
    hrc_error err;
    track_model m;
    ENSURE_OK(tracker_load(&m, test_path("trained.safetensors"), &err));
    ENSURE(strstr(m.trained, "ppo, 2 iterations") && strstr(m.config, "worlds = 6"));
    track_model_free(&m);
    ENSURE(
        shell(
            IN_TEST
            "wc -l < trained.safetensors.log.jsonl; $HERACLES plot trained.safetensors.log.jsonl -o trained.html") ==
        0);
    ENSURE(shell_output[0] == '2' && says("figures of 2 lines"));
}

/* 4 iterations = some, kill -9, the rest: the same model, the same number of lines. */
static void test_killed(void)
{
    ENSURE(shell(IN_TEST TRAIN "--iterations 4 -o whole.safetensors") == 0);
    ENSURE(shell(IN_TEST TRAIN "--iterations 100000 --checkpoint-minutes 0 -o part.safetensors & p=$!; "
                               "while [ $(cat part.safetensors.log.jsonl 2>/dev/null | wc -l) -lt 2 ]; do "
                               "sleep 0.02; done; kill -9 $p; wait $p; ls part.safetensors") != 0);
    ENSURE(shell(IN_TEST "ls part.safetensors.checkpoint") == 0);
    /* It may have gone further than 4 by now; then there is nothing to compare. */
    ENSURE(shell(IN_TEST "wc -l < part.safetensors.log.jsonl") == 0);
    if (atoi(shell_output) > 4) SKIP("the run was too fast to be stopped in time");
    ENSURE(shell(IN_TEST TRAIN "--iterations 4 --resume -o part.safetensors") == 0);
    ENSURE(shell(IN_TEST "cmp whole.safetensors part.safetensors && wc -l < part.safetensors.log.jsonl") ==
           0);
    ENSURE(atoi(shell_output) == 4);
}

/* Whether the tracker old.safetensors and another have the same weights; the scales of what they see are the
 * same. */
static bool same_as_old(const char *other)
{
    hrc_error err;
    track_model old, new;
    ENSURE_OK(tracker_load(&old, test_path("old.safetensors"), &err));
    ENSURE_OK(tracker_load(&new, test_path(other), &err));
    ENSURE(memcmp(old.proprio.shift, new.proprio.shift, sizeof(float) * OBS_P) == 0);
    ENSURE(memcmp(old.window.scale, new.window.scale, sizeof(float) * OBS_M) == 0);
    const bool same = memcmp(old.params, new.params, sizeof(float) * old.net.log_std) == 0;
    track_model_free(&old), track_model_free(&new);
    return same;
}

/* What one method trained, another begins with, or the same: without an update of the policy its weights and
 * scales stay. PPO's critic learns alone for 30 rollouts. */
static void test_from(void)
{
    const char *const again = IN_TEST
        "$HERACLES train tracker --quiet --threads 1 --motion $D/../../motions/wave.safetensors " SMALL
        "--from old.safetensors --float --iterations 1 --world.worlds=8 --world.warmup=1024 --world.prefit=1 "
        "--world.fit_batch=8 --world.fits=1 --world.updates=0 -o new.safetensors";
    ENSURE(shell(IN_TEST TRAIN "--iterations 2 --float -o old.safetensors") == 0);
    ENSURE(shell(again) == 0);
    ENSURE(same_as_old("new.safetensors"));
    ENSURE(shell(IN_TEST TRAIN "--from old.safetensors --float --iterations 30 -o on.safetensors") == 0);
    ENSURE(same_as_old("on.safetensors"));
    ENSURE(shell(IN_TEST TRAIN "--from old.safetensors --float --iterations 31 -o onward.safetensors") == 0);
    ENSURE(!same_as_old("onward.safetensors"));
    ENSURE(shell(IN_TEST TRAIN
                 "--tracker.action_width=24 --from old.safetensors --iterations 1 -o tkx.safetensors") == 1);
    ENSURE(says("old.safetensors: action.0.weight has another shape"));
}

static void test_interrupted(void)
{
    ENSURE(shell(IN_TEST
                 "(trap - INT; exec " TRAIN "--minutes 5 -o tkc.safetensors) & p=$!; "
                 "while [ ! -s tkc.safetensors.log.jsonl ]; do sleep 0.02; done; kill -INT $p; wait $p") ==
           130);
    ENSURE(says("--resume goes on"));
    hrc_error err;
    track_model m;
    ENSURE_OK(tracker_load(&m, test_path("tkc.safetensors"), &err));
    track_model_free(&m);
}

/* What an earlier training left is not written over by a slip. */
static void test_overwrite(void)
{
    ENSURE(shell(IN_TEST TRAIN "--iterations 1 -o tko.safetensors && cp tko.safetensors tkkept") == 0);
    ENSURE(shell(IN_TEST TRAIN "--iterations 1 -o tko.safetensors") == 2 &&
           says("tko.safetensors is there already"));
    ENSURE(shell(IN_TEST "rm tko.safetensors; " TRAIN "--iterations 1 -o tko.safetensors") == 2);
    ENSURE(says("tko.safetensors.checkpoint is there already"));
    ENSURE(shell(IN_TEST "rm tko.safetensors.checkpoint tko.safetensors.light; " TRAIN
                         "--iterations 1 -o tko.safetensors") == 2 &&
           says("tko.safetensors.log.jsonl is there already"));
    ENSURE(shell(IN_TEST "cp tkkept tko.safetensors; " TRAIN "--iterations 1 --resume -o tko.safetensors") ==
           2);
    ENSURE(says("neither") && says("tko.safetensors.light to go on from"));
    ENSURE(shell(IN_TEST "cmp tkkept tko.safetensors") == 0);
    ENSURE(shell(IN_TEST TRAIN
                 "--iterations 1 --overwrite -o tko.safetensors && cmp tkkept tko.safetensors") == 0);
}

/* Where the exact checkpoint is not, the light one goes on. */
static void test_light(void)
{
    ENSURE(shell(IN_TEST TRAIN "--iterations 2 -o tkl.safetensors && rm tkl.safetensors.checkpoint") == 0);
    json_t *report = shell_json(IN_TEST TRAIN "--iterations 3 --resume -o tkl.safetensors --json");
    ENSURE(json_number_value(json_object_get(report, "iterations")) == 3);
    ENSURE(json_integer_value(json_object_get(report, "samples")) == 144);
    json_decref(report);
    ENSURE(shell(IN_TEST "wc -l < tkl.safetensors.log.jsonl") == 0 && atoi(shell_output) == 3);
}

/* Small networks and few steps: each preset by its name, the settings of the line over it. */
static void test_presets(void)
{
    static const char *const WORLD =
        "--world.worlds=8 --world.warmup=1024 --world.prefit=1 --world.fit_batch=8 "
        "--world.fits=1 --world.batch=8 --world.horizon=4 --world.width=16 "
        "--world.buffer=128 ";
    static const char *const PRESETS[] = {"general", "clip", "quick", "paper"};
    for (int i = 0; i < COUNT(PRESETS); i++) {
        char line[2048];
        snprintf(line, sizeof line,
                 IN_TEST "for n in 1 2; do $HERACLES train tracker --quiet --threads $n --preset %s --motion "
                         "$D/../../motions/wave.safetensors " SMALL
                         "%s --iterations 2 -o %s$n.safetensors || exit; "
                         "done; cmp %s1.safetensors %s2.safetensors",
                 PRESETS[i], WORLD, PRESETS[i], PRESETS[i], PRESETS[i]);
        if (shell(line) != 0) test_fail(__FILE__, __LINE__, "%s: %s", PRESETS[i], shell_output);
        /* 2 = 1 + the rest, bit for bit */
        snprintf(line, sizeof line,
                 IN_TEST "for n in 1 2; do $HERACLES train tracker --quiet --threads 1 --preset %s --motion "
                         "$D/../../motions/wave.safetensors " SMALL
                         "%s --resume --iterations $n -o %s3.safetensors || exit; done; cmp %s1.safetensors "
                         "%s3.safetensors",
                 PRESETS[i], WORLD, PRESETS[i], PRESETS[i], PRESETS[i]);
        if (shell(line) != 0) test_fail(__FILE__, __LINE__, "%s resumed: %s", PRESETS[i], shell_output);
    }
    hrc_error err;
    track_model m;
    ENSURE_OK(tracker_load(&m, test_path("general1.safetensors"), &err));
    ENSURE(strstr(m.config, "give_up = 0.005") && strstr(m.config, "anchored = 0.5"));
    ENSURE(strstr(m.config, "encoder_width = 16")); /* the line's own wins, wherever it stands */
    track_model_free(&m);
    ENSURE(shell("$HERACLES train tracker --preset huge --motion a.csv -o x") == 2 &&
           says("general, clip, quick or paper"));
    ENSURE(shell("$HERACLES help preset") == 0 && says("### general") && says("give_up"));
}

/* All stages in a folder; killed in the middle, the same line goes on to the same models. */
static void test_road(void)
{
#define ROAD                                                                                                              \
    "$HERACLES train --quiet --threads 1 --motion $D/../../motions/wave.safetensors --preset quick "                      \
    "--tracker.encoder_width=16 --tracker.action_width=16 --tracker.token=8 --world.worlds=8 "                            \
    "--world.warmup=1024 --world.prefit=1 --world.fit_batch=8 --world.fits=1 --world.batch=8 "                            \
    "--world.horizon=4 --world.width=16 --world.buffer=128 --train.iterations=2 --train.situations=3 --planner.width=16 " \
    "--planner.depth=1 --planner.steps=3 --planner.batch=8 --suite road.csv --suite-corpus "                              \
    "$D/../../motions/cmu.safetensors "
    ENSURE(shell(IN_TEST
                 "printf 'clip,first,last,category,hold\\n16_19,0,60,locomotion,0\\n' > road.csv; " ROAD
                 "-o whole") == 0);
    ENSURE(shell(IN_TEST "ls whole/tracker.safetensors whole/planner.safetensors whole/report.html") == 0);
    ENSURE(shell(IN_TEST ROAD
                 "-o part & p=$!; while [ ! -s part/train.json ]; do sleep 0.02; done; sleep 0.3; "
                 "kill -9 $p; wait $p; " ROAD "-o part") == 0);
    ENSURE(shell(IN_TEST "cmp whole/tracker.safetensors part/tracker.safetensors && cmp "
                         "whole/planner.safetensors part/planner.safetensors") == 0);
    ENSURE(shell(IN_TEST ROAD "-o part --json") == 0 &&
           says("part/tracker.safetensors")); /* nothing left to do */
    ENSURE(shell(IN_TEST ROAD "--seed 4 -o part") == 1 && says("begun with other seed"));
    ENSURE(shell(IN_TEST "$HERACLES train --preset quick -o x") == 2 &&
           says("--corpus FILE or --motion FILE"));
}

/* A robot that stands, and one that is 0.265 m higher for a while: too far off for trials, within the bounds
 * of completion for a rehearsal. */
static void make_corpus(void)
{
    hrc_error err;
    clip whole, part;
    ENSURE_OK(clip_load(&whole, "motions/wave.safetensors", NULL, NULL, &err));
    ENSURE_OK(clip_cut(&part, &whole, 0, 61, &err));
    part.name = "low";
    ENSURE_OK(clip_save(&part, test_path("low.safetensors"), &err));
    for (int i = 40; i < 56; i++) clip_frame(&part, i)[2] += 0.265f * sinf((float)(i - 40) * 3.14159f / 16);
    part.name = "high";
    ENSURE_OK(clip_save(&part, test_path("high.safetensors"), &err));
    clip_free(&part);
    clip_free(&whole);
    ENSURE(shell(IN_TEST
                 "$HERACLES corpus build --quiet low.safetensors high.safetensors -o two.safetensors") == 0);
}

/* What a tracker fails on is rehearsed, and another one learns it. */
static void test_rehearsed(void)
{
#define FEW                                                                                                     \
    "--world.worlds=8 --world.warmup=1024 --world.prefit=1 --world.fit_batch=8 --world.fits=1 --world.batch=8 " \
    "--world.horizon=4 --world.width=16 --world.buffer=128 --quiet --threads 1 "
#define REHEARSE                                                                                             \
    "$HERACLES corpus rehearse two.safetensors --tracker $D/../../models/tracker.safetensors --samples 12 "  \
    "--beam 1 --horizon 10 "
    make_corpus();
    ENSURE(shell(IN_TEST REHEARSE "-o done && ls done") == 0);
    ENSURE(says("done: 1 of 1 clips done to the end") && says("\nhigh.safetensors\n") &&
           !says("low.safetensors"));
    ENSURE(shell(IN_TEST "touch -d @1 done/high.safetensors && " REHEARSE
                         "-o done && stat -c %Y done/high.safetensors") == 0 &&
           says("\n1\n")); /* it was not done again */
    ENSURE(shell(IN_TEST REHEARSE "--seed 2 -o done") == 1 && says("high.safetensors: is of another run"));
    ENSURE(shell(IN_TEST
                 "$HERACLES corpus build --quiet low.safetensors -o easy.safetensors && $HERACLES corpus "
                 "rehearse easy.safetensors --tracker $D/../../models/tracker.safetensors -o none") == 0 &&
           says("easy.safetensors: the tracker follows all of it"));
    ENSURE(shell(IN_TEST REHEARSE "--beam 8 -o x") == 2 && says("four times --beam"));
#define GO_ON                                                                                                \
    "$HERACLES train tracker " FEW                                                                           \
    "--tracker.encoder_width=384 --from $D/../../models/tracker.safetensors --corpus two.safetensors "       \
    "--iterations 1 -o after.safetensors "
    ENSURE(shell(IN_TEST GO_ON "--rehearsed done") == 0);
    ENSURE(shell(IN_TEST GO_ON "--rehearsed empty --overwrite") == 1 &&
           says("empty: is not there, expected a folder of corpus rehearse"));
    ENSURE(shell(IN_TEST "mkdir other && cp done/high.safetensors other/low.safetensors && " GO_ON
                         "--rehearsed other --overwrite") == 1 &&
           says("other/low.safetensors: is of another clip than \"low\""));
    ENSURE(
        shell(IN_TEST
              "printf 'clip,first,last,category,hold\\nlow,0,61,daily,0\\n' > low.csv && $HERACLES train " FEW
              "--corpus two.safetensors --train.rehearsals=1 --train.rounds=0 "
              "--train.iterations=1 --planner.width=16 --planner.depth=1 "
              "--planner.steps=2 --planner.batch=8 --suite low.csv --suite-corpus two.safetensors "
              "-o hard && ls hard") == 0);
    ENSURE(says("rehearsed-1\n") && says("tracker-0.safetensors\n") && says("tracker.safetensors\n"));
}

static void test_refusals(void)
{
    ENSURE(shell("$HERACLES train tracker -o tkx.safetensors") == 2 &&
           says("--corpus FILE or --motion FILE"));
    ENSURE(shell("$HERACLES train tracker --motion a.csv") == 2 && says("--out is missing"));
    ENSURE(shell("$HERACLES train tracker --motion a.csv --method sac -o x") == 2 &&
           says("world-model, ppo"));
    ENSURE(shell(IN_TEST
                 "$HERACLES train tracker --motion absent.csv -o tkx.safetensors; ls tkx.safetensors*") != 0);
    ENSURE(says("absent.csv"));
    ENSURE(shell(IN_TEST TRAIN "--ppo.worlds=1 --ppo.horizon=1 --iterations 1 -o tkx.safetensors") == 1);
    ENSURE(says("ppo.minibatches = 2 of a rollout of 1"));
}

/* Two processes keep the same weights: both checkpoints hold them. */
static void test_processes(void)
{
    if (!strstr(comm_name(), "MPI")) SKIP("built without MPI=1");
    ENSURE(shell(IN_TEST "export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1; mpirun -n 2 "
                         "--oversubscribe " TRAIN
                         "--threads 1 --iterations 3 -o mpi.safetensors --json") == 0);
    ENSURE(says("\"samples\": 288"));
    hrc_error err;
    tensorfile files[2];
    char first[512];
    snprintf(first, sizeof first, "%s", test_path("mpi.safetensors.checkpoint"));
    ENSURE_OK(tensorfile_open(&files[0], first, &err));
    ENSURE_OK(tensorfile_open(&files[1], test_path("mpi.safetensors.checkpoint.1"), &err));
    static const char *const SAME[] = {"ppo.policy", "ppo.critic", "ppo.normal.critic.mean", "ppo.rate"};
    for (int i = 0; i < COUNT(SAME); i++) {
        const tensor *a = tensorfile_find(&files[0], SAME[i]), *b = tensorfile_find(&files[1], SAME[i]);
        ENSURE(a && b && memcmp(a->data, b->data, (size_t)a->count * dtype_size(a->type)) == 0);
    }
    const tensor *a = tensorfile_find(&files[0], "ppo.seen.proprio");
    const tensor *b = tensorfile_find(&files[1], "ppo.seen.proprio");
    ENSURE(memcmp(a->data, b->data, (size_t)a->count * sizeof(float)) != 0); /* but worlds of their own */
    tensorfile_close(&files[0]);
    tensorfile_close(&files[1]);
}

TEST_TABLE({"cli_tracker.train", test_train}, {"cli_tracker.killed", test_killed},
           {"cli_tracker.from", test_from}, {"cli_tracker.interrupted", test_interrupted},
           {"cli_tracker.refusals", test_refusals}, {"cli_tracker.overwrite", test_overwrite},
           {"cli_tracker.light", test_light}, {"cli_tracker.presets", test_presets},
           {"cli_tracker.road", test_road}, {"cli_tracker.rehearsed", test_rehearsed},
           {"cli_tracker.processes", test_processes})
