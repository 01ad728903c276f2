#include "eval/natural.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/rot.h"
#include "motion/stats.h"
#include "robot/posture.h"

#define POSES 6     /* of a window */
#define APART 5     /* frames between them: 0.1 s */
#define CHANNELS 33 /* of a pose */
#define WEIGHT 2.0f /* of height and vertical beside joints */
#define EVERY 10    /* frames between windows that are looked up */
#define SPAN (APART * (POSES - 1))

const natural_info NATURAL[NATURAL_COUNT] = {
#define X(name, heading, unit) {#name, heading, unit},
    NATURALS(X)
#undef X
};

/* A window in the basis of a cosine transform over its poses: lengths stay, and the first row, the mean pose,
 * holds most of a distance, so that a search can stop after it. */
typedef struct {
    float row[POSES][CHANNELS];
} window;

struct natural_corpus {
    int n;
    window *windows;
};

/* ---- Windows ---- */

static void pose_channels(float out[CHANNELS], const float qpos[HRC_NQ])
{
    memcpy(out, qpos + 7, HRC_JOINTS * sizeof *out);
    out[HRC_JOINTS] = WEIGHT * qpos[2];
    quat_upf(out + HRC_JOINTS + 1, qpos + 3);
    for (int k = 0; k < 3; k++) out[HRC_JOINTS + 1 + k] *= WEIGHT;
}

static void window_make(window *out, const float *frames) /* (SPAN + 1, HRC_NQ) */
{
    *out = (window){0};
    for (int t = 0; t < POSES; t++) {
        float pose[CHANNELS];
        pose_channels(pose, frames + (size_t)t * APART * HRC_NQ);
        for (int k = 0; k < POSES; k++) {
            const double scale = sqrt((k ? 2.0 : 1.0) / POSES);
            const float c = (float)(scale * cos(M_PI * k * (2 * t + 1) / (2 * POSES)));
            for (int i = 0; i < CHANNELS; i++) out->row[k][i] += c * pose[i];
        }
    }
}

/* Squared, or some value above `limit` when it is larger than that. */
static float window_distance(const window *a, const window *b, float limit)
{
    float sum = 0;
    for (int k = 0; k < POSES && sum <= limit; k++) {
        float row = 0;
#pragma omp simd reduction(+ : row)
        for (int i = 0; i < CHANNELS; i++) {
            const float d = a->row[k][i] - b->row[k][i];
            row += d * d;
        }
        sum += row;
    }
    return sum;
}

/* near: where the last window of the same motion was found; it then goes on there, most likely. */
static double nearest(const natural_corpus *c, const window *w, int *near)
{
    float best = INFINITY;
    const int guess = *near + EVERY / APART;
    if (guess < c->n) best = window_distance(w, &c->windows[ *near = guess], best);
    for (int i = 0; i < c->n; i++) {
        const float d = window_distance(w, &c->windows[i], best);
        if (d < best) best = d, *near = i;
    }
    return sqrt((double)best / (POSES * HRC_JOINTS));
}

/* ---- The corpus ---- */

static int windows_of(int frames)
{
    return frames > SPAN ? (frames - 1 - SPAN) / APART + 1 : 0;
}

static hrc_status fill(natural_corpus *out, const corpus *c, hrc_error *err)
{
    int n = 0;
    for (int i = 0; i < c->nclips; i++)
        if (c->clips[i].split == CORPUS_TRAIN) n += windows_of(c->clips[i].n);
    if (!n) return fail(err, HRC_EINVAL, "%s: no training clip of half a second or more", c->file.path);
    out->windows = malloc(sizeof *out->windows * (size_t)n);
    if (!out->windows) return fail(err, HRC_ENOMEM, "%s: out of memory for %d windows", c->file.path, n);
    for (int i = 0; i < c->nclips; i++) {
        if (c->clips[i].split != CORPUS_TRAIN) continue;
        clip motion;
        TRY(corpus_clip(c, i, &motion, err));
        for (int k = 0; k < windows_of(motion.n); k++)
            window_make(&out->windows[out->n++], clip_frame(&motion, k * APART));
        clip_free(&motion);
    }
    return HRC_OK;
}

hrc_status natural_corpus_create(natural_corpus **out, const corpus *c, hrc_error *err)
{
    natural_corpus *made = calloc(1, sizeof *made);
    if (!made) return fail(err, HRC_ENOMEM, "%s: out of memory", c->file.path);
    hrc_status status = fill(made, c, err);
    if (status < 0)
        natural_corpus_free(made);
    else
        *out = made;
    return status;
}

void natural_corpus_free(natural_corpus *c)
{
    if (!c) return;
    free(c->windows);
    free(c);
}

/* ---- A rollout ---- */

static bool within_bounds(const float qpos[HRC_NQ], const float ref[HRC_NQ])
{
    float a[3], b[3];
    quat_upf(a, qpos + 3);
    quat_upf(b, ref + 3);
    const double cosine = (double)vec_dotf(a, b);
    return fabs((double)(qpos[2] - ref[2])) < FOLLOWS_HEIGHT_M &&
           acos(fmax(-1, fmin(1, cosine))) < FOLLOWS_TILT_RAD;
}

/* mask (r->n): 1 while it recovers. True when it does at all. */
static bool mark_recoveries(char *mask, const rollout *r)
{
    bool any = false, recovers = false;
    int calm = 0;
    memset(mask, 0, (size_t)r->n);
    for (int i = 0; r->ref && i < r->n; i++) {
        const bool in = within_bounds(r->qpos + (size_t)i * HRC_NQ, r->ref + (size_t)i * HRC_NQ);
        calm = in ? calm + 1 : 0;
        recovers |= !in;
        any |= recovers;
        mask[i] = recovers;
        if (recovers && calm >= STANDS_S * HRC_RATE_HZ) {
            memset(mask + i + 1 - calm, 0, (size_t)calm);
            recovers = false;
        }
    }
    return any;
}

typedef struct {
    const rollout *r;
    const char *mask; /* NULL: everything */
    double *x;        /* (r->n, HRC_JOINTS) room for one figure's samples */
} part;

static bool counts(const part *p, int frame)
{
    return !p->mask || p->mask[frame];
}

static double joint(const part *p, int frame, int j)
{
    return (double)p->r->qpos[(size_t)frame * HRC_NQ + 7 + (size_t)j];
}

static void measure_speed(naturalness *out, const part *p)
{
    int n = 0;
    double peak = 0;
    for (int i = 1; i < p->r->n; i++)
        for (int j = 0; j < HRC_JOINTS && counts(p, i); j++) {
            const double speed = p->r->fps * fabs(joint(p, i, j) - joint(p, i - 1, j));
            p->x[n++] = speed;
            peak = fmax(peak, speed / G1_JOINT[j].velocity);
        }
    out->speed_p99_radps = percentile(p->x, n, 0.99);
    if (n) out->speed_peak = peak;
}

static void measure_torque(naturalness *out, const part *p)
{
    int n = 0;
    for (int i = 0; i < p->r->n && p->r->torque; i++)
        for (int j = 0; j < HRC_JOINTS && counts(p, i); j++)
            p->x[n++] = fabs((double)p->r->torque[i * HRC_JOINTS + j]) / G1_JOINT[j].effort;
    out->torque_p99 = percentile(p->x, n, 0.99);
    if (n) out->torque_peak = p->x[n - 1]; /* sorted now */
}

static void measure_jerk(naturalness *out, const part *p)
{
    const double rate = pow(p->r->fps, 3);
    double square = 0;
    int n = 0;
    for (int i = 3; i < p->r->n; i++)
        for (int j = 0; j < HRC_JOINTS && counts(p, i); j++) {
            const double d =
                joint(p, i, j) - 3 * (joint(p, i - 1, j) - joint(p, i - 2, j)) - joint(p, i - 3, j);
            square += pow(rate * d, 2);
            n++;
        }
    if (n) out->jerk_rms_radps3 = sqrt(square / n);
}

/* Of a window every EVERY frames: those whose middle counts, into x. Returns how many. */
static int gather(const part *p, const double *distances, double *mean)
{
    int n = 0;
    double sum = 0;
    for (int i = 0; i + SPAN < p->r->n; i += EVERY)
        if (counts(p, i + SPAN / 2)) sum += p->x[n++] = distances[i / EVERY];
    if (n) *mean = sum / n;
    return n;
}

typedef struct {
    double *robot, *reference; /* distances of a window every EVERY frames */
} lookups;

static void measure(naturalness *out, const part *p, const lookups *found)
{
    for (int i = 0; i < NATURAL_COUNT; i++) ((double *)out)[i] = (double)NAN;
    if (p->r->ref) gather(p, found->reference, &out->reference_rad);
    out->nearest_p95_rad = percentile(p->x, gather(p, found->robot, &out->nearest_rad), 0.95);
    measure_speed(out, p);
    measure_torque(out, p);
    measure_jerk(out, p);
}

static void look_up(double *distances, const float *qpos, int n, const natural_corpus *c)
{
    int near = 0;
    for (int i = 0; qpos && i + SPAN < n; i += EVERY) {
        window w;
        window_make(&w, qpos + (size_t)i * HRC_NQ);
        distances[i / EVERY] = nearest(c, &w, &near);
    }
}

hrc_status natural_measure(natural_result *out, const rollout *r, const natural_corpus *c, hrc_error *err)
{
    if (fabs(r->fps - HRC_RATE_HZ) > 1e-6)
        return fail(err, HRC_EINVAL, "%s: recorded at %g Hz, expected %d", r->name, r->fps, HRC_RATE_HZ);
    double *x = malloc(sizeof *x * HRC_JOINTS * (size_t)r->n),
           *distances = malloc(sizeof *x * 2 * (size_t)r->n);
    char *mask = malloc((size_t)r->n);
    hrc_status status = HRC_OK;
    if (x && distances && mask) {
        const lookups found = {distances, distances + r->n};
        look_up(found.robot, r->qpos, r->n, c);
        look_up(found.reference, r->ref, r->n, c);
        out->recovers = mark_recoveries(mask, r);
        measure(&out->whole, &(part){r, NULL, x}, &found);
        measure(&out->recovery, &(part){r, mask, x}, &found);
    } else
        status = fail(err, HRC_ENOMEM, "%s: out of memory", r->name);
    free(x);
    free(distances);
    free(mask);
    return status;
}

/* ---- An evaluation ---- */

typedef struct {
    natural_result *out;
    const evaluation *e;
    const natural_corpus *c;
    hrc_status *status;
} natural_job;

static void measure_one(void *ctx, int item, int worker)
{
    natural_job *j = ctx;
    (void)worker;
    j->status[item] = natural_measure(&j->out[item], &j->e->outcomes[item].record, j->c, NULL);
}

hrc_status natural_evaluate(natural_result *out, const evaluation *e, const natural_corpus *c, pool *threads,
                            hrc_error *err)
{
    const int n = e->nmethods * e->ncourses;
    natural_job j = {out, e, c, calloc((size_t)n, sizeof *j.status)};
    if (!j.status) return fail(err, HRC_ENOMEM, "naturalness: out of memory");
    pool_items(threads, n, measure_one, &j);
    hrc_status status = HRC_OK;
    for (int i = 0; i < n && status == HRC_OK; i++) status = j.status[i];
    free(j.status);
    return status < 0 ? fail(err, status, "naturalness: out of memory") : HRC_OK;
}

int natural_mean(naturalness *out, const natural_result *results, const evaluation *e, int m,
                 const course *courses, const char *category, bool recovery)
{
    int counted[NATURAL_COUNT] = {0}, n = 0;
    double sum[NATURAL_COUNT] = {0};
    for (int i = 0; i < e->ncourses; i++) {
        const natural_result *r = &results[m * e->ncourses + i];
        if ((recovery && !r->recovers) || (category && strcmp(category, courses[i].category))) continue;
        n++;
        for (int f = 0; f < NATURAL_COUNT; f++) {
            const double x = natural_at(recovery ? &r->recovery : &r->whole, f);
            if (isfinite(x)) sum[f] += x, counted[f]++;
        }
    }
    for (int f = 0; f < NATURAL_COUNT; f++)
        ((double *)out)[f] = counted[f] ? sum[f] / counted[f] : (double)NAN;
    return n;
}
