/* How good plans are without physics, on clips that training never saw. A start is a frame of a clip; the
 * reference is the clip's own window some time later, so that the robot is off it by what people do in that
 * time. The plan's keyframes are held against what the motion does.
 *
 *   planner    what the network writes
 *   base       the same plan with nothing written (plan/anchor.h)
 * Rivals that need no learning:
 *   hold       stays in the pose
 *   reference  is where the reference is */
#ifndef HRC_EVAL_PLANNER_EVAL_H
#define HRC_EVAL_PLANNER_EVAL_H

#include "base/pool.h"
#include "motion/clip.h"
#include "plan/planner.h"

#define PLAN_DISTANCES 4
extern const double PLAN_DISTANCE_S[PLAN_DISTANCES]; /* 0.2, 0.5, 1, 2 */

enum { BY_PLANNER, BY_BASE_ALONE, BY_HOLD, BY_REFERENCE, PLAN_METHODS };
extern const char *const PLAN_METHOD[PLAN_METHODS];

typedef struct {
    double joint_rad; /* L2 over 29 joints, mean over keyframes 1..7 and starts */
    double root_cm;
    double ori_rad;
} plan_error;

typedef struct {
    int starts; /* per distance */
    plan_error error[PLAN_DISTANCES][PLAN_METHODS];
    plan_error identity; /* the plan of a robot that is on its reference, against the reference */
    double limit_share;  /* of plans with a joint beyond its limits before clamping */
    long verdicts[PLAN_VERDICTS];
    double skate_p90;      /* of chained plans toward frames of the clip, m/s while planted; NAN: no plants */
    double skate_clip_p90; /* of the clips themselves over the same frames */
    double diversity_fallen; /* rad: spread of the last keyframe over seeds (L2 over joints) from poses on the
                                ground toward standing */
    double diversity_nominal; /* the same on the reference */
    double plan_ms;           /* mean time of a plan on one thread */
} planner_report;

/* progress may be NULL. One planner per thread of the pool. */
hrc_status planner_evaluate(planner_report *out, const plan_model *m, const planner_options *options,
                            const clip *clips, int nclips, int starts, uint64_t seed, pool *threads,
                            void (*progress)(void *ctx, double fraction), void *ctx, hrc_error *err);

/* The question of a robot that moves like this. window: H + 1 frames of the reference, which are copied. */
void question_make(plan_question *q, const float state[HRC_NQ], const float qvel[HRC_NV],
                   const float (*window)[HRC_NQ], int horizon);

/* Replans every 40 ms from its own output: motion without physics. window_at gives the reference's window (H
 * + 1, HRC_NQ) for the time; frames of the chain go to qpos (max_frames, HRC_NQ), the number made is
 * returned. A plan that the guard refuses ends the chain. */
int planner_chain(planner *p, int horizon, const float start[HRC_NQ],
                  void (*window_at)(void *ctx, int frame, float (*out)[HRC_NQ]), void *ctx, float *qpos,
                  int max_frames);

#endif
