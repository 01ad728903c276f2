/* What a planner is asked, and what its plan is counted from.
 *
 * Anchored (the default): with p the robot's pose, R(t) the reference from now on, w where the plan under way
 * has the robot now, and u_k = k / (K-1),
 *
 *   base_k     = R(t_k) + a (1 - u_k) (p - R(0))
 *   keyframe_k = (1 - l) base_k + l (w + sigma_k x_k)
 *
 * a (plan_yield) says how much of what the robot is off its reference the plan takes over, l (plan_lost) how
 * much the robot is lost; x is what the flow writes. So near the reference the plan is the reference,
 * whatever the network says, and a lost robot follows plans alone, each the continuation of the one before:
 * counted from the reference instead, what is left of an error of the network would pull every plan back to
 * the robot. The root's offset on the floor and in height is kept, not closed: closing 10 cm in 0.2 s would
 * show the tracker half a metre a second that is in no reference. a stays under 1 because a reference that
 * comes all the way to the robot asks nothing of it.
 *
 * Paper: keyframe_k = p + sigma_k x_k, with pose and target R(H) as the condition.
 *
 * Poses are written as tokens of D = 38 numbers in the heading frame of the state: joints 29, travel of the
 * root since now 3, orientation of the root as 6D rotation 6. */
#ifndef HRC_PLAN_ANCHOR_H
#define HRC_PLAN_ANCHOR_H

#include <stdbool.h>

#include "plan/densify.h"
#include "plan/offset.h"

/* ---- The heading frame of the state ---- */

/* What the planner sees of a pose, as D numbers in the heading frame of the current state: origin on the
 * floor under its root, x where it heads. So a model knows neither where the robot stands nor where it faces.
 *
 * D = 38: joints 29, root position 3, root orientation as 6D rotation 6.
 * D = 35: without the root position: only what encoders and an IMU give. */

#define PLAN_D 38
#define PLAN_D_BLIND 35 /* without root position */

typedef struct {
    float x, y;   /* origin, m */
    float yaw[4]; /* heading as a rotation about the vertical */
} plan_frame;

static inline int plan_has_position(int D)
{
    return D == PLAN_D;
}

static inline int plan_root_at(void)
{
    return HRC_JOINTS; /* D = 38 only */
}

static inline int plan_rot_at(int D)
{
    return D - 6;
}

plan_frame plan_frame_of(const float qpos[HRC_NQ]);

void plan_encode(float *out, int D, const plan_frame *frame, const float qpos[HRC_NQ]);

/* ---- The question, and what its answer is counted from ---- */

typedef enum { PLAN_ANCHORED, PLAN_PAPER } plan_form;

/* Which question a model was trained on; part of its file. */
typedef struct {
    plan_form form;
    int horizon;     /* H, frames that the keyframes span */
    bool position;   /* height and travel of the root are seen; off: encoders and IMU only */
    bool velocities; /* the rest is of the anchored form */
    bool under_way;
} plan_layout;

typedef struct {
    float state[HRC_NQ], qvel[HRC_NV];
    float reference[PLAN_MAX_H + 1][HRC_NQ]; /* R(0..H) at 50 Hz */
    float under_way[HRC_NQ]; /* where the plan under way has the robot now, without one the state; its
                                position on the floor and its height are not seen: plans begin at the robot's
                                own, guides do not */
} plan_question;

#define PLAN_COND_MAX (4 * PLAN_D + 1 + HRC_NV)

/* The numbers a planner is normalised with: statistics of its corpus, stored in the model. */
typedef struct {
    float cond_mean[PLAN_COND_MAX], cond_std[PLAN_COND_MAX]; /* (plan_condition_size) */
    float residual_std[PLAN_K * PLAN_D];                     /* (K,D): of each keyframe's x */
} plan_scales;

int plan_condition_size(const plan_layout *l);
void plan_condition(float *cond, const plan_layout *l, const plan_question *q);

/* Tokens (K,D) of the base, for a robot in the state `from`: the question's own, or, in training, the
 * clean one before noise. */
void plan_base(float base[PLAN_K][PLAN_D], const plan_layout *l, const plan_question *q,
               const float from[HRC_NQ]);

/* ... and what x is counted from: (1 - l) base + l w. */
void plan_continue(float base[PLAN_K][PLAN_D], const plan_layout *l, const plan_question *q, float lost);

/* The unit of x beside sigma: l, and 1 in the paper's form. */
float plan_unit(const plan_layout *l, float lost);

/* origin: the pose that travel is counted from. */
void plan_token(float out[PLAN_D], const plan_frame *frame, const float origin[HRC_NQ],
                const float qpos[HRC_NQ]);
void plan_pose(float qpos[HRC_NQ], const plan_frame *frame, const float origin[HRC_NQ],
               const float token[PLAN_D]);

#endif
