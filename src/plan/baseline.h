/* What the residuals of a plan are counted from, and in which unit.
 *
 * Paper: from the state, r_k = keyframe_k - p. A network so trained is not told when its target is due and
 * has to guess the pace.
 * Timed: from the straight line that arrives when the target is due. With u_k = t_k / due,
 *
 *   keyframe_k = p + u_k (m - p) + (1 - u_k) r_k
 *
 * The factor 1 - u_k is that by which an error of the state matters less toward the target; it makes
 * residuals of near and far targets alike, and the target itself exact. */
#ifndef HRC_PLAN_BASELINE_H
#define HRC_PLAN_BASELINE_H

#include <stdbool.h>

#include "plan/densify.h"

#define PLAN_MAX_DUE_S 2.0f   /* no target is told to be due later: training saw none */
#define PLAN_UNIT_FLOOR 0.05f /* of 1 - u_k: residuals stay finite at the target */

typedef struct {
    float way[PLAN_K];  /* u_k */
    float unit[PLAN_K]; /* 1 - u_k */
} plan_baseline;

/* due: frames until the target, at least PLAN_H. */
static inline plan_baseline plan_baseline_of(bool timed, float due)
{
    plan_baseline b;
    for (int k = 0; k < PLAN_K; k++) {
        float way = timed ? (float)(k * PLAN_H) / (PLAN_K - 1) / due : 0;
        b.way[k] = way;
        b.unit[k] = 1 - way > PLAN_UNIT_FLOOR ? 1 - way : PLAN_UNIT_FLOOR;
    }
    return b;
}

#endif
