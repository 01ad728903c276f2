/* Inside src/sim: one world of the environment, and how an episode begins. */
#ifndef HRC_SIM_ENV_WORLD_H
#define HRC_SIM_ENV_WORLD_H

#include "plan/offset.h"
#include "sim/env.h"
#include "track/observe.h"

#define TRAIL 32 /* steps kept for a dump */

typedef struct {
    double qpos[HRC_NQ], qvel[HRC_NV], target[HRC_JOINTS];
} trail_point;

/* A motion, a moment of it, and how many frames of it go by in a step. */
typedef struct {
    int clip;
    double at, pace;
    bool mirrored;
} env_place;

typedef struct {
    sim_world sim;
    rng dice;
    int clip, first, steps; /* first: frame where what is judged as one piece began */
    bool mirrored;
    double at, pace; /* the reference's time, in frames of the clip, and how many of them it goes in a step */
    ref_frame now;   /* the reference there */
    bool anchored;   /* the policy is shown the reference by way of `anchor` */
    plan_offset anchor;
    bool rehearsed;            /* the policy is shown the original of the rehearsal it is taught */
    bool guided;               /* the policy is shown another motion than the get-up it is taught */
    env_place shown;           /* in either case: this one, */
    double shown_yaw;          /* turned so far about the vertical, rad, */
    double stands_at;          /* until the get-up stands: its time then, in frames */
    bool hard, lost;           /* it goes on beyond the bounds; it is beyond them */
    int within;                /* steps since it was */
    double lost_at;            /* the reference's time when it left them */
    double next_push_s;        /* time until it */
    double offset[HRC_JOINTS]; /* calibration error of the joints' zero, rad */
    float action[HRC_JOINTS];  /* the last one */
    obs_history history;
    env_after after;
    double score;               /* sum of this episode */
    double terms[REWARD_TERMS]; /* of the last step */
    env_episode ended;          /* .end END_NONE: none in the last step */
    env_episode piece;          /* likewise: for where episodes begin (env_starts.ended) */
    trail_point trail[TRAIL];
    int64_t trail_n;
} env_one;

typedef struct {
    bool randomise, perturb;
    double start_noise, push_scale;
    double friction_min, com_x, com_yz;
    double perturb_ang_vel, perturb_rotation, sensor_noise;
    double fallen_share, guided_share, toppled_share, restart_share;
    double anchored, paced;
    double hard_share, give_up;
    double hardness; /* factor on shares and pushes of hard episodes now, 0 .. 1 */
    int lead, longest;
    obs_rotation rotation;
    action_basis basis;
} env_options;

env_options env_options_of(const config *cfg, double period);

/* At a frame that was drawn: which side, and how fast. */
env_place draw_place(env_one *w, const references *refs, const env_options *o, int which, int frame);

/* Reference-state initialisation there, and what is drawn anew in every episode. */
void start_episode(env_one *w, const sim *s, const references *refs, const env_options *o, env_place place);
/* Its parts: a new episode of this world; the robot's state with what is drawn anew. */
void begin_episode(env_one *w, const references *refs, const env_options *o, env_place place);
void place_robot(env_one *w, const sim *s, const env_options *o, const double *qpos, const double *qvel);

/* The policy is shown another motion than it is taught. */
static inline bool shows_another(const env_one *w)
{
    return w->guided || w->rehearsed;
}

/* The reference that the policy is shown, so many frames after its present time: as it is, and by way of the
 * anchor where there is one. */
void shown_reference(float qpos[HRC_NQ], float qvel[HRC_NV], const env_one *w, const references *refs,
                     int ahead);
void shown_frame(float qpos[HRC_NQ], float qvel[HRC_NV], const env_one *w, const references *refs, int ahead);

void maybe_push(env_one *w, const env_options *o, double share, double period);

/* Noise on what the policy sees of the reference; sensor noise on proprioception. */
void perturb_window(env_one *w, const env_options *o, float window[OBS_WINDOW]);
void perturb_proprio(env_one *w, const env_options *o, float p[OBS_P]);

/* A state_check for a block of env_one; ctx: the references. */
hrc_status env_check_worlds(const void *refs, const void *data, int64_t bytes, hrc_error *err);

#endif
