/* The numbers a planner is normalised with: statistics of its corpus, stored in the model. */
#ifndef HRC_PLAN_SCALES_H
#define HRC_PLAN_SCALES_H

#include "plan/densify.h"
#include "plan/state.h"

#define PLAN_COND_MAX (2 * PLAN_D_MAX + 1)

typedef struct {
    float cond_mean[PLAN_COND_MAX], cond_std[PLAN_COND_MAX]; /* state, command, when it is due; cond used */
    float residual_std[PLAN_K * PLAN_D_MAX];                 /* (K,D): of each keyframe's residuals */
} plan_scales;

#endif
