#include "track/recover.h"

#include <math.h>

#include "base/rot.h"

#define EVERY 2         /* frames between moments */
#define TRIED 0.7f      /* distance that every vain attempt at a way adds to it */
#define BELOW_M 0.2f    /* the robot lies when its reference is this much higher */
#define PATIENCE 15     /* control steps before it is taken for fallen: some catch themselves */
#define BEHIND_M 0.25f  /* a way that has risen so much further has lost the robot ... */
#define TILTED 0.9f     /* ... or turned it by so much, rad */
#define STUCK 25        /* control steps of that before another moment is looked for */
#define NEARLY 35       /* frames before the end of a way, which stands by then */
#define STANDS_UP 0.85f /* vertical part of the pelvis' up axis */

hrc_status recovery_create(recovery *r, const getups *ways, hrc_error *err)
{
    *r = (recovery){.ways = ways};
    if (!ways || !ways->n) return HRC_OK;
    r->moments = ARENA_NEW(&r->memory, way_moment, ways->frames);
    r->tried = ARENA_NEW(&r->memory, int, ways->n);
    if (!r->moments || !r->tried)
        return fail(err, HRC_ENOMEM, "controller: out of memory for %d frames", ways->frames);
    for (int w = 0; w < ways->n; w++) {
        const hrc_motion way = getups_way(ways, w);
        for (int i = 0; i < way.n; i += EVERY) {
            const int later = i + HRC_RATE_HZ < way.n ? i + HRC_RATE_HZ : way.n - 1;
            const posture at = posture_of(way.qpos + (size_t)i * HRC_NQ),
                          then = posture_of(way.qpos + (size_t)later * HRC_NQ);
            if (posture_down(&at) && !posture_rests(&at, &then)) r->moments[r->n++] = (way_moment){at, w, i};
        }
    }
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
        const float seconds = (float)(r->ways->length[m->way] - m->frame) / HRC_RATE_HZ;
        const float cost =
            posture_distance(now, &m->at) + POSTURE_HURRY * seconds + TRIED * (float)r->tried[m->way];
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

/* The way goes on without the robot. */
static bool left_behind(const recovery *r, const posture *now)
{
    hrc_frame frame;
    follow_frame(&r->way, 0, &frame);
    const posture there = posture_of(frame.qpos);
    float along = 0;
    for (int k = 0; k < 3; k++) along += now->up[k] * there.up[k];
    return there.height - now->height > BEHIND_M || along < cosf(TILTED);
}

bool recovery_step(recovery *r, const float qpos[HRC_NQ], const hrc_frame *reference)
{
    if (!r->n) return false;
    const posture now = posture_of(qpos);
    const bool lies = posture_down(&now) && reference->qpos[2] > now.height + BELOW_M;
    if (!r->active) {
        r->down = lies ? r->down + 1 : 0;
        if (r->down <= PATIENCE) return false;
        begin_way(r, &now, qpos);
        return true;
    }
    const bool over = r->way.frame >= r->way.motion.n - 1, nearly = r->way.frame >= r->way.motion.n - NEARLY;
    const bool wanted_low = reference->qpos[2] < POSTURE_DOWN_M && posture_down(&now);
    if (wanted_low || (stands(&now) && nearly) || (over && !posture_down(&now) && r->stuck > STUCK)) {
        stop(r);
        return true;
    }
    r->stuck = left_behind(r, &now) || over ? r->stuck + 1 : 0;
    if (r->stuck <= STUCK || !posture_down(&now)) return false;
    begin_way(r, &now, qpos);
    return true;
}
