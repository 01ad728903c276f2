#include "motion/lowpass.h"

#include <math.h>

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
