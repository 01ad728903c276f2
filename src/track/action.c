#include "track/action.h"

#include <string.h>

static const char *const NAMES[] = {
    [BASIS_DEFAULT] = "default", [BASIS_REFERENCE] = "reference", [BASIS_AHEAD] = "ahead"};

action_basis action_basis_of(const char *word)
{
    for (int i = 0; i < COUNT(NAMES); i++)
        if (strcmp(word, NAMES[i]) == 0) return (action_basis)i;
    return BASIS_DEFAULT;
}

const char *action_basis_name(action_basis basis)
{
    return NAMES[basis];
}

int action_frame(action_basis basis)
{
    return basis == BASIS_AHEAD ? 3 : 0;
}

void action_target(double target[HRC_JOINTS], action_basis basis, const float action[HRC_JOINTS],
                   const float q_ref[HRC_JOINTS], const double *offset)
{
    for (int i = 0; i < HRC_JOINTS; i++) {
        double from = basis == BASIS_DEFAULT ? G1_JOINT[i].q0 : (double)q_ref[i];
        target[i] = from + (offset ? offset[i] : 0) + G1_JOINT[i].action_scale * (double)action[i];
    }
}
