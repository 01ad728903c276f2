/* Where the robot should be in each frame to look like the person: orientations of its bodies, and key points
 * of the person rebuilt with the robot's bones. Every bone keeps its direction and takes the robot's
 * length, so limbs scale by their own ratio; the path of the root scales by the ratio of the legs. */
#ifndef HRC_MOTION_RETARGET_TARGETS_H
#define HRC_MOTION_RETARGET_TARGETS_H

#include "motion/retarget/skeleton_map.h"

/* A BVH motion as the retargeting sees it: at the rate of the result, in metres, z up, x forward at rest,
 * without the noise of the capture, and turned into the axes of the robot's bodies. */
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

typedef struct {
    int n;
    double leg_scale, arm_scale, torso_scale; /* robot / human */
    double (*root)[3];          /* (n) height as if the floor were the file's, until ground_find */
    double (*point)[BODIES][3]; /* (n) key points from the root */
    double (*quat)[BODIES][4];  /* (n) orientation of the links */
} targets;

hrc_status targets_create(targets *t, const human *h, arena *memory, hrc_error *err);

/* Joint angles straight from the wanted orientations of the links, by taking each chain apart into its
 * hinges. Exact where the robot can do what the person does; elsewhere a start for the solver that is in the
 * right valley: from the pose before, a knee that once got stretched the wrong way would stay so. */
/* The root comes from the target, joints are within their limits. Of two ways to reach an orientation, the
 * one that keeps the limits better and is nearer to the pose before. */
void guess_pose(double qpos[HRC_NQ], const double near[HRC_NQ], const targets *t, int frame);

#endif
