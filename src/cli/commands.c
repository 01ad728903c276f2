/* The list of commands, in the order of the help: one line each, so that two changes rarely meet. */
#include "cli/commands.h"

/* clang-format off */
const command *const COMMANDS[] = {
    &CMD_DEMO,
    &CMD_RUN,
    &CMD_VIEW,
    &CMD_MOTION_INFO,
    &CMD_MOTION_CONVERT,
    &CMD_MOTION_CUT,
    &CMD_MOTION_FIX,
    &CMD_MOTION_RETARGET,
    &CMD_MOTION_SHEET,
    &CMD_CORPUS_BUILD,
    &CMD_CORPUS_INFO,
    &CMD_CORPUS_SUITES,
    &CMD_TRAIN_PLANNER,
    &CMD_TRAIN_TRACKER,
    &CMD_EVAL,
    &CMD_EVAL_PLANNER,
    &CMD_PLAN,
    &CMD_PLOT,
    &CMD_EXPORT,
    &CMD_ROBOT,
    &CMD_ROBOT_SIM,
    &CMD_DEPLOY,
    &CMD_REPLAY,
    &CMD_BENCH_SIM,
    &CMD_BENCH_ENV,
    &CMD_BENCH_TRAIN,
    &CMD_BENCH_PLAN,
    NULL,
};
