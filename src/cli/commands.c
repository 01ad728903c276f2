/* The list of commands, in the order of the help. */
#include "cli/commands.h"

const command *const COMMANDS[] = {
    &CMD_ROBOT, &CMD_MOTION_INFO, &CMD_MOTION_CONVERT, &CMD_MOTION_CUT, &CMD_MOTION_FIX, &CMD_VIEW, NULL,
};
