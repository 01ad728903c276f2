#include "cli/deploy_args.h"

#include <string.h>

#include "base/status.h"
#include "control/library.h"
#include "motion/shipped.h"

#define SHIPPED_PLANNER "models/planner-35d.safetensors"

bool deploy_address(const args *a, wire_address *at)
{
    double domain;
    *at = (wire_address){.net = arg(a, "net")};
    if (!at->net || !arg_given(a, "domain")) {
        cli_usage(a, "--%s is missing: nothing is sent on a network that was not named",
                  at->net ? "domain" : "net");
        return false;
    }
    if (!arg_number(a, "domain", 0, 230, &domain)) return false;
    at->domain = (int)domain;
    return true;
}

/* A name that was given is a path; one that was not is a file that is shipped. */
static const char *find(char path[4096], const char *name, bool given)
{
    return given || !shipped_path(path, 4096, name) ? name : path;
}

hrc_status deploy_models(const args *a, models *m, hrc_error *err)
{
    char tracker[4096], planner[4096];
    const char *word = arg(a, "planner");
    bool on = !strcmp(word, "on");
    const char *plan = strcmp(word, "off") ? find(planner, on ? SHIPPED_PLANNER : word, !on) : NULL;
    *m = (models){0};
    TRY(models_open(m, find(tracker, arg(a, "tracker"), arg_given(a, "tracker")), plan, err));
    if (!model_of_others(m->tracker)) return HRC_OK;
    models_free(m);
    return fail(err, HRC_EINVAL,
                "%.200s: is an ONNX policy, which the robot is not given: expected a tracker of ours",
                arg(a, "tracker"));
}
