/* Rewards of the paper's table and terminations, from a robot's kinematics and one frame of the reference.
 *
 * Tracking: w exp(-E / sigma^2), E the squared error norm, for links its mean over the 14 tracked. Root
 * velocities are compared each in its own root frame, link velocities in the world. Relative targets of links
 * forgive position over the floor and heading: with D the heading from the reference's root to the robot's,
 *   p^ = (robot x, robot y, reference z) + D (p_ref - root_ref),   q^ = D q_ref.
 * Penalties: squared change of the action; radians beyond the soft limits, both sides; links but feet and
 * hands that touch with more than 1 N. */
#ifndef HRC_SIM_REWARD_H
#define HRC_SIM_REWARD_H

#include "base/config.h"
#include "robot/fk.h"
#include "robot/state.h"
#include "sim/reference.h"
#include "sim/sim.h"

#define REWARD_TRACKING(X)                                                                                   \
    X(root_pos) X(root_rot) X(root_lin) X(root_ang) X(body_pos) X(body_rot) X(body_lin) X(body_ang)
#define REWARD_PENALTIES(X) X(action_rate) X(joint_limit) X(contact)

enum {
#define X(name) REWARD_##name,
    REWARD_TRACKING(X) REWARD_NTRACKING,
    REWARD_before_penalties = REWARD_NTRACKING - 1,
    REWARD_PENALTIES(X) REWARD_TERMS
#undef X
};

extern const char *const REWARD_NAME[REWARD_TERMS];

typedef struct {
    double weight[REWARD_TERMS]; /* negative for penalties */
    double sigma[REWARD_NTRACKING];
} reward_weights;

reward_weights reward_from_config(const config *cfg); /* the paper's, but for reward.action_rate */

/* The robot's side, from its state. */
typedef struct {
    g1_state state;
    fk_pose pose;
    fk_velocity velocity;
} robot_view;

void robot_look(robot_view *v, const double *qpos, const double *qvel);

/* Weighted terms, before the factor dt; contact (G1_LINKS) in N. Returns their sum. */
double reward_terms(double terms[REWARD_TERMS], const reward_weights *w, const robot_view *robot,
                    const ref_frame *ref, const float action[HRC_JOINTS], const float previous[HRC_JOINTS],
                    const double contact[G1_LINKS]);

/* Share of the highest tracking reward, 0 .. 1. */
double reward_score(const reward_weights *w, const double terms[REWARD_TERMS]);

/* ---- Terminations ---- */

typedef enum {
    END_NONE,
    END_HEIGHT,      /* failures: height of the root */
    END_ORIENTATION, /* vertical part of the gravity direction, or the whole angle */
    END_EFFECTOR,    /* height of a foot or hand */
    END_DIVERGED,    /* physics gave non-finite numbers */
    END_CLIP,        /* time-outs: the clip is over */
    END_EPISODE,     /* the longest episode */
    END_KINDS
} end_kind;

extern const char *const END_NAME[END_KINDS];

static inline bool end_is_failure(end_kind kind)
{
    return kind >= END_HEIGHT && kind <= END_DIVERGED;
}

typedef struct {
    double height, low, leap; /* m, of the root: anywhere else, near the ground, in flight */
    double gravity;           /* vertical part of its direction */
    double angle;             /* rad, of the root; 0: never */
    double effector;          /* m, height of a foot or hand; near the ground `low` if that is more */
} end_rules;

#define END_LOW_LOOSE_M 0.75 /* near the ground, for a robot that may get up its own way */

/* Those of BeyondMimic, with SONIC's looser one near the ground. */
extern const end_rules END_RULES;

end_kind end_check(const end_rules *r, const robot_view *robot, const ref_frame *ref);

#endif
