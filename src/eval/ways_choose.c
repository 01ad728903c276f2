#include "eval/ways_choose.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "eval/evaluate.h"
#include "eval/posture.h"
#include "track/recover.h"

#define VARIANTS 12      /* robots a side */
#define FIRST_VARIANT 64 /* none that a suite has */

enum { ROBOTS = POSTURE_COUNT * VARIANTS };

typedef struct {
    const getups *ways;
    recovery picker;
    double lying[ROBOTS][HRC_NQ];
    course *courses; /* (ROBOTS, ways) */
    float *cost;     /* (ROBOTS, ways) */
    bool *stands;    /* (ROBOTS, ways) */
    bool *keep;      /* (ways) */
} choice;

static hrc_status lay_robots(choice *c, const config *cfg, hrc_error *err)
{
    pool *one = NULL;
    sim *physics = NULL;
    hrc_status status = pool_create(&one, 1, err);
    if (status == HRC_OK) status = sim_create(&physics, cfg, one, err);
    for (int i = 0; i < ROBOTS && status == HRC_OK; i++)
        status = posture_lying(c->lying[i], POSTURE_NAME[i % POSTURE_COUNT], 0,
                               FIRST_VARIANT + i / POSTURE_COUNT, physics, err);
    sim_free(physics);
    pool_free(one);
    return status;
}

hrc_status way_course(course *out, const hrc_motion *way, int frame, const double lying[HRC_NQ],
                      hrc_error *err)
{
    clip motion;
    TRY(clip_create(&motion, way->n, HRC_RATE_HZ, "way up", err));
    memcpy(motion.qpos, way->qpos, sizeof(float) * HRC_NQ * (size_t)way->n);
    TRY(course_create(out, "way up", "", &motion, false, frame, (double)way->n, err));
    out->own_start = true;
    memcpy(out->start, lying, sizeof out->start);
    posture_bring(out->start, NULL, way->qpos + (size_t)frame * HRC_NQ);
    return HRC_OK;
}

static hrc_status make_courses(choice *c, hrc_error *err)
{
    const int n = c->ways->n;
    for (int i = 0; i < ROBOTS * n; i++) {
        float qpos[HRC_NQ];
        const double *lying = c->lying[i / n];
        for (int k = 0; k < HRC_NQ; k++) qpos[k] = (float)lying[k];
        const posture now = posture_of(qpos);
        const int at = recovery_pick(&c->picker, &now, i % n, &c->cost[i]);
        const hrc_motion way = getups_way(c->ways, i % n);
        /* a way without a moment on the ground is never picked: any course will do */
        TRY(way_course(&c->courses[i], &way, at < 0 ? way.n - 2 : c->picker.moments[at].frame, lying, err));
    }
    return HRC_OK;
}

/* How many robots get up by the way that each picks. */
static int count_standing(const bool *keep, const float *cost, const bool *stands, int robots, int ways)
{
    int count = 0;
    for (int i = 0; i < robots; i++) {
        int best = -1;
        for (int w = 0; w < ways; w++)
            if (keep[w] && (best < 0 || cost[i * ways + w] < cost[i * ways + best])) best = w;
        count += best >= 0 && isfinite(cost[i * ways + best]) && stands[i * ways + best];
    }
    return count;
}

int ways_leave_out(bool *keep, const float *cost, const bool *stands, int robots, int ways)
{
    int most = count_standing(keep, cost, stands, robots, ways);
    for (;;) {
        int out = -1;
        for (int w = 0; w < ways; w++) {
            if (!keep[w]) continue;
            keep[w] = false;
            const int without = count_standing(keep, cost, stands, robots, ways);
            keep[w] = true;
            if (without > most) most = without, out = w;
        }
        if (out < 0) return most;
        keep[out] = false;
    }
}

static hrc_status choose(choice *c, getups *ways, hrc_error *err)
{
    int *from = calloc((size_t)ways->n, sizeof *from);
    if (!from) return fail(err, HRC_ENOMEM, "ways up: out of memory");
    for (int w = 0; w < ways->n; w++) c->keep[w] = true;
    if (ways_leave_out(c->keep, c->cost, c->stands, ROBOTS, ways->n) > 0) {
        for (int w = 0; w < ways->n; w++) from[w] = c->keep[w] ? 0 : ways->length[w];
        getups_trim(ways, from);
    }
    free(from);
    return HRC_OK;
}

static hrc_status try_all(choice *c, const hrc_model *tracker, const config *cfg, pool *threads,
                          hrc_error *err)
{
    const int n = ROBOTS * c->ways->n;
    const method alone = {.name = "tracker", .tracker = tracker, .options = hrc_defaults()};
    const evaluate_options options = {.cfg = cfg, .threads = threads};
    evaluation e;
    TRY(evaluate(&e, &alone, 1, c->courses, n, &options, err));
    for (int i = 0; i < n; i++) c->stands[i] = outcome_of(&e, 0, i)->result.stands_s >= 0;
    evaluation_free(&e);
    return HRC_OK;
}

hrc_status ways_choose(getups *ways, const hrc_model *tracker, const config *cfg, pool *threads,
                       hrc_error *err)
{
    const int n = ROBOTS * ways->n;
    static choice c;
    c = (choice){.ways = ways};
    c.courses = calloc((size_t)n, sizeof *c.courses);
    c.cost = calloc((size_t)n, sizeof *c.cost);
    c.stands = calloc((size_t)n, sizeof *c.stands);
    c.keep = calloc((size_t)ways->n, sizeof *c.keep);
    hrc_status status = c.courses && c.cost && c.stands && c.keep
                            ? recovery_create(&c.picker, ways, err)
                            : fail(err, HRC_ENOMEM, "ways up: out of memory");
    if (status == HRC_OK) status = lay_robots(&c, cfg, err);
    if (status == HRC_OK) status = make_courses(&c, err);
    if (status == HRC_OK) status = try_all(&c, tracker, cfg, threads, err);
    if (status == HRC_OK) status = choose(&c, ways, err);
    recovery_free(&c.picker);
    for (int i = 0; c.courses && i < n; i++) course_free(&c.courses[i]);
    free(c.courses);
    free(c.cost);
    free(c.stands);
    free(c.keep);
    return status;
}
