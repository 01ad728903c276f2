/* A planner on disk: the weights of its velocity field, the scales it was trained with, which question it
 * answers, and plans to recognise it by. */
#ifndef HRC_PLAN_MODEL_H
#define HRC_PLAN_MODEL_H

#include <stdbool.h>

#include "base/arena.h"
#include "plan/anchor.h"
#include "plan/field.h"

#define PLAN_FORMAT "heracles-planner"

/* A question, and the keyframes that a float planner with default options made of it. */
typedef struct {
    plan_question question;
    float keyframes[PLAN_K][HRC_NQ];
} plan_example;

enum { PLAN_EXAMPLES = 4 };

typedef struct {
    arena memory;
    const char *path;
    field net;
    plan_layout layout;
    plan_scales scales;
    float *params; /* (net.layout.count) */
    plan_example examples[PLAN_EXAMPLES];
    const char *config;  /* the resolved settings it was trained with, INI text */
    const char *trained; /* one sentence: data, steps */
} plan_model;

/* The network of a layout: the anchored form also adds the condition to every token, the paper's does not. */
static inline field_shape plan_shape(field_shape s, const plan_layout *l)
{
    s.tokens = PLAN_K;
    s.dim = PLAN_D;
    s.cond = plan_condition_size(l);
    s.context = l->form == PLAN_ANCHORED;
    return s;
}

/* Does not make the recorded plans again; planner_verify (planner.h) does that. */
hrc_status plan_model_load(plan_model *m, const char *path, hrc_error *err);
void plan_model_free(plan_model *m);

/* bf16: half the size. The examples must have been made with the weights as they will be read back:
 * plan_model_round first. */
void plan_model_round(plan_model *m); /* to bfloat16 */
hrc_status plan_model_save(const plan_model *m, bool bf16, const char *path, hrc_error *err);

#endif
