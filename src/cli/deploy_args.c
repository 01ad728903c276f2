#include "cli/deploy_args.h"

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
