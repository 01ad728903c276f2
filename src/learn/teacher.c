#include "learn/teacher.h"

#include <math.h>
#include <string.h>

#include "motion/phases.h"

#define LONGEST 600      /* frames: of a longer stay only its end is of use */
#define AFTER 50         /* frames of standing at the end */
#define LYING 30         /* frames: lying for less is rolling, dancing or kneeling */
#define EVERY 2          /* frames between moments */
#define HURRY 0.5f       /* distance (posture.h) that a second less on the ground is worth */
#define BELOW_M 0.2f     /* the robot lies when its reference is this much higher */
#define SITS_UP 0.5f     /* ... or its pelvis is this upright, and the robot's is not */
#define TILTED_UP 1.2f   /* by so much, rad */
#define PATIENCE 15      /* control steps before it is taken for fallen: some catch themselves */
#define STUCK 50         /* control steps that a way may be ahead of the robot */
#define BEHIND_M 0.25f   /* a way that has risen so much further has lost the robot ... */
#define BEHIND_TILT 0.9f /* ... or turned it by so much, rad */
#define NEARLY 35        /* frames before the end of a way, which stands by then */
#define BACK_M 0.12f     /* as near it follows a reference again that is low itself ... */
#define BACK_TILT 0.5f   /* rad */
#define STANDS_UP 0.85f  /* vertical part of the pelvis' up axis */

enum { PACES = 3 };
static const float PACE[PACES] = {1, 1.3f, 1.6f}; /* people take their time */

/* ---- The ways ---- */

typedef struct {
    int clip, first, last;
} stretch;

static int lying_frames(const phase *p, int first, int last)
{
    int n = 0;
    for (int i = first; i <= last; i++)
        if (p[i].posture >= POSTURE_SUPINE && p[i].posture <= POSTURE_SIDE_RIGHT)
            n += p[i].last - p[i].first + 1;
    return n;
}

/* The stays of one clip that end standing; returns how many. */
static int stretches_of(stretch *out, const phase *p, int nphases, const clip *c, int which)
{
    int n = 0;
    for (int a = 0, b; a < nphases; a = b + 1) {
        for (b = a; b + 1 < nphases && p[b + 1].kind == p[a].kind;) b++;
        if (p[a].kind != PHASE_DOWN || lying_frames(p, a, b) < LYING) continue;
        int stands = b + 1;
        if (stands < nphases && p[stands].kind == PHASE_GETTING_UP) stands++;
        if (stands >= nphases || p[stands].kind != PHASE_STANDING) continue;
        int last = p[stands].first + AFTER < c->n ? p[stands].first + AFTER : c->n - 1;
        int first = last - LONGEST > p[a].first ? last - LONGEST : p[a].first;
        out[n++] = (stretch){which, first, last};
    }
    return n;
}

/* Done `pace` times as fast as it was recorded. */
static hrc_status copy_way(teacher *t, const clip *c, const stretch *s, float pace, hrc_error *err)
{
    const clip part = {.name = c->name,
                       .category = c->category,
                       .source = c->source,
                       .licence = c->licence,
                       .n = s->last - s->first + 1,
                       .fps = (double)pace * HRC_RATE_HZ,
                       .qpos = (float *)clip_frame(c, s->first)};
    clip done;
    TRY(clip_resample(&done, &part, HRC_RATE_HZ, err));
    float *qpos = ARENA_NEW(&t->memory, float, (size_t)done.n *HRC_NQ);
    float *qvel = ARENA_NEW(&t->memory, float, (size_t)done.n *HRC_NV);
    if (qpos && qvel) {
        memcpy(qpos, done.qpos, sizeof(float) * HRC_NQ * (size_t)done.n);
        clip_velocities(qvel, &done);
        t->ways[t->nways++] = (hrc_motion){done.n, qpos, qvel};
    }
    clip_free(&done);
    return qpos && qvel ? HRC_OK : fail(err, HRC_ENOMEM, "%s: out of memory", c->name);
}

/* On the ground and about to move: a pose that lies like this now and so a second later only rests. */
static bool begins(const hrc_motion *way, int frame, posture *at)
{
    const int later = frame + HRC_RATE_HZ < way->n ? frame + HRC_RATE_HZ : way->n - 1;
    const posture then = posture_of(way->qpos + (size_t)later * HRC_NQ);
    *at = posture_of(way->qpos + (size_t)frame * HRC_NQ);
    return posture_down(at) && !posture_rests(at, &then);
}

static hrc_status list_moments(teacher *t, hrc_error *err)
{
    int most = 0;
    for (int w = 0; w < t->nways; w++) most += t->ways[w].n / EVERY + 1;
    t->moments = ARENA_NEW(&t->memory, teacher_moment, most + 1);
    if (!t->moments) return fail(err, HRC_ENOMEM, "getting up: out of memory for %d moments", most);
    for (int w = 0; w < t->nways; w++)
        for (int i = 0; i < t->ways[w].n; i += EVERY) {
            posture at;
            const float seconds = (float)(t->ways[w].n - i) / HRC_RATE_HZ;
            if (begins(&t->ways[w], i, &at))
                t->moments[t->nmoments++] = (teacher_moment){at, w, i, HURRY * seconds};
        }
    return HRC_OK;
}

static hrc_status find_ways(teacher *t, const clip *const *clips, int n, arena *scratch, hrc_error *err)
{
    int count = 0, most = 0;
    for (int i = 0; i < n; i++) most += clips[i]->n;
    stretch *all = ARENA_NEW(scratch, stretch, most + 1);
    if (!all) return fail(err, HRC_ENOMEM, "getting up: out of memory");
    for (int i = 0; i < n; i++) {
        phase *p;
        int nphases;
        TRY(phases_find(scratch, &p, &nphases, clips[i], err));
        count += stretches_of(all + count, p, nphases, clips[i], i);
    }
    t->ways = ARENA_NEW(&t->memory, hrc_motion, PACES * count + 1);
    if (!t->ways) return fail(err, HRC_ENOMEM, "getting up: out of memory");
    for (int k = 0; k < count; k++)
        for (int i = 0; i < PACES; i++) TRY(copy_way(t, clips[all[k].clip], &all[k], PACE[i], err));
    return list_moments(t, err);
}

hrc_status teacher_create(teacher *t, const clip *const *clips, int n, hrc_error *err)
{
    arena scratch = {0};
    *t = (teacher){0};
    hrc_status status = find_ways(t, clips, n, &scratch, err);
    arena_free(&scratch);
    if (status < 0) teacher_free(t);
    return status;
}

void teacher_free(teacher *t)
{
    arena_free(&t->memory);
    *t = (teacher){0};
}

/* The best moment of every way, and of these the one of the given rank: ways that were taken are passed over
 * by looking only at those that cost more than the last. */
static bool choose_nearest(const teacher *t, const float qpos[HRC_NQ], int rank, follower *out)
{
    const posture now = posture_of(qpos);
    float floor = -1;
    const teacher_moment *chosen = NULL;
    for (int r = 0; r <= rank; r++) {
        float least = INFINITY;
        chosen = NULL;
        for (int i = 0, next; i < t->nmoments; i = next) {
            float best = INFINITY;
            const teacher_moment *moment = NULL;
            for (next = i; next < t->nmoments && t->moments[next].way == t->moments[i].way; next++) {
                const float cost = posture_distance(&now, &t->moments[next].at) + t->moments[next].cost;
                if (cost < best) best = cost, moment = &t->moments[next];
            }
            if (best > floor && best < least) least = best, chosen = moment;
        }
        if (!chosen) return false;
        floor = least;
    }
    follow_begin(out, &t->ways[chosen->way], chosen->frame, 0);
    follow_place(out, qpos);
    return true;
}

teacher teacher_only(const teacher *t, int way)
{
    teacher one = *t;
    int first = 0, last;
    while (first < t->nmoments && t->moments[first].way != way) first++;
    for (last = first; last < t->nmoments && t->moments[last].way == way;) last++;
    one.moments = t->moments + first;
    one.nmoments = last - first;
    one.norder = 0;
    return one;
}

bool teacher_choose(const teacher *t, const float qpos[HRC_NQ], int rank, follower *out)
{
    if (!t->norder) return choose_nearest(t, qpos, rank, out);
    const teacher one = teacher_only(t, t->order[rank % t->norder]);
    return choose_nearest(&one, qpos, 0, out);
}

/* ---- Leading ---- */

static bool stands(const posture *p)
{
    return p->height > POSTURE_STAND_M && p->up[2] > STANDS_UP;
}

static float cos_tilt(const posture *a, const posture *b)
{
    return a->up[0] * b->up[0] + a->up[1] * b->up[1] + a->up[2] * b->up[2];
}

static bool left_behind(const teaching *t, const posture *now)
{
    hrc_frame frame;
    follow_frame(&t->way, 0, &frame);
    const posture there = posture_of(frame.qpos);
    return there.height - now->height > BEHIND_M || cos_tilt(now, &there) < cosf(BEHIND_TILT);
}

/* The robot lies; its reference is higher, or sits. */
static bool is_wanted_up(const posture *now, const posture *wanted)
{
    const bool sits = wanted->up[2] > SITS_UP && cos_tilt(now, wanted) < cosf(TILTED_UP);
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

static bool take_lead(teaching *t, const float qpos[HRC_NQ])
{
    t->leads = teacher_choose(t->knows, qpos, t->rank++, &t->way);
    t->down = t->stuck = 0;
    return true;
}

bool teaching_step(teaching *t, const float qpos[HRC_NQ], const float reference[HRC_NQ])
{
    const posture now = posture_of(qpos), wanted = posture_of(reference);
    if (!t->leads) {
        t->down = is_wanted_up(&now, &wanted) ? t->down + 1 : 0;
        return t->down > PATIENCE && t->knows->nmoments ? take_lead(t, qpos) : false;
    }
    const int left = t->way.motion.n - 1 - t->way.frame;
    if (is_back(&now, &wanted) || (stands(&now) && left < NEARLY) ||
        (left <= 0 && !posture_down(&now) && t->stuck > STUCK)) {
        t->leads = false;
        t->down = t->stuck = 0;
        return true;
    }
    t->stuck = left_behind(t, &now) || left <= 0 ? t->stuck + 1 : 0;
    return t->stuck > STUCK && posture_down(&now) ? take_lead(t, qpos) : false;
}
