#include "mishap.h"

#include <math.h>
#include <string.h>

#include "base/rot.h"

#define NOISE_SPEED 0.05f /* rad/s, as the simulated robot's */

static const char *const TEXT[] = {
#define MISHAP_TEXT(name, text) text,
    MISHAP_LIST(MISHAP_TEXT)
#undef MISHAP_TEXT
};

const char *mishap_text(mishap_kind kind)
{
    return TEXT[kind];
}

double mishap_age(const mishap *m, const rig *r)
{
    return (double)(r->tick - m->at) / ROBOT_HZ;
}

static void spoil_joint(const mishap *m, rig *r, int i, double t)
{
    robot_state *s = &r->seen;
    float size = (float)m->size;
    switch (m->kind) {
    case MISHAP_ANGLE_STUCK: s->q[i] = m->first.q[i]; break;
    case MISHAP_ENCODER_STUCK: s->q[i] = m->first.q[i], s->dq[i] = NOISE_SPEED * rng_normal(&r->dice); break;
    case MISHAP_JOINT_FROZEN: s->q[i] = m->first.q[i], s->dq[i] = m->first.dq[i]; break;
    case MISHAP_ANGLE_OFFSET: s->q[i] += size; break;
    case MISHAP_ANGLE_DRIFT: s->q[i] += size * (float)t; break;
    case MISHAP_SPEED_OFFSET: s->dq[i] += size; break;
    case MISHAP_SPEED_FACTOR: s->dq[i] *= size; break;
    case MISHAP_SPEED_SPIKE: s->dq[i] += rng_below(&r->dice, 20) ? 0 : size; break;
    case MISHAP_NOT_FINITE: s->q[i] = NAN; break;
    case MISHAP_MOTOR_FAULT: s->fault[i] = 0x20; break;
    case MISHAP_HOT_MOTOR: s->temp[2 * i] = (int16_t)m->size; break;
    default: break;
    }
}

/* Roll or yaw, in the body's frame or the world's. */
static void turn_imu(robot_state *s, double angle, bool yaw)
{
    double quat[4], turn[4], axis[3] = {yaw ? 0 : angle, 0, yaw ? angle : 0};
    for (int k = 0; k < 4; k++) quat[k] = (double)s->quat[k];
    quat_exp(turn, axis);
    if (yaw)
        quat_mul(quat, turn, quat);
    else
        quat_mul(quat, quat, turn);
    for (int k = 0; k < 4; k++) s->quat[k] = (float)quat[k];
}

static void spoil_imu(const mishap *m, rig *r, double t)
{
    robot_state *s = &r->seen;
    float size = (float)m->size;
    switch (m->kind) {
    case MISHAP_YAW_DRIFT: turn_imu(s, m->size * t, true); break;
    case MISHAP_TILT_DRIFT: turn_imu(s, m->size * t, false); break;
    case MISHAP_GYRO_OFFSET: s->gyro[1] += size; break;
    case MISHAP_GYRO_FACTOR:
        for (int k = 0; k < 3; k++) s->gyro[k] *= size;
        break;
    case MISHAP_IMU_DRIFT: {
        /* R' = R exp(a t) turns at exp(-a t) w + a in its own frame */
        double back[3] = {-m->size * t, 0, 0}, turn[4], gyro[3];
        for (int k = 0; k < 3; k++) gyro[k] = (double)s->gyro[k];
        turn_imu(s, m->size * t, false);
        quat_exp(turn, back);
        quat_rotate(gyro, turn, gyro);
        for (int k = 0; k < 3; k++) s->gyro[k] = (float)gyro[k];
        s->gyro[0] += size;
        break;
    }
    default: break;
    }
}

static void spoil_link(const mishap *m, rig *r, double t)
{
    watch_input *in = &r->in.robot;
    switch (m->kind) {
    case MISHAP_SLOW_STATES: r->lost = r->tick % (int64_t)(ROBOT_HZ / m->size + 0.5) != 0; break;
    case MISHAP_STATES_STOP: r->lost = true; break;
    case MISHAP_STATES_PAUSE: r->lost = t < m->size; break;
    case MISHAP_BAD_CHECKSUMS: r->lost = true, in->bad_states++; break;
    case MISHAP_OTHER_WRITER: in->other_commands += r->tick == m->at; break;
    case MISHAP_MACHINE: r->seen.mode_machine = 6; break;
    case MISHAP_CLOCK_STANDS: in->now_ns = m->clock_ns; break;
    case MISHAP_BATTERY_LOW: in->battery = (int32_t)m->size; break;
    case MISHAP_REMOTE_LOST: memset(r->seen.remote, 0, sizeof r->seen.remote); break;
    case MISHAP_POLICY_DEAD: r->policy_dead = true; break;
    case MISHAP_POLICY_NAN: r->policy_nan = true; break;
    case MISHAP_POLICY_WILD: r->wild = (float)m->size; break;
    case MISHAP_PLANS_STOP: r->planner_dead = true; break;
    default: break;
    }
}

static void spoil(rig *r, void *ctx)
{
    mishap *m = ctx;
    double t = mishap_age(m, r);
    if (t < 0) {
        m->first = r->truth;
        m->clock_ns = r->in.robot.now_ns;
        return;
    }
    if (m->joint >= 0)
        spoil_joint(m, r, m->joint, t);
    else
        for (int i = 0; i < HRC_JOINTS; i++) spoil_joint(m, r, i, t);
    spoil_imu(m, r, t);
    spoil_link(m, r, t);
}

void mishap_put(rig *r, mishap *m)
{
    r->spoil = m ? spoil : NULL;
    r->ctx = m;
}
