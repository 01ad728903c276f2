/* Residuals of one frame and their derivatives, added to its normal equations. Unknowns of a frame (HRC_NV):
 * root position (world), root turn (a rotation vector in the world, applied from the left), joints. A term
 * of weight w adds w^2 |r + J dx|^2 / 2: h += w^2 J'J, g -= w^2 J'r. */
#ifndef HRC_MOTION_RETARGET_IK_H
#define HRC_MOTION_RETARGET_IK_H

#include "motion/retarget/bandsolve.h"
#include "robot/capsules.h"

typedef struct {
    double (*h)[BAND_N]; /* upper triangle */
    double *g;
    const fk_pose *pose;
} ik_frame;

void ik_clear(ik_frame *f); /* the unknown that only fills up the block gets 1 on its diagonal */

/* A point at `at` (world) of a link to `target`; weight for x, y and z. */
void ik_position(ik_frame *f, int link, const double at[3], const double target[3], const double weight[3]);

/* A link to an orientation. */
void ik_orientation(ik_frame *f, int link, const double target[4], double weight);

/* Lift a point by `by`. */
void ik_height(ik_frame *f, int link, const double at[3], double by, double weight);

/* Push two points of two links apart along unit vector n (from a to b) by `by`. */
void ik_apart(ik_frame *f, int link_a, const double a[3], int link_b, const double b[3], const double n[3],
              double by, double weight);

/* A single unknown by `by`. */
void ik_shift(ik_frame *f, int unknown, double by, double weight);

/* How a point of a link moves, to first order, when the unknowns change by dx. */
void ik_velocity(double out[3], const fk_pose *pose, int link, const double at[3], const double *dx);

/* Unknowns that sit at their limit and want further: taken out of the frame. fixed (HRC_NV). */
void ik_hold_limits(const ik_frame *f, const double *qpos, bool *fixed);

/* qpos moved along dx, no unknown by more than `most`; joints stay inside their limits. */
void ik_move(double *qpos, const double *dx, double most);

#endif
