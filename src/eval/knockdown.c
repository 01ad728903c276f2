#include "eval/knockdown.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define DIRECTIONS 8
#define AFTER_S 7.0 /* from the push to the end */

static const double PUSH_MPS[] = {4, 5, 6};

static const struct {
    const char *category;
    int clips;
} WANTED[] = {{"locomotion", 2}, {"dance", 1}, {"martial", 1}, {"daily", 1}, {"jumps_acro", 1}};

enum { MAX_CLIPS = 6 };

typedef struct {
    const char *name, *suite;
    double push_s, turn; /* when; the first direction, rad to the left of ahead */
    bool reported;       /* its clips are nobody's but its own */
} protocol;

static const protocol PROTOCOL[] = {{"knockdown", "heldout101", 2.0, 0, true},
                                    {"knockdown-validation", "validation", 1.7, M_PI / DIRECTIONS, false}};

static const protocol *find(const char *name)
{
    for (int i = 0; i < COUNT(PROTOCOL); i++)
        if (!strcmp(name, PROTOCOL[i].name)) return &PROTOCOL[i];
    return NULL;
}

bool knockdown_suite(const char *name)
{
    return find(name) != NULL;
}

/* ---- Which clips ---- */

static bool taken(const suite *s, const int *chosen, int n, const char *name)
{
    for (int i = 0; i < n; i++)
        if (!strcmp(s->sequences[chosen[i]].clip, name)) return true;
    return false;
}

static hrc_status choose(int chosen[MAX_CLIPS], const suite *s, double seconds, hrc_error *err)
{
    int n = 0;
    for (int w = 0; w < COUNT(WANTED); w++) {
        int missing = WANTED[w].clips;
        for (int i = 0; i < s->n && missing; i++) {
            const suite_sequence *q = &s->sequences[i];
            if (strcmp(q->category, WANTED[w].category) || q->hold > 0) continue;
            if (q->last - q->first < seconds * HRC_RATE_HZ || taken(s, chosen, n, q->clip)) continue;
            chosen[n++] = i;
            missing--;
        }
        if (missing)
            return fail(err, HRC_EFORMAT, "%s: %d clips of category %s of %.3g s or more, expected %d",
                        s->path, WANTED[w].clips - missing, WANTED[w].category, seconds, WANTED[w].clips);
    }
    return HRC_OK;
}

static bool has_all(const corpus *c, const suite *s)
{
    for (int i = 0; i < s->n; i++)
        if (corpus_find(c, s->sequences[i].clip) < 0) return false;
    return true;
}

/* Every training clip as a whole. */
static hrc_status suite_of_training(suite *out, const corpus *c, hrc_error *err)
{
    *out = (suite){.path = c->file.path};
    out->sequences = ARENA_NEW(&out->memory, suite_sequence, c->nclips);
    if (!out->sequences) return fail(err, HRC_ENOMEM, "%s: out of memory", c->file.path);
    for (int i = 0; i < c->nclips; i++)
        if (c->clips[i].split == CORPUS_TRAIN)
            out->sequences[out->n++] = (suite_sequence){
                .clip = c->clips[i].name, .category = c->clips[i].category, .last = c->clips[i].n - 1};
    return HRC_OK;
}

/* In the place of a validation suite whose clips this corpus does not have: its training clips. */
static hrc_status load(suite *out, const protocol *p, const corpus *c, hrc_error *err)
{
    TRY(suite_load(out, p->suite, err));
    if (p->reported || has_all(c, out)) return HRC_OK;
    suite_free(out);
    return suite_of_training(out, c, err);
}

/* ---- Courses ---- */

static hrc_status add_push(course_list *list, const clip *motion, const protocol *p, double mps,
                           int direction, hrc_error *err)
{
    const double angle = p->turn + 2 * M_PI * direction / DIRECTIONS;
    disturbance d = {.kind = DISTURB_PUSH, .t_s = p->push_s};
    course *added = NULL;
    clip copy;
    char name[192], strength[32];
    d.xyz[0] = mps * cos(angle), d.xyz[1] = mps * sin(angle);
    snprintf(strength, sizeof strength, "%g m/s", mps);
    snprintf(name, sizeof name, "%.80s, push %g m/s to %.4g degrees", motion->name, mps, angle * 180 / M_PI);
    TRY(clip_cut(&copy, motion, 0, motion->n - 1, err));
    TRY(courses_grow(list, &added, err));
    TRY(course_create(added, name, strength, &copy, false, 0, p->push_s + AFTER_S, err));
    added->disturb[added->ndisturb++] = d;
    return HRC_OK;
}

static hrc_status add_all(course_list *list, const clip *motions, const protocol *p, hrc_error *err)
{
    for (int k = 0; k < COUNT(PUSH_MPS); k++)
        for (int i = 0; i < MAX_CLIPS; i++)
            for (int d = 0; d < DIRECTIONS; d++) TRY(add_push(list, &motions[i], p, PUSH_MPS[k], d, err));
    return HRC_OK;
}

static hrc_status add_suite(course_list *list, const suite *s, const corpus *c, const protocol *p,
                            hrc_error *err)
{
    int chosen[MAX_CLIPS];
    clip motions[MAX_CLIPS] = {0};
    hrc_status status = choose(chosen, s, p->push_s + AFTER_S, err);
    for (int i = 0; i < MAX_CLIPS && status == HRC_OK; i++)
        status = suite_clip(s, chosen[i], c, &motions[i], err);
    if (status == HRC_OK) status = add_all(list, motions, p, err);
    for (int i = 0; i < MAX_CLIPS; i++) clip_free(&motions[i]);
    return status;
}

hrc_status courses_knockdown(course_list *out, const char *name, const char *corpus_path, hrc_error *err)
{
    const protocol *p = find(name);
    suite s;
    corpus c;
    TRY(courses_corpus(&c, corpus_path, err));
    hrc_status status = load(&s, p, &c, err);
    if (status == HRC_OK) {
        status = add_suite(out, &s, &c, p, err);
        suite_free(&s);
    }
    corpus_close(&c);
    if (status < 0) courses_free(out);
    return status;
}
