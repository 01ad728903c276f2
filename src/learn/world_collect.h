/* The part of training through a world model that happens in MuJoCo: the policy acts with some noise, and
 * what happens is kept. */
#ifndef HRC_LEARN_WORLD_COLLECT_H
#define HRC_LEARN_WORLD_COLLECT_H

#include "learn/policy_pass.h"
#include "learn/replay.h"
#include "sim/env.h"
#include "track/model.h"

typedef struct {
    arena memory;
    env *world;
    policy_pass *pass;
    replay kept;
    rng dice;
    int n;                             /* worlds */
    float *proprio, *window;           /* what the policy sees next, raw: (n, OBS_PROPRIO), (n, OBS_WINDOW) */
    float *seen_proprio, *seen_window; /* normalised */
    float *action;                     /* (n, HRC_JOINTS) */
    float *noise;                      /* (n): standard deviation of this episode's random actions */
    int32_t *age;                      /* (n) */
    uint8_t *end;                      /* (n) */
    const float *latent;               /* (n, d) of the last step */
} collector;

/* The environment is the collector's from now on. */
hrc_status collector_create(collector *c, env *world, const policy *net, const nn_ops *ops, pool *threads,
                            int length, uint64_t seed, hrc_error *err);
void collector_free(collector *c);
void collector_state(collector *c, state_list *l, const char *prefix);

void collector_reset(collector *c, double noise);

/* One step of all worlds. noise: the largest standard deviation for episodes that begin. */
void collector_step(collector *c, const track_model *m, double noise);

/* Linked steps, newest first, as pairs for the world model: states, targets, states after. Returns how many.
 */
int collector_pairs(const collector *c, float *s, float *target, float *next, int most);

#endif
