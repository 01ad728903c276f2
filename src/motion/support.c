/* Whether the floor can carry the robot as the clip moves it: the point where the floor's force would have to
 * act, against the hull of what touches. */
#include <math.h>
#include <stdlib.h>

#include "motion/quality.h"
#include "motion/stats.h"

#define GRAVITY 9.81
#define FIT_S 0.1      /* half the window of the parabola that gives accelerations */
#define TOUCH_M 0.03   /* capsules lower than this may carry: soles of good clips hover up to 2 cm */
#define OUTSIDE_M 0.10 /* turning limbs and noise of accelerations move the point by less in good walking */
#define CARRIED_G 0.4  /* with less of the weight than this the robot is in flight, or nearly */

typedef struct {
    double x, y;
} point;

enum { POINTS = 2 * G1_GEOMS };

static double turn(point a, point b, point c)
{
    return (b.x - a.x) * (c.y - a.y) - (b.y - a.y) * (c.x - a.x);
}

static int by_place(const void *a, const void *b)
{
    const point *p = a, *q = b;
    return p->x != q->x ? (p->x > q->x) - (p->x < q->x) : (p->y > q->y) - (p->y < q->y);
}

/* Corners of the convex hull, counterclockwise, by Andrew's sweep; sorts p. hull holds 2 n. Returns how many.
 */
static int convex_hull(point *hull, point *p, int n)
{
    int k = 0;
    qsort(p, (size_t)n, sizeof *p, by_place);
    if (n < 3) {
        for (int i = 0; i < n; i++) hull[i] = p[i];
        return n;
    }
    for (int i = 0; i < n; i++) {
        while (k >= 2 && turn(hull[k - 2], hull[k - 1], p[i]) <= 0) k--;
        hull[k++] = p[i];
    }
    for (int i = n - 2, lower = k + 1; i >= 0; i--) {
        while (k >= lower && turn(hull[k - 2], hull[k - 1], p[i]) <= 0) k--;
        hull[k++] = p[i];
    }
    return k - 1;
}

static double segment_gap(point a, point b, point p)
{
    double dx = b.x - a.x, dy = b.y - a.y, length2 = dx * dx + dy * dy;
    double t = length2 > 0 ? ((p.x - a.x) * dx + (p.y - a.y) * dy) / length2 : 0;
    t = fmin(fmax(t, 0), 1);
    return hypot(p.x - a.x - t * dx, p.y - a.y - t * dy);
}

double support_gap(const capsule *c, const double at[2])
{
    point touching[POINTS], hull[2 * POINTS], p = {at[0], at[1]};
    int n = 0;
    for (int i = 0; i < G1_GEOMS; i++)
        for (int end = 0; end < 2; end++) {
            const double *axis = end ? c[i].b : c[i].a;
            if (axis[2] - c[i].radius < TOUCH_M) touching[n++] = (point){axis[0], axis[1]};
        }
    n = convex_hull(hull, touching, n);
    double gap = INFINITY;
    bool inside = n >= 3;
    for (int i = 0; i < n; i++) {
        point a = hull[i], b = hull[(i + 1) % n];
        gap = fmin(gap, segment_gap(a, b, p));
        if (turn(a, b, p) < 0) inside = false;
    }
    return inside ? 0 : gap;
}

/* Of coordinate k of com about frame i. */
static double acceleration(double (*com)[3], int k, int i, int half, double fps)
{
    return parabola_acceleration(&com[i - half][k], 2 * half + 1, 3, 1 / fps);
}

/* The point on the floor about which gravity and the centre of mass' acceleration have no moment; false in
 * flight. */
static bool force_point(double at[2], double (*com)[3], int i, int half, double fps)
{
    double weight = GRAVITY + acceleration(com, 2, i, half, fps);
    if (weight < CARRIED_G * GRAVITY) return false;
    for (int k = 0; k < 2; k++) at[k] = com[i][k] - com[i][2] / weight * acceleration(com, k, i, half, fps);
    return true;
}

void quality_support_measure(quality *q, const clip *c, double (*com)[3])
{
    int half = (int)ceil(FIT_S * c->fps), outside = 0, judged = 0, run = 0;
    for (int i = half; half > 0 && i + half < c->n; i++) {
        double at[2], qpos[HRC_NQ], gap = 0;
        fk_pose pose;
        capsule capsules[G1_GEOMS];
        if (force_point(at, com, i, half, c->fps)) {
            for (int k = 0; k < HRC_NQ; k++) qpos[k] = (double)clip_frame(c, i)[k];
            fk(&pose, qpos);
            capsules_place(capsules, &pose);
            gap = support_gap(capsules, at);
            judged++;
        }
        run = gap > OUTSIDE_M ? run + 1 : 0;
        outside += run > 0;
        if (run / c->fps > q->uncarried_s)
            q->uncarried_s = run / c->fps, q->uncarried_first = i - run + 1, q->uncarried_last = i;
    }
    q->uncarried_share = judged ? (double)outside / judged : 0;
}
