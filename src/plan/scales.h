/* The numbers a planner is normalised with: statistics of its corpus, stored in the model. */
#ifndef HRC_PLAN_SCALES_H
#define HRC_PLAN_SCALES_H

#include "plan/anchor.h"

typedef struct {
    float cond_mean[PLAN_COND_MAX], cond_std[PLAN_COND_MAX]; /* (plan_condition_size) */
    float residual_std[PLAN_K * PLAN_D];                     /* (K,D): of each keyframe's x */
} plan_scales;

#endif
