/* The two solvers of the retargeting. follow_targets goes along the frames, each starting from the last,
 * first with the weights of stage 1 (mostly orientations), then with those of stage 2 (key points as
 * well). refine takes many frames as one problem (bandsolve.h) and adds the terms between frames and
 * against floor and body. Both are Gauss-Newton with joint limits as hard bounds: a joint at its limit that
 * wants further is taken out of the step. */
#ifndef HRC_MOTION_RETARGET_REFINE_H
#define HRC_MOTION_RETARGET_REFINE_H

#include "motion/retarget/ground.h"

typedef struct {
    const skeleton_map *map;
    const targets *t;
    const contacts *c;
    const touches *touching;
    const ground *g; /* of refine only */
    int n;
    double fps;
    double (*qpos)[HRC_NQ]; /* (n) in and out */
} motion_problem;

hrc_status follow_targets(const motion_problem *p, hrc_error *err);
hrc_status refine(const motion_problem *p, arena *memory, hrc_error *err);

#endif
