/* The wireless remote as it lies in a state: 2 bytes head, u16 keys, then the sticks. */
#ifndef HRC_DEPLOY_REMOTE_H
#define HRC_DEPLOY_REMOTE_H

#include <string.h>

#include "deploy/messages.h"

enum {
    KEY_R1 = 1 << 0,
    KEY_L1 = 1 << 1,
    KEY_START = 1 << 2,
    KEY_SELECT = 1 << 3,
    KEY_R2 = 1 << 4,
    KEY_L2 = 1 << 5,
    KEY_F1 = 1 << 6,
    KEY_F2 = 1 << 7,
    KEY_A = 1 << 8,
    KEY_B = 1 << 9,
    KEY_X = 1 << 10,
    KEY_Y = 1 << 11,
    KEY_UP = 1 << 12,
    KEY_RIGHT = 1 << 13,
    KEY_DOWN = 1 << 14,
    KEY_LEFT = 1 << 15,
};

/* What an operator can ask for, by keyboard or remote. */
enum {
    ASK_DAMP = 1, /* Select, or L2 and B: at any time */
    ASK_RAMP = 2, /* L2 and Up: to the first pose */
    ASK_GO = 4,   /* R1 and X: start the policy */
    ASK_TRIP = 8, /* no operator's: the watchdog is gone, or damps in our place (watchdog.h) */
};

/* False: all zero, as when it is off. */
static inline bool remote_present(const uint8_t remote[ROBOT_REMOTE])
{
    for (int i = 0; i < ROBOT_REMOTE; i++)
        if (remote[i]) return true;
    return false;
}

static inline int remote_keys(const uint8_t remote[ROBOT_REMOTE])
{
    return remote[2] | remote[3] << 8;
}

static inline bool remote_down(int keys, int all)
{
    return (keys & all) == all;
}

/* ASK_ bits */
static inline int remote_asks(int keys)
{
    if (remote_down(keys, KEY_SELECT) || remote_down(keys, KEY_L2 | KEY_B))
        return ASK_DAMP; /* and nothing else */
    return (remote_down(keys, KEY_L2 | KEY_UP) ? ASK_RAMP : 0) |
           (remote_down(keys, KEY_R1 | KEY_X) ? ASK_GO : 0);
}

#define REMOTE_HEAD 0x51FE /* any that is not zero: the real one's is not documented */

/* A remote that is on, with these keys down. */
static inline void remote_press(uint8_t remote[ROBOT_REMOTE], int keys)
{
    memset(remote, 0, ROBOT_REMOTE);
    remote[0] = REMOTE_HEAD & 0xFF, remote[1] = REMOTE_HEAD >> 8;
    remote[2] = (uint8_t)(keys & 0xFF), remote[3] = (uint8_t)(keys >> 8);
}

#endif
