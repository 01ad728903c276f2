/* In which order, and which of the G1's joints the columns of a file are, where it does not name them. */
#ifndef HRC_MOTION_IMPORT_LAYOUT_H
#define HRC_MOTION_IMPORT_LAYOUT_H

#include "robot/g1.h"

typedef struct {
    const char *name;
    int columns;
    int column[HRC_JOINTS]; /* of joint i; -1: not there, stays at 0 rad */
} joint_layout;

#define LAYOUTS_MAX 2 /* that have the same number of columns */

/* Those with so many columns, the most usual first; 0 when there is none. */
int layouts_of(joint_layout out[LAYOUTS_MAX], int columns);

/* A joint by its name, also as others write it: without "_joint", with "_dof" behind. -1 when it is none of
 * the G1's. */
int layout_joint(const char *name);

#endif
