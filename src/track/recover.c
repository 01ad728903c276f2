#include "track/recover.h"

#include <math.h>

#include "base/rot.h"

#define EVERY 2         /* frames between moments */
#define TRIED 0.7f      /* distance that every vain attempt at a way adds to it */
#define BELOW_M 0.2f    /* the robot lies when its reference is this much higher */
#define SITS_UP 0.5f    /* ... or its pelvis is this upright, and the robot's is not */
#define LYING 1.2f      /* by so much, rad */
#define PATIENCE 15     /* control steps before it is taken for fallen: some catch themselves */
#define BEHIND_M 0.25f  /* a way that has risen so much further has lost the robot ... */
#define TILTED 0.9f     /* ... or turned it by so much, rad */
#define NEARLY 35       /* frames before the end of a way, which stands by then */
#define BACK_M 0.12f    /* as near it follows a reference again that is low itself ... */
#define BACK_TILT 0.5f  /* rad */
#define STANDS_UP 0.85f /* vertical part of the pelvis' up axis */

bool recovery_begins(const hrc_motion *way, int frame, posture *at)
{
    const int later = frame + HRC_RATE_HZ < way->n ? frame + HRC_RATE_HZ : way->n - 1;
    const posture then = posture_of(way->qpos + (size_t)later * HRC_NQ);
    *at = posture_of(way->qpos + (size_t)frame * HRC_NQ);
    return posture_down(at) && !posture_rests(at, &then);
}

static void list_frames(recovery *r)
{
    for (int w = 0; w < r->ways->n; w++) {
        const hrc_motion way = getups_way(r->ways, w);
        for (int i = 0; i < way.n; i += EVERY) {
            posture at;
            const float seconds = (float)(way.n - i) / HRC_RATE_HZ;
            if (recovery_begins(&way, i, &at))
                r->moments[r->n++] = (way_moment){at, w, i, POSTURE_HURRY * seconds};
        }
    }
}

static void list_cases(recovery *r)
{
    const getups *g = r->ways;
    for (int i = 0; i < g->cases; i++)
        r->moments[r->n++] = (way_moment){posture_of(g->lying[i]), g->led[i][0], g->led[i][1], 0};
}

hrc_status recovery_create(recovery *r, const getups *ways, hrc_error *err)
{
    *r = (recovery){.ways = ways};
    if (!ways || !ways->n) return HRC_OK;
    const int most = ways->cases ? ways->cases : ways->frames;
    r->moments = ARENA_NEW(&r->memory, way_moment, most);
    r->tried = ARENA_NEW(&r->memory, int, ways->n);
    if (!r->moments || !r->tried)
        return fail(err, HRC_ENOMEM, "controller: out of memory for %d moments", most);
    if (ways->cases)
        list_cases(r);
    else
        list_frames(r);
    return HRC_OK;
}

void recovery_free(recovery *r)
{
    arena_free(&r->memory);
    *r = (recovery){0};
}

static void stop(recovery *r)
{
    r->active = false;
    r->down = r->stuck = 0;
    for (int i = 0; r->n && i < r->ways->n; i++) r->tried[i] = 0;
}

void recovery_reset(recovery *r)
{
    stop(r);
    r->count = 0;
}

static void begin_way(recovery *r, const posture *now, const float qpos[HRC_NQ])
{
    int best = 0;
    float least = INFINITY;
    for (int i = 0; i < r->n; i++) {
        const way_moment *m = &r->moments[i];
        const float cost = posture_distance(now, &m->at) + m->cost + TRIED * (float)r->tried[m->way];
        if (cost < least) least = cost, best = i;
    }
    const hrc_motion way = getups_way(r->ways, r->moments[best].way);
    follow_begin(&r->way, &way, r->moments[best].frame, 0);
    follow_place(&r->way, qpos);
    r->tried[r->moments[best].way]++;
    r->active = true;
    r->down = r->stuck = 0;
    r->count++;
}

static bool stands(const posture *p)
{
    return p->height > POSTURE_STAND_M && p->up[2] > STANDS_UP;
}

static float cos_tilt(const posture *a, const posture *b)
{
    return a->up[0] * b->up[0] + a->up[1] * b->up[1] + a->up[2] * b->up[2];
}

bool recovery_left_behind(const posture *here, const posture *there)
{
    return there->height - here->height > BEHIND_M || cos_tilt(here, there) < cosf(TILTED);
}

static bool left_behind(const recovery *r, const posture *now)
{
    hrc_frame frame;
    follow_frame(&r->way, 0, &frame);
    const posture there = posture_of(frame.qpos);
    return recovery_left_behind(now, &there);
}

/* The robot lies; its reference is higher, or sits. */
static bool is_wanted_up(const posture *now, const posture *wanted)
{
    const bool sits = wanted->up[2] > SITS_UP && cos_tilt(now, wanted) < cosf(LYING);
    return posture_down(now) && (sits || wanted->height > now->height + BELOW_M);
}

/* On its way the robot has come to where its reference is, which does not stand yet or lies again. */
static bool is_back(const posture *now, const posture *wanted)
{
    if (wanted->height > POSTURE_STAND_M) return false;
    const bool there =
        fabsf(now->height - wanted->height) < BACK_M && cos_tilt(now, wanted) > cosf(BACK_TILT);
    const bool lies = posture_down(wanted) && wanted->up[2] < SITS_UP;
    return there || (lies && posture_down(now) && !is_wanted_up(now, wanted));
}

bool recovery_step(recovery *r, const float qpos[HRC_NQ], const hrc_frame *reference)
{
    if (!r->n) return false;
    const posture now = posture_of(qpos), wanted = posture_of(reference->qpos);
    if (!r->active) {
        r->down = is_wanted_up(&now, &wanted) ? r->down + 1 : 0;
        if (r->down <= PATIENCE) return false;
        begin_way(r, &now, qpos);
        return true;
    }
    const bool over = r->way.frame >= r->way.motion.n - 1, nearly = r->way.frame >= r->way.motion.n - NEARLY;
    if (is_back(&now, &wanted) || (stands(&now) && nearly) ||
        (over && !posture_down(&now) && r->stuck > RECOVERY_STUCK)) {
        stop(r);
        return true;
    }
    r->stuck = left_behind(r, &now) || over ? r->stuck + 1 : 0;
    if (r->stuck <= RECOVERY_STUCK || !posture_down(&now)) return false;
    begin_way(r, &now, qpos);
    return true;
}
