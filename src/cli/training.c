#include "cli/training.h"

#include <math.h>
#include <unistd.h>

static bool is_there(const char *path)
{
    return access(path, F_OK) == 0;
}

/* Whoever has trained for hours wants to be asked. */
static bool may_write(const training *t)
{
    const args *a = t->a;
    const char *const files[] = {t->out, t->checkpoint, t->light, t->log_path};
    if (arg(a, "overwrite")) return true;
    if (arg(a, "resume")) {
        if (!is_there(t->out) || is_there(t->checkpoint) || is_there(t->light)) return true;
        cli_usage(a, "%s is there, but neither %s nor %s to go on from; --overwrite begins anew", t->out,
                  t->checkpoint, t->light);
        return false;
    }
    for (int i = 0; i < COUNT(files); i++)
        if (is_there(files[i])) {
            cli_usage(a, "%s is there already; --resume goes on with that training, --overwrite begins anew",
                      files[i]);
            return false;
        }
    return true;
}

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
    snprintf(t->light, sizeof t->light, "%s.light", t->out);
    if (!may_write(t)) return false;
    cli_save_on_interrupt();
    return true;
}

bool training_resumes(const training *t)
{
    return arg(t->a, "resume") && is_there(t->checkpoint);
}

bool training_resumes_light(const training *t)
{
    return arg(t->a, "resume") && !is_there(t->checkpoint) && is_there(t->light);
}

hrc_status training_open_log(training *t, int64_t keep, hrc_error *err)
{
    if (!keep) { /* a new training: --resume must not find an old one's */
        unlink(t->checkpoint);
        unlink(t->light);
    }
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

void training_saved(training *t, hrc_status status, const hrc_error *why)
{
    t->saved = now_s();
    if (status < 0) fprintf(stderr, "heracles: no checkpoint, training goes on: %s\n", why->text);
}
