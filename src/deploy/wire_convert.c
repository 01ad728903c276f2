#include "deploy/wire_convert.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

/* ---- Checksum ---- */

/* CRC of the sixteen half bytes. */
static const uint32_t NIBBLE[16] = {0x00000000, 0x04c11db7, 0x09823b6e, 0x0d4326d9, 0x130476dc, 0x17c56b6b,
                                    0x1a864db2, 0x1e475005, 0x2608edb8, 0x22c9f00f, 0x2f8ad6d6, 0x2b4bcb61,
                                    0x350c9b64, 0x31cd86d3, 0x3c8ea00a, 0x384fbdbd};

uint32_t crc_words(const void *data, size_t words)
{
    uint32_t crc = 0xFFFFFFFF;
    for (size_t i = 0; i < words; i++) {
        uint32_t word;
        memcpy(&word, (const char *)data + 4 * i, 4);
        crc ^= word;
        for (int k = 0; k < 8; k++) crc = (crc << 4) ^ NIBBLE[crc >> 28];
    }
    return crc;
}

_Static_assert(sizeof(hg_state) == 2092 && offsetof(hg_state, crc) == 2088, "layout of LowState");
_Static_assert(sizeof(hg_command) == 1004 && offsetof(hg_command, crc) == 1000, "layout of LowCmd");

#define WORDS(message) (offsetof(message, crc) / 4)

/* Roll, pitch, yaw of a quaternion: for other tools that read the topic. */
static void euler(float rpy[3], const float q[4])
{
    float s = 2 * (q[0] * q[2] - q[3] * q[1]);
    rpy[0] = atan2f(2 * (q[0] * q[1] + q[2] * q[3]), 1 - 2 * (q[1] * q[1] + q[2] * q[2]));
    rpy[1] = asinf(s > 1 ? 1 : s < -1 ? -1 : s);
    rpy[2] = atan2f(2 * (q[0] * q[3] + q[1] * q[2]), 1 - 2 * (q[2] * q[2] + q[3] * q[3]));
}

void hg_state_write(hg_state *out, const robot_state *s)
{
    memset(out, 0, sizeof *out); /* padding is part of the sum */
    out->mode_machine = (uint8_t)s->mode_machine;
    out->tick = s->tick;
    memcpy(out->imu_state.quaternion, s->quat, sizeof s->quat);
    memcpy(out->imu_state.gyroscope, s->gyro, sizeof s->gyro);
    memcpy(out->imu_state.accelerometer, s->accel, sizeof s->accel);
    euler(out->imu_state.rpy, s->quat);
    for (int i = 0; i < HRC_JOINTS; i++) {
        unitree_hg_msg_dds__MotorState_ *m = &out->motor_state[i];
        m->mode = 1;
        m->q = s->q[i], m->dq = s->dq[i], m->tau_est = s->tau[i];
        m->temperature[0] = s->temp[2 * i], m->temperature[1] = s->temp[2 * i + 1];
        m->motorstate = s->fault[i];
    }
    memcpy(out->wireless_remote, s->remote, sizeof s->remote);
    out->crc = crc_words(out, WORDS(hg_state));
}

bool hg_state_crc_ok(const hg_state *m)
{
    return m->crc == crc_words(m, WORDS(hg_state));
}

void hg_state_read(robot_state *out, const hg_state *m)
{
    memset(out, 0, sizeof *out);
    out->tick = m->tick;
    out->mode_machine = m->mode_machine;
    memcpy(out->quat, m->imu_state.quaternion, sizeof out->quat);
    memcpy(out->gyro, m->imu_state.gyroscope, sizeof out->gyro);
    memcpy(out->accel, m->imu_state.accelerometer, sizeof out->accel);
    for (int i = 0; i < HRC_JOINTS; i++) {
        const unitree_hg_msg_dds__MotorState_ *from = &m->motor_state[i];
        out->q[i] = from->q, out->dq[i] = from->dq, out->tau[i] = from->tau_est;
        out->temp[2 * i] = from->temperature[0], out->temp[2 * i + 1] = from->temperature[1];
        out->fault[i] = from->motorstate;
    }
    memcpy(out->remote, m->wireless_remote, sizeof out->remote);
}

void hg_command_write(hg_command *out, const robot_command *c)
{
    memset(out, 0, sizeof *out);
    out->mode_machine = (uint8_t)c->mode_machine;
    for (int i = 0; i < HRC_JOINTS; i++) {
        unitree_hg_msg_dds__MotorCmd_ *m = &out->motor_cmd[i];
        m->mode = c->on ? 1 : 0;
        m->q = c->q[i], m->dq = c->dq[i], m->tau = c->tau[i], m->kp = c->kp[i], m->kd = c->kd[i];
    }
    out->reserve[3] = c->tick;
    out->crc = crc_words(out, WORDS(hg_command));
}

void hg_command_read(wire_order *out, const hg_command *m)
{
    memset(out, 0, sizeof *out);
    out->crc_ok = m->crc == crc_words(m, WORDS(hg_command));
    out->mode_pr = m->mode_pr;
    robot_command *c = &out->command;
    c->tick = m->reserve[3];
    c->mode_machine = m->mode_machine;
    for (int i = 0; i < HRC_JOINTS; i++) {
        const unitree_hg_msg_dds__MotorCmd_ *from = &m->motor_cmd[i];
        out->motors_on += from->mode == 1;
        c->q[i] = from->q, c->dq[i] = from->dq, c->tau[i] = from->tau, c->kp[i] = from->kp,
        c->kd[i] = from->kd;
    }
    c->on = out->motors_on == HRC_JOINTS;
}
