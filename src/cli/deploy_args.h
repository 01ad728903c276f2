/* What the commands that touch the network share. */
#ifndef HRC_CLI_DEPLOY_ARGS_H
#define HRC_CLI_DEPLOY_ARGS_H

#include "cli/cli.h"
#include "deploy/wire.h"

/* --net and --domain, both mandatory. False: said what is missing. */
bool deploy_address(const args *a, wire_address *at);

#endif
