/* A plan is used only if it is finite, within the joint limits, continuous with the state it starts from,
 * and no faster than motors are. Otherwise the reference passes through, and that is counted. */
#ifndef HRC_PLAN_GUARD_H
#define HRC_PLAN_GUARD_H

#include "plan/densify.h"

typedef enum {
    PLAN_FINE,
    PLAN_NONFINITE,
    PLAN_LIMITS,        /* a joint beyond its hard limits by more than the margin */
    PLAN_DISCONTINUOUS, /* keyframe 0 is not the state */
    PLAN_TOO_FAST,      /* between two keyframes */
    PLAN_VERDICTS,
} plan_verdict;

const char *plan_verdict_name(plan_verdict verdict);

/* has_position: keyframes carry a root position worth checking. Joints within the margin beyond a limit are
 * clamped to it in place when the verdict is PLAN_FINE. */
plan_verdict plan_guard(float keyframes[PLAN_K][HRC_NQ], const float state[HRC_NQ], int has_position);

#endif
