/* Inside src/sim: one world of the environment, and how an episode begins. */
#ifndef HRC_SIM_ENV_WORLD_H
#define HRC_SIM_ENV_WORLD_H

#include "sim/env.h"
#include "track/action.h"

#define TRAIL 32 /* steps kept for a dump */

typedef struct {
    double qpos[HRC_NQ], qvel[HRC_NV], target[HRC_JOINTS];
} trail_point;

typedef struct {
    sim_world sim;
    rng dice;
    int clip, first, frame, steps;
    bool mirrored;
    double next_push_s;        /* time until it */
    double offset[HRC_JOINTS]; /* calibration error of the joints' zero, rad */
    float action[HRC_JOINTS];  /* the last one */
    obs_history history;
    env_after after;
    double score;               /* sum of this episode */
    double terms[REWARD_TERMS]; /* of the last step */
    env_episode ended;          /* .end END_NONE: none in the last step */
    trail_point trail[TRAIL];
    int64_t trail_n;
} env_one;

typedef struct {
    bool push, randomise, perturb;
    double start_noise, push_min_s, push_max_s, push_scale;
    double friction_min, friction_max, com_x, com_yz, q0_offset;
    double perturb_joint, perturb_ang_vel, perturb_rotation, sensor_noise;
    double fallen_share;
    int lead, longest;
    obs_rotation rotation;
    action_basis basis;
} env_options;

env_options env_options_of(const config *cfg, double period);

static inline const ref_frame *ref_at(const references *refs, const env_one *w, int frame)
{
    const ref_clip *c = &refs->clips[w->clip];
    return &(w->mirrored ? c->mirrored : c->frames)[frame < c->n ? frame : c->n - 1];
}

/* Reference-state initialisation at clip, frame, and what is drawn anew in every episode. */
void start_episode(env_one *w, const sim *s, const references *refs, const env_options *o, int which,
                   int frame);
/* Its parts: a new episode of this world; the robot's state with what is drawn anew. */
void begin_episode(env_one *w, int which, int frame, bool mirrored);
void place_robot(env_one *w, const sim *s, const env_options *o, const double *qpos, const double *qvel);

void maybe_push(env_one *w, const env_options *o, double share, double period);

/* Noise on what the policy sees of the reference; sensor noise on proprioception. */
void perturb_window(env_one *w, const env_options *o, float window[OBS_WINDOW]);
void perturb_proprio(env_one *w, const env_options *o, float p[OBS_P]);

#endif
