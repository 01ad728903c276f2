/* The joint names inside every file of ours: separated by commas, in the G1's order. */
#ifndef HRC_ROBOT_NAMES_H
#define HRC_ROBOT_NAMES_H

#include "robot/g1.h"

#define G1_NAMES_BYTES 1024

void g1_joint_names(char out[G1_NAMES_BYTES]);

/* names: the metadata "joint_names" of the file at path, or NULL when it is missing. Says which differs. */
hrc_status g1_check_joint_names(const char *names, const char *path, hrc_error *err);

#endif
