/* The models of a command: --tracker FILE and --planner on|off|FILE, by default those that are shipped. */
#ifndef HRC_CLI_MODELS_H
#define HRC_CLI_MODELS_H

#include "cli/cli.h"
#include "deploy/deploy.h"

#define OPTION_TRACKER                                                                                       \
    {                                                                                                        \
        "tracker", "FILE", "models/tracker.safetensors",                                                     \
            "the tracker, or an .onnx policy of others (docs/onnx.md)"                                       \
    }
#define OPTION_PLANNER                                                                                       \
    {                                                                                                        \
        "planner", "on|off|FILE", "on", "on: models/planner.safetensors; off: the tracker alone"             \
    }

typedef struct {
    hrc_model *tracker, *planner;                /* planner NULL: off */
    char tracker_path[4096], planner_path[4096]; /* planner_path "off": none */
} models;

/* By the options; with_planner false: the tracker alone, whatever --planner says. */
hrc_status models_load(models *m, const args *a, bool with_planner, hrc_error *err);
hrc_status models_open(models *m, const char *tracker, const char *planner, hrc_error *err); /* NULL: none */
/* A shipped model that is not there is left out: NULL. */
hrc_status models_load_found(models *m, const args *a, hrc_error *err);
/* Gains that the physics steps are too long for, of a policy of others, are refused with what to give
 * instead. */
hrc_status models_fit(const models *m, const config *cfg, hrc_error *err);
void models_free(models *m);

/* ---- What the commands that touch the network share ---- */

/* --net and --domain, both mandatory. False: said what is missing. */
bool deploy_address(const args *a, wire_address *at);

/* --tracker and --planner; policies of others are refused. */
hrc_status deploy_models(const args *a, models *m, hrc_error *err);

/* The controller of these models, which follows the motion; how that is read is for the caller to set. */
brain_setup setup_of(const models *m, const char *motion, const config *cfg, uint64_t seed);

json_t *times_json(const times *t); /* how often, quantiles and the longest, us */

#endif
