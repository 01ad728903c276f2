/* The terms of one frame's cost, from the targets down to the residuals of inverse kinematics. */
#ifndef HRC_MOTION_RETARGET_POSE_TERMS_H
#define HRC_MOTION_RETARGET_POSE_TERMS_H

#include "motion/retarget/bandsolve.h"
#include "motion/retarget/refine.h"
#include "robot/capsules.h"

/* Residuals of one frame and their derivatives, added to its normal equations. Unknowns of a frame (HRC_NV):
 * root position (world), root turn (a rotation vector in the world, applied from the left), joints. A term
 * of weight w adds w^2 |r + J dx|^2 / 2: h += w^2 J'J, g -= w^2 J'r. */
typedef struct {
    double (*h)[BAND_N]; /* upper triangle */
    double *g;
    const fk_pose *pose;
} ik_frame;

void ik_clear(ik_frame *f); /* the unknown that only fills up the block gets 1 on its diagonal */

/* A point at `at` (world) of a link to `target`; weight for x, y and z. */
void ik_position(ik_frame *f, int link, const double at[3], const double target[3], const double weight[3]);

/* Lift a point by `by`. */
void ik_height(ik_frame *f, int link, const double at[3], double by, double weight);

/* Push two points of two links apart along unit vector n (from a to b) by `by`. */
void ik_apart(ik_frame *f, int link_a, const double a[3], int link_b, const double b[3], const double n[3],
              double by, double weight);

/* A single unknown by `by`. */
void ik_shift(ik_frame *f, int unknown, double by, double weight);

/* Unknowns that sit at their limit and want further: taken out of the frame. fixed (HRC_NV). */
void ik_hold_limits(const ik_frame *f, const double *qpos, bool *fixed);

/* qpos moved along dx, no unknown by more than `most`; joints stay inside their limits. */
void ik_move(double *qpos, const double *dx, double most);

/* Where a plant holds its point of the sole; x, y. */
typedef struct {
    double at[2];
    bool holds; /* the robot's sole is near the floor there */
} plant_hold;

typedef struct {
    bool active;
    double depth; /* m, in the last step */
} contact;

/* The contacts of a frame: each end of each capsule with the floor, each pair of capsules. */
typedef struct {
    contact floor[G1_GEOMS][2];
    contact self[CAPSULE_PAIRS];
} contact_state;

typedef struct {
    const motion_problem *problem;
    plant_hold *holds;       /* (nplants) */
    double (*clearance)[2];  /* (n) height that the soles keep over the floor, left and right, m */
    contact_state *touching; /* (n) */
    capsule_pair pairs[CAPSULE_PAIRS];
    int npairs;
} scene;

hrc_status scene_create(scene *s, const motion_problem *p, arena *memory, hrc_error *err);

void add_target_terms(ik_frame *f, const motion_problem *p, int frame, int stage, const double *foot_share);
/* What the terms of stage 2 cost at qpos. */
double target_cost(const motion_problem *p, const double *qpos, int frame);

void add_posture_terms(ik_frame *f, const double *qpos);
void add_scene_terms(ik_frame *f, const scene *s, int frame);

/* After a step dx from `pose` was found: a contact stays active when it is still inside after the step (to
 * first order), that is, when it pushed; one that would have to pull is let go. */
void scene_settle(const scene *s, int frame, const fk_pose *pose, const double *dx);

/* How much of a foot's own position target counts: less while a plant holds it. share: left, right. */
void foot_shares(double share[2], const scene *s, int frame);

#endif
