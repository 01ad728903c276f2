/* The joint names inside every file of ours: separated by commas, in the G1's order. */
#ifndef HRC_ROBOT_NAMES_H
#define HRC_ROBOT_NAMES_H

#include "robot/g1.h"

#define G1_NAMES_BYTES 1024

void g1_joint_names(char out[G1_NAMES_BYTES]);

/* names: the metadata "joint_names" of the file at path, or NULL when it is missing. Says which differs. */
hrc_status g1_check_joint_names(const char *names, const char *path, hrc_error *err);

/* Words of a list "a, b" or "["a", "b"]" of another program's file: the next one, without spaces, quotes and
 * brackets; false at the end. */
bool list_word(const char **list, char *out, size_t size);

/* Such a list of the G1's joints in any order: entry i is joint[i] of the G1. Says which differs. */
hrc_status g1_joint_order(int joint[HRC_JOINTS], const char *list, const char *path, hrc_error *err);

#endif
