#include "eval/builtin.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/rot.h"
#include "eval/course.h"
#include "motion/stats.h"

#define STRENGTHS 6
#define HIT_S 1.0
#define DISTURB_S 7.0
#define LYING_S (LATE_RECOVERY_S + 1.0) /* so that a robot that stands by then is seen standing */
#define PUNCH_S 0.08

static const double PUSH_MPS[STRENGTHS] = {0.5, 1.0, 1.5, 2.0, 2.5, 3.0};
static const double PUNCH_N[STRENGTHS] = {100, 200, 300, 400, 500, 600};
static const char *const KIND[] = {[DISTURB_PUSH] = "push", [DISTURB_PUNCH] = "punch"};

/* Suites draw their heaps from streams that practice, which takes variants (course.h), never has: 2^32 and
 * on, where a variant's stream is the number of its side. So no robot of a suite lies as one in practice did,
 * whatever the seeds. */
#define HEAP_STREAM ((uint64_t)1 << 32)

#define AFTER_S 7.0 /* from the push to the end */

static const double KNOCK_MPS[] = {4, 5, 6};

static const struct {
    const char *category;
    int clips;
} WANTED[] = {{"locomotion", 2}, {"dance", 1}, {"martial", 1}, {"daily", 1}, {"jumps_acro", 1}};

enum { MAX_CLIPS = 6 };

typedef struct {
    const char *name, *suite;
    double push_s, turn; /* when; the first direction, rad to the left of ahead */
    bool reported;       /* no other suite has its clips */
} protocol;

static const protocol PROTOCOL[] = {
    {"knockdown", "heldout101", 2.0, 0, true},
    {"knockdown-validation", "validation", 1.7, M_PI / BUILTIN_DIRECTIONS, false}};

static const protocol *knockdown(const char *name)
{
    for (int i = 0; i < COUNT(PROTOCOL); i++)
        if (!strcmp(name, PROTOCOL[i].name)) return &PROTOCOL[i];
    return NULL;
}

bool builtin_of_seeds(const char *name)
{
    return !strcmp(name, "omni");
}

bool builtin_suite(const char *name)
{
    return !strcmp(name, "disturb") || builtin_of_seeds(name) || knockdown(name);
}

/* The default stance, held, heading as told. */
static hrc_status stand(clip *out, double seconds, double heading, hrc_error *err)
{
    double stance[HRC_NQ];
    TRY(clip_create(out, (int)(seconds * HRC_RATE_HZ) + 1, HRC_RATE_HZ, "stand", err));
    g1_default_qpos(stance);
    quat_from_yaw(stance + 3, heading);
    for (int i = 0; i < out->n; i++)
        for (int k = 0; k < HRC_NQ; k++) clip_frame(out, i)[k] = (float)stance[k];
    return HRC_OK;
}

static double angle_of(int direction)
{
    return 2 * M_PI * direction / BUILTIN_DIRECTIONS;
}

static hrc_status add_hit(course_list *list, disturb_kind kind, double strength, int direction,
                          hrc_error *err)
{
    clip c;
    course *added;
    char name[96];
    const double angle = angle_of(direction);
    disturbance d = {.kind = kind, .t_s = HIT_S, .seconds = PUNCH_S, .link = G1_TORSO};
    d.xyz[0] = strength * cos(angle), d.xyz[1] = strength * sin(angle);
    disturb_describe(&d, name, sizeof name);
    TRY(stand(&c, DISTURB_S, 0, err));
    TRY(courses_add(list, &added, name, KIND[kind], &c, true, 0, DISTURB_S, err));
    added->disturb[added->ndisturb++] = d;
    return HRC_OK;
}

hrc_status courses_add_stand(course_list *list, const char *name, double seconds, course **out,
                             hrc_error *err)
{
    clip c;
    TRY(stand(&c, seconds, 0, err));
    return courses_add(list, out, name, "stand", &c, true, 0, seconds, err);
}

static hrc_status add_disturb(course_list *list, hrc_error *err)
{
    for (int kind = 0; kind < 2; kind++)
        for (int direction = 0; direction < BUILTIN_DIRECTIONS; direction++)
            for (int i = 0; i < STRENGTHS; i++)
                TRY(add_hit(list, (disturb_kind)kind, kind == DISTURB_PUSH ? PUSH_MPS[i] : PUNCH_N[i],
                            direction, err));
    return HRC_OK;
}

static hrc_status add_lying(course_list *list, int side, int direction, uint64_t seed, sim *physics,
                            hrc_error *err)
{
    clip c;
    course *added;
    char words[128];
    double start[HRC_NQ];
    rng dice = rng_make(seed, HEAP_STREAM + (uint64_t)(side * BUILTIN_DIRECTIONS + direction));
    TRY(posture_heap(start, side, 0, &dice, physics, 0, err));
    snprintf(words, sizeof words, "%s %d of seed %llu, reference turned by %d degrees", POSTURE_NAME[side],
             direction, (unsigned long long)seed, 360 * direction / BUILTIN_DIRECTIONS);
    TRY(stand(&c, LYING_S, angle_of(direction), err));
    TRY(courses_add(list, &added, words, POSTURE_NAME[side], &c, true, 0, LYING_S, err));
    added->own_start = true;
    memcpy(added->start, start, sizeof added->start);
    return HRC_OK;
}

static hrc_status add_omni(course_list *list, const builtin_options *o, const config *cfg, hrc_error *err)
{
    pool *one = NULL;
    sim *physics = NULL;
    const int each = POSTURE_COUNT * BUILTIN_DIRECTIONS;
    hrc_status status = pool_create(&one, 1, err);
    if (status == HRC_OK) status = sim_create(&physics, cfg, one, err);
    for (int i = 0; i < o->seeds * each && status == HRC_OK; i++)
        status = add_lying(list, i % each / BUILTIN_DIRECTIONS, i % BUILTIN_DIRECTIONS,
                           o->seed + (uint64_t)(i / each), physics, err);
    sim_free(physics);
    pool_free(one);
    return status;
}

/* ---- Knock-downs: which clips ---- */

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

/* ---- Knock-downs: courses ---- */

static hrc_status add_push(course_list *list, const clip *motion, const protocol *p, double mps,
                           int direction, hrc_error *err)
{
    const double angle = p->turn + angle_of(direction);
    disturbance d = {.kind = DISTURB_PUSH, .t_s = p->push_s};
    course *added;
    clip copy;
    char name[192], strength[32];
    d.xyz[0] = mps * cos(angle), d.xyz[1] = mps * sin(angle);
    snprintf(strength, sizeof strength, "%g m/s", mps);
    snprintf(name, sizeof name, "%.80s, push %g m/s to %.4g degrees", motion->name, mps, angle * 180 / M_PI);
    TRY(clip_cut(&copy, motion, 0, motion->n - 1, err));
    TRY(courses_add(list, &added, name, strength, &copy, false, 0, p->push_s + AFTER_S, err));
    added->disturb[added->ndisturb++] = d;
    return HRC_OK;
}

static hrc_status add_all(course_list *list, const clip *motions, const protocol *p, hrc_error *err)
{
    for (int k = 0; k < COUNT(KNOCK_MPS); k++)
        for (int i = 0; i < MAX_CLIPS; i++)
            for (int d = 0; d < BUILTIN_DIRECTIONS; d++)
                TRY(add_push(list, &motions[i], p, KNOCK_MPS[k], d, err));
    return HRC_OK;
}

static hrc_status add_suite(course_list *list, const suite *s, const corpus *c, const protocol *p,
                            hrc_error *err)
{
    int chosen[MAX_CLIPS] = {0};
    clip motions[MAX_CLIPS] = {0};
    hrc_status status = choose(chosen, s, p->push_s + AFTER_S, err);
    for (int i = 0; i < MAX_CLIPS && status == HRC_OK; i++)
        status = suite_clip(s, chosen[i], c, &motions[i], err);
    if (status == HRC_OK) status = add_all(list, motions, p, err);
    for (int i = 0; i < MAX_CLIPS; i++) clip_free(&motions[i]);
    return status;
}

static hrc_status add_knockdown(course_list *list, const protocol *p, const char *corpus_path, hrc_error *err)
{
    suite s;
    corpus c;
    TRY(courses_corpus(&c, corpus_path, err));
    hrc_status status = load(&s, p, &c, err);
    if (status == HRC_OK) {
        status = add_suite(list, &s, &c, p, err);
        suite_free(&s);
    }
    corpus_close(&c);
    return status;
}

hrc_status courses_builtin(course_list *out, const char *name, const builtin_options *o, const config *cfg,
                           hrc_error *err)
{
    const protocol *p = knockdown(name);
    hrc_status status = p                        ? add_knockdown(out, p, o->corpus, err)
                        : builtin_of_seeds(name) ? add_omni(out, o, cfg, err)
                                                 : add_disturb(out, err);
    if (status < 0) courses_free(out);
    return status;
}

/* ---- What came of it ---- */

/* -1: between two. */
static int direction_of(const disturbance *d)
{
    const double turns = atan2(d->xyz[1], d->xyz[0]) / (2 * M_PI) * BUILTIN_DIRECTIONS;
    if (fabs(turns - (double)lrint(turns)) > 0.01) return -1;
    return ((int)lrint(turns) + BUILTIN_DIRECTIONS) % BUILTIN_DIRECTIONS;
}

#define NEVER_S 1e9 /* in the place of a time: no mean with it is one */

/* Seconds after the last disturbance, or the start, by which a robot must stand to be seen standing. */
static double seen_s(const course *c)
{
    const double since = c->ndisturb ? c->disturb[c->ndisturb - 1].t_s : 0;
    return (double)c->frames / HRC_RATE_HZ - since - STANDS_S + 1e-9;
}

static bool is_asked(const course *c, const char *category)
{
    return (c->ndisturb || c->own_start) && !(category && strcmp(category, c->category));
}

/* Up to the weakest blow of its direction that any robot did not survive. */
static void find_largest(endurance *out, const evaluation *e, int m, const course *courses,
                         const char *category)
{
    double weakest[2][BUILTIN_DIRECTIONS];
    for (int d = 0; d < BUILTIN_DIRECTIONS; d++) weakest[0][d] = weakest[1][d] = INFINITY;
    for (int pass = 0; pass < 2; pass++)
        for (int i = 0; i < e->ncourses; i++) {
            if (courses[i].ndisturb != 1 || !is_asked(&courses[i], category)) continue;
            const disturbance *hit = &courses[i].disturb[0];
            const int direction = direction_of(hit);
            const double strength = round(100 * vec_norm(hit->xyz)) / 100;
            if (direction < 0) continue;
            double *limit = &weakest[hit->kind][direction], *largest = &out->largest[hit->kind][direction];
            if (pass == 0 && outcome_of(e, m, i)->result.figures.progress < 1)
                *limit = fmin(*limit, strength);
            else if (pass == 1 && strength < *limit)
                *largest = fmax(*largest, strength);
        }
}

static bool in_time(double s, double limit_s)
{
    return s >= 0 && s <= limit_s;
}

void endurance_of(endurance *out, const evaluation *e, int m, const course *courses, const char *category)
{
    double seen = INFINITY, *times = malloc(sizeof *times * (size_t)e->ncourses);
    bool all_pushed = true, all_lie = true;
    *out = (endurance){0};
    for (int i = 0; i < e->ncourses; i++) {
        const course *c = &courses[i];
        const course_result *r = &outcome_of(e, m, i)->result;
        if (!is_asked(c, category)) continue;
        if (times) times[out->n] = r->stands_s >= 0 ? r->stands_s : NEVER_S;
        out->n++;
        out->survived += r->figures.progress >= 1;
        out->recovered += in_time(r->stands_s, RECOVERY_S);
        out->recovered_late += in_time(r->stands_s, LATE_RECOVERY_S);
        out->back += in_time(r->back_s, BACK_S);
        seen = fmin(seen, seen_s(c));
        all_pushed &= c->ndisturb > 0, all_lie &= c->own_start;
    }
    const double n = out->n, half = out->n && times ? median(times, out->n) : NEVER_S;
    free(times);
    if (!out->n) return;
    out->survived /= n;
    out->recovered /= n;
    out->recovered_late = all_lie && seen >= LATE_RECOVERY_S ? out->recovered_late / n : (double)NAN;
    out->back = all_pushed && seen >= BACK_S ? out->back / n : (double)NAN;
    out->stand_p50_s = half < 0.4 * NEVER_S ? half : (double)NAN;
    find_largest(out, e, m, courses, category);
}
