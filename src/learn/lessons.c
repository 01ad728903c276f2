#include "learn/lessons.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/rot.h"

#define FORMAT "heracles-practice"
#define MAX_META 16

void lessons_free(lessons *l)
{
    free(l->list);
    free(l->label);
    free(l->situation);
    *l = (lessons){0};
}

static hrc_status make_room(lessons *l, int n, hrc_error *err)
{
    if (n <= l->capacity) return HRC_OK;
    int capacity = 2 * l->capacity > n ? 2 * l->capacity : n;
    lesson *list = realloc(l->list, sizeof *list * (size_t)capacity);
    if (list) l->list = list;
    int32_t *label = realloc(l->label, sizeof *label * (size_t)capacity);
    if (label) l->label = label;
    int32_t *situation = realloc(l->situation, sizeof *situation * (size_t)capacity);
    if (situation) l->situation = situation;
    if (!list || !label || !situation)
        return fail(err, HRC_ENOMEM, "practice: out of memory for %d lessons", capacity);
    l->capacity = capacity;
    return HRC_OK;
}

hrc_status lessons_add(lessons *l, const lesson *one, int label, int situation, hrc_error *err)
{
    TRY(make_room(l, l->n + 1, err));
    l->list[l->n] = *one;
    l->label[l->n] = label;
    l->situation[l->n++] = situation;
    return HRC_OK;
}

typedef struct {
    int32_t situation, place;
} order;

static int by_situation(const void *a, const void *b)
{
    const order *x = a, *y = b;
    if (x->situation != y->situation) return x->situation < y->situation ? -1 : 1;
    return x->place < y->place ? -1 : 1;
}

hrc_status lessons_sort(lessons *l, hrc_error *err)
{
    lessons sorted = {.horizon = l->horizon};
    order *o = malloc(sizeof *o * (size_t)(l->n + 1));
    hrc_status status = o ? HRC_OK : fail(err, HRC_ENOMEM, "practice: out of memory for %d lessons", l->n);
    for (int i = 0; o && i < l->n; i++) o[i] = (order){l->situation[i], i};
    if (o) qsort(o, (size_t)l->n, sizeof *o, by_situation);
    for (int i = 0; i < l->n && status == HRC_OK; i++)
        status = lessons_add(&sorted, &l->list[o[i].place], l->label[o[i].place], o[i].situation, err);
    free(o);
    if (status == HRC_OK) {
        lessons_free(l);
        *l = sorted;
    } else {
        lessons_free(&sorted);
    }
    return status;
}

hrc_status lessons_save(const lessons *l, const char *path, const tensor_meta *meta, int nmeta,
                        hrc_error *err)
{
    char horizon[16];
    tensor_meta all[MAX_META] = {{"format", FORMAT}, {"horizon", horizon}};
    const tensor tensors[] = {
        {"lessons", DT_F32, 2, {l->n, LESSON_FLOATS}, (int64_t)l->n * LESSON_FLOATS, l->list},
        {"label", DT_I32, 1, {l->n}, l->n, l->label},
        {"situation", DT_I32, 1, {l->n}, l->n, l->situation}};
    snprintf(horizon, sizeof horizon, "%d", l->horizon);
    for (int i = 0; i < nmeta && i + 2 < MAX_META; i++) all[i + 2] = meta[i];
    return tensorfile_write(path, tensors, COUNT(tensors), all, nmeta + 2, err);
}

static hrc_status check(const tensorfile *file, const tensor *numbers, const tensor *label, hrc_error *err)
{
    const float *x = numbers->data;
    const int32_t *labels = label->data;
    for (int64_t i = 0; i < numbers->count; i++)
        if (!isfinite(x[i]))
            return fail(err, HRC_ENONFINITE, "%s: lesson %lld, number %lld is not finite", file->path,
                        (long long)(i / LESSON_FLOATS), (long long)(i % LESSON_FLOATS));
    for (int64_t i = 0; i < label->count; i++)
        if (labels[i] < 0 || labels[i] >= LESSON_LABELS)
            return fail(err, HRC_EFORMAT, "%s: label %lld is %d, expected 0 to %d", file->path, (long long)i,
                        labels[i], LESSON_LABELS - 1);
    return HRC_OK;
}

static hrc_status read_lessons(lessons *l, const tensorfile *file, hrc_error *err)
{
    const char *format = tensorfile_meta(file, "format"), *horizon = tensorfile_meta(file, "horizon");
    const int64_t shape[] = {-1, LESSON_FLOATS};
    const tensor *numbers, *label, *situation;
    if (!format || strcmp(format, FORMAT))
        return fail(err, HRC_EFORMAT, "%s: format is \"%.60s\", expected \"" FORMAT "\"", file->path,
                    format ? format : "(missing)");
    TRY(tensorfile_need(file, "lessons", DT_F32, 2, shape, &numbers, err));
    TRY(tensorfile_need(file, "label", DT_I32, 1, &numbers->shape[0], &label, err));
    TRY(tensorfile_need(file, "situation", DT_I32, 1, &numbers->shape[0], &situation, err));
    TRY(check(file, numbers, label, err));
    const int frames = horizon ? atoi(horizon) : 0;
    if (frames < PLAN_K - 1 || frames > PLAN_MAX_H || (l->n && frames != l->horizon))
        return fail(err, HRC_EFORMAT, "%s: horizon is \"%.20s\" frames, expected %d", file->path,
                    horizon ? horizon : "(missing)", l->n ? l->horizon : PLAN_H);
    const int n = (int)numbers->shape[0];
    l->horizon = frames;
    if (!n) return HRC_OK;
    TRY(make_room(l, l->n + n, err));
    memcpy(l->list + l->n, numbers->data, sizeof(lesson) * (size_t)n);
    memcpy(l->label + l->n, label->data, sizeof *l->label * (size_t)n);
    memcpy(l->situation + l->n, situation->data, sizeof *l->situation * (size_t)n);
    l->n += n;
    return HRC_OK;
}

hrc_status lessons_load(lessons *l, const char *path, hrc_error *err)
{
    tensorfile file;
    TRY(tensorfile_open(&file, path, err));
    hrc_status status = read_lessons(l, &file, err);
    tensorfile_close(&file);
    return status;
}

void lesson_question(plan_question *q, const lesson *one, int horizon)
{
    memcpy(q->state, one->state, sizeof q->state);
    memcpy(q->qvel, one->qvel, sizeof q->qvel);
    memcpy(q->under_way, one->under_way, sizeof q->under_way);
    for (int i = 0; i <= horizon; i++)
        plan_window_at(q->reference[i], one->reference, (float)(i * (LESSON_WINDOW - 1)) / (float)horizon,
                       LESSON_WINDOW - 1);
}
