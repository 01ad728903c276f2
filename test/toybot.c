#include "toybot.h"

#include <math.h>
#include <string.h>

#define DT 0.002

/* Even noise of this deviation: cheaper than a Gaussian. */
static float noise(toybot *t, float deviation)
{
    return rng_uniform(&t->dice, -1.73f * deviation, 1.73f * deviation);
}

static void read_out(toybot *t, int keys)
{
    robot_state *s = &t->state;
    s->tick = (uint32_t)(t->ns / 1000000);
    double sway = 0.05 * sin(3e-9 * (double)t->ns);
    s->quat[0] = (float)cos(sway / 2), s->quat[1] = (float)sin(sway / 2);
    s->quat[2] = noise(t, 1e-4f);
    for (int i = 0; i < 3; i++) s->gyro[i] = noise(t, 0.05f);
    s->gyro[0] += 0.15f * (float)cos(3e-9 * (double)t->ns); /* the sway's derivative */
    for (int i = 0; i < HRC_JOINTS; i++) {
        s->q[i] = (float)t->q[i] + noise(t, 1e-4f);
        s->dq[i] = (float)t->dq[i] + noise(t, 0.02f);
        s->temp[2 * i] = 40, s->temp[2 * i + 1] = 45;
    }
    remote_press(s->remote, keys);
}

void toybot_init(toybot *t, uint64_t seed)
{
    memset(t, 0, sizeof *t);
    t->dice = rng_make(seed, 0);
    t->state.mode_machine = 5;
    t->state.accel[2] = 9.81f;
    t->ns = 1000000000;
    for (int i = 0; i < HRC_JOINTS; i++) t->q[i] = 0.5 * (G1_JOINT[i].lo + G1_JOINT[i].hi);
    read_out(t, 0);
}

void toybot_step(toybot *t, const robot_command *c, int keys)
{
    for (int i = 0; i < HRC_JOINTS; i++) {
        const double inertia = 0.1;
        double torque = c ? (double)c->tau[i] + (double)c->kp[i] * ((double)c->q[i] - t->q[i]) : 0;
        double damping = c ? (double)c->kd[i] : 1;
        t->dq[i] = (t->dq[i] + DT * torque / inertia) / (1 + DT * damping / inertia);
        t->q[i] += DT * t->dq[i];
    }
    t->ns += 2000000;
    read_out(t, keys);
}
