#include "deploy/slew.h"

#include <math.h>
#include <stdbool.h>

#define BRAKE_MAX 400 /* commands; limits that need longer to stop are refused as goals */
#define HALVINGS 24

/* The limits per command. */
typedef struct {
    double d, c, j, low, high;
} bounds;

static double clamp(double x, double lo, double hi)
{
    return x < lo ? lo : x > hi ? hi : x;
}

/* The largest braking c for a speed d from which the jerk bound lets c fall to 0 just as d does:
 * d = c + (c - j) + ... in n terms, so c = d / n + (n - 1) j / 2, with the n for which the last term is in 0
 * .. j. */
static double release(double d, double j)
{
    double n = ceil(0.5 * (sqrt(1 + 8 * d / j) - 1));
    return n < 1 ? d : d / n + 0.5 * (n - 1) * j;
}

static double braking(const slew *s, const bounds *b)
{
    double wanted = -copysign(fmin(release(fabs(s->d), b->j), b->c), s->d);
    return clamp(wanted, s->c - b->j, s->c + b->j);
}

static void move(slew *s, double c)
{
    s->c = c;
    s->d += c;
    s->x += s->d;
}

/* Whether the bounds hold from here to a stand; where that is. */
static bool can_stop(slew s, const bounds *b, double *where)
{
    const double slack = 1e-12;
    for (int n = 0; n < BRAKE_MAX; n++) {
        if (fabs(s.d) > b->d + slack || s.x < b->low - slack || s.x > b->high + slack) return false;
        if (fabs(s.d) < slack && fabs(s.c) <= b->j) {
            *where = s.x;
            return true;
        }
        move(&s, braking(&s, b));
    }
    return false;
}

/* Taking c now: allowed, and stopping without passing the goal, which lies on the side of `sign`. */
static bool good(const slew *s, double c, double goal, double sign, const bounds *b)
{
    slew next = *s;
    double stop;
    move(&next, c);
    return can_stop(next, b, &stop) && sign * (stop - goal) <= 1e-9;
}

void slew_step(slew *s, double goal, double low, double high, const slew_limits *limits, double dt)
{
    const bounds b = {limits->speed * dt, limits->accel * dt * dt, limits->jerk * dt * dt * dt, low, high};
    double safe = braking(s, &b), stop = s->x;
    slew next = *s;
    move(&next, safe);
    can_stop(next, &b, &stop);
    double sign = goal >= stop ? 1 : -1;
    double end = sign > 0 ? fmin(s->c + b.j, b.c) : fmax(s->c - b.j, -b.c);
    double direct = goal - s->x - s->d;
    if (fabs(direct) <= b.c && fabs(direct - s->c) <= b.j && good(s, direct, goal, sign, &b)) {
        *s = (slew){goal, s->d + direct, direct};
        return;
    }
    if (good(s, end, goal, sign, &b)) {
        move(s, end);
        return;
    }
    for (int n = 0; n < HALVINGS; n++) {
        double half = 0.5 * (safe + end);
        if (good(s, half, goal, sign, &b))
            safe = half;
        else
            end = half;
    }
    move(s, safe);
}
