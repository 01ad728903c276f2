/* A plan is used only if it is finite, within the joint limits and no faster than motors are. Otherwise the
 * reference passes through, and that is counted. Keyframe 0 only anchors a plan and is not judged. */
#ifndef HRC_PLAN_GUARD_H
#define HRC_PLAN_GUARD_H

#include "plan/densify.h"

typedef enum {
    PLAN_FINE,
    PLAN_NONFINITE,
    PLAN_LIMITS,   /* a joint beyond its hard limits by more than the margin */
    PLAN_TOO_FAST, /* between two keyframes */
    PLAN_VERDICTS,
} plan_verdict;

const char *plan_verdict_name(plan_verdict verdict);

/* step: s between keyframes. Joints within the margin beyond a limit are clamped to it in place when the
 * verdict is PLAN_FINE. */
plan_verdict plan_guard(float keyframes[PLAN_K][HRC_NQ], float step);

#endif
