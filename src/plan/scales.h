/* The numbers a planner is normalised with: statistics of its corpus, stored in the model. */
#ifndef HRC_PLAN_SCALES_H
#define HRC_PLAN_SCALES_H

#include "plan/state.h"

typedef struct {
    float cond_mean[2 * PLAN_D_MAX], cond_std[2 * PLAN_D_MAX]; /* state, then command; 2 D used */
    float residual_std[PLAN_D_MAX];                            /* of keyframe minus state; D used */
} plan_scales;

#endif
