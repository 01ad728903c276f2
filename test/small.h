/* Small untrained models in files, and how often memory was asked for. */
#ifndef HRC_TEST_SMALL_H
#define HRC_TEST_SMALL_H

#include "track/tracker.h"

/* They stay until the next call; the path is test_path(name). */
void small_tracker(const char *name, const char *basis);
void small_planner(const char *name, int D);

long allocations(void); /* calls of malloc and its kin so far; -1 where they cannot be counted */

#endif
