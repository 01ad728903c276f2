#include "eval/ways.h"

#include <stdlib.h>
#include <string.h>

#include "eval/evaluate.h"
#include "robot/posture.h"

#define EVERY 25 /* frames between starts */

typedef struct {
    int way, frame;
} start;

typedef struct {
    int n;
    start *starts;   /* (n) by way, then by frame */
    course *courses; /* (n) */
} trials;

static hrc_status make_course(course *c, const hrc_motion *way, int frame, hrc_error *err)
{
    clip motion;
    TRY(clip_create(&motion, way->n, HRC_RATE_HZ, "way up", err));
    memcpy(motion.qpos, way->qpos, sizeof(float) * HRC_NQ * (size_t)way->n);
    TRY(course_create(c, "way up", "", &motion, false, frame, (double)way->n, err));
    c->own_start = true;
    for (int k = 0; k < HRC_NQ; k++) c->start[k] = (double)way->qpos[(size_t)frame * HRC_NQ + (size_t)k];
    return HRC_OK;
}

static hrc_status make_trials(trials *t, const getups *ways, hrc_error *err)
{
    t->starts = calloc((size_t)ways->frames, sizeof *t->starts);
    t->courses = calloc((size_t)ways->frames, sizeof *t->courses);
    if (!t->starts || !t->courses) return fail(err, HRC_ENOMEM, "ways up: out of memory");
    for (int w = 0; w < ways->n; w++) {
        const hrc_motion way = getups_way(ways, w);
        for (int i = 0; i < way.n; i += EVERY) {
            const posture at = posture_of(way.qpos + (size_t)i * HRC_NQ);
            if (!posture_down(&at)) continue;
            TRY(make_course(&t->courses[t->n], &way, i, err));
            t->starts[t->n++] = (start){w, i};
        }
    }
    return HRC_OK;
}

/* The frame from which on a way is followed; its length when it never is. */
static int followed_from(const trials *t, const evaluation *e, int way, int length)
{
    int from = length;
    for (int i = t->n - 1; i >= 0; i--) {
        if (t->starts[i].way != way) continue;
        if (outcome_of(e, 0, i)->result.figures.progress < 1) break;
        from = t->starts[i].frame;
    }
    return from;
}

static void trim(getups *ways, const trials *t, const evaluation *e)
{
    int kept = 0, to = 0, at = 0;
    for (int w = 0; w < ways->n; w++) {
        const int length = ways->length[w], from = followed_from(t, e, w, length), left = length - from;
        if (left > 0) {
            memmove(ways->qpos[to], ways->qpos[at + from], sizeof *ways->qpos * (size_t)left);
            memmove(ways->qvel[to], ways->qvel[at + from], sizeof *ways->qvel * (size_t)left);
            ways->length[kept++] = left;
            to += left;
        }
        at += length;
    }
    ways->n = kept, ways->frames = to;
}

hrc_status ways_keep(getups *ways, const hrc_model *tracker, const config *cfg, pool *threads, hrc_error *err)
{
    trials t = {0};
    evaluation e = {0};
    const method alone = {.name = "tracker", .tracker = tracker, .options = hrc_defaults()};
    const evaluate_options options = {.cfg = cfg, .threads = threads};
    hrc_status status = make_trials(&t, ways, err);
    if (status == HRC_OK && t.n) status = evaluate(&e, &alone, 1, t.courses, t.n, &options, err);
    if (status == HRC_OK && t.n) trim(ways, &t, &e);
    evaluation_free(&e);
    for (int i = 0; t.courses && i < t.n; i++) course_free(&t.courses[i]);
    free(t.courses);
    free(t.starts);
    return status;
}
