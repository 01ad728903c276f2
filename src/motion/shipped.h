/* Files that come with the program: motions/, models/. */
#ifndef HRC_MOTION_SHIPPED_H
#define HRC_MOTION_SHIPPED_H

#include <stdbool.h>
#include <stddef.h>

/* Where the file of this relative path ("motions/cmu.safetensors") is: under the current folder, under the
 * one that holds the program's folder (a build tree), or under share/heracles beside bin (installed). False
 * when it is in none; out then holds the first place. */
bool shipped_path(char *out, size_t size, const char *relative);

#endif
