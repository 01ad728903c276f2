#include "motion/phases.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "base/rot.h"
#include "robot/capsules.h"
#include "robot/posture.h"

#define CONTACT 0.06         /* m: retargeted bodies hover a little, or sink in */
#define SIT_HEIGHT 0.33      /* the pelvis of an upright trunk that sits; on its knees it is higher */
#define CRAWL_HEIGHT 0.28    /* the pelvis of a trunk that faces down and is not lying on it */
#define SHORTEST_POSTURE 0.3 /* s */
#define SHORTEST_DOWN 0.1    /* s */
#define ARM_LINK 16          /* links from here on are arms */

const char *phase_word(phase_kind kind)
{
    static const char *const WORDS[] = {
#define PHASE_WORD(name, word) word,
        PHASE_LIST(PHASE_WORD)
#undef PHASE_WORD
    };
    return WORDS[kind];
}

const char *posture_word(phase_posture p)
{
    static const char *const WORDS[] = {
#define POSTURE_WORD(name, word) word,
        POSTURE_LIST(POSTURE_WORD)
#undef POSTURE_WORD
    };
    return WORDS[p];
}

int phase_from_word(const char *word)
{
    for (int i = 0; i < PHASE_KINDS; i++)
        if (strcmp(phase_word((phase_kind)i), word) == 0) return i;
    return -1;
}

int posture_from_word(const char *word)
{
    for (int i = 0; i < POSTURES; i++)
        if (strcmp(posture_word((phase_posture)i), word) == 0) return i;
    return -1;
}

/* What one frame says by itself. */
typedef struct {
    bool down, stands;
    phase_posture posture; /* as if it were down */
} sight;

/* Lowest point of trunk and legs, without feet and arms. */
static double lowest_of_body(const fk_pose *pose)
{
    capsule c[G1_GEOMS];
    capsules_place(c, pose);
    double low = INFINITY;
    for (int i = 0; i < CAPSULE_LEFT_FOOT; i++)
        if (c[i].link < ARM_LINK) low = fmin(low, capsules_lowest(c, i, 1).z);
    return low;
}

/* trunk: the world's up in the frame of the torso (x forward, y left, z to the head). */
static phase_posture trunk_posture(const double trunk[3], double height)
{
    if (trunk[2] > POSTURE_UPRIGHT) return height < SIT_HEIGHT ? POSTURE_SIT : POSTURE_KNEEL;
    if (fabs(trunk[1]) > fabs(trunk[0])) return trunk[1] > 0 ? POSTURE_SIDE_RIGHT : POSTURE_SIDE_LEFT;
    if (trunk[0] > 0) return POSTURE_SUPINE;
    return height > CRAWL_HEIGHT ? POSTURE_CRAWL : POSTURE_PRONE;
}

static sight look(const float *frame)
{
    double pelvis[3], trunk[3];
    fk_pose pose;
    fk_frame(&pose, frame);
    quat_up(pelvis, pose.quat[G1_PELVIS]);
    quat_up(trunk, pose.quat[G1_TORSO]);
    double height = frame[2];
    const posture whole = posture_of(frame);
    sight s = {.stands = posture_stands(&whole), .posture = trunk_posture(trunk, height)};
    if (height < POSTURE_DOWN_TOUCH_M)
        s.down = pelvis[2] < POSTURE_UPRIGHT || lowest_of_body(&pose) < CONTACT;
    return s;
}

/* A posture that lasts too short becomes the one before it (at the start: the one after). */
static void smooth_postures(sight *s, int first, int last, int shortest)
{
    for (int i = first, next; i <= last; i = next) {
        for (next = i + 1; next <= last && s[next].posture == s[i].posture;) next++;
        if (next - i >= shortest || (i == first && next > last)) continue;
        phase_posture other = i > first ? s[i - 1].posture : s[next].posture;
        for (int k = i; k < next; k++) s[k].posture = other;
        if (i == first) next = first; /* look again at the grown run */
    }
}

static void push(phase *out, int *n, phase_kind kind, phase_posture at, int first, int last)
{
    if (first > last) return;
    if (*n && out[*n - 1].kind == kind && out[*n - 1].posture == at)
        out[*n - 1].last = last; /* two runs that smoothing has made one */
    else
        out[(*n)++] = (phase){kind, at, first, last};
}

/* One stay on the ground, frames down .. up; free is the first frame not in a phase yet. */
static int push_episode(phase *out, int *n, sight *s, int frames, int free, int down, int up, int shortest)
{
    int stood = down - 1, rises = up + 1;
    while (stood >= free && !s[stood].stands) stood--;
    while (rises < frames && !s[rises].stands) rises++;
    push(out, n, PHASE_STANDING, POSTURE_NONE, free, stood);
    push(out, n, PHASE_FALLING, POSTURE_NONE, stood + 1 > free ? stood + 1 : free, down - 1);
    smooth_postures(s, down, up, shortest);
    for (int i = down, next; i <= up; i = next) {
        for (next = i + 1; next <= up && s[next].posture == s[i].posture;) next++;
        push(out, n, PHASE_DOWN, s[i].posture, i, next - 1);
    }
    push(out, n, PHASE_GETTING_UP, POSTURE_NONE, up + 1, rises - 1);
    return rises;
}

/* Runs of `down` shorter than that are a knee that brushes the floor. */
static void drop_short_downs(sight *s, int n, int shortest)
{
    for (int i = 0, next; i < n; i = next) {
        for (next = i + 1; next < n && s[next].down == s[i].down;) next++;
        if (s[i].down && next - i < shortest)
            for (int k = i; k < next; k++) s[k].down = false;
    }
}

hrc_status phases_find(arena *memory, phase **out, int *n, const clip *c, hrc_error *err)
{
    arena scratch = {0};
    sight *s = ARENA_NEW(&scratch, sight, c->n);
    /* Every phase but the last ends where a new one begins, so there are at most as many as frames. */
    phase *all = ARENA_NEW(&scratch, phase, c->n);
    *out = NULL;
    *n = 0;
    if (s && all) {
        for (int i = 0; i < c->n; i++) s[i] = look(clip_frame(c, i));
        drop_short_downs(s, c->n, (int)ceil(SHORTEST_DOWN * c->fps));
        int free = 0, shortest = (int)ceil(SHORTEST_POSTURE * c->fps);
        for (int i = 0; i < c->n; i++) {
            if (!s[i].down) continue;
            int up = i;
            for (int k = i; k < c->n && !s[k].stands; k++)
                if (s[k].down) up = k;
            i = free = push_episode(all, n, s, c->n, free, i, up, shortest);
        }
        push(all, n, PHASE_STANDING, POSTURE_NONE, free, c->n - 1);
        *out = ARENA_NEW(memory, phase, *n);
        if (*out) memcpy(*out, all, (size_t)*n * sizeof **out);
    }
    arena_free(&scratch);
    return *out ? HRC_OK : fail(err, HRC_ENOMEM, "%s: out of memory", c->name);
}

static bool stands_at(const clip *c, int i)
{
    const posture p = posture_of(clip_frame(c, i));
    return posture_stands(&p);
}

static bool down_at(const clip *c, int i)
{
    const posture p = posture_of(clip_frame(c, i));
    return posture_down(&p);
}

hrc_status phases_get_up(int *first, int *last, const clip *c, hrc_error *err)
{
    const int steady = (int)lround(GET_UP_STEADY_S * c->fps);
    int down = 0, since = -1; /* since: the first of the frames up to i that all stand */
    *first = 0;
    for (; down < c->n && !down_at(c, down); down++)
        if (stands_at(c, down)) *first = -1;
    if (down == c->n) return fail(err, HRC_EINVAL, "%s: is never on the ground", c->name);
    if (*first < 0) *first = down;
    for (int i = down; i < c->n; i++) {
        if (!stands_at(c, i))
            since = -1;
        else if (since < 0)
            since = i;
        if (since < 0 || i < since + steady) continue;
        *last = i;
        if (since - *first <= GET_UP_LONGEST_S * c->fps) return HRC_OK;
        return fail(err, HRC_EINVAL, "%s: takes %.1f s to get up, expected at most %g", c->name,
                    (since - *first) / c->fps, GET_UP_LONGEST_S);
    }
    return fail(err, HRC_EINVAL, "%s: never stands for %g s after it was on the ground", c->name,
                GET_UP_STEADY_S);
}

#define OVER_HEIGHT 0.4f   /* m */
#define OVER_UP (-0.342f)  /* cosine of 110 degrees */
#define GROUND_SHARE 0.4   /* of the time */
#define RUNNING_SPEED 1.8  /* m/s; people walk at up to 2, and the robot's legs are shorter */
#define GOING_SPEED 0.5    /* m/s */
#define STAYING_SPEED 0.05 /* m/s */
#define STRIDE_SECONDS 0.1 /* the way is measured in steps as long: sway of the pelvis adds less */

static double way(const clip *c, int from, int to)
{
    const float *a = clip_frame(c, from), *b = clip_frame(c, to);
    return hypot(b[0] - a[0], b[1] - a[1]);
}

static bool turns_over(const clip *c)
{
    for (int i = 0; i < c->n; i++) {
        const float *q = clip_frame(c, i);
        float up[3];
        quat_upf(up, q + 3);
        if (q[2] > OVER_HEIGHT && up[2] < OVER_UP) return true;
    }
    return false;
}

static double ground_share(const clip *c, const phase *phases, int n)
{
    int frames = 0;
    for (int i = 0; i < n; i++)
        if (phases[i].kind != PHASE_STANDING) frames += phases[i].last - phases[i].first + 1;
    return (double)frames / c->n;
}

static double fastest_second(const clip *c)
{
    const int second = c->n - 1 < (int)c->fps ? c->n - 1 : (int)c->fps;
    double best = 0;
    for (int i = 0; i + second < c->n; i++) best = fmax(best, way(c, i, i + second) * c->fps / second);
    return best;
}

static double mean_speed(const clip *c)
{
    const int stride = (int)(STRIDE_SECONDS * c->fps);
    double sum = 0;
    for (int i = 0; i + stride < c->n; i += stride) sum += way(c, i, i + stride);
    return sum * c->fps / c->n;
}

const char *kind_of(const clip *c, const phase *phases, int nphases, const char *called)
{
    const bool ground = !strcmp(called, "fall_recovery");
    if (ground || ground_share(c, phases, nphases) >= GROUND_SHARE) return "fall_recovery";
    if (!strcmp(called, "jumps_acro") || turns_over(c)) return "jumps_acro";
    if (fastest_second(c) > RUNNING_SPEED) return "running";
    if (!strcmp(called, "daily") && mean_speed(c) > GOING_SPEED) return "locomotion";
    if (!strcmp(called, "locomotion") && mean_speed(c) < STAYING_SPEED) return "daily";
    return called;
}
