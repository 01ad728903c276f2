#include "motion/kind.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "base/rot.h"

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
    static const float UP[3] = {0, 0, 1};
    for (int i = 0; i < c->n; i++) {
        const float *q = clip_frame(c, i);
        float up[3];
        quat_rotate_invf(up, q + 3, UP);
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
