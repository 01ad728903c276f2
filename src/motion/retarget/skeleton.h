/* What a BVH of a person holds, in figures: size, length of the motion, how far it goes; and which unit
 * of length the file uses, which BVH does not say. */
#ifndef HRC_MOTION_RETARGET_SKELETON_H
#define HRC_MOTION_RETARGET_SKELETON_H

#include "motion/import/bvh.h"

typedef struct {
    char name[128], root[64]; /* of the clip, of the first joint */
    int joints, frames;
    double fps, seconds;
    double unit; /* metres per unit of the file */
    char unit_why[200];
    double height;           /* top to bottom in m; 95 % of the frames are less tall */
    double root_lo, root_hi; /* height of the root, m */
    double travelled;        /* path of the root over the floor, m */
} skeleton;

bool skeleton_is_bvh(file_view bytes);

/* Metres per unit, of the usual ones (m, cm, mm, inch, CMU's): the one in which the person has the most usual
 * size. Says why. */
double skeleton_unit(const bvh *b, char *why, size_t size);

/* fps 0: as the file says. */
hrc_status skeleton_describe(skeleton *s, const char *path, file_view bytes, double fps, hrc_error *err);

#endif
