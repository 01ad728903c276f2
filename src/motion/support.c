#include "motion/support.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "motion/stats.h"

#define GRAVITY 9.81
#define FIT_S 0.1     /* half the window of the parabola that gives accelerations */
#define TOUCH_M 0.03  /* capsules lower than this may carry: soles of good clips hover up to 2 cm */
#define CARRIED_G 0.4 /* with less of the weight than this the robot is in flight, or nearly */

typedef double point[2];

enum { POINTS = 2 * G1_GEOMS };

static double turn(const double *a, const double *b, const double *c)
{
    return (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0]);
}

static int by_place(const void *a, const void *b)
{
    const double *p = a, *q = b;
    return p[0] != q[0] ? (p[0] > q[0]) - (p[0] < q[0]) : (p[1] > q[1]) - (p[1] < q[1]);
}

/* Andrew's sweep over the sorted points. */
static void convex_hull(support_hull *h, point *p, int n)
{
    int k = 0;
    qsort(p, (size_t)n, sizeof *p, by_place);
    h->n = n;
    if (n < 3) {
        memcpy(h->corner, p, sizeof *p * (size_t)n);
        return;
    }
    for (int i = 0; i < n; i++) {
        while (k >= 2 && turn(h->corner[k - 2], h->corner[k - 1], p[i]) <= 0) k--;
        memcpy(h->corner[k++], p[i], sizeof *p);
    }
    for (int i = n - 2, lower = k + 1; i >= 0; i--) {
        while (k >= lower && turn(h->corner[k - 2], h->corner[k - 1], p[i]) <= 0) k--;
        memcpy(h->corner[k++], p[i], sizeof *p);
    }
    h->n = k - 1;
}

void support_find(support_hull *h, const capsule *c)
{
    point touching[POINTS];
    int n = 0;
    for (int i = 0; i < G1_GEOMS; i++)
        for (int end = 0; end < 2; end++) {
            const double *axis = end ? c[i].b : c[i].a;
            if (axis[2] - c[i].radius >= TOUCH_M) continue;
            touching[n][0] = axis[0], touching[n++][1] = axis[1];
        }
    convex_hull(h, touching, n);
}

static double nearest_on(const double *a, const double *b, const double *p, double out[2])
{
    double dx = b[0] - a[0], dy = b[1] - a[1], length2 = dx * dx + dy * dy;
    double t = length2 > 0 ? ((p[0] - a[0]) * dx + (p[1] - a[1]) * dy) / length2 : 0;
    t = fmin(fmax(t, 0), 1);
    out[0] = a[0] + t * dx, out[1] = a[1] + t * dy;
    return hypot(p[0] - out[0], p[1] - out[1]);
}

double support_nearest(const support_hull *h, const double at[2], double out[2])
{
    double gap = INFINITY, best[2] = {at[0], at[1]};
    bool inside = h->n >= 3;
    for (int i = 0; i < h->n; i++) {
        const double *a = h->corner[i], *b = h->corner[(i + 1) % h->n];
        double there[2], distance = nearest_on(a, b, at, there);
        if (distance < gap) gap = distance, best[0] = there[0], best[1] = there[1];
        if (turn(a, b, at) < 0) inside = false;
    }
    if (out) out[0] = inside ? at[0] : best[0], out[1] = inside ? at[1] : best[1];
    return inside ? 0 : gap;
}

int support_half(double fps)
{
    return (int)ceil(FIT_S * fps);
}

static double acceleration(double (*com)[3], int k, int i, int half, double fps)
{
    return parabola_acceleration(&com[i - half][k], 2 * half + 1, 3, 1 / fps);
}

/* Gravity and the centre of mass' acceleration have no moment about it. */
bool support_point(double at[2], double *lever, double (*com)[3], int n, int i, int half, double fps)
{
    if (half < 1 || i < half || i + half >= n) return false;
    double weight = GRAVITY + acceleration(com, 2, i, half, fps);
    if (weight < CARRIED_G * GRAVITY) return false;
    *lever = com[i][2] / weight;
    for (int k = 0; k < 2; k++) at[k] = com[i][k] - *lever * acceleration(com, k, i, half, fps);
    return true;
}
