/* Policies that others trained, from their ONNX files, as trackers: the same call as tracker.h, with the
 * observation, default pose, action scale and gains that each was trained with. Four dialects:
 *
 *   twist2        TWIST2's general tracker: 1432 inputs, any motion (others.c)
 *   beyondmimic   whole_body_tracking, mjlab, holosoma: 154 or 160 inputs, trained for one motion; what the
 *                 metadata say is used: joint names in any order, gains, scale, pose (others_mimic.c)
 *   unitree       unitree_rl_mjlab: the same network with a deploy.yaml (others_mimic.c)
 *   plain         our own export, track/onnx.h (others.c)
 *
 * A file that is none of them is refused with what differs. */
#ifndef HRC_TRACK_OTHERS_H
#define HRC_TRACK_OTHERS_H

#include "onnx/run.h"
#include "track/observe.h"

#define OTHERS_TERMS 12
#define OTHERS_HISTORY 10 /* frames of TWIST2's, and at most of a term of the others */
#define OTHERS_FRAME 127

typedef enum { OTHERS_TWIST2, OTHERS_MIMIC, OTHERS_PLAIN } others_dialect;

typedef struct {
    onnx_file file;
    onnx_program *program;
    others_dialect dialect;
    int observation, action, time; /* inputs and output of the program; time -1: none */
    int window, targets, token;    /* of plain ones: another input, other outputs */
    int lead;                      /* frames from the robot's time to window[0] */
    obs_rotation rotation;         /* of plain ones */
    int joint[HRC_JOINTS];         /* its joint i is joint[i] of the G1 */
    double q0[HRC_JOINTS], scale[HRC_JOINTS], kp[HRC_JOINTS], kd[HRC_JOINTS]; /* in the G1's order */
    double largest;                                                           /* actions are cut there */
    int terms[OTHERS_TERMS], nterms; /* of the observation, others_mimic.c */
    int history[OTHERS_TERMS];       /* of each, 1 to OTHERS_HISTORY */
    int64_t coded;   /* rows of a motion whose speeds carry their number, track/onnx.h; 0: none */
    int anchor;      /* link */
    uint64_t digest; /* of the file and of what lies beside it */
    char about[160]; /* one sentence */
} others_model;

hrc_status others_load(others_model *m, const char *path, hrc_error *err);
void others_model_free(others_model *m);

typedef struct others_runner others_runner;

hrc_status others_create(others_runner **out, const others_model *m,
                         hrc_error *err); /* the model is borrowed */
void others_free(others_runner *o);       /* NULL is fine */
void others_reset(others_runner *o);

/* One control period; window[0] is the reference `lead` frames after the robot's time. False, and nothing
 * changed: the network's action is not finite, or no action of a policy. */
bool others_step(others_runner *o, double target[HRC_JOINTS], const g1_state *s,
                 const hrc_frame window[HRC_WINDOW]);

/* The motion token of the last step of a plain one; n = 0: it has none. */
const float *others_token(const others_runner *o, int *n);

#endif
