/* What the training commands share: the files beside the model, the log, limits in time. */
#ifndef HRC_CLI_TRAINING_H
#define HRC_CLI_TRAINING_H

#include <stdio.h>

#include "cli/cli.h"

typedef struct {
    const args *a;
    const char *out;
    char checkpoint[1024], log_path[1024];
    FILE *log;
    double minutes, checkpoint_s;
    double begin, saved; /* monotonic seconds */
} training;

/* Rows of a command's options. */
#define TRAINING_OPTIONS                                                                                     \
    {"out", "MODEL", NULL, "the model (-o); MODEL.checkpoint and MODEL.log.jsonl stand beside it"},          \
        {"resume", NULL, NULL, "go on from MODEL.checkpoint when it is there"},                              \
        {"float", NULL, NULL, "store the model in float instead of bfloat16"},                               \
    {                                                                                                        \
        "checkpoint-minutes", "N", "3", "time between checkpoints"                                           \
    }

/* Reads --out, --minutes, --checkpoint-minutes, and makes Ctrl-C wait until all is saved. False: said why. */
bool training_options(training *t, const args *a);

bool training_resumes(const training *t); /* it was asked for, and there is a checkpoint */

/* keep: bytes of an old log that stay; -1: all of it; 0: a new log. */
hrc_status training_open_log(training *t, int64_t keep, hrc_error *err);
void training_log(training *t, json_t *line); /* writes and frees it */
int64_t training_log_bytes(const training *t);

void training_begin(training *t);
bool training_goes_on(const training *t); /* neither time is over nor Ctrl-C pressed */
bool training_checkpoint_due(const training *t);

#endif
