#include "deploy/simbot.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "base/rot.h"
#include "deploy/gate.h"
#include "deploy/remote.h"
#include "robot/fk.h"
#include "sim/sim.h"

#define DT (0.001 * ROBOT_TICK_MS)
#define MACHINE 5
#define DELAY_MAX 64 /* states kept for the latency */
#define GRAVITY 9.81
#define BIG_STEP 0.13
#define GAP_TICKS 5
#define NO_KP 1e-6 /* stands for 0, so that torque can be written as a target */
#define PRESS_S 0.2
#define TEMPERATURE 40

/* Standard deviations at noise 1: what encoders and a MEMS gyro are known to give, guessed on the safe side.
 */
#define NOISE_Q 3e-4f    /* rad */
#define NOISE_DQ 0.05f   /* rad/s */
#define NOISE_GYRO 0.02f /* rad/s */
#define NOISE_TURN 1e-3f /* rad, of the orientation */
#define NOISE_ACCEL 0.1f /* m/s^2 */

/* The band: a rope that only pulls, and a loose guide sideways. */
#define BAND_STIFF 4000.0 /* N/m */
#define BAND_DAMP 400.0
#define BAND_SIDE 200.0
#define BAND_SIDE_DAMP 100.0
#define BAND_LIFT 0.12  /* m: what the rope gives under the robot's weight, and a little air */
#define BAND_LOWER 0.15 /* m/s */

struct simbot {
    simbot_options options;
    pool *threads;
    sim *physics;
    sim_world world;
    rng dice;
    robot_command last; /* that the drives obey */
    double target[HRC_JOINTS];
    bool obeying, released;
    int since_order; /* ticks */
    int64_t ticks;
    robot_state past[DELAY_MAX];
    double hook[3];  /* where the band pulls the torso to */
    double accel[3]; /* of the pelvis, world */
    double torso[3], torso_vel[3], torso_quat[4], torso_gyro[3];
    simbot_counts counts;
    double tilt, lowest, impact;
};

/* ---- Create ---- */

static void look_at_torso(simbot *b)
{
    fk_pose pose;
    fk_velocity moving;
    fk(&pose, b->world.qpos);
    fk_velocities(&moving, &pose, b->world.qvel);
    memcpy(b->torso, pose.pos[G1_TORSO], sizeof b->torso);
    memcpy(b->torso_vel, moving.lin[G1_TORSO], sizeof b->torso_vel);
    memcpy(b->torso_quat, pose.quat[G1_TORSO], sizeof b->torso_quat);
    quat_rotate_inv(b->torso_gyro, b->torso_quat, moving.ang[G1_TORSO]);
}

void simbot_place(simbot *b, const double qpos[HRC_NQ])
{
    double time = b->world.time;
    sim_reset(b->physics, &b->world, qpos, NULL);
    b->world.time = time;
    b->world.want_contact = true;
    b->obeying = false;
    look_at_torso(b);
    memcpy(b->hook, b->torso, sizeof b->hook);
    b->hook[2] += BAND_LIFT;
    b->lowest = qpos[2], b->tilt = b->impact = 0;
}

hrc_status simbot_create(simbot **out, const config *cfg, const simbot_options *options, hrc_error *err)
{
    if (options->latency_ms < 0 || options->latency_ms / ROBOT_TICK_MS >= DELAY_MAX)
        return fail(err, HRC_EINVAL, "latency of %d ms, expected 0 to %d", options->latency_ms,
                    (DELAY_MAX - 1) * ROBOT_TICK_MS);
    simbot *b = calloc(1, sizeof *b);
    if (!b) return fail(err, HRC_ENOMEM, "simulated robot: out of memory");
    b->options = *options;
    b->released = options->released;
    b->dice = rng_make(options->seed, 0);
    config fast = *cfg;
    fast.sim_timestep = DT, fast.sim_substeps = 1;
    snprintf(fast.sim_damping, sizeof fast.sim_damping, "implicit"); /* damping commands are stiff */
    hrc_status status = pool_create(&b->threads, 1, err);
    if (status == HRC_OK) status = sim_create(&b->physics, &fast, b->threads, err);
    if (status < 0) {
        simbot_free(b);
        return status;
    }
    double stance[HRC_NQ];
    g1_default_qpos(stance);
    simbot_place(b, options->qpos ? options->qpos : stance);
    *out = b;
    return HRC_OK;
}

void simbot_free(simbot *b)
{
    if (!b) return;
    sim_free(b->physics);
    pool_free(b->threads);
    free(b);
}

/* ---- Orders ---- */

static bool cable_out(const simbot *b)
{
    double t = b->world.time - b->options.cable_at_s;
    return b->options.cable_s > 0 && t >= 0 && t < b->options.cable_s;
}

static bool gets_lost(simbot *b)
{
    return cable_out(b) || (b->options.loss > 0 && rng_double(&b->dice) < b->options.loss);
}

/* What the robot would not obey. */
static bool refused(simbot *b, const wire_order *o)
{
    simbot_counts *n = &b->counts;
    if (!o->crc_ok) return ++n->bad_crc;
    if (o->mode_pr != 0 || o->motors_on != HRC_JOINTS) return ++n->bad_mode;
    if (o->command.mode_machine != MACHINE) return ++n->bad_machine;
    if (!b->released) return ++n->not_released;
    if (!command_finite(&o->command)) return ++n->bad_number;
    return false;
}

static void count_rough_orders(simbot *b, const robot_command *c)
{
    bool limits = false, step = false, torque = false;
    for (int i = 0; i < HRC_JOINTS; i++) {
        const hrc_joint *j = &G1_JOINT[i];
        double q = (double)c->q[i], kp = (double)c->kp[i], error = q - b->world.qpos[7 + i];
        double asked =
            (double)c->tau[i] + kp * error + (double)c->kd[i] * ((double)c->dq[i] - b->world.qvel[6 + i]);
        limits |= q < j->lo - j->action_scale || q > j->hi + j->action_scale;
        step |= kp > 0 && b->obeying && fabs(q - (double)b->last.q[i]) > BIG_STEP;
        torque |= fabs(asked) > 1.2 * j->effort; /* readings are noisy and older than the truth */
    }
    b->counts.beyond_limits += limits, b->counts.big_steps += step, b->counts.over_torque += torque;
}

/* torque = tau + kp (q - angle) + kd (dq - speed) as a target and gains of the simulator. */
static void obey(simbot *b, const robot_command *c)
{
    for (int i = 0; i < HRC_JOINTS; i++) {
        double kp = c->kp[i] > 0 ? (double)c->kp[i] : NO_KP;
        b->world.params.kp[i] = kp / G1_JOINT[i].kp;
        b->world.params.kd[i] = (double)c->kd[i] / G1_JOINT[i].kd;
        b->target[i] = (double)c->q[i] + ((double)c->tau[i] + (double)c->kd[i] * (double)c->dq[i]) / kp;
    }
    b->last = *c;
    b->obeying = true;
}

void simbot_order(simbot *b, const wire_order *order)
{
    b->counts.orders++;
    if (gets_lost(b)) {
        b->counts.lost++;
        return;
    }
    if (refused(b, order)) return;
    count_rough_orders(b, &order->command);
    if (b->obeying && b->since_order > GAP_TICKS) b->counts.gaps++;
    b->since_order = 0;
    obey(b, &order->command);
}

int simbot_request(simbot *b, int64_t api, const char *parameter, char *reply, size_t size)
{
    if (api == SWITCHER_CHECK)
        snprintf(reply, size, "{\"form\":\"0\",\"name\":\"%s\"}", b->released ? "" : "ai");
    else if (api == SWITCHER_RELEASE)
        b->released = true;
    else if (api == SWITCHER_SELECT)
        b->released = strstr(parameter, "\"name\"") == NULL;
    else
        return 7002;
    return 0;
}

/* ---- Physics ---- */

static void pull_band(simbot *b)
{
    const simbot_options *o = &b->options;
    if (!o->band) return;
    double drop = o->band_s > 0 ? fmax(0, b->world.time - o->band_s) * BAND_LOWER : 0;
    const double *speed = b->torso_vel;
    double up = BAND_STIFF * (b->hook[2] - drop - b->torso[2]);
    if (up <= 0) return;
    double force[3] = {BAND_SIDE * (b->hook[0] - b->torso[0]) - BAND_SIDE_DAMP * speed[0],
                       BAND_SIDE * (b->hook[1] - b->torso[1]) - BAND_SIDE_DAMP * speed[1],
                       fmax(0, up - BAND_DAMP * speed[2])};
    sim_hit(&b->world, G1_TORSO, force, DT);
}

static void motors_off(simbot *b)
{
    for (int i = 0; i < HRC_JOINTS; i++) {
        b->world.params.kp[i] = NO_KP, b->world.params.kd[i] = 0;
        b->target[i] = b->world.qpos[7 + i];
    }
}

static double tilt_of(const double quat[4])
{
    double up = 1 - 2 * (quat[1] * quat[1] + quat[2] * quat[2]);
    return acos(fmin(1, fmax(-1, up)));
}

static float noisy(simbot *b, double truth, float deviation)
{
    return (float)truth + (float)b->options.noise * deviation * rng_normal(&b->dice);
}

static void read_imu(simbot *b, robot_state *s)
{
    const sim_world *w = &b->world;
    double turn[3], wobble[4], quat[4], force[3];
    for (int k = 0; k < 3; k++) turn[k] = (double)noisy(b, 0, NOISE_TURN);
    quat_exp(wobble, turn);
    quat_mul(quat, w->qpos + 3, wobble);
    for (int k = 0; k < 4; k++) s->quat[k] = (float)quat[k];
    double felt[3] = {b->accel[0], b->accel[1], b->accel[2] + GRAVITY};
    quat_rotate_inv(force, w->qpos + 3, felt);
    for (int k = 0; k < 3; k++) {
        s->gyro[k] = noisy(b, w->qvel[3 + k], NOISE_GYRO);
        s->accel[k] = noisy(b, force[k], NOISE_ACCEL);
    }
}

static void read_state(simbot *b, robot_state *s)
{
    const sim_world *w = &b->world;
    memset(s, 0, sizeof *s);
    s->tick = (uint32_t)(b->ticks * ROBOT_TICK_MS);
    s->mode_machine = MACHINE;
    read_imu(b, s);
    for (int i = 0; i < HRC_JOINTS; i++) {
        s->q[i] = noisy(b, w->qpos[7 + i], NOISE_Q);
        s->dq[i] = noisy(b, w->qvel[6 + i], NOISE_DQ);
        s->tau[i] = (float)w->torque[i];
        s->temp[2 * i] = s->temp[2 * i + 1] = TEMPERATURE;
    }
    int keys = 0;
    for (int i = 0; i < b->options.npresses; i++) {
        double since = w->time - b->options.press[i].at_s;
        if (since >= 0 && since < PRESS_S) keys |= b->options.press[i].keys;
    }
    if (b->options.remote || b->options.npresses) remote_press(s->remote, keys);
}

void simbot_hit(simbot *b, int link, const double force[3], double seconds)
{
    sim_hit(&b->world, link, force, seconds);
}

static double hardest_contact(const simbot *b)
{
    double hardest = 0;
    for (int i = 0; i < G1_LINKS; i++)
        if (i != G1_LEFT_ANKLE && i != G1_RIGHT_ANKLE) hardest = fmax(hardest, b->world.contact[i]);
    return hardest;
}

bool simbot_step(simbot *b, robot_state *out)
{
    double before[3];
    memcpy(before, b->world.qvel, sizeof before);
    if (!b->obeying) motors_off(b);
    pull_band(b);
    sim_step_one(b->physics, &b->world, b->target, 0);
    for (int k = 0; k < 3; k++) b->accel[k] = (b->world.qvel[k] - before[k]) / DT;
    look_at_torso(b);
    b->tilt = fmax(b->tilt, tilt_of(b->world.qpos + 3));
    b->lowest = fmin(b->lowest, b->world.qpos[2]);
    b->impact = fmax(b->impact, hardest_contact(b));
    b->ticks++, b->since_order++;
    read_state(b, &b->past[b->ticks % DELAY_MAX]);
    int64_t from = b->ticks - b->options.latency_ms / ROBOT_TICK_MS;
    if (from < 1) from = 1;
    *out = b->past[from % DELAY_MAX];
    return !gets_lost(b);
}

void simbot_torso(const simbot *b, float quat[4], float gyro[3])
{
    for (int k = 0; k < 4; k++) quat[k] = (float)b->torso_quat[k];
    for (int k = 0; k < 3; k++) gyro[k] = (float)b->torso_gyro[k];
}

simbot_truth simbot_look(const simbot *b)
{
    return (simbot_truth){&b->counts, b->world.qpos, b->last.q,        b->tilt,
                          b->lowest,  b->impact,     b->world.diverged};
}
