#include "motion/import/rate.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/rot.h"
#include "motion/stats.h"
#include "robot/capsules.h"
#include "robot/fk.h"

#define FRAMES_MAX 20000 /* looked at */
#define GRAVITY 9.81
#define AIRBORNE_M 0.02 /* as in quality.c */
#define FLOATING_M 0.04
#define FLIGHT_MIN_S 0.12
#define FLIGHT_MAX_S 1.0
#define FLIGHTS_MIN 2
#define FLIGHTS_AGREE 1.35 /* quartiles apart at most so many times: soles that hover do not fall alike */
#define EXACT_MIN 3
#define EXACT_AGREE 1.06
#define EXACT_OFF 0.04
#define FALL_SLOWER 2.3 /* see rate.h */
#define FALL_FASTER 0.95
#define STRIDE_M 0.1    /* a foot so far in front of the other has made a step */
#define STEP_MIN_M 0.25 /* half of the way from step to step, m: shorter ones tell nothing */
#define STEPS_MIN 8
#define STEPS_AGREE 1.35
#define STEPS_SHARE 0.6 /* of the time that is spent stepping */
#define STEPS_PER_M 3.8
#define STEPS_SLOWER 1.6
#define STEPS_FASTER 0.65
#define VELOCITY_OFF 0.05 /* more is a contradiction */

typedef struct {
    double rate, lo, hi; /* what it tells, and what it allows; rate 0: nothing */
    double exact;        /* a usual rate that all of them meet; 0: none */
    int count;
} bound;

/* ---- Velocities ---- */

void rate_add(double *over, double *under, const npy *q, int q_column, int q_width, const npy *v,
              int v_column, int v_width)
{
    int64_t n = q->count / q_width;
    for (int64_t i = 1; i + 1 < n; i++) {
        double step =
            npy_number(q, (i + 1) * q_width + q_column) - npy_number(q, (i - 1) * q_width + q_column);
        *over += npy_number(v, i * v_width + v_column) * step / 2;
        *under += step * step / 4;
    }
}

/* The usual rate next to x, where one is near. */
static double snapped(double x)
{
    static const double USUAL[] = {10, 15,  20,  24,  25,  30,  40,  50,  60,
                                   90, 100, 120, 200, 240, 250, 500, 1000};
    for (int i = 0; i < COUNT(USUAL); i++)
        if (fabs(x / USUAL[i] - 1) < 0.03) return USUAL[i];
    return x;
}

double rate_ratio(double over, double under)
{
    double rate = under > 1e-9 ? over / under : 0;
    return rate > 1 && rate < 10000 ? snapped(rate) : 0;
}

double rate_from_velocities(const npy *q, int q_first, const npy *v, int v_first)
{
    if (q->ndim != 2 || v->ndim != 2 || !npy_is_number(v) || v->shape[0] != q->shape[0] ||
        q->shape[1] > 1000 || v->shape[1] > 1000)
        return 0;
    double over = 0, under = 0;
    int width = (int)q->shape[1], v_width = (int)v->shape[1];
    for (int k = 0; q_first + k < width && v_first + k < v_width; k++)
        rate_add(&over, &under, q, q_first + k, width, v, v_first + k, v_width);
    return rate_ratio(over, under);
}

/* ---- Names ---- */

/* The last folder and the file's name. */
static const char *short_path(const char *path)
{
    const char *slash = strrchr(path, '/');
    while (slash && slash > path && slash[-1] != '/') slash--;
    return slash ? slash : path;
}

/* "60fps", "60_fps", "120hz": the number before the word. */
static double number_before(const char *text, const char *word, char *out, size_t size)
{
    for (const char *at = strcasestr(text, word); at; at = strcasestr(at + 1, word)) {
        const char *end = at, *start;
        if (end > text && strchr("_- ", end[-1])) end--;
        for (start = end; start > text && isdigit((unsigned char)start[-1]); start--) {}
        double rate = strtod(start, NULL);
        if (start == end || isalpha((unsigned char)at[strlen(word)]) || rate < 5 || rate > 1000) continue;
        snprintf(out, size, "%.*s", (int)(at + strlen(word) - start), start);
        return rate;
    }
    return 0;
}

/* "walk1_subject5": how the files of LAFAN1 are called. */
static bool is_lafan1(const char *text)
{
    const char *at = strstr(text, "_subject");
    return strcasestr(text, "lafan") ||
           (at && at > text && isdigit((unsigned char)at[-1]) && isdigit((unsigned char)at[8]));
}

double rate_of_name(const char *path, char *word, size_t size)
{
    const char *text = short_path(path);
    double rate = number_before(text, "fps", word, size);
    if (rate == 0) rate = number_before(text, "hz", word, size);
    if (rate > 0) return rate;
    if (is_lafan1(text)) return snprintf(word, size, "LAFAN1"), 30;
    if (strcasestr(text, "g1-moves") || strcasestr(text, "g1_moves"))
        return snprintf(word, size, "G1 Moves"), 60;
    if (strcasestr(text, "bones-seed") || strcasestr(text, "bones_seed"))
        return snprintf(word, size, "Bones-SEED"), 120;
    return 0;
}

/* ---- The motion ---- */

typedef struct {
    int n;
    double *low, *com,
        *stride;   /* (n) of each frame: lowest point, height of the centre of mass, left foot's lead */
    double *a, *b; /* (n) scratch */
} poses;

static bool measure(poses *p, const clip *c, arena *memory)
{
    p->n = c->n < FRAMES_MAX ? c->n : FRAMES_MAX;
    double **parts[] = {&p->low, &p->com, &p->stride, &p->a, &p->b};
    for (int i = 0; i < COUNT(parts); i++)
        if (!(*parts[i] = ARENA_NEW(memory, double, p->n))) return false;
    for (int i = 0; i < p->n; i++) {
        double qpos[HRC_NQ], com[3], yaw;
        fk_pose pose;
        capsule shapes[G1_GEOMS];
        for (int k = 0; k < HRC_NQ; k++) qpos[k] = (double)clip_frame(c, i)[k];
        fk(&pose, qpos);
        fk_com(com, &pose);
        capsules_place(shapes, &pose);
        const double *left = pose.pos[G1_LEFT_ANKLE], *right = pose.pos[G1_RIGHT_ANKLE];
        yaw = quat_yaw(qpos + 3);
        p->low[i] = capsules_lowest(shapes, 0, G1_GEOMS).z;
        p->com[i] = com[2];
        p->stride[i] = cos(yaw) * (left[0] - right[0]) + sin(yaw) * (left[1] - right[1]);
    }
    return true;
}

/* The rate at which frames first..last fall freely; 0 when they do not fall or for no plausible time. */
static double flight_rate(const poses *p, int first, int last)
{
    double accel = parabola_acceleration(p->com + first, last - first + 1, 1, 1), top = 0;
    for (int i = first; i <= last; i++) top = fmax(top, p->low[i]);
    if (top < FLOATING_M || accel >= 0) return 0;
    double rate = sqrt(GRAVITY / -accel), seconds = (last - first) / rate;
    return seconds >= FLIGHT_MIN_S && seconds <= FLIGHT_MAX_S ? rate : 0;
}

/* Flights that fall alike at a usual rate were not scaled. Sorts x. */
static double exact_rate(double rate, double *x, int n)
{
    static const double RATE[] = {50, 60, 100, 120, 240};
    bool alike = n >= EXACT_MIN && percentile(x, n, 0.75) < EXACT_AGREE * percentile(x, n, 0.25);
    for (int i = 0; i < COUNT(RATE) && alike; i++)
        if (fabs(rate / RATE[i] - 1) < EXACT_OFF) return RATE[i];
    return 0;
}

static bound flights(poses *p)
{
    bound b = {0};
    for (int i = 1; i < p->n; i++) {
        int last = i - 1;
        while (last + 1 < p->n && p->low[last + 1] > AIRBORNE_M) last++;
        double rate = last - i >= 3 && last + 1 < p->n ? flight_rate(p, i, last) : 0;
        if (rate > 0) p->a[b.count++] = rate;
        if (last > i) i = last;
    }
    if (b.count < FLIGHTS_MIN ||
        percentile(p->a, b.count, 0.75) > FLIGHTS_AGREE * percentile(p->a, b.count, 0.25))
        return (bound){0};
    b.rate = percentile(p->a, b.count, 0.5);
    b.lo = b.rate / FALL_SLOWER, b.hi = b.rate / FALL_FASTER;
    b.exact = exact_rate(b.rate, p->a, b.count);
    return b;
}

/* Frames between the extremes of the stride, and how long it is there. */
static bound steps(poses *p)
{
    bound b = {0};
    int sign = 0, at = 0, before = -1;
    for (int i = 0; i < p->n; i++) {
        int now = p->stride[i] > STRIDE_M ? 1 : p->stride[i] < -STRIDE_M ? -1 : 0;
        if (now && now != sign) {
            if (before >= 0) p->a[b.count] = at - before, p->b[b.count++] = fabs(p->stride[at]);
            if (sign) before = at;
            sign = now, at = i;
        } else if (sign && p->stride[i] * sign > p->stride[at] * sign) {
            at = i;
        }
    }
    if (b.count < STEPS_MIN) return (bound){0};
    double frames = percentile(p->a, b.count, 0.5), length = percentile(p->b, b.count, 0.5);
    bool regular = percentile(p->a, b.count, 0.75) <= STEPS_AGREE * percentile(p->a, b.count, 0.25);
    if (!regular || length < STEP_MIN_M || b.count * frames < STEPS_SHARE * p->n) return (bound){0};
    b.rate = STEPS_PER_M * length * frames;
    b.lo = b.rate / STEPS_SLOWER, b.hi = b.rate / STEPS_FASTER;
    return b;
}

static bool allowed(const bound *b, double rate)
{
    return b->rate == 0 || (rate >= b->lo && rate <= b->hi);
}

/* ---- The decision ---- */

/* The usual rate unless the motion excludes it; then the one that flights meet exactly, or the first of the
 * others that it allows. */
static double choose(double usual, const bound *fall, const bound *step)
{
    const double rates[] = {usual, fall->exact > 0 ? fall->exact : usual, 30, 60, 120, 50, 100, 240, 25};
    for (int i = 0; i < COUNT(rates); i++)
        if (allowed(fall, rates[i]) && allowed(step, rates[i])) return rates[i];
    return usual;
}

static void add(clip_decisions *why, const char *format, double a, double b, double c)
{
    size_t used = strlen(why->fps);
    snprintf(why->fps + used, sizeof why->fps - used, format, a, b, c);
}

static void say_bounds(clip_decisions *why, const bound *fall, const bound *step)
{
    if (fall->rate > 0) add(why, "; %g flights allow %.0f to %.0f", fall->count, fall->lo, fall->hi);
    if (step->rate > 0) add(why, "; %g steps allow %.0f to %.0f", step->count, step->lo, step->hi);
    if (fall->rate == 0 && step->rate == 0) add(why, "; nor does the motion", 0, 0, 0);
}

static void by_motion(clip *c, const rate_source *s, const bound *fall, const bound *step,
                      clip_decisions *why)
{
    c->fps = choose(s->usual, fall, step);
    if (c->fps != s->usual)
        snprintf(why->fps, sizeof why->fps, "%g, from the motion, which cannot have the usual %g", c->fps,
                 s->usual);
    else
        snprintf(why->fps, sizeof why->fps, "%g, assumed: the file does not say", c->fps);
    say_bounds(why, fall, step);
    add(why, " (--in-fps says otherwise)", 0, 0, 0);
}

/* Doubts about a stated rate. */
static void say_doubts(const clip *c, const rate_source *s, const bound *fall, clip_decisions *why)
{
    if (s->velocity > 0 && fabs(s->velocity / c->fps - 1) > VELOCITY_OFF)
        add(why, "; but the velocities in the file are those of %.4g (--in-fps)", s->velocity, 0, 0);
    if (!allowed(fall, c->fps))
        add(why, "; but %g flights fall as only %.0f to %.0f would have it (--in-fps)", fall->count, fall->lo,
            fall->hi);
}

void rate_settle(clip *c, const rate_source *s, clip_decisions *why)
{
    arena memory = {0};
    poses p;
    char word[40];
    bound fall = {0}, step = {0};
    double named = rate_of_name(s->path, word, sizeof word);
    if (s->asked <= 0 && measure(&p, c, &memory)) fall = flights(&p), step = steps(&p);
    arena_free(&memory);
    if (s->asked > 0) {
        c->fps = s->asked;
        snprintf(why->fps, sizeof why->fps, "%g, as asked for", c->fps);
    } else if (s->file > 0) {
        c->fps = s->file;
        snprintf(why->fps, sizeof why->fps, "%g, from the file", c->fps);
    } else if (s->velocity > 0) {
        c->fps = s->velocity;
        snprintf(why->fps, sizeof why->fps, "%g, from the velocities in the file", c->fps);
    } else if (named > 0) {
        c->fps = named;
        snprintf(why->fps, sizeof why->fps, "%g, by the name: %s", c->fps, word);
    } else {
        by_motion(c, s, &fall, &step, why);
        return;
    }
    say_doubts(c, s, &fall, why);
}
