/* A recorded rollout: what the robot did, what it was asked to do, and what happened meanwhile. Stored as
 * safetensors: tensors qpos, and those of ROLLOUT_ARRAYS when there; metadata format=heracles-rollout, name,
 * fps, joint_names, events (JSON: [{"t": seconds, "text": "..."}]) and note. */
#ifndef HRC_EVAL_ROLLOUT_H
#define HRC_EVAL_ROLLOUT_H

#include <stdbool.h>

#include "base/arena.h"
#include "robot/g1.h"

typedef struct {
    double t_s;
    const char *text; /* "push 30 N s" */
} rollout_event;

/* Signals of a frame: how far the robot's joints are from the reference's, and those the tracker was given
 * (both L2 over 29, rad); 1 where they came from a plan; 1 where a plan was refused; how far the robot is off
 * its reference, 0 on it to 1 lost (hrc_report). */
enum { SIGNAL_GAP, SIGNAL_REWRITE, SIGNAL_PLANNED, SIGNAL_REFUSED, SIGNAL_OFF, SIGNALS };

/* Optional arrays (n, width), NULL when not there: member, width. */
#define ROLLOUT_ARRAYS(X)                                                                                    \
    X(ref, HRC_NQ)                    /* the reference, where it was placed */                               \
    X(target, HRC_JOINTS)             /* joint targets of the PD law, rad */                                 \
    X(torque, HRC_JOINTS)             /* N m */                                                              \
    X(signals, SIGNALS)               /* of the planner */                                                   \
    X(plan, (HRC_KEYFRAMES * HRC_NQ)) /* the last plan's keyframes; zeros before the first */                \
    X(qvel, HRC_NV)                   /* of rehearsals; target is then what was done in that state */

typedef struct {
    arena memory; /* owns everything below after rollout_create or rollout_load */
    const char *name;
    const char *note; /* any text its maker wants to keep; "" when there is none */
    double fps;
    int n;
    float *qpos; /* (n, HRC_NQ): root position, root quaternion wxyz, joints */
#define X(name, width) float *name;
    ROLLOUT_ARRAYS(X)
#undef X
    int nevents;
    rollout_event *events; /* in order of time */
} rollout;

/* Which of the optional arrays to make. */
enum {
    ROLLOUT_REF = 1,
    ROLLOUT_TARGET = 2,
    ROLLOUT_TORQUE = 4,
    ROLLOUT_SIGNALS = 8,
    ROLLOUT_PLAN = 16,
    ROLLOUT_QVEL = 32,
}; /* in the order of ROLLOUT_ARRAYS */

/* Frames zeroed, room for max_events (nevents is 0). */
hrc_status rollout_create(rollout *r, int n, double fps, const char *name, int arrays, int max_events,
                          hrc_error *err);
void rollout_free(rollout *r);

/* Frame i: the pose before a control step, and what the step commanded and applied, as far as that is kept.
 */
void rollout_robot(rollout *r, int i, const double qpos[HRC_NQ], const hrc_target *target,
                   const double torque[HRC_JOINTS]);

/* Frame i of ref, signals and plan, as far as they are there, from what the controller did. */
void rollout_control(rollout *r, int i, const hrc_report *report);

/* One more event; the caller has seen to room for it. */
void rollout_note(rollout *r, double t_s, const char *words);

bool rollout_is_file(const char *path); /* a safetensors file that says it is one; never an error */
hrc_status rollout_load(rollout *r, const char *path, hrc_error *err);
hrc_status rollout_save(const rollout *r, const char *path, hrc_error *err);

#endif
