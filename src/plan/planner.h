/* The planner: from the robot's state and the reference's target frame to the next 0.2 s of motion as K
 * keyframes (paper 3.2). Warm start toward the target, a few Euler steps of the learned flow, keyframe 0
 * pinned to the state. The same state, target and seed give the same plan; nothing is allocated after
 * create. One object, one thread. */
#ifndef HRC_PLAN_PLANNER_H
#define HRC_PLAN_PLANNER_H

#include "plan/guard.h"
#include "plan/infer.h"
#include "plan/model.h"

typedef struct {
    nn_precision precision;
    int steps;       /* Euler steps */
    float t_start;   /* where the warm start enters the flow: 1 is noise alone, 0 the straight line alone */
    bool warm_start; /* off: from noise at t = 1 (the paper's ablation) */
    float noise;     /* size of the noise a plan starts from: 1 draws from the learned distribution, small
                        values stay near its middle; 0: PLANNER_NOISE */
    uint64_t seed;
    pool *threads; /* borrowed; NULL: the caller's thread alone */
} planner_options;

#define PLANNER_NOISE 0.2f

planner_options planner_defaults(void); /* float, 5 steps, 0.9, warm start, seed 0 */

typedef struct planner planner;

hrc_status planner_create(planner **out, const plan_model *m, const planner_options *options, hrc_error *err);
void planner_free(planner *p); /* NULL is fine */
void planner_seed(planner *p, uint64_t seed);

/* When the target is due, for planners that are told (others do not use it): seconds, within 0.2 .. 2. 0, as
 * at first: 0.2 s, and up to 2 s the more the state is fallen against the target. */
void planner_due(planner *p, float seconds);

/* With D = 35 the plan has no root position: all keyframes keep the state's. The guard is not applied. */
void planner_plan(planner *p, const float state[HRC_NQ], const float target[HRC_NQ],
                  float keyframes[PLAN_K][HRC_NQ]);

/* The file's recorded plan, made again; refuses a model that does not reproduce it. */
hrc_status planner_verify(const plan_model *m, hrc_error *err);

/* A pair to record: standing, and one step ahead of it. */
hrc_status planner_record(plan_pair *out, const plan_model *m, hrc_error *err);

#endif
