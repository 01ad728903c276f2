/* A BVH motion as the retargeting sees it: at the rate of the result, in metres, z up, x forward at rest,
 * without the noise of the capture, and turned into the axes of the robot's bodies. */
#ifndef HRC_MOTION_RETARGET_HUMAN_H
#define HRC_MOTION_RETARGET_HUMAN_H

#include "motion/retarget/skeleton_map.h"

typedef struct {
    int n;
    double fps;
    double (*hips)[3];          /* (n) */
    double (*quat)[BODIES][4];  /* (n) identity: as the robot's body stands in its zero pose */
    double (*joint)[BODIES][3]; /* (n) where the joint is that each body hangs on; hips for the pelvis */
    double (*heel)[2][3];       /* (n) left, right: under and behind the ankle, on the sole */
    double (*toe)[2][3];        /* (n) toe joints */
    double leg, arm, torso;     /* lengths of its bones, mean of left and right, m */
} human;

/* Everything is in `memory`. Motion over `cutoff_hz` is taken for noise. */
hrc_status human_create(human *h, const bvh *b, const skeleton_map *map, double fps, double cutoff_hz,
                        const char *path, arena *memory, hrc_error *err);

#endif
