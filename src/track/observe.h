/* What the tracker sees: the one builder for training, evaluation and the robot. No allocation, no state but
 * the history. Every number is given in a frame that turns with the robot or with the reference, so that
 * nothing depends on where the robot stands or faces.
 *
 * Proprioception p (93), history of 10, oldest first, so p(t) is the last row:
 *   0  gravity 3       unit vector down, in the root frame
 *   3  ang_vel 3       of the root, root frame, rad/s
 *   6  q - q0 29       rad
 *  35  qd 29           rad/s
 *  64  action 29       the policy's previous output, unscaled; 0 after a reset
 *
 * Reference frame m (41), window of 10 frames, earliest first:
 *   0  lin_vel 3       of the reference's root, in its own root frame, m/s
 *   3  ang_vel 3       likewise, rad/s
 *   6  rotation 6      first two columns (R00 R01 R10 R11 R20 R21) of R^T R_ref, R the robot's root; or of
 *                      R_ref R^T as the paper prints it, which changes with the heading
 *  12  q 29            rad
 *
 * Critic (628): clean p(t) and window, then what only a simulator knows. */
#ifndef HRC_TRACK_OBSERVE_H
#define HRC_TRACK_OBSERVE_H

#include "robot/fk.h"
#include "robot/g1.h"
#include "robot/state.h"

enum {
    OBS_GRAVITY = 0,
    OBS_ANG_VEL = 3,
    OBS_Q = 6,
    OBS_QD = OBS_Q + HRC_JOINTS,
    OBS_ACTION = OBS_QD + HRC_JOINTS,
    OBS_P = OBS_ACTION + HRC_JOINTS, /* 93 */
    OBS_LEAD = 1, /* frames from the robot's time to the window's first: the one the action should reach */
    OBS_HISTORY = 10,
    OBS_PROPRIO = OBS_HISTORY * OBS_P, /* 930 */

    OBS_REF_LIN = 0,
    OBS_REF_ANG = 3,
    OBS_REF_ROT = 6,
    OBS_REF_Q = 12,
    OBS_M = OBS_REF_Q + HRC_JOINTS, /* 41 */
    OBS_FRAMES = 10,
    OBS_WINDOW = OBS_FRAMES * OBS_M, /* 410 */

    OBS_CRITIC_P = 0,                                                 /* p(t) without noise */
    OBS_CRITIC_WINDOW = OBS_CRITIC_P + OBS_P,                         /* likewise */
    OBS_CRITIC_POS = OBS_CRITIC_WINDOW + OBS_WINDOW,                  /* R^T (reference root - root) 3, m */
    OBS_CRITIC_LIN = OBS_CRITIC_POS + 3,                              /* root velocity, root frame 3, m/s */
    OBS_CRITIC_HEIGHT = OBS_CRITIC_LIN + 3,                           /* of root and reference root 2, m */
    OBS_CRITIC_BODY_POS = OBS_CRITIC_HEIGHT + 2,                      /* 13 tracked links, root frame, m */
    OBS_CRITIC_BODY_ROT = OBS_CRITIC_BODY_POS + 3 * (G1_TRACKED - 1), /* their 6D orientations, root frame */
    OBS_CRITIC = OBS_CRITIC_BODY_ROT + 6 * (G1_TRACKED - 1),          /* 628 */
};

typedef enum { OBS_BODY, OBS_WORLD } obs_rotation; /* R^T R_ref, or the paper's R_ref R^T */

obs_rotation obs_rotation_mode(const char *word); /* a word of the setting tracker.rotation */

/* One dense frame of a reference, as clips and plan/densify.h give them. */
typedef struct {
    const float *qpos; /* (HRC_NQ) */
    const float *qvel; /* (HRC_NV), MuJoCo's frames: linear world, angular root */
} obs_frame;

typedef struct {
    float p[OBS_HISTORY][OBS_P]; /* oldest first */
} obs_history;

/* q0: the default pose the policy reckons from (in training with the encoders' offsets). */
void obs_proprio(float p[OBS_P], const g1_state *s, const double q0[HRC_JOINTS],
                 const float action[HRC_JOINTS]);

void obs_history_fill(obs_history *h, const float p[OBS_P]); /* after a reset: ten times the first one */
void obs_history_push(obs_history *h, const float p[OBS_P]);

void obs_reference(float m[OBS_M], obs_frame frame, const double root_quat[4], obs_rotation mode);
void obs_window(float out[OBS_WINDOW], const obs_frame frames[OBS_FRAMES], const double root_quat[4],
                obs_rotation mode);

/* p and window are the clean ones; pose is that of the robot; now is the reference at the robot's own time.
 */
void obs_critic(float out[OBS_CRITIC], const float p[OBS_P], const float window[OBS_WINDOW],
                const g1_state *s, const fk_pose *pose, obs_frame now);

/* The layout in words, kept in policy files: a file with another one is refused. */
#define OBS_LAYOUT                                                                                           \
    "p: gravity 3, ang_vel 3, q-q0 29, qd 29, action 29; history 10 oldest first; "                          \
    "m: lin_vel 3, ang_vel 3, rot6d 6, q 29; window 10"

/* ---- Joint targets ---- */

/* From the policy's output to joint targets for the PD law. Three bases:
 *   default     q0 + scale a      (the paper's)
 *   reference   q_ref + scale a   q_ref: the first frame of the window the policy saw
 *   ahead       likewise, q_ref the fourth frame: the overdamped PD law follows kd / kp = 64 ms late, about
 *               three frames, so aiming that far ahead puts the joints where the reference is */
typedef enum { BASIS_DEFAULT, BASIS_REFERENCE, BASIS_AHEAD } action_basis;

action_basis action_basis_of(const char *word); /* a word of the setting tracker.basis */
const char *action_basis_name(action_basis basis);
int action_frame(action_basis basis); /* of the window, 0 first: which one q_ref is */

/* offset (29): calibration error of the joints' zero in training, else NULL. */
void action_target(double target[HRC_JOINTS], action_basis basis, const float action[HRC_JOINTS],
                   const float q_ref[HRC_JOINTS], const double *offset);

#endif
