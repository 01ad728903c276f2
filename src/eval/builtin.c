#include "eval/builtin.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/rot.h"
#include "eval/posture.h"

#define STRENGTHS 6
#define HIT_S 1.0
#define DISTURB_S 7.0
#define LYING_S 10.0
#define PUNCH_S 0.08

static const double PUSH_MPS[STRENGTHS] = {0.5, 1.0, 1.5, 2.0, 2.5, 3.0};
static const double PUNCH_N[STRENGTHS] = {100, 200, 300, 400, 500, 600};
static const char *const KIND[] = {[DISTURB_PUSH] = "push", [DISTURB_PUNCH] = "punch"};

bool builtin_suite(const char *name)
{
    return !strcmp(name, "disturb") || !strcmp(name, "omni");
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

static hrc_status add_lying(course_list *list, const char *name, const double start[HRC_NQ], int direction,
                            hrc_error *err)
{
    clip c;
    course *added = NULL;
    char words[96];
    snprintf(words, sizeof words, "%s %d, reference turned by %d degrees", name, direction,
             360 * direction / BUILTIN_DIRECTIONS);
    TRY(stand(&c, LYING_S, angle_of(direction), err));
    TRY(courses_grow(list, &added, err));
    TRY(course_create(added, words, name, &c, true, 0, LYING_S, err));
    added->own_start = true;
    memcpy(added->start, start, sizeof added->start);
    return HRC_OK;
}

static hrc_status add_omni(course_list *list, const config *cfg, hrc_error *err)
{
    pool *one = NULL;
    sim *physics = NULL;
    hrc_status status = pool_create(&one, 1, err);
    if (status == HRC_OK) status = sim_create(&physics, cfg, one, err);
    for (int i = 0; i < POSTURE_COUNT * BUILTIN_DIRECTIONS && status == HRC_OK; i++) {
        const char *name = POSTURE_NAME[i / BUILTIN_DIRECTIONS];
        const int direction = i % BUILTIN_DIRECTIONS;
        double start[HRC_NQ];
        status = posture_lying(start, name, 0, direction, physics, err);
        if (status == HRC_OK) status = add_lying(list, name, start, direction, err);
    }
    sim_free(physics);
    pool_free(one);
    return status;
}

hrc_status courses_builtin(course_list *out, const char *name, const config *cfg, hrc_error *err)
{
    hrc_status status = !strcmp(name, "disturb") ? add_disturb(out, err) : add_omni(out, cfg, err);
    if (status < 0) courses_free(out);
    return status;
}

/* ---- What came of it ---- */

static int direction_of(const disturbance *d)
{
    const double turns = atan2(d->xyz[1], d->xyz[0]) / (2 * M_PI) * BUILTIN_DIRECTIONS;
    return ((int)lrint(turns) + BUILTIN_DIRECTIONS) % BUILTIN_DIRECTIONS;
}

void endurance_of(endurance *out, const evaluation *e, int m, const course *courses, const char *category)
{
    bool fell[2][BUILTIN_DIRECTIONS] = {{0}};
    *out = (endurance){0};
    for (int i = 0; i < e->ncourses; i++) {
        const course *c = &courses[i];
        const course_result *r = &outcome_of(e, m, i)->result;
        if ((!c->ndisturb && !c->own_start) || (category && strcmp(category, c->category))) continue;
        const bool held = r->figures.progress >= 1;
        out->n++;
        out->survived += held;
        out->recovered += r->stands_s >= 0 && r->stands_s <= RECOVERY_S;
        if (c->ndisturb != 1) continue;
        const disturbance *d = &c->disturb[0]; /* strengths of a direction come in growing order */
        const int k = d->kind, direction = direction_of(d);
        fell[k][direction] |= !held;
        if (!fell[k][direction]) out->largest[k][direction] = round(100 * vec_norm(d->xyz)) / 100;
    }
    if (!out->n) return;
    out->survived /= out->n;
    out->recovered /= out->n;
}
