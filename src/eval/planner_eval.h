/* How good plans are without physics, on clips that training never saw. A start is a frame of a clip, the
 * target the frame some time ahead; the plan's keyframes are held against the motion's own.
 *
 *   planner  told when the target is due, if it is one that listens (plan/baseline.h)
 *   untold   the same planner without being told: it takes 0.2 s, or up to 2 s from the ground
 * Rivals that need no learning:
 *   hold     stays in the pose
 *   linear   straight line (slerp) that arrives at the target at the end of the 0.2 s
 *   cubic    the same path with an ease-in and ease-out
 *   timed    told when the target is due: straight line that arrives then */
#ifndef HRC_EVAL_PLANNER_EVAL_H
#define HRC_EVAL_PLANNER_EVAL_H

#include "base/pool.h"
#include "motion/clip.h"
#include "plan/planner.h"

#define PLAN_DISTANCES 4
extern const double PLAN_DISTANCE_S[PLAN_DISTANCES]; /* 0.2, 0.5, 1, 2 */

enum { BY_PLANNER, BY_UNTOLD, BY_HOLD, BY_LINEAR, BY_CUBIC, BY_TIMED, PLAN_METHODS };
extern const char *const PLAN_METHOD[PLAN_METHODS];

typedef struct {
    double joint_rad; /* L2 over 29 joints, mean over keyframes 1..7 and starts */
    double root_cm;
    double ori_rad;
} plan_error;

typedef struct {
    int starts; /* per distance */
    plan_error error[PLAN_DISTANCES][PLAN_METHODS];
    plan_error identity[2]; /* dense plan against the reference's next 0.2 s, on the reference: target H
                               frames ahead, and the current frame */
    double limit_share;     /* of plans with a joint beyond its limits before clamping */
    double first_frame;     /* largest difference of keyframe 0 and the state */
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

/* Replans every 40 ms from its own output until the target is reached or the time is up: motion without
 * physics. target_at gives the target frame for the time; frames of the chain go to qpos (max_frames,
 * HRC_NQ), the number made is returned. A plan that the guard refuses ends the chain. */
int planner_chain(planner *p, const float start[HRC_NQ],
                  void (*target_at)(void *ctx, int frame, float out[HRC_NQ]), void *ctx, float *qpos,
                  int max_frames);

#endif
