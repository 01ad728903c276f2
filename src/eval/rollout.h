/* A recorded rollout: what the robot did, what it was asked to do, and what happened meanwhile. Stored as
 * safetensors: tensors qpos, and ref, target, torque when there; metadata format=heracles-rollout, name,
 * fps, joint_names and events (JSON: [{"t": seconds, "text": "..."}]). */
#ifndef HRC_EVAL_ROLLOUT_H
#define HRC_EVAL_ROLLOUT_H

#include <stdbool.h>

#include "base/arena.h"
#include "robot/g1.h"

typedef struct {
    double t_s;
    const char *text; /* "push 30 N s" */
} rollout_event;

typedef struct {
    arena memory; /* owns everything below after rollout_create or rollout_load */
    const char *name;
    double fps;
    int n;
    float *qpos;   /* (n, HRC_NQ): root position, root quaternion wxyz, joints */
    float *ref;    /* (n, HRC_NQ) or NULL */
    float *target; /* (n, HRC_JOINTS) joint targets of the PD law, rad, or NULL */
    float *torque; /* (n, HRC_JOINTS) N m, or NULL */
    int nevents;
    rollout_event *events; /* in order of time */
} rollout;

/* Which of the optional arrays to make. */
enum { ROLLOUT_REF = 1, ROLLOUT_TARGET = 2, ROLLOUT_TORQUE = 4 };

/* Frames zeroed, room for max_events (nevents is 0). */
hrc_status rollout_create(rollout *r, int n, double fps, const char *name, int arrays, int max_events,
                          hrc_error *err);
void rollout_free(rollout *r);

bool rollout_is_file(const char *path); /* a safetensors file that says it is one; never an error */
hrc_status rollout_load(rollout *r, const char *path, hrc_error *err);
hrc_status rollout_save(const rollout *r, const char *path, hrc_error *err);

#endif
