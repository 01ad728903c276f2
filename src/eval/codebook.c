#include "eval/codebook.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "control/library.h"
#include "track/tracker.h"

#define NEIGHBOURS 10
#define POWER_STEPS 200

typedef struct {
    const course *courses;
    int ncourses, d, every; /* numbers of a token; frames between two points */
    float *tokens;          /* (n, d) */
    codebook *out;
} work;

/* ---- Tokens ---- */

static void read_token(float *token, tracker *t, const track_model *m, const course *c, int frame)
{
    static const float STILL[OBS_PROPRIO]; /* the token does not depend on it */
    obs_frame frames[OBS_FRAMES];
    float window[OBS_WINDOW], action[HRC_JOINTS];
    double quat[4];
    for (int k = 0; k < 4; k++) quat[k] = (double)clip_frame(&c->motion, frame)[3 + k];
    for (int i = 0; i < OBS_FRAMES; i++) {
        int at = frame + m->lead + i < c->motion.n ? frame + m->lead + i : c->motion.n - 1;
        frames[i] = (obs_frame){clip_frame(&c->motion, at), c->qvel + (size_t)at * HRC_NV};
    }
    obs_window(window, frames, quat, m->rotation);
    tracker_infer(t, action, STILL, window);
    memcpy(token, tracker_token(t), sizeof *token * (size_t)m->net.shape.token.dim);
}

static void read_tokens(work *w, tracker *t, const track_model *m)
{
    codebook *b = w->out;
    for (int c = 0; c < w->ncourses; c++)
        for (int f = 0; f < w->courses[c].motion.n; f += w->every, b->n++) {
            read_token(w->tokens + (size_t)b->n * (size_t)w->d, t, m, &w->courses[c], f);
            b->course[b->n] = c;
        }
}

/* ---- Principal components, by power iteration with deflation ---- */

static void covariance(double *out, const work *w, double *mean)
{
    const int n = w->out->n, d = w->d;
    for (int i = 0; i < n; i++)
        for (int k = 0; k < d; k++) mean[k] += (double)w->tokens[i * d + k] / n;
    for (int i = 0; i < n; i++)
        for (int a = 0; a < d; a++) {
            const double x = (double)w->tokens[i * d + a] - mean[a];
            for (int b = 0; b < d; b++) out[a * d + b] += x * ((double)w->tokens[i * d + b] - mean[b]) / n;
        }
}

/* The largest eigenvalue; v is its vector, which is then taken out of the matrix. */
static double take_component(double *v, double *next, double *matrix, int d)
{
    double value = 0;
    for (int k = 0; k < d; k++) v[k] = 1 + 0.1 * (k % 7);
    for (int step = 0; step < POWER_STEPS; step++) {
        double norm = 0;
        for (int a = 0; a < d; a++) {
            next[a] = 0;
            for (int b = 0; b < d; b++) next[a] += matrix[a * d + b] * v[b];
            norm += next[a] * next[a];
        }
        value = sqrt(norm);
        if (!(value > 1e-12)) return 0;
        for (int a = 0; a < d; a++) v[a] = next[a] / value;
    }
    for (int a = 0; a < d; a++)
        for (int b = 0; b < d; b++) matrix[a * d + b] -= value * v[a] * v[b];
    return value;
}

static hrc_status project(work *w, hrc_error *err)
{
    const int d = w->d, n = w->out->n;
    double *room = calloc((size_t)(d * d + 3 * d), sizeof *room);
    if (!room) return fail(err, HRC_ENOMEM, "codebook: out of memory");
    double *matrix = room, *mean = room + d * d, *v = mean + d, *next = v + d, total = 0, first = 0;
    covariance(matrix, w, mean);
    for (int k = 0; k < d; k++) total += matrix[k * d + k];
    for (int axis = 0; axis < 3; axis++) {
        const double value = take_component(v, next, matrix, d);
        if (axis == 0) first = value;
        w->out->explained[axis] = total > 0 ? value / total : 0;
        for (int i = 0; i < n && value > 0; i++) {
            double sum = 0;
            for (int k = 0; k < d; k++) sum += v[k] * ((double)w->tokens[i * d + k] - mean[k]);
            w->out->xyz[i][axis] = (float)(sum / sqrt(first));
        }
    }
    free(room);
    return HRC_OK;
}

/* ---- Neighbours ---- */

static const char *category_of(const work *w, int point)
{
    return w->courses[w->out->course[point]].category;
}

static float distance(const float *a, const float *b, int d)
{
    float sum = 0;
    for (int k = 0; k < d; k++) sum += (a[k] - b[k]) * (a[k] - b[k]);
    return sum;
}

/* Of the nearest tokens, those of its own course left out: how many share the category? */
static double purity_at(const work *w, int i)
{
    float best[NEIGHBOURS];
    int which[NEIGHBOURS], found = 0, same = 0;
    for (int j = 0; j < w->out->n; j++) {
        if (w->out->course[j] == w->out->course[i]) continue;
        float d = distance(w->tokens + (size_t)i * (size_t)w->d, w->tokens + (size_t)j * (size_t)w->d, w->d);
        if (found == NEIGHBOURS && d >= best[NEIGHBOURS - 1]) continue;
        int at = found < NEIGHBOURS ? found++ : NEIGHBOURS - 1;
        for (; at > 0 && best[at - 1] > d; at--) best[at] = best[at - 1], which[at] = which[at - 1];
        best[at] = d, which[at] = j;
    }
    for (int k = 0; k < found; k++) same += !strcmp(category_of(w, which[k]), category_of(w, i));
    return found ? (double)same / found : 0;
}

static void measure_purity(work *w)
{
    const int n = w->out->n;
    for (int i = 0; i < n; i++) {
        int same = 0, others = 0;
        for (int j = 0; j < n; j++) {
            if (w->out->course[j] == w->out->course[i]) continue;
            others++;
            same += !strcmp(category_of(w, j), category_of(w, i));
        }
        w->out->chance += others ? (double)same / others / n : 0;
        w->out->purity += purity_at(w, i) / n;
    }
}

/* ---- Use of the code ---- */

static hrc_status measure_use(work *w, const track_model *m, hrc_error *err)
{
    const quant *q = &m->net.shape.token;
    const size_t indices = (size_t)quant_indices(q), values = (size_t)quant_values(q);
    if (!indices || q->kind == QUANT_VQ) return HRC_OK; /* a token of numbers between -1 and 1 is wanted */
    int64_t *counts = calloc(indices * values, sizeof *counts);
    if (!counts) return fail(err, HRC_ENOMEM, "codebook: out of memory");
    for (int i = 0; i < w->out->n; i++)
        for (size_t k = 0; k < indices; k++) {
            double share = ((double)w->tokens[(size_t)i * indices + k] + 1) / 2;
            long level = lrint(share * (double)(values - 1));
            counts[k * values + (size_t)(level < 0 ? 0 : level >= (long)values ? (long)values - 1 : level)]++;
        }
    const quant_usage use = quant_usage_of(q, counts);
    free(counts);
    w->out->used = use.used, w->out->entropy = use.entropy, w->out->saturated = use.saturated;
    return HRC_OK;
}

/* ---- All ---- */

static hrc_status make(work *w, const track_model *m, int capacity, hrc_error *err)
{
    tracker *t;
    codebook *b = w->out;
    b->xyz = (float(*)[3])ARENA_NEW(&b->memory, float, 3 * capacity);
    b->course = ARENA_NEW(&b->memory, int, capacity);
    w->tokens = ARENA_NEW(&b->memory, float, (size_t)capacity *(size_t)w->d);
    if (!b->xyz || !b->course || !w->tokens)
        return fail(err, HRC_ENOMEM, "codebook: out of memory for %d tokens", capacity);
    TRY(tracker_create(&t, m, NN_FLOAT, err));
    read_tokens(w, t, m);
    tracker_free(t);
    TRY(project(w, err));
    measure_purity(w);
    return measure_use(w, m, err);
}

hrc_status codebook_make(codebook *out, const hrc_model *tracker_file, const course *courses, int n,
                         int points, hrc_error *err)
{
    const track_model *m = &tracker_file->track;
    int64_t frames = 0;
    *out = (codebook){0};
    for (int i = 0; i < n; i++) frames += courses[i].motion.n;
    work w = {.courses = courses, .ncourses = n, .d = m->net.shape.token.dim, .out = out};
    w.every = (int)(frames / points) + 1;
    hrc_status status = make(&w, m, (int)(frames / w.every) + n + 1, err);
    if (status < 0) codebook_free(out);
    return status;
}

void codebook_free(codebook *c)
{
    arena_free(&c->memory);
    *c = (codebook){0};
}
