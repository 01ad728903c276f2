/* Where the robot should be in each frame to look like the person: orientations of its bodies, and key points
 * of the person rebuilt with the robot's bones. Every bone keeps its direction and takes the robot's
 * length, so limbs scale by their own ratio; the path of the root scales by the ratio of the legs. */
#ifndef HRC_MOTION_RETARGET_TARGETS_H
#define HRC_MOTION_RETARGET_TARGETS_H

#include "motion/retarget/human.h"

typedef struct {
    int n;
    double leg_scale, arm_scale, torso_scale; /* robot / human */
    double (*root)[3];          /* (n) height as if the floor were the file's, until ground_find */
    double (*point)[BODIES][3]; /* (n) key points from the root */
    double (*quat)[BODIES][4];  /* (n) orientation of the links */
} targets;

hrc_status targets_create(targets *t, const human *h, arena *memory, hrc_error *err);

#endif
