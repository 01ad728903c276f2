#include "cli/training.h"

#include <math.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "learn/comm.h"
#include "learn/events.h"

bool leads(void)
{
    return comm_rank() == 0;
}

static bool is_there(const char *path)
{
    return access(path, F_OK) == 0;
}

/* Hours of training are not overwritten without a question. */
static bool may_write(const training *t)
{
    const args *a = t->a;
    const char *const files[] = {t->out, t->checkpoint, t->light, t->log_path};
    if (arg(a, "overwrite")) return true;
    if (arg(a, "resume")) {
        if (!is_there(t->out) || is_there(t->checkpoint) || is_there(t->light)) return true;
        return cli_refuse(a, "%s is there, but neither %s nor %s to go on from; --overwrite begins anew",
                          t->out, t->checkpoint, t->light);
    }
    for (int i = 0; i < COUNT(files); i++)
        if (is_there(files[i]))
            return cli_refuse(
                a, "%s is there already; --resume goes on with that training, --overwrite begins anew",
                files[i]);
    return true;
}

bool training_options(training *t, const args *a, const char *step_name)
{
    double checkpoint_min = 3;
    *t = (training){.a = a, .out = arg(a, "out"), .step_name = step_name, .minutes = INFINITY};
    if (!t->out) return cli_refuse(a, "--out is missing");
    if (!arg_number(a, "minutes", 0, 1e6, &t->minutes) ||
        !arg_number(a, "checkpoint-minutes", 0, 1e6, &checkpoint_min))
        return false;
    t->checkpoint_s = 60 * checkpoint_min;
    snprintf(t->checkpoint, sizeof t->checkpoint, "%s.checkpoint", t->out);
    snprintf(t->log_path, sizeof t->log_path, "%s.log.jsonl", t->out);
    snprintf(t->events_path, sizeof t->events_path, "%s.tensorboard", t->out);
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

int64_t training_log_until(const training *t, int64_t step)
{
    file_view log;
    hrc_error none;
    size_t at = 0;
    if (file_map(t->log_path, &log, &none) < 0) return 0;
    for (const char *end; at < log.size && (end = memchr(log.data + at, '\n', log.size - at));) {
        json_t *line = json_loadb(log.data + at, (size_t)(end - log.data) - at, 0, NULL);
        const bool later = !line || json_integer_value(json_object_get(line, t->step_name)) > step;
        json_decref(line);
        if (later) break;
        at = (size_t)(end - log.data) + 1;
    }
    file_unmap(&log);
    return (int64_t)at;
}

static hrc_status open_cut(FILE **out, const char *path, int64_t keep, hrc_error *err)
{
    *out = fopen(path, keep ? "a" : "w");
    if (!*out || (fseek(*out, 0, SEEK_END) == 0 && ftell(*out) > keep && ftruncate(fileno(*out), keep) != 0))
        return fail(err, HRC_EFILE, "%s: cannot write", path);
    return HRC_OK;
}

/* Since 1970, for TensorBoard's axis of time. */
static double calendar_s(void)
{
    return 1e-9 * (double)clock_ns_of(CLOCK_REALTIME);
}

static void write_event(training *t, const text *record)
{
    if (text_ok(record)) fwrite(record->data, 1, record->size, t->events);
    fflush(t->events);
}

/* TensorBoard takes every folder for a run, hence one for the one file. */
static hrc_status open_events(training *t, int64_t step, hrc_error *err)
{
    char path[1100];
    file_view old;
    hrc_error none;
    size_t keep = 0;
    text first = {0};
    TRY(file_folder(t->events_path, err));
    snprintf(path, sizeof path, "%s/events.out.tfevents.heracles", t->events_path);
    if (step > 0 && file_map(path, &old, &none) == HRC_OK) {
        keep = events_until(old.data, old.size, step);
        file_unmap(&old);
    }
    TRY(open_cut(&t->events, path, (int64_t)keep, err));
    if (!keep) events_begin(&first, calendar_s());
    if (!keep) write_event(t, &first);
    text_free(&first);
    return HRC_OK;
}

hrc_status training_open_log(training *t, int64_t keep, int64_t step, hrc_error *err)
{
    if (!step) { /* a new training: --resume must not find an old one's */
        unlink(t->checkpoint);
        unlink(t->light);
    }
    TRY(open_cut(&t->log, t->log_path, keep, err));
    return open_events(t, step, err);
}

void training_close_log(training *t)
{
    if (t->log) fclose(t->log);
    if (t->events) fclose(t->events);
    t->log = t->events = NULL;
}

void training_log(training *t, json_t *line)
{
    text record = {0};
    json_dumpf(line, t->log, JSON_COMPACT | JSON_REAL_PRECISION(6));
    fputc('\n', t->log);
    fflush(t->log);
    events_add(&record, calendar_s(), json_integer_value(json_object_get(line, t->step_name)), line);
    write_event(t, &record);
    text_free(&record);
    json_decref(line);
}

int64_t training_log_bytes(const training *t)
{
    fseek(t->log, 0, SEEK_END);
    return ftell(t->log);
}

/* Names of files that commas separate, each after `words`. */
static size_t add_names(char *out, size_t size, size_t used, const char *paths, const char *words)
{
    for (const char *at = paths; at && *at && used < size;) {
        char path[1024], name[128];
        const size_t length = strcspn(at, ",");
        snprintf(path, sizeof path, "%.*s", (int)length, at);
        file_stem(name, sizeof name, path);
        used += (size_t)snprintf(out + used, size - used, "%s%s%s", used ? ", " : "", words, name);
        at += length + (at[length] == ',');
    }
    return used;
}

void training_motions(const training *t, char *out, size_t size)
{
    snprintf(out, size, "clip files");
    const size_t used = add_names(out, size, 0, arg(t->a, "corpus"), "");
    add_names(out, size, used, arg(t->a, "rehearsed"), "rehearsals ");
}

void training_begin(training *t)
{
    t->begin = t->saved = clock_s();
}

bool training_goes_on(const training *t)
{
    return !cli_interrupted() && clock_s() - t->begin < 60 * t->minutes;
}

bool training_checkpoint_due(const training *t)
{
    return clock_s() - t->saved > t->checkpoint_s;
}

void training_saved(training *t, hrc_status status, const hrc_error *why)
{
    t->saved = clock_s();
    if (status < 0) fprintf(stderr, "heracles: no checkpoint, training goes on: %s\n", why->text);
}
