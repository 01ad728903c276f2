#include "motion/fix.h"

#include <math.h>
#include <string.h>

#include "base/rot.h"
#include "robot/capsules.h"

/* ---- Low-pass ---- */

typedef struct {
    double b0, b1, b2, a1, a2; /* y = b0 x + b1 x1 + b2 x2 - a1 y1 - a2 y2; gain 1 at 0 Hz */
} biquad;

/* By the bilinear transform with the cut-off pre-warped. Two passes multiply: each is to leave 2^-1/4 of the
 * amplitude at hz, from 1 / (1 + (w_hz / w)^4) = 2^-1/2. */
static biquad butterworth_of_two(double hz, double fps)
{
    double w = tan(M_PI * hz / fps) / pow(M_SQRT2 - 1, 0.25), norm = 1 / (1 + M_SQRT2 * w + w * w);
    biquad f = {w * w * norm, 2 * w * w * norm, w * w * norm, 2 * (w * w - 1) * norm,
                (1 - M_SQRT2 * w + w * w) * norm};
    return f;
}

/* In place, from x[0] in steps of `step` numbers; starts as if the first value had always been there. */
static void filter(double *x, int n, int step, biquad f)
{
    double s2 = (f.b2 - f.a2) * x[0], s1 = (f.b1 - f.a1) * x[0] + s2;
    for (int i = 0; i < n; i++) {
        double in = x[i * step], out = f.b0 * in + s1;
        s1 = f.b1 * in - f.a1 * out + s2;
        s2 = f.b2 * in - f.a2 * out;
        x[i * step] = out;
    }
}

static int padding(int n, double hz, double fps)
{
    return (int)fmin(n - 1, ceil(2 * fps / hz));
}

bool lowpass_useful(int n, double hz, double fps)
{
    return n >= 3 && hz < 0.45 * fps;
}

int lowpass_scratch(int n, double hz, double fps)
{
    return n + 2 * padding(n, hz, fps);
}

void lowpass(double *x, int n, int step, double hz, double fps, double *scratch)
{
    int pad = padding(n, hz, fps), total = n + 2 * pad;
    biquad f = butterworth_of_two(hz, fps);
    double first = x[0], last = x[(n - 1) * step];
    for (int i = 0; i < n; i++) scratch[pad + i] = x[i * step];
    for (int i = 1; i <= pad; i++) {
        scratch[pad - i] = 2 * first - x[i * step];
        scratch[pad + n - 1 + i] = 2 * last - x[(n - 1 - i) * step];
    }
    filter(scratch, total, 1, f);
    filter(scratch + total - 1, total, -1, f);
    for (int i = 0; i < n; i++) x[i * step] = scratch[pad + i];
}

/* q and -q are one orientation: choose signs so that neighbours are near, and filters see a smooth signal. */
static void align_hemispheres(clip *c)
{
    for (int i = 1; i < c->n; i++) {
        float *a = clip_frame(c, i - 1) + 3, *b = clip_frame(c, i) + 3;
        float dot = a[0] * b[0] + a[1] * b[1] + a[2] * b[2] + a[3] * b[3];
        for (int k = 0; dot < 0 && k < 4; k++) b[k] = -b[k];
    }
}

static void normalize_all(clip *c)
{
    for (int i = 0; i < c->n; i++) quat_normalizef(clip_frame(c, i) + 3);
}

static float median3(float a, float b, float c)
{
    return fmaxf(fminf(a, b), fminf(fmaxf(a, b), c));
}

hrc_status fix_median(clip *c, hrc_error *err)
{
    arena memory = {0};
    float *in = ARENA_NEW(&memory, float, (size_t)c->n *HRC_NQ);
    if (!in) return fail(err, HRC_ENOMEM, "%s: out of memory for %d frames", c->name, c->n);
    align_hemispheres(c);
    memcpy(in, c->qpos, (size_t)c->n * HRC_NQ * sizeof *in);
    for (int i = 1; i + 1 < c->n; i++)
        for (int k = 0; k < HRC_NQ; k++) {
            const float *x = in + (size_t)i * HRC_NQ + k;
            clip_frame(c, i)[k] = median3(x[-HRC_NQ], x[0], x[HRC_NQ]);
        }
    normalize_all(c);
    arena_free(&memory);
    return HRC_OK;
}

hrc_status fix_lowpass(clip *c, double hz, hrc_error *err)
{
    if (!lowpass_useful(c->n, hz, c->fps)) return HRC_OK;
    arena memory = {0};
    double *x = ARENA_NEW(&memory, double, c->n);
    double *scratch = ARENA_NEW(&memory, double, lowpass_scratch(c->n, hz, c->fps));
    if (!x || !scratch) {
        arena_free(&memory);
        return fail(err, HRC_ENOMEM, "%s: out of memory for %d frames", c->name, c->n);
    }
    align_hemispheres(c);
    for (int k = 0; k < HRC_NQ; k++) {
        for (int i = 0; i < c->n; i++) x[i] = (double)clip_frame(c, i)[k];
        lowpass(x, c->n, 1, hz, c->fps, scratch);
        for (int i = 0; i < c->n; i++) clip_frame(c, i)[k] = (float)x[i];
    }
    normalize_all(c);
    arena_free(&memory);
    return HRC_OK;
}

void fix_clamp_within(clip *c, double rad)
{
    for (int i = 0; i < c->n; i++)
        for (int j = 0; j < HRC_JOINTS; j++) {
            float *angle = clip_frame(c, i) + 7 + j,
                  inside = fminf(fmaxf(*angle, (float)G1_JOINT[j].lo), (float)G1_JOINT[j].hi);
            if (fabs((double)*angle - (double)inside) <= rad) *angle = inside;
        }
}

void fix_clamp(clip *c)
{
    fix_clamp_within(c, INFINITY);
}

/* How far each frame must rise: need (n). */
static void measure_need(double *need, const clip *c)
{
    for (int i = 0; i < c->n; i++) {
        double qpos[HRC_NQ];
        for (int k = 0; k < HRC_NQ; k++) qpos[k] = (double)clip_frame(c, i)[k];
        need[i] = fmax(0, -FIX_LIFT_TOLERANCE - pose_lowest(qpos));
    }
}

/* The maximum over frames i-half .. i+half, then a weighted mean over the same width (Hann window). Every
 * term of the mean at i is a maximum over a window that holds i, so the result is never under need[i]. */
static void smooth_over(double *out, double *widened, const double *need, int n, int half)
{
    for (int i = 0; i < n; i++) {
        widened[i] = 0;
        for (int k = i - half; k <= i + half; k++)
            if (k >= 0 && k < n) widened[i] = fmax(widened[i], need[k]);
    }
    for (int i = 0; i < n; i++) {
        double sum = 0, weights = 0;
        for (int k = i - half; k <= i + half; k++) {
            if (k < 0 || k >= n) continue;
            double weight = 1 + cos(M_PI * (k - i) / (half + 1));
            sum += weight * widened[k], weights += weight;
        }
        out[i] = sum / weights;
    }
}

hrc_status fix_lift(clip *c, hrc_error *err)
{
    arena memory = {0};
    double *need = ARENA_NEW(&memory, double, 3 * (size_t)c->n);
    if (!need) return fail(err, HRC_ENOMEM, "%s: out of memory for %d frames", c->name, c->n);
    double *widened = need + c->n, *lift = widened + c->n;
    measure_need(need, c);
    smooth_over(lift, widened, need, c->n, (int)ceil(FIX_LIFT_SECONDS * c->fps));
    for (int i = 0; i < c->n; i++) clip_frame(c, i)[2] += (float)lift[i];
    arena_free(&memory);
    return HRC_OK;
}

hrc_status fix_clip(clip *c, const fix_options *options, hrc_error *err)
{
    if (options->median) TRY(fix_median(c, err));
    if (options->lowpass) TRY(fix_lowpass(c, options->lowpass_hz, err));
    if (options->clamp) fix_clamp(c);
    return options->lift ? fix_lift(c, err) : HRC_OK;
}

bool fix_piece(int n, double fps, int seam, int k, int *first, int *last)
{
    int length = seam > 0 ? seam : n;
    for (int start = 0; start < n; start += length) {
        int end = n - start < length ? n - 1 : start + length - 1;
        if (seam > 0 && (end - start) / fps < FIX_SHORTEST_SECONDS) continue;
        if (k-- > 0) continue;
        *first = start, *last = end;
        return true;
    }
    return false;
}
