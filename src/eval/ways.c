#include "eval/ways.h"

#include <stdlib.h>
#include <string.h>

#include "eval/evaluate.h"
#include "eval/ways_choose.h"
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
            double own[HRC_NQ];
            for (int k = 0; k < HRC_NQ; k++) own[k] = (double)way.qpos[(size_t)i * HRC_NQ + (size_t)k];
            TRY(way_course(&t->courses[t->n], &way, i, own, err));
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

static hrc_status trim(getups *ways, const trials *t, const evaluation *e, hrc_error *err)
{
    int *from = calloc((size_t)ways->n, sizeof *from);
    if (!from) return fail(err, HRC_ENOMEM, "ways up: out of memory");
    for (int w = 0; w < ways->n; w++) from[w] = followed_from(t, e, w, ways->length[w]);
    getups_trim(ways, from);
    free(from);
    return HRC_OK;
}

hrc_status ways_keep(getups *ways, const hrc_model *tracker, const config *cfg, pool *threads, hrc_error *err)
{
    trials t = {0};
    evaluation e = {0};
    const method alone = {.name = "tracker", .tracker = tracker, .options = hrc_defaults()};
    const evaluate_options options = {.cfg = cfg, .threads = threads};
    hrc_status status = make_trials(&t, ways, err);
    if (status == HRC_OK && t.n) status = evaluate(&e, &alone, 1, t.courses, t.n, &options, err);
    if (status == HRC_OK && t.n) status = trim(ways, &t, &e, err);
    evaluation_free(&e);
    for (int i = 0; t.courses && i < t.n; i++) course_free(&t.courses[i]);
    free(t.courses);
    free(t.starts);
    if (status == HRC_OK && ways->n) status = ways_choose(ways, tracker, cfg, threads, err);
    return status;
}
