#include "eval/builtin.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/rot.h"
#include "eval/knockdown.h"
#include "eval/posture.h"
#include "motion/stats.h"

#define STRENGTHS 6
#define HIT_S 1.0
#define DISTURB_S 7.0
#define LYING_S (LATE_RECOVERY_S + 1.0) /* so that who stands by then is seen standing */
#define PUNCH_S 0.08

static const double PUSH_MPS[STRENGTHS] = {0.5, 1.0, 1.5, 2.0, 2.5, 3.0};
static const double PUNCH_N[STRENGTHS] = {100, 200, 300, 400, 500, 600};
static const char *const KIND[] = {[DISTURB_PUSH] = "push", [DISTURB_PUNCH] = "punch"};

/* Suites draw their heaps from streams that practice, which takes variants (posture.h), never has: 2^32 and
 * on, where a variant's stream is the number of its side. So no robot of a suite lies as one in practice did,
 * whatever the seeds. */
#define HEAP_STREAM ((uint64_t)1 << 32)

bool builtin_of_seeds(const char *name)
{
    return !strcmp(name, "omni");
}

bool builtin_suite(const char *name)
{
    return !strcmp(name, "disturb") || builtin_of_seeds(name) || knockdown_suite(name);
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
    course *added = NULL;
    char name[96];
    const double angle = angle_of(direction);
    disturbance d = {.kind = kind, .t_s = HIT_S, .seconds = PUNCH_S, .link = G1_TORSO};
    d.xyz[0] = strength * cos(angle), d.xyz[1] = strength * sin(angle);
    disturb_describe(&d, name, sizeof name);
    TRY(stand(&c, DISTURB_S, 0, err));
    TRY(courses_grow(list, &added, err));
    TRY(course_create(added, name, KIND[kind], &c, true, 0, DISTURB_S, err));
    added->disturb[added->ndisturb++] = d;
    return HRC_OK;
}

hrc_status courses_add_stand(course_list *list, const char *name, double seconds, course **out,
                             hrc_error *err)
{
    clip c;
    TRY(stand(&c, seconds, 0, err));
    TRY(courses_grow(list, out, err));
    return course_create(*out, name, "stand", &c, true, 0, seconds, err);
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
    course *added = NULL;
    char words[128];
    double start[HRC_NQ];
    rng dice = rng_make(seed, HEAP_STREAM + (uint64_t)(side * BUILTIN_DIRECTIONS + direction));
    TRY(posture_heap(start, side, 0, &dice, physics, 0, err));
    snprintf(words, sizeof words, "%s %d of seed %llu, reference turned by %d degrees", POSTURE_NAME[side],
             direction, (unsigned long long)seed, 360 * direction / BUILTIN_DIRECTIONS);
    TRY(stand(&c, LYING_S, angle_of(direction), err));
    TRY(courses_grow(list, &added, err));
    TRY(course_create(added, words, POSTURE_NAME[side], &c, true, 0, LYING_S, err));
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

hrc_status courses_builtin(course_list *out, const char *name, const builtin_options *o, const config *cfg,
                           hrc_error *err)
{
    if (knockdown_suite(name)) return courses_knockdown(out, name, o->corpus, err);
    hrc_status status = builtin_of_seeds(name) ? add_omni(out, o, cfg, err) : add_disturb(out, err);
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
