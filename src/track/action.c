#include "track/action.h"

#include <string.h>

static const char *const NAMES[] = {[BASIS_DEFAULT] = "default", [BASIS_REFERENCE] = "reference"};

action_basis action_basis_of(const char *word)
{
    return strcmp(word, NAMES[BASIS_REFERENCE]) == 0 ? BASIS_REFERENCE : BASIS_DEFAULT;
}

const char *action_basis_name(action_basis basis)
{
    return NAMES[basis];
}

void action_target(double target[HRC_JOINTS], action_basis basis, const float action[HRC_JOINTS],
                   const float q_ref[HRC_JOINTS], const double *offset)
{
    for (int i = 0; i < HRC_JOINTS; i++) {
        double from = basis == BASIS_REFERENCE ? (double)q_ref[i] : G1_JOINT[i].q0;
        target[i] = from + (offset ? offset[i] : 0) + G1_JOINT[i].action_scale * (double)action[i];
    }
}
