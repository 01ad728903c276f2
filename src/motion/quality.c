#include "motion/quality.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/rot.h"
#include "motion/stats.h"
#include "motion/support.h"

#define PLANTED_M 0.02    /* sole lower than this */
#define PLANTED_MPS 0.15  /* and slower than this up or down: a foot that strikes or lifts is faster */
#define AIRBORNE_M 0.02   /* soles of retargeted walking hover a little; 2 cm is more than that */
#define FLOATING_M 0.04   /* high enough that neither noise nor a soft landing explains it */
#define FLIGHT_MIN_S 0.12 /* shorter phases do not determine a parabola */
#define FLIGHT_MAX_S 1.0  /* a man jumps for 0.9 s at the most */
#define OUTSIDE_M 0.10 /* turning limbs and noise of accelerations move the point by less in good walking */
#define SELF_DEPTH_M 0.01 /* the capsules are fatter than the robot by about this */

/* Of each frame, what the figures need of its kinematics. */
typedef struct {
    capsule_low low, foot[2];
    double ankle_pos[2][3], ankle_quat[2][4];
    double gap[2];        /* of the nearest pair: of all, of those that collide in the simulator */
    capsule_pair pair[2]; /* which that is */
} pose_figures;

typedef struct {
    const clip *c;
    arena memory;
    pose_figures *pose; /* (n) */
    double (*com)[3];   /* (n) */
    double *scratch;    /* (n * HRC_JOINTS) */
} work;

static void measure_poses(work *w)
{
    static const int ANKLE[2] = {G1_LEFT_ANKLE, G1_RIGHT_ANKLE};
    capsule_pair pairs[2][CAPSULE_PAIRS];
    int npairs[2] = {capsule_pairs(pairs[0], SELF_ALL), capsule_pairs(pairs[1], SELF_FILTERED)};
    for (int i = 0; i < w->c->n; i++) {
        fk_pose pose;
        capsule capsules[G1_GEOMS];
        pose_figures *p = &w->pose[i];
        fk_frame(&pose, clip_frame(w->c, i));
        fk_com(w->com[i], &pose);
        capsules_place(capsules, &pose);
        p->low = capsules_lowest(capsules, 0, G1_GEOMS);
        for (int foot = 0; foot < 2; foot++) {
            int first = foot ? CAPSULE_RIGHT_FOOT : CAPSULE_LEFT_FOOT;
            p->foot[foot] = capsules_lowest(capsules, first, CAPSULE_FOOT);
            memcpy(p->ankle_pos[foot], pose.pos[ANKLE[foot]], sizeof p->ankle_pos[foot]);
            memcpy(p->ankle_quat[foot], pose.quat[ANKLE[foot]], sizeof p->ankle_quat[foot]);
        }
        for (int k = 0; k < 2; k++) p->gap[k] = capsules_deepest(&p->pair[k], capsules, pairs[k], npairs[k]);
    }
}

static double joint_angle(const clip *c, int frame, int joint)
{
    return (double)clip_frame(c, frame)[7 + joint];
}

static void measure_joints(quality *q, const work *w)
{
    const clip *c = w->c;
    int outside = 0, fast = 0, nspeeds = 0;
    for (int i = 0; i < c->n; i++) {
        bool frame_outside = false, frame_fast = false;
        for (int j = 0; j < HRC_JOINTS; j++) {
            double angle = joint_angle(c, i, j),
                   excess = fmax(angle - G1_JOINT[j].hi, G1_JOINT[j].lo - angle);
            /* float rounding of an angle that sits on its limit is not an excess */
            if (excess > 1e-5) frame_outside = true;
            if (excess > 1e-5 && excess > q->limit_excess) q->limit_excess = excess, q->limit_joint = j;
            if (i + 1 == c->n) continue;
            double speed = fabs(joint_angle(c, i + 1, j) - angle) * c->fps;
            w->scratch[nspeeds++] = speed;
            if (speed > G1_JOINT[j].velocity) frame_fast = true;
            if (speed > q->speed_max) q->speed_max = speed, q->speed_joint = j, q->speed_frame = i;
        }
        outside += frame_outside, fast += frame_fast;
    }
    q->limit_share = (double)outside / c->n;
    q->speed_share = (double)fast / c->n;
    q->speed_p999 = nspeeds ? percentile(w->scratch, nspeeds, 0.999) : 0;
}

/* Where the point of the foot that is lowest in frame `at` stands in frame i. */
static void sole_point(double out[3], const work *w, int foot, int at, int i)
{
    capsule_low low = w->pose[at].foot[foot];
    const g1_capsule *local = capsule_info(low.capsule);
    quat_rotate(out, w->pose[i].ankle_quat[foot], low.end ? local->b : local->a);
    for (int k = 0; k < 3; k++) out[k] += w->pose[i].ankle_pos[foot][k];
}

static void measure_skate(quality *q, const work *w)
{
    int n = w->c->n, planted = 0;
    for (int i = 0; n > 1 && i < n; i++) {
        int before = i > 0 ? i - 1 : i, after = i + 1 < n ? i + 1 : i;
        for (int foot = 0; foot < 2; foot++) {
            if (w->pose[i].foot[foot].z >= PLANTED_M) continue;
            double a[3], b[3], rate = w->c->fps / (after - before);
            sole_point(a, w, foot, i, before);
            sole_point(b, w, foot, i, after);
            if (fabs(b[2] - a[2]) * rate >= PLANTED_MPS) continue;
            w->scratch[planted++] = hypot(b[0] - a[0], b[1] - a[1]) * rate;
        }
    }
    q->planted_share = (double)planted / (2 * n);
    q->skate_median = percentile(w->scratch, planted, 0.5);
    q->skate_p90 = percentile(w->scratch, planted, 0.9);
    q->skate_max = percentile(w->scratch, planted, 1);
}

static void measure_floor(quality *q, const work *w)
{
    int n = w->c->n, under_1cm = 0, under_2cm = 0;
    q->low_min = INFINITY;
    for (int i = 0; i < n; i++) {
        capsule_low low = w->pose[i].low;
        w->scratch[i] = low.z;
        under_1cm += low.z < -0.01, under_2cm += low.z < -0.02;
        if (low.z < q->low_min) q->low_min = low.z, q->low_frame = i, q->low_capsule = low.capsule;
    }
    q->low_p1 = percentile(w->scratch, n, 0.01);
    q->low_share_1cm = (double)under_1cm / n;
    q->low_share_2cm = (double)under_2cm / n;
}

/* The vertical acceleration of the centre of mass over frames first..last; wants at least 3 frames. */
static double com_acceleration(const work *w, int first, int last)
{
    return parabola_acceleration(&w->com[first][2], last - first + 1, 3, 1 / w->c->fps);
}

/* The run of frames from i on whose lowest point is over `height`; returns its last frame, i-1 for none. */
static int run_over(const work *w, int i, double height)
{
    while (i < w->c->n && w->pose[i].low.z > height) i++;
    return i - 1;
}

/* Soles that merely hover never get high. */
static bool rises_over(const work *w, int first, int last, double height)
{
    for (int i = first; i <= last; i++)
        if (w->pose[i].low.z > height) return true;
    return false;
}

static void measure_flights(quality *q, const work *w)
{
    for (int i = 0; i < w->c->n; i++) {
        int last = run_over(w, i, AIRBORNE_M);
        double seconds = (last - i) / w->c->fps;
        bool inside = i > 0 && last + 1 < w->c->n; /* a phase cut off by the clip's end is no flight */
        if (inside && last - i >= 3 && rises_over(w, i, last, FLOATING_M) && seconds >= FLIGHT_MIN_S - 1e-9 &&
            seconds <= FLIGHT_MAX_S)
            w->scratch[q->flights++] = com_acceleration(w, i, last);
        if (last > i) i = last;
    }
    q->flight_accel = median(w->scratch, q->flights);
}

/* Whether the airborne phase around frames first..last is a free fall; one too short to tell counts as such.
 */
static bool falls_freely(const work *w, int first, int last)
{
    while (first > 0 && w->pose[first - 1].low.z > AIRBORNE_M) first--;
    last = run_over(w, last, AIRBORNE_M);
    if (last - first < 3) return true;
    if ((last - first) / w->c->fps > FLIGHT_MAX_S) return false;
    double accel = com_acceleration(w, first, last);
    return accel >= QUALITY_FREE_FALL_LO && accel <= QUALITY_FREE_FALL_HI;
}

static void measure_floating(quality *q, const work *w)
{
    int floating = 0;
    for (int i = 0; i < w->c->n; i++) {
        int last = run_over(w, i, FLOATING_M), count = last - i + 1;
        if (count < 1) continue;
        if (!falls_freely(w, i, last)) {
            floating += count;
            if (count / w->c->fps > q->floating_s)
                q->floating_s = count / w->c->fps, q->floating_first = i, q->floating_last = last;
        }
        i = last;
    }
    q->floating_share = (double)floating / w->c->n;
}

/* How far the floor's force would have to act from where it can; false in flight. */
static bool support_gap(double *gap, const work *w, int i)
{
    double at[2], lever;
    fk_pose pose;
    capsule capsules[G1_GEOMS];
    support_hull hull;
    if (!support_point(at, &lever, w->com, w->c->n, i, support_half(w->c->fps), w->c->fps)) return false;
    fk_frame(&pose, clip_frame(w->c, i));
    capsules_place(capsules, &pose);
    support_find(&hull, capsules);
    *gap = support_nearest(&hull, at, NULL);
    return true;
}

static void measure_support(quality *q, const work *w)
{
    int outside = 0, judged = 0, run = 0;
    for (int i = 0; i < w->c->n; i++) {
        double gap = 0;
        judged += support_gap(&gap, w, i);
        run = gap > OUTSIDE_M ? run + 1 : 0;
        outside += run > 0;
        if (run / w->c->fps > q->uncarried_s)
            q->uncarried_s = run / w->c->fps, q->uncarried_first = i - run + 1, q->uncarried_last = i;
    }
    q->uncarried_share = judged ? (double)outside / judged : 0;
}

/* which: 0 for all pairs, 1 for those that collide in the simulator */
static quality_self measure_self(const work *w, int which)
{
    quality_self self = {0};
    int inside = 0;
    for (int i = 0; i < w->c->n; i++) {
        double depth = -w->pose[i].gap[which];
        inside += depth > SELF_DEPTH_M;
        if (depth > self.depth) self.depth = depth, self.pair = w->pose[i].pair[which], self.frame = i;
    }
    self.share = (double)inside / w->c->n;
    return self;
}

static void measure_root(quality *q, const clip *c)
{
    q->root_lo = INFINITY, q->root_hi = -INFINITY;
    for (int i = 0; i < c->n; i++) {
        double z = (double)clip_frame(c, i)[2];
        q->root_lo = fmin(q->root_lo, z), q->root_hi = fmax(q->root_hi, z);
    }
}

/* From figures to a verdict. "usable" means: `motion fix` or a cut makes a reference of it, or a tracker will
 * err at that place; "bad" means that the file is probably not what it claims (units, joint order, floor). */

/* Beyond the first number: usable. Beyond the second: bad. */
#define LIMIT_USABLE_RAD 0.01 /* retargeting keeps within limits; the public sets are never outside */
#define SPEED_USABLE 0.005    /* share of frames over the motors' speed; LAFAN1-G1 0, G1-Moves up to 0.01 */
#define SPEED_BAD 0.10
#define SKATE_USABLE 0.25  /* median, m/s; LAFAN1-G1 has 0.02 to 0.2 */
#define SKATE_BAD 0.80     /* a slow walk: the feet do not carry the root at all */
#define DEEP_USABLE_M 0.05 /* upright LAFAN1-G1 never is deeper than 0.04 */
#define DEEP_SHARE 0.02    /* of frames deeper than 2 cm */
#define DEEP_BAD_M 0.25    /* 1st percentile; falls of LAFAN1-G1 reach 0.17: another floor level */
#define FLOAT_USABLE_S 0.6 /* longer than any jump of a walking or running person */
#define FLOAT_BAD_SHARE 0.30
#define FLIGHT_COUNT 3    /* fewer flights than this say nothing */
#define JUMPS_BAD_HZ 10.0 /* noise, or another order of the columns; glitchy capture has up to 6 */
#define SELF_USABLE 0.05  /* share of frames; the public sets have 1 % on average */
#define SHORT_S 0.5       /* shorter than that nothing can be trained on */

const char *quality_word(quality_verdict verdict)
{
    static const char *const WORD[] = {"good", "usable", "bad"};
    return WORD[verdict];
}

static void note(quality *q, quality_verdict level, const char *format, ...) HRC_PRINTF(3, 4);

/* Bad reasons before the others, otherwise in the order they come. */
static void note(quality *q, quality_verdict level, const char *format, ...)
{
    if (q->nreasons == QUALITY_REASONS) return;
    int at = level == QUALITY_BAD ? 0 : q->nreasons;
    memmove(q->reasons[at + 1], q->reasons[at], (size_t)(q->nreasons - at) * sizeof q->reasons[0]);
    va_list list;
    va_start(list, format);
    vsnprintf(q->reasons[at], sizeof q->reasons[at], format, list);
    va_end(list);
    q->nreasons++;
    if (level > q->verdict) q->verdict = level;
}

static quality_verdict level_of(bool bad)
{
    return bad ? QUALITY_BAD : QUALITY_USABLE;
}

static void judge_joints(quality *q)
{
    if (q->limit_excess > LIMIT_USABLE_RAD)
        note(q, level_of(q->limit_excess > QUALITY_LIMIT_BAD_RAD), "%s is %.2f rad beyond its limit",
             G1_JOINT[q->limit_joint].name, q->limit_excess);
    if (q->speed_share > SPEED_USABLE)
        note(q, level_of(q->speed_share > SPEED_BAD),
             "%.1f %% of the frames are faster than the motors (%s up to %.0f rad/s)", 100 * q->speed_share,
             G1_JOINT[q->speed_joint].name, q->speed_max);
    const quality_jumps *jumps[] = {&q->joint_jumps, &q->root_jumps, &q->turn_jumps};
    static const char *const WHAT[] = {"rad in a joint", "m in the root position",
                                       "rad in the root orientation"};
    for (int i = 0; i < COUNT(jumps); i++)
        if (jumps[i]->count)
            note(q, level_of(q->seconds > 1 && jumps[i]->count > JUMPS_BAD_HZ * q->seconds),
                 "%d single-frame jump%s, worst %.3f %s at frame %d", jumps[i]->count,
                 jumps[i]->count == 1 ? "" : "s", jumps[i]->size, WHAT[i], jumps[i]->frame);
}

static void judge_floor(quality *q)
{
    if (q->low_min < -DEEP_USABLE_M || q->low_share_2cm > DEEP_SHARE)
        note(q, level_of(q->low_p1 < -DEEP_BAD_M),
             "%s is %.1f cm under the floor at frame %d; %.1f %% of the frames are deeper than 2 cm",
             capsule_info(q->low_capsule)->name, -100 * q->low_min, q->low_frame, 100 * q->low_share_2cm);
    if (q->floating_s >= FLOAT_USABLE_S)
        note(q, level_of(q->floating_share > FLOAT_BAD_SHARE),
             "floats over the floor for %.1f s (frames %d to %d)", q->floating_s, q->floating_first,
             q->floating_last);
    if (q->flights >= FLIGHT_COUNT &&
        !(q->flight_accel >= QUALITY_FREE_FALL_LO && q->flight_accel <= QUALITY_FREE_FALL_HI))
        note(q, QUALITY_USABLE, "%d flights with an acceleration of %.1f m/s2 (median) instead of -9.8",
             q->flights, q->flight_accel);
    if (q->skate_median > SKATE_USABLE)
        note(q, level_of(q->skate_median > SKATE_BAD), "planted feet slide with %.2f m/s (median)",
             q->skate_median);
}

static void judge(quality *q)
{
    q->verdict = QUALITY_GOOD, q->nreasons = 0;
    if (q->seconds < SHORT_S) note(q, QUALITY_USABLE, "lasts only %.2f s", q->seconds);
    judge_joints(q);
    judge_floor(q);
    const quality_self *self = &q->self_simulated;
    if (self->share > SELF_USABLE)
        note(
            q, QUALITY_USABLE,
            "inside itself by more than 1 cm in %.1f %% of the frames, worst %s in %s by %.1f cm at frame %d",
            100 * self->share, capsule_info(self->pair.i)->name, capsule_info(self->pair.j)->name,
            100 * self->depth, self->frame);
}

/* Single frames that stick out: glitches of the capture, seams of a block-wise optimisation. A frame is
 * measured by its distance from the mean of its two neighbours: half the second difference, so h for a spike
 * of height h and h/2 on both sides of a step of h. It is a jump when that is more than JUMP_FACTOR
 * times the median of the frames around it, and more than the acceleration a body can have. */

#define JUMP_FACTOR 6.0
#define JUMP_WINDOW 7        /* frames on each side for the median */
#define JUMP_JOINT 500.0     /* rad/s^2: a foot that strikes reaches 400 */
#define JUMP_JOINT_LEAST 0.1 /* rad: a tracker hardly follows a smaller one, whatever the frame rate */
#define JUMP_ROOT 40.0       /* m/s^2: landing from a jump reaches 25 */
#define JUMP_ROOT_LEAST 0.01 /* m: likewise */

/* off (n): how far each frame is off its neighbours; a run of neighbouring jumps counts once. */
static void find_jumps(quality_jumps *found, int joint, const double *off, int n, double least)
{
    int last = -3;
    for (int i = 1; i + 1 < n; i++) {
        double window[2 * JUMP_WINDOW + 1];
        int count = 0;
        if (off[i] <= least) continue;
        for (int k = i - JUMP_WINDOW; k <= i + JUMP_WINDOW; k++)
            if (k >= 1 && k + 1 < n) window[count++] = off[k];
        if (off[i] <= JUMP_FACTOR * median(window, count)) continue;
        if (i - last > 2) found->count++;
        last = i;
        if (off[i] > found->size) found->size = off[i], found->frame = i, found->joint = joint;
    }
}

static double position_off(const clip *c, int i)
{
    const float *a = clip_frame(c, i - 1), *b = clip_frame(c, i), *d = clip_frame(c, i + 1);
    double off[3];
    for (int k = 0; k < 3; k++) off[k] = (double)b[k] - 0.5 * ((double)a[k] + (double)d[k]);
    return vec_norm(off);
}

/* The angle between an orientation and the one half-way between its neighbours. */
static double turn_off(const clip *c, int i)
{
    double quat[3][4], half[4];
    for (int k = 0; k < 3; k++)
        for (int m = 0; m < 4; m++) quat[k][m] = (double)clip_frame(c, i - 1 + k)[3 + m];
    quat_slerp(half, quat[0], quat[2], 0.5);
    return quat_angle(half, quat[1]);
}

/* off: scratch for c->n numbers. */
static void measure_jumps(quality *q, const clip *c, double *off)
{
    double step = 0.5 / (c->fps * c->fps); /* acceleration to distance from the neighbours' mean */
    q->joint_jumps = q->root_jumps = q->turn_jumps = (quality_jumps){.frame = -1, .joint = -1};
    for (int j = 0; j < HRC_JOINTS; j++) {
        for (int i = 1; i + 1 < c->n; i++) {
            double a = (double)clip_frame(c, i - 1)[7 + j], d = (double)clip_frame(c, i + 1)[7 + j];
            off[i] = fabs((double)clip_frame(c, i)[7 + j] - 0.5 * (a + d));
        }
        find_jumps(&q->joint_jumps, j, off, c->n, fmax(JUMP_JOINT_LEAST, JUMP_JOINT * step));
    }
    for (int i = 1; i + 1 < c->n; i++) off[i] = position_off(c, i);
    find_jumps(&q->root_jumps, -1, off, c->n, fmax(JUMP_ROOT_LEAST, JUMP_ROOT * step));
    for (int i = 1; i + 1 < c->n; i++) off[i] = turn_off(c, i);
    find_jumps(&q->turn_jumps, -1, off, c->n, fmax(JUMP_JOINT_LEAST, JUMP_JOINT * step));
}

hrc_status quality_measure(quality *q, const clip *c, hrc_error *err)
{
    work w = {.c = c};
    *q = (quality){.fps = c->fps,
                   .frames = c->n,
                   .floating_first = -1,
                   .floating_last = -1,
                   .uncarried_first = -1,
                   .uncarried_last = -1};
    if (c->n < 1) return fail(err, HRC_EINVAL, "%s: the clip has no frames", c->name);
    w.pose = ARENA_NEW(&w.memory, pose_figures, c->n);
    w.scratch = ARENA_NEW(&w.memory, double, (size_t)c->n *HRC_JOINTS);
    w.com = arena_alloc(&w.memory, (size_t)c->n, sizeof *w.com);
    if (!w.pose || !w.scratch || !w.com) {
        arena_free(&w.memory);
        return fail(err, HRC_ENOMEM, "%s: out of memory for the figures of %d frames", c->name, c->n);
    }
    q->seconds = (c->n - 1) / c->fps;
    measure_poses(&w);
    measure_root(q, c);
    measure_joints(q, &w);
    measure_skate(q, &w);
    measure_floor(q, &w);
    measure_flights(q, &w);
    measure_floating(q, &w);
    measure_support(q, &w);
    q->self_all = measure_self(&w, 0);
    q->self_simulated = measure_self(&w, 1);
    measure_jumps(q, c, w.scratch);
    judge(q);
    arena_free(&w.memory);
    return HRC_OK;
}
