#include "eval/ways.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "eval/evaluate.h"
#include "eval/posture.h"
#include "robot/posture.h"

#define FIRST_VARIANT 64 /* none that a suite has */
#define EVERY 50         /* frames between entries */
#define LONGEST 350      /* frames from an entry to the end of its way */
#define ALIKE 1.5f       /* distance (posture.h) at which another robot's experience counts e^-1 as much */
#define SECOND 0.1f      /* of that experience that getting up a second earlier is worth */

enum { ROBOTS = POSTURE_COUNT * WAYS_MOST }; /* the most */

typedef struct {
    int way, frame;
} entry;

typedef struct {
    int robots;
    double lying[ROBOTS][HRC_NQ];
    posture postures[ROBOTS];
    float apart[ROBOTS * ROBOTS]; /* (robots, robots) */
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
    for (int i = 0; i < t->robots && status == HRC_OK; i++) {
        float qpos[HRC_NQ];
        status = posture_lying(t->lying[i], POSTURE_NAME[i % POSTURE_COUNT], 0,
                               FIRST_VARIANT + i / POSTURE_COUNT, physics, err);
        for (int k = 0; k < HRC_NQ; k++) qpos[k] = (float)t->lying[i][k];
        t->postures[i] = posture_of(qpos);
    }
    for (int i = 0; i < t->robots * t->robots; i++)
        t->apart[i] = posture_distance(&t->postures[i / t->robots], &t->postures[i % t->robots]);
    sim_free(physics);
    pool_free(one);
    return status;
}

static bool is_entry(const hrc_motion *way, int frame)
{
    const int later = frame + HRC_RATE_HZ < way->n ? frame + HRC_RATE_HZ : way->n - 1;
    const posture now = posture_of(way->qpos + (size_t)frame * HRC_NQ),
                  then = posture_of(way->qpos + (size_t)later * HRC_NQ);
    return way->n - frame <= LONGEST && posture_down(&now) && !posture_rests(&now, &then);
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
        for (int i = 0; i < way.n; i += EVERY)
            if (is_entry(&way, i)) TRY(add_entry(t, &way, w, i, err));
    }
    return HRC_OK;
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
    evaluation_free(&e);
    return HRC_OK;
}

int ways_best(int i, const float *apart, const bool *stands, const float *seconds, int robots, int entries)
{
    int best = -1;
    float most = -INFINITY;
    for (int k = 0; k < entries; k++) {
        float weights = 0, sum = 0;
        if (!stands[i * entries + k]) continue;
        for (int j = 0; j < robots; j++) {
            const float weight = expf(-apart[i * robots + j] / ALIKE);
            weights += weight, sum += stands[j * entries + k] ? weight : 0;
        }
        const float worth = sum / weights - SECOND * seconds[k];
        if (worth > most) most = worth, best = k;
    }
    return best;
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

static hrc_status keep_cases(getups *ways, const trials *t, arena *memory, hrc_error *err)
{
    ways->cases = 0;
    ways->lying = arena_alloc(memory, ROBOTS, sizeof *ways->lying);
    ways->led = arena_alloc(memory, ROBOTS, sizeof *ways->led);
    int *at = ARENA_NEW(memory, int, ways->n + 1);
    if (!ways->lying || !ways->led || !at) return fail(err, HRC_ENOMEM, "ways up: out of memory");
    for (int i = 0; i < t->robots; i++) {
        const int best = ways_best(i, t->apart, t->stands, t->seconds, t->robots, t->n);
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

static hrc_status try_all(trials *t, const hrc_model *tracker, const config *cfg, pool *threads,
                          const ways_options *o, hrc_error *err)
{
    const method alone = {.name = "tracker", .tracker = tracker, .options = hrc_defaults()};
    const evaluate_options options = {.cfg = cfg, .threads = threads};
    for (int i = 0; i < t->robots; i++) {
        TRY(lead_robot(t, i, &alone, &options, err));
        if (o->progress) o->progress(o->ctx, (i + 1.0) / t->robots);
    }
    return HRC_OK;
}

hrc_status ways_keep(getups *ways, const hrc_model *tracker, const config *cfg, pool *threads, arena *memory,
                     const ways_options *options, double *up, hrc_error *err)
{
    static trials t;
    t = (trials){.robots = POSTURE_COUNT * options->a_side};
    hrc_status status = lay_robots(&t, cfg, err);
    if (status == HRC_OK) status = find_entries(&t, ways, err);
    if (status == HRC_OK && t.n) status = try_all(&t, tracker, cfg, threads, options, err);
    if (status == HRC_OK && t.n) status = keep_cases(ways, &t, memory, err);
    *up = (double)ways->cases / t.robots;
    for (int i = 0; t.courses && i < t.n; i++) course_free(&t.courses[i]);
    free(t.courses);
    free(t.entries);
    free(t.seconds);
    free(t.stands);
    return status;
}
