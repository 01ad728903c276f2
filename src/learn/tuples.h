/* Training tuples of the planner (paper 3.4), from two sources.
 *
 * Clips at 50 Hz: a start frame, a segment of log-uniform length l in [H, l_max] that begins there, K
 * keyframes spread over its first H frames, and as the reference the H frames up to the segment's end: what
 * the motion does shortly before it is there. The start state and its velocities are perturbed (the robot
 * never is where the motion is); each tuple scales its perturbation by u^2, u uniform in 0..1: states on the
 * motion and states far off it are both seen. Keyframes stay clean, and x is counted from the clean state's
 * base, so noise does not ask for a correction.
 *
 * Practice (lessons.h): states of the simulated robot, and what led it back. Labels are drawn by the square
 * root of how many lessons they have, so that what is easy and frequent does not win.
 *
 * A tuple depends on its random stream alone, so batches are the same for any number of threads. */
#ifndef HRC_LEARN_TUPLES_H
#define HRC_LEARN_TUPLES_H

#include <stdbool.h>

#include "base/arena.h"
#include "base/pool.h"
#include "base/rng.h"
#include "learn/lessons.h"
#include "plan/anchor.h"

typedef struct {
    plan_layout layout;
    int stride;                              /* frames between starts */
    int max_segment;                         /* l_max, frames */
    bool noise;                              /* perturb the start */
    bool weighted;                           /* kinematics-aware weights; otherwise all 1 */
    int low_repeat;                          /* how often a start near the ground counts: get-ups are rare */
    float noise_joint, noise_pos, noise_rot; /* largest standard deviations: rad, m, rad */
    float practice;                          /* share of tuples from practice, where there is any */
} tuple_options;

typedef struct tuple_set tuple_set;

/* Copies what it needs of the clips: qpos (n, HRC_NQ) each. Clips shorter than H + 1 frames give nothing. */
typedef struct {
    const float *qpos;
    int n;
} tuple_clip;

/* practice is borrowed; NULL: none. */
hrc_status tuples_create(tuple_set **out, const tuple_clip *clips, int nclips, const lessons *practice,
                         const tuple_options *options, pool *threads, hrc_error *err);
void tuples_free(tuple_set *set);
int tuples_count(const tuple_set *set);       /* number of starts, repeated ones too */
uint64_t tuples_digest(const tuple_set *set); /* of all frames and options: a resumed run must see the same */

/* Draws where it is from, too. cond (plan_condition_size), residual: x before it is divided by sigma (K, D),
 * weight (K, D), of clips mean 1 per dimension over the set. */
void tuple_draw(const tuple_set *set, rng *r, float *cond, float *residual, float *weight);

/* The same from this start of a clip; returns how much of what the network writes reaches the plan
 * (plan_unit). */
float tuple_make(const tuple_set *set, int start, rng *r, float *cond, float *residual, float *weight);

/* Over a sample of tuples: mean and standard deviation of every condition channel, and the root mean square
 * of every residual channel of each keyframe. */
void tuples_measure(const tuple_set *set, uint64_t seed, plan_scales *out);

/* Kinematics-aware weight of one pose, not yet normalised: w_d = sum over the tracked links of
 * |d p_b / d q_d|^2. Joints from the Jacobian's columns; a root position channel moves all links alike; a
 * channel of the 6D orientation acts through its Gram-Schmidt rotation, by central differences. */
void kinematic_weight(float w[PLAN_D], const float qpos[HRC_NQ]);

#endif
