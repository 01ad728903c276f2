#include "eval/rollout.h"

#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/rot.h"
#include "base/tensorfile.h"
#include "motion/clip.h"
#include "robot/g1.h"

#define MAX_FRAMES 100000000

typedef struct {
    const char *name;
    int width;
    size_t member;
} array_info;

static const array_info ARRAY[] = {
#define X(name, width) {#name, width, offsetof(rollout, name)},
    ROLLOUT_ARRAYS(X)
#undef X
};

static float **array_of(const rollout *r, int i)
{
    return (float **)((char *)r + ARRAY[i].member);
}

hrc_status rollout_create(rollout *r, int n, double fps, const char *name, int arrays, int max_events,
                          hrc_error *err)
{
    *r = (rollout){.fps = fps, .n = n, .note = ""};
    if (n < 1 || n > MAX_FRAMES || !(fps > 0) || !isfinite(fps))
        return fail(err, HRC_EINVAL, "rollout \"%.80s\": %d frames at %g Hz, expected at least 1 and a rate",
                    name, n, fps);
    r->name = arena_strdup(&r->memory, name);
    r->qpos = ARENA_NEW(&r->memory, float, (size_t)n *HRC_NQ);
    bool made = r->name && r->qpos;
    for (int i = 0; i < COUNT(ARRAY); i++)
        if (arrays & 1 << i)
            made &=
                (*array_of(r, i) = ARENA_NEW(&r->memory, float, (size_t)n *(size_t)ARRAY[i].width)) != NULL;
    if (max_events > 0) made &= (r->events = ARENA_NEW(&r->memory, rollout_event, max_events)) != NULL;
    if (made) return HRC_OK;
    rollout_free(r);
    return fail(err, HRC_ENOMEM, "rollout \"%.80s\": out of memory for %d frames", name, n);
}

void rollout_free(rollout *r)
{
    arena_free(&r->memory);
    *r = (rollout){0};
}

void rollout_robot(rollout *r, int i, const double qpos[HRC_NQ], const hrc_target *target,
                   const double torque[HRC_JOINTS])
{
    for (int k = 0; k < HRC_NQ; k++) r->qpos[(size_t)i * HRC_NQ + (size_t)k] = (float)qpos[k];
    const size_t at = (size_t)i * HRC_JOINTS;
    for (int k = 0; r->target && k < HRC_JOINTS; k++) r->target[at + (size_t)k] = (float)target->q[k];
    for (int k = 0; r->torque && k < HRC_JOINTS; k++) r->torque[at + (size_t)k] = (float)torque[k];
}

void rollout_control(rollout *r, int i, const hrc_report *report)
{
    const hrc_keyframes *plan = &report->plan;
    if (r->ref) memcpy(r->ref + (size_t)i * HRC_NQ, report->reference.qpos, sizeof report->reference.qpos);
    if (r->plan && report->planned)
        memcpy(r->plan + (size_t)i * HRC_KEYFRAMES * HRC_NQ, plan->qpos, sizeof plan->qpos);
    if (!r->signals) return;
    float *s = r->signals + (size_t)i * SIGNALS;
    s[SIGNAL_GAP] = (float)report->gap_rad;
    s[SIGNAL_REWRITE] = (float)report->rewrite_rad;
    s[SIGNAL_PLANNED] = (float)report->planned;
    s[SIGNAL_REFUSED] = report->replanned && report->verdict != HRC_FINE;
    s[SIGNAL_OFF] = (float)report->off;
}

void rollout_note(rollout *r, double t_s, const char *words)
{
    const char *kept = arena_strdup(&r->memory, words);
    if (kept) r->events[r->nevents++] = (rollout_event){t_s, kept};
}

static bool is_rollout(const tensorfile *file)
{
    return strcmp(tensorfile_text(file, "format", ""), ROLLOUT_FORMAT) == 0;
}

bool rollout_is_file(const char *path)
{
    tensorfile file;
    if (tensorfile_open(&file, path, NULL) < 0) return false;
    bool yes = is_rollout(&file);
    tensorfile_close(&file);
    return yes;
}

/* ---- Reading. ---- */

/* The first value that is not finite, or -1. */
static int64_t first_bad(const tensor *t)
{
    const float *x = t->data;
    for (int64_t i = 0; i < t->count; i++)
        if (!isfinite(x[i])) return i;
    return -1;
}

/* One (n, width) tensor into `out`; with quaternions when it holds poses. */
static hrc_status read_frames(float *out, const tensorfile *file, const char *name, int n, int width,
                              hrc_error *err)
{
    const tensor *t;
    TRY(tensorfile_need(file, name, DT_F32, 2, (int64_t[]){n, width}, &t, err));
    int64_t bad = first_bad(t);
    if (bad >= 0)
        return fail(err, HRC_ENONFINITE, "%s: tensor \"%s\": frame %lld, column %lld is not finite",
                    file->path, name, (long long)(bad / width), (long long)(bad % width));
    memcpy(out, t->data, (size_t)t->count * sizeof(float));
    for (int i = 0; width == HRC_NQ && i < n; i++) {
        float norm = quat_normalizef(out + (size_t)i * HRC_NQ + 3);
        if (!(fabsf(norm - 1) < 1e-2f))
            return fail(err, HRC_EFORMAT,
                        "%s: tensor \"%s\": frame %d: root quaternion has norm %g, expected 1", file->path,
                        name, i, (double)norm);
    }
    return HRC_OK;
}

static hrc_status read_event(rollout_event *event, arena *memory, json_t *value, const char *path, int i,
                             hrc_error *err)
{
    json_t *t = json_object_get(value, "t"), *text = json_object_get(value, "text");
    if (!json_is_number(t) || !json_is_string(text))
        return fail(err, HRC_EFORMAT, "%s: event %d is not {\"t\": seconds, \"text\": \"...\"}", path, i);
    if (!status_is_tame(json_string_value(text)))
        return fail(err, HRC_EFORMAT, "%s: event %d holds control bytes", path, i);
    event->t_s = json_number_value(t);
    event->text = arena_strdup(memory, json_string_value(text));
    return event->text ? HRC_OK : fail(err, HRC_ENOMEM, "%s: out of memory", path);
}

static hrc_status read_all(rollout *r, const tensorfile *file, json_t *events, hrc_error *err)
{
    const char *name, *rate;
    char *end;
    if (!is_rollout(file))
        return fail(err, HRC_EFORMAT,
                    "%s: is not a rollout: metadata \"format\" is \"%.40s\", expected \"%s\"", file->path,
                    tensorfile_text(file, "format", ""), ROLLOUT_FORMAT);
    TRY(tensorfile_need_meta(file, "name", &name, err));
    TRY(tensorfile_need_meta(file, "fps", &rate, err));
    TRY(g1_check_joint_names(tensorfile_meta(file, "joint_names"), file->path, err));
    double fps = strtod(rate, &end);
    if (end == rate || *end || !(fps > 0 && fps <= 1e6))
        return fail(err, HRC_EFORMAT, "%s: fps is \"%.40s\", expected a rate in Hz", file->path, rate);
    if (!json_is_array(events))
        return fail(err, HRC_EFORMAT, "%s: metadata \"events\" is not a JSON array", file->path);
    const tensor *qpos;
    TRY(tensorfile_need(file, "qpos", DT_F32, 2, (int64_t[]){-1, HRC_NQ}, &qpos, err));
    if (qpos->shape[0] < 1 || qpos->shape[0] > MAX_FRAMES)
        return fail(err, HRC_EFORMAT, "%s: %lld frames, expected 1 to %d", file->path,
                    (long long)qpos->shape[0], MAX_FRAMES);
    int arrays = 0;
    for (int i = 0; i < COUNT(ARRAY); i++) arrays |= tensorfile_find(file, ARRAY[i].name) ? 1 << i : 0;
    int n = (int)qpos->shape[0];
    TRY(rollout_create(r, n, fps, name, arrays, (int)json_array_size(events), err));
    TRY(read_frames(r->qpos, file, "qpos", n, HRC_NQ, err));
    for (int i = 0; i < COUNT(ARRAY); i++)
        if (arrays & 1 << i) TRY(read_frames(*array_of(r, i), file, ARRAY[i].name, n, ARRAY[i].width, err));
    r->note = arena_strdup(&r->memory, tensorfile_text(file, "note", ""));
    if (!r->note) return fail(err, HRC_ENOMEM, "%s: out of memory", file->path);
    for (; r->nevents < (int)json_array_size(events); r->nevents++)
        TRY(read_event(&r->events[r->nevents], &r->memory, json_array_get(events, (size_t)r->nevents),
                       file->path, r->nevents, err));
    return HRC_OK;
}

hrc_status rollout_load(rollout *r, const char *path, hrc_error *err)
{
    tensorfile file;
    *r = (rollout){0};
    TRY(tensorfile_open(&file, path, err));
    json_t *events = json_loads(tensorfile_text(&file, "events", "[]"), JSON_REJECT_DUPLICATES, NULL);
    hrc_status status = read_all(r, &file, events, err);
    json_decref(events);
    tensorfile_close(&file);
    if (status < 0) rollout_free(r);
    return status;
}

/* ---- Writing. ---- */

hrc_status rollout_save(const rollout *r, const char *path, hrc_error *err)
{
    tensor tensors[1 + COUNT(ARRAY)] = {tensor_rows("qpos", r->qpos, r->n, HRC_NQ)};
    int count = 1;
    for (int i = 0; i < COUNT(ARRAY); i++)
        if (*array_of(r, i))
            tensors[count++] = tensor_rows(ARRAY[i].name, *array_of(r, i), r->n, ARRAY[i].width);
    char fps[40], joints[G1_NAMES_BYTES];
    snprintf(fps, sizeof fps, "%.17g", r->fps);
    g1_joint_names(joints);
    json_t *list = json_array();
    for (int i = 0; i < r->nevents; i++)
        json_array_append_new(list,
                              json_pack("{s:f, s:s}", "t", r->events[i].t_s, "text", r->events[i].text));
    char *events = (int)json_array_size(list) == r->nevents ? json_dumps(list, JSON_COMPACT) : NULL;
    json_decref(list);
    if (!events)
        return fail(err, HRC_EINVAL, "%s: an event has a time that is not finite or a text that is not UTF-8",
                    path);
    const tensor_meta meta[] = {
        {"format", ROLLOUT_FORMAT}, {"name", r->name},  {"fps", fps},
        {"joint_names", joints},    {"events", events}, {"note", r->note ? r->note : ""},
    };
    hrc_status status = tensorfile_write(path, tensors, count, meta, COUNT(meta), err);
    free(events);
    return status;
}
