/* The terms of one frame's cost, from the targets down to the residuals of ik.h. */
#ifndef HRC_MOTION_RETARGET_POSE_TERMS_H
#define HRC_MOTION_RETARGET_POSE_TERMS_H

#include "motion/retarget/ik.h"
#include "motion/retarget/refine.h"

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
