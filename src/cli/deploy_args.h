/* What the commands that touch the network share. */
#ifndef HRC_CLI_DEPLOY_ARGS_H
#define HRC_CLI_DEPLOY_ARGS_H

#include "cli/cli.h"
#include "cli/models.h"
#include "deploy/wire.h"

#define OPTION_BLIND_PLANNER(def)                                                                            \
    {                                                                                                        \
        "planner", "on|off|FILE", def, "on: models/planner-35d.safetensors, which needs no root position"    \
    }

/* --net and --domain, both mandatory. False: said what is missing. */
bool deploy_address(const args *a, wire_address *at);

/* --tracker, and --planner as OPTION_BLIND_PLANNER says. */
hrc_status deploy_models(const args *a, models *m, hrc_error *err);

#endif
