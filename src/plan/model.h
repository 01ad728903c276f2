/* A trained planner as a file: network, scales, and what is needed to refuse a mismatch. It proves itself:
 * a recorded plan is made again at load and compared. */
#ifndef HRC_PLAN_MODEL_H
#define HRC_PLAN_MODEL_H

#include <stdbool.h>

#include "base/arena.h"
#include "plan/densify.h"
#include "plan/field.h"
#include "plan/getups.h"
#include "plan/scales.h"
#include "plan/store.h"

#define PLAN_FORMAT "heracles-planner"

typedef struct {
    arena memory;
    const char *path;
    field net;
    plan_scales scales;
    float *params; /* (net.layout.count) */
    getups ups;
    motion_store known;  /* on the ground, as a tracker does them (track/known.h) */
    const char *config;  /* the resolved settings it was trained with, INI text */
    const char *trained; /* one sentence: data, steps */
} plan_model;

static inline int plan_model_dims(const plan_model *m)
{
    return m->net.shape.dim;
}

/* A timed planner is told when its target is due (plan/baseline.h); the paper's is not. */
static inline field_shape plan_shape(field_shape s, bool timed)
{
    s.cond = 2 * s.dim + timed;
    s.context = timed;
    return s;
}

static inline bool plan_model_timed(const plan_model *m)
{
    return m->net.shape.context;
}

/* Everything but the recorded plan; planner_verify (planner.h) does that. */
hrc_status plan_model_load(plan_model *m, const char *path, hrc_error *err);
void plan_model_free(plan_model *m);

/* The recorded pair: a state, a command, and the keyframes that a float planner made of them with seed 0. */
typedef struct {
    float state[HRC_NQ], target[HRC_NQ], keyframes[PLAN_K][HRC_NQ];
} plan_pair;

hrc_status plan_model_pair(plan_pair *out, const char *path, hrc_error *err);

/* bf16: half the size. The pair must have been made with the weights as they will be read back:
 * plan_model_round first. */
void plan_model_round(plan_model *m); /* to bfloat16 */
hrc_status plan_model_save(const plan_model *m, const plan_pair *pair, bool bf16, const char *path,
                           hrc_error *err);

#endif
