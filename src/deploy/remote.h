/* The wireless remote as it lies in a state: 2 bytes head, u16 keys, then the sticks. */
#ifndef HRC_DEPLOY_REMOTE_H
#define HRC_DEPLOY_REMOTE_H

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

bool remote_present(const uint8_t remote[ROBOT_REMOTE]); /* false: all zero, as when it is off */
int remote_keys(const uint8_t remote[ROBOT_REMOTE]);
int remote_asks(int keys);                                 /* ASK_ bits */
void remote_press(uint8_t remote[ROBOT_REMOTE], int keys); /* a remote that is on, with these keys down */

#endif
