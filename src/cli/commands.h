#ifndef HRC_CLI_COMMANDS_H
#define HRC_CLI_COMMANDS_H

#include "cli/cli.h"

/* The list of commands, in the order of the help: one line each, so that two changes rarely meet. */
/* clang-format off */
#define EACH_COMMAND(X) \
    X(DEMO) \
    X(RUN) \
    X(PLAY) \
    X(VIEW) \
    X(MOTION_INFO) \
    X(MOTION_CONVERT) \
    X(MOTION_CUT) \
    X(MOTION_FIX) \
    X(MOTION_RETARGET) \
    X(MOTION_SHEET) \
    X(CORPUS_BUILD) \
    X(CORPUS_INFO) \
    X(CORPUS_SELECT) \
    X(CORPUS_REHEARSE) \
    X(CORPUS_SUITES) \
    X(PRACTICE) \
    X(TRAIN) \
    X(TRAIN_PLANNER) \
    X(TRAIN_TRACKER) \
    X(EVAL) \
    X(EVAL_PLANNER) \
    X(PLAN) \
    X(PLOT) \
    X(EXPORT) \
    X(AVERAGE) \
    X(SEAL) \
    X(ROBOT) \
    X(ROBOT_SIM) \
    X(DEPLOY) \
    X(REPLAY) \
    X(BENCH_SIM) \
    X(BENCH_ENV) \
    X(BENCH_TRAIN) \
    X(BENCH_TRACKER) \
    X(BENCH_PLAN) \
    X(BENCH_DEPLOY)
/* clang-format on */

#define DECLARE_COMMAND(name) extern const command CMD_##name;
EACH_COMMAND(DECLARE_COMMAND)
#undef DECLARE_COMMAND

#endif
