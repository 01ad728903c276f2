#include "promise.h"

#include <math.h>

#define DT 0.002
#define ROUNDING 1e-6 /* rad, of a float target */

static const char *not_finite(const robot_command *c, int i)
{
    const float x[] = {c->q[i], c->dq[i], c->tau[i], c->kp[i], c->kd[i]};
    for (int k = 0; k < 5; k++)
        if (!isfinite(x[k])) return "not finite";
    return c->kp[i] < 0 || c->kd[i] < 0      ? "a negative gain"
           : c->kp[i] > 500 || c->kd[i] > 20 ? "too stiff"
                                             : 0;
}

/* Differences count from the second stiff command in a row, theirs from the third; a target starts at rest.
 */
static const char *slewed(promise *p, const robot_command *c, int i, const slew_limits *l)
{
    double q = (double)c->q[i], d = p->stiff[i] ? q - p->q[i] : 0, cc = d - p->d[i], j = cc - p->c[i];
    bool began = c->kp[i] > 0 && p->stiff[i];
    p->d[i] = began ? d : 0, p->c[i] = began ? cc : 0, p->q[i] = q;
    p->stiff[i] = c->kp[i] > 0 ? p->stiff[i] + 1 : 0;
    if (!began) return NULL;
    if (fabs(d) > l->speed * DT + ROUNDING) return "a target too fast";
    if (p->stiff[i] < 3) return NULL; /* the first difference may have begun before the first command */
    if (fabs(cc) > l->accel * DT * DT + 2 * ROUNDING) return "a target's acceleration too high";
    if (p->stiff[i] < 4) return NULL;
    return fabs(j) > l->jerk * DT * DT * DT + 4 * ROUNDING ? "a target's jerk too high" : NULL;
}

/* Readings that no robot gives (100 rad, 100 rad/s) do not count. */
static const char *torque(const robot_command *c, const robot_state *s, int i)
{
    if (!(fabsf(s->q[i]) < 100 && fabsf(s->dq[i]) < 100)) return NULL;
    double asked = (double)c->tau[i] + (double)c->kp[i] * ((double)c->q[i] - (double)s->q[i]) +
                   (double)c->kd[i] * ((double)c->dq[i] - (double)s->dq[i]);
    return fabs(asked) > 1.001 * G1_JOINT[i].effort ? "too much torque" : NULL;
}

const char *promise_broken(promise *p, const robot_command *c, const robot_state *s,
                           const gate_limits *limits)
{
    const char *what = NULL;
    for (int i = 0; i < HRC_JOINTS; i++) {
        const double q = (double)c->q[i], beyond = limits->overreach * G1_JOINT[i].action_scale;
        const char *fast = slewed(p, c, i, &limits->slew);
        if (!what) what = not_finite(c, i);
        if (!what && (q < G1_JOINT[i].lo - beyond || q > G1_JOINT[i].hi + beyond)) what = "beyond limits";
        if (!what) what = fast;
        if (!what) what = torque(c, s, i);
    }
    return what;
}

bool promise_damping(const robot_command *c)
{
    for (int i = 0; i < HRC_JOINTS; i++)
        if (c->kp[i] != 0 || c->kd[i] <= 0 || c->tau[i] != 0 || c->dq[i] != 0) return false;
    return true;
}
