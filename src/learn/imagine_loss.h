/* How far an imagined robot is from its reference, with the gradient: the policy's objective in training
 * through the world model.
 *
 *   L = sum over groups of weight (sqrt(1 + mean |e|^2 / sigma^2) - 1)
 *
 * Groups: joints and their speeds (legs and waist count twice), the axes ex and ez, height, velocities in the
 * root frame, and the points of world_points.h in the root frame, which tell a bent knee from a bent wrist.
 * The root's place does not enter: the policy cannot see it. */
#ifndef HRC_LEARN_IMAGINE_LOSS_H
#define HRC_LEARN_IMAGINE_LOSS_H

#include "learn/world_points.h"

/* s, ref (n, WS), ds (n, WS) +=, loss (n) +=; row r counts weight[r]. */
NN_FN void imagine_loss(real *loss, real *ds, const real *s, const real *ref, const real *weight,
                        const world_point *points, int n);

#endif
