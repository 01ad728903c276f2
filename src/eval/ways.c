#include "eval/ways.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "eval/evaluate.h"
#include "eval/posture.h"
#include "track/recover.h"

#define FIRST_VARIANT 64 /* none that a suite has */
#define SPREAD 37        /* whose attempts give a heap: others for every robot */
#define EVERY 50         /* frames between entries */
#define LONGEST 350      /* frames from an entry to the end of its way */
#define ALIKE 1.5f       /* distance (posture.h) at which another robot's experience counts e^-1 as much */
#define SECOND 0.1f      /* of that experience that getting up a second earlier is worth */

enum { DROPPED = POSTURE_COUNT * WAYS_MOST, ROBOTS = 2 * DROPPED }; /* the most */

typedef struct {
    int way, frame;
} entry;

typedef struct {
    int dropped, robots; /* the heaps come after those that were dropped */
    double lying[ROBOTS][HRC_NQ];
    int n;
    entry *entries;  /* (n) */
    course *courses; /* (n) one for each entry, for one robot after the other */
    float *seconds;  /* (n) */
    bool *stands;    /* (robots, n) */
} trials;

static hrc_status lay_robots(trials *t, const config *cfg, hrc_error *err)
{
    pool *one = NULL;
    sim *physics = NULL;
    hrc_status status = pool_create(&one, 1, err);
    if (status == HRC_OK) status = sim_create(&physics, cfg, one, err);
    for (int i = 0; i < t->dropped && status == HRC_OK; i++)
        status = posture_lying(t->lying[i], POSTURE_NAME[i % POSTURE_COUNT], 0,
                               FIRST_VARIANT + i / POSTURE_COUNT, physics, err);
    t->robots = t->dropped;
    sim_free(physics);
    pool_free(one);
    return status;
}

static hrc_status add_entry(trials *t, const hrc_motion *way, int which, int frame, hrc_error *err)
{
    clip motion;
    TRY(clip_create(&motion, way->n, HRC_RATE_HZ, "way up", err));
    memcpy(motion.qpos, way->qpos, sizeof(float) * HRC_NQ * (size_t)way->n);
    TRY(course_create(&t->courses[t->n], "way up", "", &motion, false, frame, (double)way->n, err));
    t->courses[t->n].own_start = true;
    t->seconds[t->n] = (float)(way->n - frame) / HRC_RATE_HZ;
    t->entries[t->n++] = (entry){which, frame};
    return HRC_OK;
}

static hrc_status find_entries(trials *t, const getups *ways, hrc_error *err)
{
    const size_t most = (size_t)(ways->frames / EVERY + ways->n + 1);
    t->entries = calloc(most, sizeof *t->entries);
    t->courses = calloc(most, sizeof *t->courses);
    t->seconds = calloc(most, sizeof *t->seconds);
    t->stands = calloc(most * ROBOTS, sizeof *t->stands);
    if (!t->entries || !t->courses || !t->seconds || !t->stands)
        return fail(err, HRC_ENOMEM, "ways up: out of memory");
    for (int w = 0; w < ways->n; w++) {
        const hrc_motion way = getups_way(ways, w);
        for (int i = 0; i < way.n; i += EVERY) {
            posture at;
            if (way.n - i <= LONGEST && recovery_begins(&way, i, &at)) TRY(add_entry(t, &way, w, i, err));
        }
    }
    return HRC_OK;
}

/* The heap that is left of a robot when the way it was led along would be given up. False when it never was.
 */
static bool heap_of(double lying[HRC_NQ], const rollout *r)
{
    for (int i = 0, stuck = 0; i < r->n; i++) {
        const float *qpos = r->qpos + (size_t)i * HRC_NQ;
        const posture here = posture_of(qpos), there = posture_of(r->ref + (size_t)i * HRC_NQ);
        stuck = recovery_left_behind(&here, &there) ? stuck + 1 : 0;
        if (stuck <= RECOVERY_STUCK || !posture_down(&here)) continue;
        for (int k = 0; k < HRC_NQ; k++) lying[k] = (double)qpos[k];
        return true;
    }
    return false;
}

/* One more robot to be led, from one of the vain attempts of robot i. */
static void add_heap(trials *t, int i, const evaluation *e)
{
    for (int k = 0; k < t->n; k++) {
        const int any = (i * SPREAD + k) % t->n;
        if (t->stands[i * t->n + any] || !heap_of(t->lying[t->robots], &outcome_of(e, 0, any)->record))
            continue;
        t->robots++;
        return;
    }
}

/* Robot i along every way from every entry. Who is within bounds of the way's last second stands. */
static hrc_status lead_robot(trials *t, int i, const method *alone, const evaluate_options *options,
                             hrc_error *err)
{
    evaluation e;
    for (int k = 0; k < t->n; k++) {
        course *c = &t->courses[k];
        memcpy(c->start, t->lying[i], sizeof c->start);
        posture_bring(c->start, NULL, clip_frame(&c->motion, c->first));
    }
    TRY(evaluate(&e, alone, 1, t->courses, t->n, options, err));
    for (int k = 0; k < t->n; k++) t->stands[i * t->n + k] = outcome_of(&e, 0, k)->result.stands_s >= 0;
    if (i < t->dropped) add_heap(t, i, &e);
    evaluation_free(&e);
    return HRC_OK;
}

static hrc_status try_all(trials *t, const hrc_model *tracker, const config *cfg, pool *threads,
                          const ways_options *o, hrc_error *err)
{
    const method alone = {.name = "tracker", .tracker = tracker, .options = hrc_defaults()};
    const evaluate_options options = {.cfg = cfg, .threads = threads, .record = true, .stop = o->stop};
    for (int i = 0; i < t->robots; i++) {
        TRY(lead_robot(t, i, &alone, &options, err));
        if (o->progress) o->progress(o->ctx, (i + 1.0) / (2 * t->dropped));
    }
    return HRC_OK;
}

int ways_best(const ways_known *known, int i, int without)
{
    int best = -1;
    float most = -INFINITY;
    for (int k = 0; k < known->entries; k++) {
        float weights = 0, sum = 0;
        if (!known->stands[i * known->entries + k]) continue;
        for (int j = 0; j < known->robots; j++) {
            const float weight = j == without ? 0 : expf(-known->apart[i * known->robots + j] / ALIKE);
            weights += weight, sum += known->stands[j * known->entries + k] ? weight : 0;
        }
        const float worth = sum / weights - SECOND * known->seconds[k];
        if (worth > most) most = worth, best = k;
    }
    return best;
}

/* Would robot i get up, led as the one that lies most like it? */
static bool unseen_stands(const ways_known *known, int i)
{
    int best = -1;
    float least = INFINITY;
    for (int j = 0; j < known->robots; j++) {
        const float apart = known->apart[i * known->robots + j];
        if (j == i || apart >= least) continue;
        const int led = ways_best(known, j, i);
        if (led >= 0) least = apart, best = led;
    }
    return best >= 0 && known->stands[i * known->entries + best];
}

/* Ways in use move to the front; their new places come into `at` (ways), -1 for those that go. */
static void drop_unused(getups *ways, const int32_t *led, int cases, int *at)
{
    int kept = 0, to = 0, from = 0;
    for (int w = 0; w < ways->n; w++) {
        const int length = ways->length[w];
        bool used = false;
        for (int i = 0; i < cases; i++) used |= led[2 * i] == w;
        at[w] = used ? kept : -1;
        if (used) {
            memmove(ways->qpos[to], ways->qpos[from], sizeof *ways->qpos * (size_t)length);
            memmove(ways->qvel[to], ways->qvel[from], sizeof *ways->qvel * (size_t)length);
            ways->length[kept++] = length;
            to += length;
        }
        from += length;
    }
    ways->n = kept, ways->frames = to;
}

static hrc_status keep_cases(getups *ways, const trials *t, const ways_known *known, arena *memory,
                             hrc_error *err)
{
    ways->cases = 0;
    ways->lying = arena_alloc(memory, (size_t)t->robots, sizeof *ways->lying);
    ways->led = arena_alloc(memory, (size_t)t->robots, sizeof *ways->led);
    int *at = ARENA_NEW(memory, int, ways->n + 1);
    if (!ways->lying || !ways->led || !at) return fail(err, HRC_ENOMEM, "ways up: out of memory");
    for (int i = 0; i < t->robots; i++) {
        const int best = ways_best(known, i, -1);
        if (best < 0) continue;
        for (int k = 0; k < HRC_NQ; k++) ways->lying[ways->cases][k] = (float)t->lying[i][k];
        ways->led[ways->cases][0] = t->entries[best].way, ways->led[ways->cases][1] = t->entries[best].frame;
        ways->cases++;
    }
    if (!ways->cases) return HRC_OK; /* nobody gets up by any: whatever looks right may be tried */
    drop_unused(ways, &ways->led[0][0], ways->cases, at);
    for (int i = 0; i < ways->cases; i++) ways->led[i][0] = at[ways->led[i][0]];
    return HRC_OK;
}

static hrc_status judge(getups *ways, const trials *t, arena *memory, ways_result *out, hrc_error *err)
{
    float *apart = ARENA_NEW(memory, float, t->robots * t->robots);
    posture *postures = ARENA_NEW(memory, posture, t->robots);
    if (!apart || !postures) return fail(err, HRC_ENOMEM, "ways up: out of memory");
    for (int i = 0; i < t->robots; i++) {
        float qpos[HRC_NQ];
        for (int k = 0; k < HRC_NQ; k++) qpos[k] = (float)t->lying[i][k];
        postures[i] = posture_of(qpos);
        for (int j = 0; j <= i; j++)
            apart[i * t->robots + j] = apart[j * t->robots + i] =
                posture_distance(&postures[i], &postures[j]);
    }
    const ways_known known = {t->robots, t->n, apart, t->stands, t->seconds};
    out->robots = t->robots;
    for (int i = 0; i < t->robots; i++) {
        out->up += (double)(ways_best(&known, i, -1) >= 0) / t->robots;
        out->unseen += (double)unseen_stands(&known, i) / t->robots;
    }
    return keep_cases(ways, t, &known, memory, err);
}

hrc_status ways_keep(getups *ways, const hrc_model *tracker, const config *cfg, pool *threads, arena *memory,
                     const ways_options *options, ways_result *out, hrc_error *err)
{
    trials t = {.dropped = POSTURE_COUNT * options->a_side};
    *out = (ways_result){0};
    hrc_status status = lay_robots(&t, cfg, err);
    if (status == HRC_OK) status = find_entries(&t, ways, err);
    if (status == HRC_OK && t.n) status = try_all(&t, tracker, cfg, threads, options, err);
    if (status == HRC_OK && t.n) status = judge(ways, &t, memory, out, err);
    for (int i = 0; t.courses && i < t.n; i++) course_free(&t.courses[i]);
    free(t.courses);
    free(t.entries);
    free(t.seconds);
    free(t.stands);
    return status;
}
