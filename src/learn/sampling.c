#include "learn/sampling.h"

#include <math.h>
#include <string.h>

#define FIRST_DIFFICULTY 0.5
#define KERNEL 0.8    /* decay of the kernel per bin */
#define KERNEL_BINS 4 /* its length; it reaches back in time */

static int bins_of(const ref_clip *c)
{
    return (c->n - 1 + SAMPLING_BIN - 1) / SAMPLING_BIN; /* the last frame has no next one to track */
}

static hrc_status allocate(sampling *s, const references *refs, hrc_error *err)
{
    s->bins = ARENA_NEW(&s->memory, sampling_bin, s->n);
    s->first_bin = ARENA_NEW(&s->memory, int, refs->n + 1);
    s->difficulty = ARENA_NEW(&s->memory, double, s->n);
    s->probability = ARENA_NEW(&s->memory, double, s->n);
    s->cumulative = ARENA_NEW(&s->memory, double, s->n);
    s->smooth = ARENA_NEW(&s->memory, double, s->n);
    s->weight = ARENA_NEW(&s->memory, double, s->n);
    if (s->bins && s->first_bin && s->difficulty && s->probability && s->cumulative && s->smooth && s->weight)
        return HRC_OK;
    sampling_free(s);
    return fail(err, HRC_ENOMEM, "sampling: out of memory for %d clips", refs->n);
}

/* ---- Kinds of motion ---- */

static const double SPEEDS[] = {0.3, 0.8, 1.4, 2.0, 3.0}; /* m/s, between one kind and the next */
#define KINDS (2 * (COUNT(SPEEDS) + 1) + 1)               /* upright, near the ground, and leaps */
#define LEAPS (KINDS - 1)
#define LOW_M 0.5f
#define RARE_MOST 4.0
#define PUSH_OFF 25 /* frames before a leap that are part of it */

static int kind_of(const ref_clip *c, sampling_bin b)
{
    double speed = 0;
    int low = 0, kind = 0;
    if (c->leaps && ref_leaps(c, b.first, b.first + b.n + PUSH_OFF)) return LEAPS;
    for (int i = b.first; i < b.first + b.n; i++) {
        speed += hypot((double)c->frames[i].qvel[0], (double)c->frames[i].qvel[1]) / b.n;
        low += c->frames[i].qpos[2] < LOW_M;
    }
    while (kind < COUNT(SPEEDS) && speed >= SPEEDS[kind]) kind++;
    return 2 * low > b.n ? kind + COUNT(SPEEDS) + 1 : kind;
}

static void weigh_kinds(sampling *s, const references *refs, double even)
{
    double frames[KINDS] = {0}, most = 0;
    for (int b = 0; b < s->n; b++)
        frames[kind_of(&refs->clips[s->bins[b].clip], s->bins[b])] += s->weight[b] * s->bins[b].n;
    for (int k = 0; k < KINDS; k++) most = fmax(most, frames[k]);
    for (int b = 0; b < s->n; b++) {
        const double share = frames[kind_of(&refs->clips[s->bins[b].clip], s->bins[b])] / most;
        if (share > 0) s->weight[b] *= fmin(RARE_MOST, pow(share, -even));
    }
}

hrc_status sampling_create(sampling *s, const config *cfg, const references *refs, hrc_error *err)
{
    *s = (sampling){.by_failure = strcmp(cfg->sampling_measure, "failure") == 0,
                    .rate = cfg->sampling_rate,
                    .share = cfg->sampling_hard_share,
                    .cap = cfg->sampling_cap,
                    .warmup = cfg->sampling_warmup};
    for (int c = 0; c < refs->n; c++) s->n += bins_of(&refs->clips[c]);
    TRY(allocate(s, refs, err));
    for (int c = 0, b = 0; c < refs->n; c++) {
        s->first_bin[c] = b;
        for (int first = 0; first < refs->clips[c].n - 1; first += SAMPLING_BIN, b++) {
            int left = refs->clips[c].n - 1 - first;
            s->bins[b] = (sampling_bin){c, first, left < SAMPLING_BIN ? left : SAMPLING_BIN};
            s->difficulty[b] = refs->clips[c].rehearsed ? 0 : FIRST_DIFFICULTY;
            s->weight[b] = refs->clips[c].rehearsed ? 0 : 1;
        }
    }
    s->first_bin[refs->n] = s->n;
    if (cfg->sampling_even > 0) weigh_kinds(s, refs, cfg->sampling_even);
    sampling_refresh(s);
    return HRC_OK;
}

void sampling_free(sampling *s)
{
    arena_free(&s->memory);
    *s = (sampling){0};
}

/* F~ into smooth; returns its sum. */
static double smooth(sampling *s)
{
    double mean = 0, weights = 0, weight = 1, sum = 0;
    for (int b = 0; b < s->n; b++) mean += s->difficulty[b] / s->n;
    for (int i = 0; i < KERNEL_BINS; i++, weight *= KERNEL) weights += weight;
    for (int b = 0; b < s->n; b++) {
        const int last = s->first_bin[s->bins[b].clip + 1] - 1;
        double value = 0;
        weight = 1;
        for (int i = 0; i < KERNEL_BINS; i++, weight *= KERNEL)
            value += weight / weights * fmin(s->difficulty[b + i < last ? b + i : last], s->cap * mean);
        s->smooth[b] = value;
        sum += value;
    }
    return sum;
}

void sampling_refresh(sampling *s)
{
    const bool adapted = s->episodes >= s->warmup;
    const double sum = adapted ? smooth(s) : 0;
    double frames = 0, so_far = 0;
    for (int b = 0; b < s->n; b++) frames += s->bins[b].n;
    for (int b = 0; b < s->n; b++) {
        s->probability[b] = !adapted  ? s->bins[b].n / frames
                            : sum > 0 ? s->share * s->smooth[b] / sum + (1 - s->share) / s->n
                                      : 1.0 / s->n;
        s->probability[b] *= s->weight[b];
        so_far += s->probability[b];
        s->cumulative[b] = so_far;
    }
    for (int b = 0; b < s->n; b++) s->probability[b] /= so_far;
}

void sampling_draw(const sampling *s, rng *r, int *which, int *frame)
{
    const double u = rng_double(r) * s->cumulative[s->n - 1];
    int lo = 0, hi = s->n - 1; /* the first bin whose cumulative probability is over u */
    while (lo < hi) {
        int middle = lo + (hi - lo) / 2;
        if (s->cumulative[middle] > u)
            hi = middle;
        else
            lo = middle + 1;
    }
    *which = s->bins[lo].clip;
    *frame = s->bins[lo].first + (int)rng_below(r, (uint32_t)s->bins[lo].n);
}

void sampling_ended(sampling *s, const env_episode *e)
{
    const int begin = s->first_bin[e->clip], end = s->first_bin[e->clip + 1] - 1;
    const int first = begin + e->first / SAMPLING_BIN, at = begin + e->last / SAMPLING_BIN;
    const double lost = end_is_failure(e->end) ? SAMPLING_BIN : 0;
    const double loose = 1 - e->score * e->steps / (e->steps + lost);
    for (int b = first; b <= at && b <= end; b++) {
        const double d = !s->by_failure ? loose : lost > 0 && b == (at < end ? at : end);
        s->difficulty[b] = s->rate * d + (1 - s->rate) * s->difficulty[b];
    }
    s->episodes++;
}

/* With the distribution itself: a refresh after loading might come at another time than before. */
void sampling_state(sampling *s, state_list *l, const char *prefix)
{
    state_add_growing(l, prefix, "difficulty", DT_F64, s->difficulty, (size_t)s->n);
    state_add_growing(l, prefix, "probability", DT_F64, s->probability, (size_t)s->n);
    state_add_growing(l, prefix, "cumulative", DT_F64, s->cumulative, (size_t)s->n);
    state_add(l, prefix, "episodes", DT_I64, &s->episodes, 1);
}

double sampling_entropy(const sampling *s)
{
    double sum = 0;
    for (int b = 0; b < s->n; b++)
        if (s->probability[b] > 0) sum -= s->probability[b] * log(s->probability[b]);
    return s->n > 1 ? sum / log(s->n) : 1;
}

static void draw(const void *ctx, rng *r, int *which, int *frame)
{
    sampling_draw(ctx, r, which, frame);
}

static void ended(void *ctx, const env_episode *e)
{
    sampling_ended(ctx, e);
}

env_starts sampling_starts(sampling *s)
{
    return (env_starts){s, draw, ended};
}
