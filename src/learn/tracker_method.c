#include "learn/tracker_method.h"

#include <string.h>

static const tracker_method *const METHODS[] = {&METHOD_WORLD, &METHOD_PPO};

const tracker_method *tracker_method_find(const char *name)
{
    for (int i = 0; i < COUNT(METHODS); i++)
        if (strcmp(METHODS[i]->name, name) == 0) return METHODS[i];
    return NULL;
}

const char *tracker_method_names(void)
{
    return "world-model, ppo";
}

void train_figure(train_report *r, const char *name, double value)
{
    if (r->nfigures < TRAIN_MAX_FIGURES) r->figures[r->nfigures++] = (train_entry){name, value};
}

void train_phase(train_report *r, const char *name, double seconds)
{
    for (int i = 0; i < r->nphases; i++)
        if (strcmp(r->phases[i].name, name) == 0) {
            r->phases[i].value += seconds;
            return;
        }
    if (r->nphases < TRAIN_MAX_PHASES) r->phases[r->nphases++] = (train_entry){name, seconds};
}
