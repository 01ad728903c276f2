#ifndef HRC_CLI_COMMANDS_H
#define HRC_CLI_COMMANDS_H

#include "cli/cli.h"

extern const command CMD_BENCH_PLAN, CMD_BENCH_DEPLOY;
extern const command CMD_BENCH_SIM;
extern const command CMD_BENCH_ENV;
extern const command CMD_DEMO;
extern const command CMD_ROBOT;
extern const command CMD_ROBOT_SIM, CMD_DEPLOY, CMD_REPLAY;
extern const command CMD_BENCH_TRAIN, CMD_BENCH_TRACKER;
extern const command CMD_MOTION_INFO, CMD_MOTION_CONVERT, CMD_MOTION_CUT, CMD_MOTION_FIX;
extern const command CMD_MOTION_RETARGET, CMD_MOTION_SHEET;
extern const command CMD_CORPUS_BUILD, CMD_CORPUS_INFO, CMD_CORPUS_SELECT, CMD_CORPUS_SUITES;
extern const command CMD_EVAL;
extern const command CMD_RUN;
extern const command CMD_EVAL_PLANNER;
extern const command CMD_EXPORT, CMD_SEAL;
extern const command CMD_PLAN, CMD_PLAY, CMD_PLOT;
extern const command CMD_PRACTICE;
extern const command CMD_TRAIN, CMD_TRAIN_PLANNER, CMD_TRAIN_TRACKER;
extern const command CMD_VIEW;

#endif
