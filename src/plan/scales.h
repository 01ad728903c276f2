/* The numbers a planner is normalised with: statistics of its corpus, stored in the model. */
#ifndef HRC_PLAN_SCALES_H
#define HRC_PLAN_SCALES_H

#include "plan/densify.h"
#include "plan/state.h"

#define PLAN_COND_MAX (2 * PLAN_D_MAX + 1)
#define PLAN_REACHES 10

typedef struct {
    float cond_mean[PLAN_COND_MAX], cond_std[PLAN_COND_MAX]; /* state, command, when it is due; cond used */
    float residual_std[PLAN_K * PLAN_D_MAX];                 /* (K,D): of each keyframe's residuals */
    float
        reach[PLAN_REACHES]; /* how far people get in 10, 20 .. 100 frames (plan_distance), rarely farther */
} plan_scales;

/* How far apart two encoded poses are, in units of what the corpus does in 0.2 s. */
float plan_distance(const plan_scales *s, int D, const float *a, const float *b);

/* Frames in which people come from one to the other when they hurry: PLAN_H .. 100. */
float plan_shortest_due(const plan_scales *s, int D, const float *a, const float *b);

#endif
