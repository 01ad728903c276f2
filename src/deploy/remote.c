#include "deploy/remote.h"

#include <string.h>

#define HEAD 0x51FE /* any that is not zero: the real one's is not documented */

bool remote_present(const uint8_t remote[ROBOT_REMOTE])
{
    for (int i = 0; i < ROBOT_REMOTE; i++)
        if (remote[i]) return true;
    return false;
}

int remote_keys(const uint8_t remote[ROBOT_REMOTE])
{
    return remote[2] | remote[3] << 8;
}

static bool down(int keys, int all)
{
    return (keys & all) == all;
}

int remote_asks(int keys)
{
    if (down(keys, KEY_SELECT) || down(keys, KEY_L2 | KEY_B)) return ASK_DAMP; /* and nothing else */
    return (down(keys, KEY_L2 | KEY_UP) ? ASK_RAMP : 0) | (down(keys, KEY_R1 | KEY_X) ? ASK_GO : 0);
}

void remote_press(uint8_t remote[ROBOT_REMOTE], int keys)
{
    memset(remote, 0, ROBOT_REMOTE);
    remote[0] = HEAD & 0xFF, remote[1] = HEAD >> 8;
    remote[2] = (uint8_t)(keys & 0xFF), remote[3] = (uint8_t)(keys >> 8);
}
