/* The planner: from the robot's state and the reference to the next 0.2 s of motion as K keyframes
 * (paper 3.2): a few Euler steps of the learned flow, started near the anchored plan (plan/anchor.h). The
 * same question and seed give the same plan; nothing is allocated after create. One object, one thread. */
#ifndef HRC_PLAN_PLANNER_H
#define HRC_PLAN_PLANNER_H

#include "plan/guard.h"
#include "plan/infer.h"
#include "plan/model.h"

typedef struct {
    nn_precision precision;
    int steps;       /* Euler steps */
    float t_start;   /* where the warm start enters the flow: 1 is noise alone, 0 the base alone */
    bool warm_start; /* off: from noise at t = 1 (the paper's ablation) */
    float noise; /* size of the noise a plan starts from: 1 draws from the learned distribution, small values
                    stay near its middle */
    uint64_t seed;
    pool *threads; /* borrowed; NULL: the caller's thread alone */
} planner_options;

planner_options planner_defaults(void); /* float, 5 steps, 0.9, warm start, noise 1, seed 0 */

typedef struct planner planner;

hrc_status planner_create(planner **out, const plan_model *m, const planner_options *options, hrc_error *err);
void planner_free(planner *p); /* NULL is fine */
void planner_seed(planner *p, uint64_t seed);

/* For practice: another draw of noise, of that size, and how much of what the network writes is used: 1, or 0
 * for the base of plans alone. */
void planner_vary(planner *p, uint64_t seed, float noise, float share);

/* The guard is not applied. */
void planner_plan(planner *p, const plan_question *q, float keyframes[PLAN_K][HRC_NQ]);

/* The file's recorded plans, made again; refuses a model that does not reproduce them. */
hrc_status planner_verify(const plan_model *m, hrc_error *err);

/* Plans to record: questions near and far from the reference. */
hrc_status planner_record(plan_example out[PLAN_EXAMPLES], const plan_model *m, hrc_error *err);

#endif
