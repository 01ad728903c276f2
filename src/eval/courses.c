#include "eval/courses.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "motion/clip.h"

#define CORPUS "motions/cmu.safetensors"

hrc_status courses_add(course_list *list, course **out, const char *name, const char *category, clip *motion,
                       bool held, int first, double limit_s, hrc_error *err)
{
    if (list->n == list->capacity) {
        int capacity = list->capacity ? 2 * list->capacity : 16;
        course *more = realloc(list->courses, sizeof *more * (size_t)capacity);
        if (!more) {
            clip_free(motion);
            return fail(err, HRC_ENOMEM, "evaluation: out of memory for %d courses", capacity);
        }
        list->courses = more;
        list->capacity = capacity;
    }
    course *added = &list->courses[list->n++];
    if (out) *out = added;
    return course_create(added, name, category, motion, held, first, limit_s, err);
}

void courses_free(course_list *list)
{
    for (int i = 0; i < list->n; i++) course_free(&list->courses[i]);
    free(list->courses);
    *list = (course_list){0};
}

/* One course for each start; the clip is copied. */
static hrc_status add_starts(course_list *list, const clip *c, const char *category, bool held,
                             const course_options *o, hrc_error *err)
{
    for (int s = 0; s < o->starts; s++) {
        clip copy;
        char name[256];
        const int first = (int)((int64_t)s * (c->n - 1) / o->starts);
        if (o->starts > 1)
            snprintf(name, sizeof name, "%s from frame %d", c->name, first);
        else
            snprintf(name, sizeof name, "%s", c->name);
        TRY(clip_cut(&copy, c, 0, c->n - 1, err));
        if (o->hold_s > 0) clip_hold(&copy, o->hold_s);
        TRY(courses_add(list, NULL, name, category, &copy, held || o->hold_s > 0, first, o->limit_s, err));
    }
    return HRC_OK;
}

/* The rollouts of one motion, which is freed, with what a corpus says of it; entry NULL: nothing. */
static hrc_status add_described(course_list *list, clip *motion, const char *category, bool held,
                                const corpus_entry *entry, const course_options *o, hrc_error *err)
{
    const int before = list->n;
    hrc_status status = add_starts(list, motion, category, held, o, err);
    clip_free(motion);
    TRY(status);
    for (int k = before; entry && k < list->n; k++)
        TRY(course_describe(&list->courses[k], entry->description, err));
    return HRC_OK;
}

static hrc_status add_sequences(course_list *list, const suite *s, const corpus *c, const course_options *o,
                                hrc_error *err)
{
    for (int i = 0; i < s->n; i++) {
        const suite_sequence *q = &s->sequences[i];
        const int known = c && c->clips ? corpus_find(c, q->clip) : -1;
        clip motion;
        TRY(suite_clip(s, i, c, &motion, err));
        TRY(add_described(list, &motion, q->category, q->hold > 0, known < 0 ? NULL : &c->clips[known], o,
                          err));
    }
    return HRC_OK;
}

static bool names_corpus_clips(const suite *s)
{
    for (int i = 0; i < s->n; i++)
        if (!strpbrk(s->sequences[i].clip, "/.#")) return true;
    return false;
}

hrc_status courses_corpus(corpus *c, const char *path, hrc_error *err)
{
    char shipped[4096];
    if (!path && !shipped_path(shipped, sizeof shipped, CORPUS))
        return fail(err, HRC_EFILE, "there is no " CORPUS " here or beside the program, give --corpus FILE");
    return corpus_open(c, path ? path : shipped, err);
}

hrc_status courses_of_suite(course_list *out, const char *name, const char *corpus_path,
                            const course_options *options, hrc_error *err)
{
    suite s;
    corpus c = {0};
    TRY(suite_load(&s, name, err));
    s.reading = options->reading;
    const bool needs = names_corpus_clips(&s);
    hrc_status status = needs ? courses_corpus(&c, corpus_path, err) : HRC_OK;
    if (status == HRC_OK) {
        status = add_sequences(out, &s, needs ? &c : NULL, options, err);
        if (needs) corpus_close(&c);
    }
    suite_free(&s);
    if (status < 0) courses_free(out);
    return status;
}

static hrc_status add_clips(course_list *list, const corpus *c, const course_options *o, hrc_error *err)
{
    for (int i = 0; i < c->nclips; i++) {
        const corpus_entry *e = &c->clips[i];
        clip motion;
        TRY(corpus_clip(c, i, &motion, err));
        TRY(add_described(list, &motion, *e->category ? e->category : "motion", false, e, o, err));
    }
    return HRC_OK;
}

hrc_status courses_of_corpus(course_list *out, const char *path, const course_options *options,
                             hrc_error *err)
{
    corpus c = {0};
    TRY(courses_corpus(&c, path, err));
    hrc_status status = add_clips(out, &c, options, err);
    corpus_close(&c);
    if (status < 0) courses_free(out);
    return status;
}

hrc_status courses_add_shipped(course_list *list, const char *clip_name, const char *name, double limit_s,
                               hrc_error *err)
{
    corpus c = {0};
    clip motion = {0};
    TRY(courses_corpus(&c, NULL, err));
    const int i = corpus_find(&c, clip_name);
    hrc_status status = i < 0 ? fail(err, HRC_EINVAL, "%s: there is no clip \"%s\"", c.file.path, clip_name)
                              : corpus_clip(&c, i, &motion, err);
    if (status == HRC_OK)
        status = courses_add(list, NULL, name, motion.category, &motion, false, 0, limit_s, err);
    corpus_close(&c);
    return status;
}

hrc_status courses_of_motions(course_list *out, const char *const *paths, int n,
                              const course_options *options, hrc_error *err)
{
    hrc_status status = HRC_OK;
    for (int i = 0; i < n && status == HRC_OK; i++) {
        clip c = {0};
        status = clip_load_at(&c, paths[i], HRC_RATE_HZ, &options->reading, err);
        if (status == HRC_OK)
            status = add_starts(out, &c, *c.category ? c.category : "motion", false, options, err);
        clip_free(&c);
    }
    if (status < 0) courses_free(out);
    return status;
}
