/* What the training commands share: the files beside the model, the log, limits in time. */
#ifndef HRC_CLI_TRAINING_H
#define HRC_CLI_TRAINING_H

#include <stdio.h>

#include "cli/cli.h"

typedef struct {
    const args *a;
    const char *out;
    const char *step_name; /* the log's figure that counts: "iteration" */
    char checkpoint[1024], light[1024], log_path[1024], events_path[1024];
    FILE *log, *events; /* JSON lines; the same for TensorBoard */
    double minutes, checkpoint_s;
    double begin, saved; /* monotonic seconds */
} training;

bool leads(void); /* this process, the first of several, prints and writes */

/* Rows of a command's options. */
#define TRAINING_OPTIONS                                                                                     \
    {"out", "MODEL", NULL,                                                                                   \
     "the model (-o); beside it MODEL.checkpoint, MODEL.log.jsonl and MODEL.tensorboard"},                   \
        {"resume", NULL, NULL, "go on from MODEL.checkpoint, or MODEL.light, when there is one"},            \
        {"overwrite", NULL, NULL, "begin anew although there are a model, a checkpoint or a log"},           \
        {"float", NULL, NULL, "store the model in float instead of bfloat16"},                               \
    {                                                                                                        \
        "checkpoint-minutes", "N", "3", "time between checkpoints"                                           \
    }

/* Reads --out, --minutes, --checkpoint-minutes, and makes Ctrl-C wait until all is saved. Refuses to write
 * over an earlier training that it was not told to go on with or to overwrite. False: said why. */
bool training_options(training *t, const args *a, const char *step_name);

bool training_resumes(const training *t);       /* it was asked for, and there is a checkpoint */
bool training_resumes_light(const training *t); /* likewise, but a light one alone */

/* keep: bytes of an old log that stay, 0: a new log. step: up to which the events stay. */
hrc_status training_open_log(training *t, int64_t keep, int64_t step, hrc_error *err);
int64_t training_log_until(const training *t, int64_t step); /* bytes of the old log's lines up to a step */
void training_log(training *t, json_t *line);                /* writes and frees it */
void training_close_log(training *t);
int64_t training_log_bytes(const training *t);

/* What a model says it was trained on: names of the corpora, not where they were. */
void training_motions(const training *t, char *out, size_t size);

void training_begin(training *t);
bool training_goes_on(const training *t); /* neither time is over nor Ctrl-C pressed */
bool training_checkpoint_due(const training *t);

/* A checkpoint that could not be written is told, and training goes on: there will be another. */
void training_saved(training *t, hrc_status status, const hrc_error *why);

#endif
