#include "track/known.h"

#include <math.h>
#include <string.h>

#include "robot/posture.h"

/* What a path costs, in distances of postures (posture.h), a moment: */
#define STAYS 1.0f   /* it stands still while the reference goes on ... */
#define TWICE 0.5f   /* ... runs twice as fast as it was recorded ... */
#define THRICE 2.0f  /* ... or three times; */
#define STRANGE 5.0f /* it is the reference itself, on the ground; nothing where that stands; */
#define ENTERS 60.0f /* it changes between the reference and a motion, on the ground ... */
#define STANDS 20.0f /* ... or where the reference stands. */

#define LOW_M 0.35f  /* a pelvis under this is on the ground ... */
#define HIGH_M 0.50f /* ... over this it stands, and between them it is partly so */

#define AROUND 25  /* frames before and after, over which speed is measured */
#define SPEED 0.7f /* m/s: a difference that counts 1 */

#define HURRY 8       /* moments that are looked at in one control step at the most */
#define ENOUGH 50     /* moments to look ahead before a motion is begun */
#define PATIENCE 10   /* control steps before a path that runs elsewhere is followed */
#define IN_STEP 15    /* frames: as far from the path it is still the same one */
#define PREVIEW 10    /* moments over which the pace is measured */
#define EASE 0.1f     /* share by which the pace changes in a control step */
#define CATCH_UP 0.1f /* share of the distance from the path that is made up for */

/* Steps of a path: so many moments on in the same motion, or from the reference into it. A path that gets to
 * the reference stayed there (0) or came from a motion. Before each motion there are as many moments as the
 * largest step that nothing is like, so that no step leads from one motion into the next. */
enum { STAY, ON, ON_TWO, ON_THREE, ENTER, LEAVE };
enum { PADS = ON_THREE };
#define NOWHERE 1e9f /* a feature of these */

/* ---- Moments ---- */

/* What a frame of a motion (n) is compared by: its posture, and how fast it travels within a second around
 * it, so that who runs into a roll is not told to lie down. */
static void describe(float out[KNOWN_FEATURES], const float *qpos, int n, int frame)
{
    const int a = frame > AROUND ? frame - AROUND : 0, b = frame + AROUND < n ? frame + AROUND : n - 1;
    const float *from = qpos + (size_t)a * HRC_NQ, *to = qpos + (size_t)b * HRC_NQ;
    const posture p = posture_of(qpos + (size_t)frame * HRC_NQ);
    posture_features(out, &p);
    const float seconds = fmaxf((float)(b - a), 1) / HRC_RATE_HZ;
    out[POSTURE_FEATURES] = hypotf(to[0] - from[0], to[1] - from[1]) / seconds / SPEED;
}

static int moments_of(const motion_store *s, int motion)
{
    return PADS + (s->length[motion] + KNOWN_EVERY - 1) / KNOWN_EVERY;
}

static void list_motion(known *k, int motion, int at, int first)
{
    const motion_store *s = k->motions;
    for (int i = first; i < first + moments_of(s, motion); i++) {
        const int frame = (i - first - PADS) * KNOWN_EVERY;
        float features[KNOWN_FEATURES];
        for (int d = 0; d < KNOWN_FEATURES; d++) features[d] = NOWHERE;
        if (frame >= 0) describe(features, s->qpos[at], s->length[motion], frame);
        for (int d = 0; d < KNOWN_FEATURES; d++) k->features[(size_t)d * k->n + i] = features[d];
        k->motion[i] = motion, k->frame[i] = frame;
    }
}

hrc_status known_create(known *k, const motion_store *motions, hrc_error *err)
{
    *k = (known){.motions = motions};
    for (int m = 0; m < motions->n; m++) k->n += moments_of(motions, m);
    if (!k->n) return HRC_OK;
    k->qvel = arena_alloc(&k->memory, (size_t)motions->frames, sizeof *k->qvel);
    k->motion = ARENA_NEW(&k->memory, int32_t, k->n);
    k->frame = ARENA_NEW(&k->memory, int32_t, k->n);
    k->features = ARENA_NEW(&k->memory, float, (size_t)k->n *KNOWN_FEATURES);
    k->unlike = ARENA_NEW(&k->memory, float, k->n);
    k->cost = ARENA_NEW(&k->memory, float, k->n + 1);
    k->before = ARENA_NEW(&k->memory, float, k->n + 1);
    k->from = ARENA_NEW(&k->memory, uint8_t, (size_t)(k->n + 1) * KNOWN_LAG);
    if (!k->qvel || !k->motion || !k->frame || !k->features || !k->unlike || !k->cost || !k->before ||
        !k->from) {
        known_free(k);
        return fail(err, HRC_ENOMEM, "controller: out of memory for %d moments that it knows", k->n);
    }
    for (int m = 0, at = 0, first = 0; m < motions->n; m++) {
        hrc_velocities(k->qvel[at], motions->qpos[at], motions->length[m]);
        list_motion(k, m, at, first);
        at += motions->length[m], first += moments_of(motions, m);
    }
    return HRC_OK;
}

void known_free(known *k)
{
    arena_free(&k->memory);
    *k = (known){0};
}

void known_restart(known *k)
{
    k->seen = k->known = 0;
    k->against = 0;
}

/* ---- The path ---- */

/* unlike (n): the distance of every moment from these features. */
static void measure(known *k, const float features[KNOWN_FEATURES])
{
    const int n = k->n;
    float *restrict unlike = k->unlike;
    memset(unlike, 0, sizeof *unlike * (size_t)n);
    for (int d = 0; d < KNOWN_FEATURES; d++) {
        const float *restrict row = k->features + (size_t)d * n, x = features[d];
#pragma omp simd
        for (int i = 0; i < n; i++) unlike[i] += (row[i] - x) * (row[i] - x);
    }
}

static int cheapest(const float *cost, int n)
{
    int best = 0;
    for (int i = 1; i < n; i++)
        if (cost[i] < cost[best]) best = i;
    return best;
}

/* How much the reference is on the ground, 0 to 1. */
static float lowness(float height)
{
    return 1 - fminf(fmaxf((height - LOW_M) / (HIGH_M - LOW_M), 0), 1);
}

/* To every moment by the cheapest step: from where the paths before ended, or from the reference for `enter`.
 * Costs are counted from `least`, so that they do not grow without end. */
static void step_on(known *k, uint8_t *restrict from, float enter, float least)
{
    const float *restrict before = k->before, *restrict unlike = k->unlike;
    float *restrict cost = k->cost;
    for (int i = 0; i < PADS; i++) cost[i] = unlike[i], from[i] = ENTER;
#pragma omp simd
    for (int i = PADS; i < k->n; i++) {
        const float by[] = {before[i] + STAYS, before[i - 1], before[i - 2] + TWICE, before[i - 3] + THRICE};
        float low = enter;
        int step = ENTER;
        for (int s = STAY; s <= ON_THREE; s++) {
            step = by[s] < low ? s : step;
            low = by[s] < low ? by[s] : low;
        }
        cost[i] = low + unlike[i] - least;
        from[i] = (uint8_t)step;
    }
}

static void look_at(known *k, const hrc_motion *reference, int frame)
{
    float features[KNOWN_FEATURES];
    describe(features, reference->qpos, reference->n, frame);
    measure(k, features);
    const float low = lowness(reference->qpos[(size_t)frame * HRC_NQ + 2]),
                change = STANDS + (ENTERS - STANDS) * low;
    const int row = k->seen % KNOWN_LAG, n = k->n;
    uint8_t *from = k->from + (size_t)row * (size_t)(n + 1);
    if (!k->seen++) {
        memcpy(k->cost, k->unlike, sizeof *k->cost * (size_t)n);
        k->cost[n] = STRANGE * low;
        return;
    }
    float *kept = k->before;
    k->before = k->cost, k->cost = kept;
    const int best = k->best[row] = cheapest(k->before, n);
    const float stays = k->before[n], leaves = k->before[best] + change;
    const float least = fminf(stays, k->before[best]);
    step_on(k, from, stays + change, least);
    from[n] = leaves < stays ? LEAVE : STAY;
    k->cost[n] = fminf(stays, leaves) + STRANGE * low - least;
}

/* The cheapest path, from its end back to the step `now`. */
static void decode(known *k, int now)
{
    int at = cheapest(k->cost, k->n + 1);
    k->known = k->seen - now;
    for (int step = k->seen - 1; step > now; step--) {
        k->path[step - now] = at;
        const int row = step % KNOWN_LAG, from = k->from[(size_t)row * (size_t)(k->n + 1) + (size_t)at];
        at = from == LEAVE ? k->best[row] : from == ENTER ? k->n : at - from;
    }
    k->path[0] = at;
}

void known_look(known *k, const follower *f)
{
    if (!k->n) return;
    const bool lost_sight = f->frame < k->first || (f->frame - k->first) / KNOWN_EVERY >= k->seen;
    if (lost_sight) known_restart(k); /* somebody did not look for a while */
    if (!k->seen) k->first = f->frame;
    const int now = (f->frame - k->first) / KNOWN_EVERY, last = (f->motion.n - 1 - k->first) / KNOWN_EVERY;
    const int until = now + KNOWN_LAG - 1 < last ? now + KNOWN_LAG - 1 : last, seen = k->seen;
    while (k->seen <= until && k->seen - seen < HURRY)
        look_at(k, &f->motion, k->first + k->seen * KNOWN_EVERY);
    if (k->seen != seen || k->known != k->seen - now) decode(k, now);
    k->enough = k->known >= ENOUGH || k->seen > last;
}

/* ---- Following it ---- */

static void begin(known *k, int moment, int later, const float qpos[HRC_NQ])
{
    int at = 0;
    k->which = k->motion[moment];
    for (int m = 0; m < k->which; m++) at += k->motions->length[m];
    const hrc_motion motion = {k->motions->length[k->which], k->motions->qpos[at], k->qvel[at]};
    const int frame = k->frame[moment] + later < motion.n ? k->frame[moment] + later : motion.n - 1;
    follow_begin(&k->way, &motion, frame, 0);
    follow_place(&k->way, qpos);
    k->phase = (float)frame, k->pace = 1;
    k->active = true;
}

/* Frames of the motion in one of the reference, along the path to come. */
static float pace_ahead(const known *k)
{
    int n = 0;
    while (n < PREVIEW && n + 1 < k->known && k->path[n + 1] < k->n && k->motion[k->path[n + 1]] == k->which)
        n++;
    return n ? (float)(k->frame[k->path[n]] - k->frame[k->path[0]]) / (float)(n * KNOWN_EVERY) : 0;
}

bool known_step(known *k, const follower *reference, const float qpos[HRC_NQ])
{
    if (!k->n) return false;
    const int moment = k->path[0], later = (reference->frame - k->first) % KNOWN_EVERY;
    const bool wanted = moment < k->n;
    const float off = wanted ? (float)(k->frame[moment] + later) - k->phase : 0;
    if (k->active && wanted && k->motion[moment] == k->which && fabsf(off) < IN_STEP) {
        k->pace += EASE * (fmaxf(pace_ahead(k) + CATCH_UP * off, 0) - k->pace);
        k->against = 0;
        return false;
    }
    if (k->active ? ++k->against <= PATIENCE : !wanted || !k->enough) return false;
    k->against = 0;
    if (wanted)
        begin(k, moment, later, qpos);
    else
        k->active = false;
    return true;
}

void known_frame(const known *k, int ahead, hrc_frame *out)
{
    follow_between(&k->way, k->phase + k->pace * (float)ahead, k->pace, out);
}

void known_advance(known *k)
{
    k->phase = fminf(k->phase + k->pace, (float)(k->way.motion.n - 1));
    k->way.frame = (int)k->phase;
}
