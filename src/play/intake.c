#include "play/intake.h"

#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "eval/course.h"
#include "motion/import/formats.h"
#include "motion/retarget/retarget.h"

typedef enum { INTAKE_IDLE, INTAKE_COMES, INTAKE_READS } intake_stage;

struct intake {
    clip_options reading;
    void (*wake)(void *);
    void *ctx;
    intake_stage stage;
    char name[128]; /* of the file, without folder */
    char *bytes;
    size_t size, got;
    pthread_t thread;
    atomic_bool done; /* the thread has filled `result` */
    intake_result result;
};

/* ---- Reading ---- */

static hrc_status read_bvh(intake_result *r, const char *name, file_view bytes, hrc_error *err)
{
    bvh person;
    retarget_report report = {0};
    const retarget_options how = {.floor = NAN, .fps = HRC_RATE_HZ};
    TRY(bvh_parse(&person, name, bytes, NULL, err));
    hrc_status status = HRC_OK;
    if (person.n > INTAKE_S * person.fps)
        status = fail(err, HRC_EINVAL, "%s: lasts %.0f s, expected at most %.0f in the playground", name,
                      person.n / person.fps, INTAKE_S);
    if (status == HRC_OK) status = retarget(&r->motion, &report, &person, name, &how, err);
    bvh_free(&person);
    snprintf(r->said, sizeof r->said, "retargeted from a skeleton as %s has them", report.skeleton);
    return status;
}

static hrc_status read_clip(intake_result *r, const char *name, file_view bytes, const clip_options *reading,
                            hrc_error *err)
{
    clip original;
    clip_decisions why;
    TRY(clip_parse(&original, name, bytes, reading, &why, err));
    hrc_status status = clip_resample(&r->motion, &original, HRC_RATE_HZ, err);
    clip_free(&original);
    snprintf(r->said, sizeof r->said, "%.63s%s%.320s", why.format, *why.fps ? ", frames a second: " : "",
             why.fps);
    return status;
}

/* It is called as the file is, which the sender knows, whatever stands inside. */
static hrc_status rename_clip(clip *c, const char *name, hrc_error *err)
{
    char stem[sizeof((intake *)0)->name];
    file_stem(stem, sizeof stem, name);
    c->name = arena_strdup(&c->memory, stem);
    return c->name ? HRC_OK : fail(err, HRC_ENOMEM, "%s: out of memory", name);
}

/* As hrc_follow would: what it refuses is not offered. */
static hrc_status check(const clip *c, const char *name, hrc_error *err)
{
    clip copy;
    course trial;
    const double seconds = (c->n - 1) / c->fps;
    if (seconds > INTAKE_S)
        return fail(err, HRC_EINVAL, "%s: lasts %.0f s, expected at most %.0f in the playground", name,
                    seconds, INTAKE_S);
    TRY(clip_cut(&copy, c, 0, c->n - 1, err));
    TRY(course_create(&trial, name, "", &copy, false, 0, INTAKE_S, err));
    course_free(&trial);
    return HRC_OK;
}

static hrc_status read_file(intake *t, intake_result *r, hrc_error *err)
{
    const file_view bytes = {t->bytes, t->size}, text = file_text(bytes);
    if (policy_begins(text)) /* it may name files beside it, and nothing that is sent is a path */
        return fail(err, HRC_EFORMAT,
                    "%s: is an ONNX policy; give it to heracles play as --tracker or MOTION", t->name);
    if (file_begins(text, "HIERARCHY"))
        TRY(read_bvh(r, t->name, bytes, err));
    else
        TRY(read_clip(r, t->name, bytes, &t->reading, err));
    TRY(rename_clip(&r->motion, t->name, err));
    return check(&r->motion, t->name, err);
}

static void *read_main(void *argument)
{
    intake *t = argument;
    intake_result *r = &t->result;
    r->status = read_file(t, r, &r->err);
    if (r->status < 0) clip_free(&r->motion);
    status_tame(r->err.text, false);
    status_tame(r->said, false);
    atomic_store(&t->done, true);
    t->wake(t->ctx);
    return NULL;
}

/* ---- Coming in ---- */

hrc_status intake_create(intake **out, const clip_options *reading, void (*wake)(void *), void *ctx,
                         hrc_error *err)
{
    intake *t = calloc(1, sizeof *t);
    if (!t) return fail(err, HRC_ENOMEM, "playground: out of memory");
    if (reading) t->reading = *reading;
    t->wake = wake, t->ctx = ctx;
    *out = t;
    return HRC_OK;
}

static void forget(intake *t)
{
    free(t->bytes);
    t->bytes = NULL;
    t->size = t->got = 0;
    t->stage = INTAKE_IDLE;
}

void intake_free(intake *t)
{
    if (!t) return;
    if (t->stage == INTAKE_READS) {
        pthread_join(t->thread, NULL);
        clip_free(&t->result.motion);
    }
    forget(t);
    free(t);
}

hrc_status intake_begin(intake *t, const char *name, size_t size, hrc_error *err)
{
    name = file_name(name);
    if (t->stage != INTAKE_IDLE) return fail(err, HRC_EINVAL, "%s is still being read", t->name);
    if (!*name || strlen(name) >= sizeof t->name)
        return fail(err, HRC_EINVAL, "the name of a file has %d bytes, expected 1 to %d", (int)strlen(name),
                    (int)sizeof t->name - 1);
    if (size < 1) return fail(err, HRC_EINVAL, "%s: is empty", name);
    if (size > INTAKE_BYTES)
        return fail(err, HRC_EINVAL, "%s: has %.1f MB, expected at most %u", name, (double)size / (1 << 20),
                    INTAKE_BYTES >> 20);
    t->bytes = malloc(size);
    if (!t->bytes) return fail(err, HRC_ENOMEM, "%s: out of memory", name);
    snprintf(t->name, sizeof t->name, "%s", name);
    status_tame(t->name, false);
    t->size = size;
    t->stage = INTAKE_COMES;
    return HRC_OK;
}

bool intake_add(intake *t, const void *data, size_t n)
{
    if (t->stage != INTAKE_COMES || n > t->size - t->got) return false;
    memcpy(t->bytes + t->got, data, n);
    t->got += n;
    if (t->got < t->size) return true;
    t->result = (intake_result){0};
    atomic_store(&t->done, false);
    t->stage = INTAKE_READS;
    if (pthread_create(&t->thread, NULL, read_main, t) == 0) return true;
    forget(t);
    return false;
}

void intake_drop(intake *t)
{
    if (t->stage == INTAKE_COMES) forget(t);
}

bool intake_take(intake *t, intake_result *out)
{
    if (t->stage != INTAKE_READS || !atomic_load(&t->done)) return false;
    pthread_join(t->thread, NULL);
    *out = t->result;
    forget(t);
    return true;
}
