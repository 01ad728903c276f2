#include "eval/mastered.h"

#include <stdlib.h>
#include <string.h>

#include "eval/evaluate.h"

#define EVERY 100    /* frames between starts */
#define SHORTEST 50  /* frames from a start to the end */
#define FOLLOWED 0.9 /* completion rate of all starts together from which on a motion is kept */

typedef struct {
    int n;
    course *courses; /* (n) */
    int *motion;     /* (n) of a course */
} trials;

static hrc_status add_start(trials *t, const motion_store *s, int motion, int at, int first, hrc_error *err)
{
    clip c;
    const int n = s->length[motion];
    TRY(clip_create(&c, n, HRC_RATE_HZ, "known", err));
    memcpy(c.qpos, s->qpos[at], sizeof *s->qpos * (size_t)n);
    TRY(course_create(&t->courses[t->n], "known", "", &c, false, first, (double)n, err));
    t->motion[t->n++] = motion;
    return HRC_OK;
}

static hrc_status set_up(trials *t, const motion_store *s, hrc_error *err)
{
    const size_t most = (size_t)(s->frames / EVERY + s->n);
    t->courses = calloc(most, sizeof *t->courses);
    t->motion = calloc(most, sizeof *t->motion);
    if (!t->courses || !t->motion) return fail(err, HRC_ENOMEM, "motions on the ground: out of memory");
    for (int m = 0, at = 0; m < s->n; at += s->length[m++])
        for (int first = 0; first == 0 || first + SHORTEST <= s->length[m]; first += EVERY)
            TRY(add_start(t, s, m, at, first, err));
    return HRC_OK;
}

/* Share of the frames of all trials of a motion that were within bounds. */
static double completion(const trials *t, const evaluation *e, int motion)
{
    double within = 0, frames = 0;
    for (int i = 0; i < t->n; i++) {
        const course_result *r = &outcome_of(e, 0, i)->result;
        if (t->motion[i] != motion) continue;
        within += r->figures.cr * r->frames, frames += r->frames;
    }
    return within / frames;
}

static void drop_others(motion_store *s, const trials *t, const evaluation *e)
{
    int kept = 0, to = 0, from = 0;
    for (int m = 0; m < s->n; m++) {
        const int n = s->length[m];
        if (completion(t, e, m) >= FOLLOWED) {
            memmove(s->qpos[to], s->qpos[from], sizeof *s->qpos * (size_t)n);
            s->length[kept++] = n;
            to += n;
        }
        from += n;
    }
    s->n = kept, s->frames = to;
}

hrc_status mastered_keep(motion_store *motions, const hrc_model *tracker, const config *cfg, pool *threads,
                         const mastered_options *o, hrc_error *err)
{
    trials t = {0};
    evaluation e = {0};
    const method alone = {.name = "tracker", .tracker = tracker, .options = hrc_defaults()};
    const evaluate_options options = {
        .cfg = cfg, .threads = threads, .progress = o->progress, .stop = o->stop, .ctx = o->ctx};
    hrc_status status = set_up(&t, motions, err);
    if (status == HRC_OK) status = evaluate(&e, &alone, 1, t.courses, t.n, &options, err);
    if (status == HRC_OK) {
        drop_others(motions, &t, &e);
        evaluation_free(&e);
    }
    for (int i = 0; i < t.n; i++) course_free(&t.courses[i]);
    free(t.courses);
    free(t.motion);
    return status;
}
