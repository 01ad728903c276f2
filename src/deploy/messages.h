/* What passes between robot and controller, as plain data: the parts of the wire's messages that are used
 * here, in the order of the 29 joints. Members are laid out so that the bytes are also a recording's
 * (record.h). */
#ifndef HRC_DEPLOY_MESSAGES_H
#define HRC_DEPLOY_MESSAGES_H

#include <stdbool.h>
#include <stdint.h>

#include "robot/g1.h"

#define ROBOT_REMOTE 40 /* bytes of the wireless remote inside a state */
#define ROBOT_TICK_MS 2 /* of states and commands: 500 Hz */
#define ROBOT_HZ 500

typedef struct {
    uint32_t tick;                /* ms on the robot's clock */
    uint32_t mode_machine;        /* which hardware: 5 is the 29-joint G1 of the tables */
    float quat[4];                /* of the pelvis, w first */
    float gyro[3];                /* of the pelvis, in its frame, rad/s */
    float accel[3];               /* specific force in its frame, m/s^2 */
    float q[HRC_JOINTS];          /* rad */
    float dq[HRC_JOINTS];         /* rad/s */
    float tau[HRC_JOINTS];        /* N m, the drive's estimate */
    int16_t temp[2 * HRC_JOINTS]; /* deg C, two a motor */
    uint32_t fault[HRC_JOINTS];   /* 0: none */
    uint8_t remote[ROBOT_REMOTE];
} robot_state;

/* The drives do tau + kp (q - measured) + kd (dq - measured). */
typedef struct {
    uint32_t tick;         /* of the state it answers; travels only in lockstep */
    uint32_t mode_machine; /* echo of the state's */
    uint32_t on;           /* motors enabled */
    float q[HRC_JOINTS], dq[HRC_JOINTS], tau[HRC_JOINTS], kp[HRC_JOINTS], kd[HRC_JOINTS];
} robot_command;

#endif
