/* The tracking environment: many worlds, each following a motion from some frame on.
 *
 * One step: action -> joint targets -> physics of one control period -> reference one frame on -> reward and
 * termination against that frame -> where an episode ended, a new one begins -> pushes -> observation. The
 * first frame of the observed window lies OBS_LEAD frames after the robot's time.
 *
 * Every world owns a stream of random numbers and depends on nothing but itself and the starts, which change
 * only between steps; so any number of threads gives the same bits. */
#ifndef HRC_SIM_ENV_H
#define HRC_SIM_ENV_H

#include "base/rng.h"
#include "base/state.h"
#include "base/text.h"
#include "sim/reward.h"
#include "track/observe.h"

typedef struct env env;

/* How an episode went; given to `ended` in the order of worlds. Of hard episodes `ended` is told each piece
 * within the bounds, as an episode that ends where it leaves them. */
typedef struct {
    int clip, first, last; /* frames: where it began and ended */
    int steps;
    double score; /* mean share of the highest tracking reward */
    end_kind end;
} env_episode;

/* Where episodes begin. `draw` is called from any thread and must not change anything but the stream. */
typedef struct {
    void *ctx;
    void (*draw)(const void *ctx, rng *r, int *which, int *frame);
    void (*ended)(void *ctx, const env_episode *e); /* may be NULL; called by one thread between steps */
} env_starts;

/* What a step writes, into the caller's arrays; NULL: not wanted. n worlds. */
typedef struct {
    float *proprio;     /* (n, OBS_PROPRIO), raw */
    float *window;      /* (n, OBS_WINDOW), raw */
    float *critic;      /* (n, OBS_CRITIC), raw */
    float *reward;      /* (n): sum of terms times dt */
    float *terms;       /* (n, REWARD_TERMS), before dt */
    uint8_t *end;       /* (n): end_kind; END_NONE while the episode goes on */
    float *last_critic; /* (n, OBS_CRITIC): rows of worlds whose episode ended: what it ended with, for the
                           value at a time-out */
} env_arrays;

/* starts NULL: uniform over all frames but the last. References and pool are borrowed. */
hrc_status env_create(env **out, const config *cfg, const end_rules *rules, const references *refs,
                      int worlds, uint64_t seed, const env_starts *starts, pool *threads, hrc_error *err);
void env_free(env *e); /* NULL is fine */
int env_worlds(const env *e);
const references *env_references(const env *e);
double env_mujoco_s(const env *e); /* seconds that all threads have spent inside mj_step */

/* Pushes of `share` of the configured strength from now on, 0 .. 1: for a gentle beginning. */
void env_push_share(env *e, double share);

/* Hard episodes are `share` as frequent, and their pushes as strong, as configured from now on, 0 .. 1. */
void env_hardness(env *e, double share);

/* Robots on the ground lack this share of their weight from now on, 0 .. 1 (sim_params.light). */
void env_light(env *e, double share);

void env_reset(env *e, const env_arrays *out);                      /* all worlds */
void env_step(env *e, const float *actions, const env_arrays *out); /* actions (n, HRC_JOINTS), unscaled */

/* The physical state after the last step, before a new episode or a push changed it; for models of the world
 * and for rollouts. */
typedef struct {
    double qpos[HRC_NQ], qvel[HRC_NV], target[HRC_JOINTS];
    int clip;
    bool mirrored;
    double at, pace; /* the reference's time when the step began, in frames, and how many of them it went */
    bool anchored;   /* it was shown by way of plan/offset.h */
    int shown_clip; /* what the policy was shown instead of it, -1 if nothing: clip, side, time, pace, turn */
    bool shown_mirrored;
    double shown_at, shown_pace, shown_yaw;
    bool lost; /* when the step began the robot of a hard episode was beyond the bounds */
} env_after;

const env_after *env_last(const env *e, int world);
const sim_world *env_world(const env *e, int world); /* as the next step will find it */

/* Everything that the steps to come depend on, and the counts. Worlds are stored as this build lays them out:
 * another build may refuse them. */
void env_state(env *e, state_list *l, const char *prefix);

/* ---- Diagnosis ---- */

typedef struct {
    int64_t steps, episodes;
    int64_t ends[END_KINDS];
    double terms[REWARD_TERMS]; /* sums over steps, weighted, before dt */
    double score;               /* sum over steps */
    int64_t lost;               /* steps that began beyond the bounds, of hard episodes */
} env_counts;

env_counts env_count(const env *e); /* since the last clear */
void env_clear(env *e);

/* Sentences: how long episodes last, what ends them, on which clips most. */
void env_diagnose(const env *e, text *out);

/* The last states and targets of the first world whose physics diverged, oldest first, as a safetensors file
 * (qpos, qvel, target). HRC_EINVAL when none did. */
hrc_status env_dump(const env *e, const char *path, hrc_error *err);

#endif
