#ifndef HRC_CLI_COMMANDS_H
#define HRC_CLI_COMMANDS_H

#include "cli/cli.h"

extern const command CMD_ROBOT;

#endif
