/* What thinks on the robot: the library's closed loop (heracles.h) fed by encoders and IMU, following one
 * motion, with its planner apart. brain_step belongs to one thread, brain_plan to another; both are functions
 * of their input and of what came before, so that a recording can be thought again.
 *
 * Where the robot stands is not known: it is taken to stand at the origin on its lowest point, the planner
 * must be of the kind that does without (35 numbers), and the heading of the motion is turned to the robot's
 * when the policy starts.
 *
 * A plan that is not there when the next one is due is a miss. After one the last plan goes on; after two the
 * reference passes through; after a second of them the pilot is told, which asks for the way down: an epoch
 * with EPOCH_LOWER goes on from the present reference along lower.h. */
#ifndef HRC_DEPLOY_BRAIN_H
#define HRC_DEPLOY_BRAIN_H

#include "deploy/pilot.h"
#include "motion/clip.h"

typedef struct brain brain;

typedef struct {
    const hrc_model *tracker, *planner;      /* borrowed; planner NULL: the tracker alone */
    const char *tracker_path, *planner_path; /* where they are from, for their hashes */
    const char *motion;                      /* any clip that `heracles motion info` reads */
    const config *cfg;                       /* section [control] */
    uint64_t seed;
    clip_options reading; /* of the motion */
} brain_setup;

typedef struct {
    uint32_t epoch; /* 0: none */
    hrc_plan_request ask;
} brain_request;

/* Laid out as recorded. */
typedef struct {
    int64_t step, ns, took_ns;
    uint32_t epoch;  /* 0: none yet */
    int32_t verdict; /* hrc_verdict */
    float keyframes[HRC_KEYFRAMES][HRC_NQ];
    double span_s;
} brain_plan;

typedef struct {
    const robot_state *state;
    uint32_t number, epoch; /* of the state; of the pilot's request */
    int64_t ns;
    const brain_plan *plan; /* the latest, NULL: none */
} brain_input;

/* Laid out as recorded. */
typedef struct {
    pilot_target target;
    int64_t plan_step;   /* of the plan that came with this step */
    uint32_t plan_epoch; /* 0: none came */
    int32_t frame;       /* of the motion */
    int32_t planned;     /* the tracker was given a plan */
    int32_t misses;      /* plans in a row that were late */
    float gap_rad, rewrite_rad;
    float reference[HRC_JOINTS];
} brain_output;

hrc_status brain_create(brain **out, const brain_setup *setup, hrc_error *err);
void brain_free(brain *b); /* NULL is fine */

const float *brain_first(const brain *b); /* (29) first pose of the motion */
int brain_frames(const brain *b);         /* of the motion */
float *brain_reference(brain *b); /* (frames, HRC_NQ), for tests of what happens when memory is spoiled */
uint64_t brain_hash(const brain *b, int which); /* of the files: 0 tracker, 1 planner (0: none), 2 motion */

/* What encoders and IMU say of the pose: at the origin, standing on the lowest point. */
void brain_pose(double qpos[HRC_NQ], const robot_state *s);

void brain_step(brain *b, const brain_input *in, brain_output *out);
bool brain_wants(brain *b, brain_request *out); /* after brain_step */
void brain_think(brain *b, const brain_request *request, int64_t ns, brain_plan *out);

void brain_reset(brain *b); /* as created */

/* Runs both a few times on this state, so that no memory is touched for the first time later; then forgets.
 * The longest step and plan in ms. */
void brain_warm(brain *b, const robot_state *s, double *step_ms, double *plan_ms);

#endif
