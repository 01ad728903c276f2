/* The list of commands, in the order of the help. */
#include "cli/commands.h"

const command *const COMMANDS[] = {
    &CMD_ROBOT,
    NULL,
};
