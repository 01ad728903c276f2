#include "cli/training.h"

#include <math.h>
#include <unistd.h>

bool training_options(training *t, const args *a)
{
    double checkpoint_min = 3;
    *t = (training){.a = a, .out = arg(a, "out"), .minutes = INFINITY};
    if (!t->out) {
        cli_usage(a, "--out is missing");
        return false;
    }
    if (!arg_number(a, "minutes", 0, 1e6, &t->minutes) ||
        !arg_number(a, "checkpoint-minutes", 0, 1e6, &checkpoint_min))
        return false;
    t->checkpoint_s = 60 * checkpoint_min;
    snprintf(t->checkpoint, sizeof t->checkpoint, "%s.checkpoint", t->out);
    snprintf(t->log_path, sizeof t->log_path, "%s.log.jsonl", t->out);
    cli_save_on_interrupt();
    return true;
}

bool training_resumes(const training *t)
{
    return arg(t->a, "resume") && access(t->checkpoint, F_OK) == 0;
}

hrc_status training_open_log(training *t, int64_t keep, hrc_error *err)
{
    t->log = fopen(t->log_path, keep ? "a" : "w");
    if (!t->log || (keep > 0 && training_log_bytes(t) > keep && ftruncate(fileno(t->log), keep) != 0))
        return fail(err, HRC_EFILE, "%s: cannot write", t->log_path);
    return HRC_OK;
}

void training_log(training *t, json_t *line)
{
    json_dumpf(line, t->log, JSON_COMPACT | JSON_REAL_PRECISION(6));
    fputc('\n', t->log);
    fflush(t->log);
    json_decref(line);
}

int64_t training_log_bytes(const training *t)
{
    fseek(t->log, 0, SEEK_END);
    return ftell(t->log);
}

void training_begin(training *t)
{
    t->begin = t->saved = now_s();
}

bool training_goes_on(const training *t)
{
    return !cli_interrupted() && now_s() - t->begin < 60 * t->minutes;
}

bool training_checkpoint_due(const training *t)
{
    return now_s() - t->saved > t->checkpoint_s;
}
