/* The motions an environment follows, with the kinematics of the tracked links computed once, so that a step
 * costs little. Clips are at 50 Hz. */
#ifndef HRC_SIM_REFERENCE_H
#define HRC_SIM_REFERENCE_H

#include <stdbool.h>

#include "base/pool.h"
#include "motion/clip.h"
#include "track/observe.h"

typedef struct {
    float qpos[HRC_NQ], qvel[HRC_NV];
    float pos[G1_TRACKED][3]; /* of the links in G1_TRACKED_LINK, world */
    float quat[G1_TRACKED][4];
    float lin[G1_TRACKED][3]; /* of their origins, world */
    float ang[G1_TRACKED][3]; /* world */
} ref_frame;

typedef struct {
    const char *name; /* the clip's; owned here */
    int n;
    ref_frame *frames;   /* (n) */
    ref_frame *mirrored; /* (n), or NULL */
    double fastest;      /* pace at which a joint reaches its speed limit; 1 when the motion leaps */
    bool leaps;          /* gravity has a pace of its own: neither faster nor slower */
    int original;        /* of a rehearsal (learn/rehearse.h): the clip that was rehearsed; else -1 */
    bool rehearsed;      /* another clip is its rehearsal: it is shown, but nothing is taught by it */
} ref_clip;

typedef struct {
    arena memory;
    int n;
    ref_clip *clips;
} references;

/* Clips need at least two frames and 50 Hz. */
hrc_status references_build(references *r, const clip *clips, int n, bool mirror, pool *threads,
                            hrc_error *err);
void references_free(references *r);

/* Clip `rehearsal` is what physics make of clip `original`, frame by frame. */
hrc_status references_pair(references *r, int rehearsal, int original, hrc_error *err);

/* The motion at a moment between frames (at, in frames; after the last one, the last), done `pace` times as
 * fast as it was recorded; pace 0: it stands still there. All of a frame, or its pose and velocities alone.
 */
void ref_between(ref_frame *out, const ref_clip *c, bool mirrored, double at, double pace);
void ref_pose_between(float qpos[HRC_NQ], float qvel[HRC_NV], const ref_clip *c, bool mirrored, double at,
                      double pace);

/* Turns a pose and its velocities about the vertical, by yaw in rad; the place stays. */
void ref_turn(float qpos[HRC_NQ], float qvel[HRC_NV], double yaw);

/* Whether all tracked links are over 0.2 m. For REF_LEAP_FRAMES in a row: a leap, nothing carries the robot.
 * A runner's flight is shorter. */
#define REF_LEAP_FRAMES 8
bool ref_flies(const ref_frame *f);
bool ref_leaps(const ref_clip *c, int first, int end); /* in frames first .. end - 1 */

/* Frames from `frame` until the robot stands, if that is within so many; -1 else. */
int ref_stands_in(const ref_clip *c, int frame, int within);

#endif
