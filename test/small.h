/* Small untrained models in files, and how often memory was asked for. */
#ifndef HRC_TEST_SMALL_H
#define HRC_TEST_SMALL_H

#include "plan/model.h"
#include "track/tracker.h"

/* They stay until the next call; the path is test_path(name). */
void small_tracker(const char *name, const char *basis);
void small_planner(const char *name, int D);

/* A planner in memory with random weights: enough for everything but good plans. sigma: of every residual. */
plan_layout small_layout(int D); /* anchored, all of its condition */
void small_plan_model(plan_model *m, const plan_layout *layout, float sigma);

/* The first place of `from` in the file in `path` replaced by `to`, of the same length, and all of it written
 * to `out` with a digest that fits: damage that only a closer look finds. */
void tampered(const char *path, const char *out, const char *from, const char *to);

long allocations(void); /* calls of malloc and its kin so far; -1 where they cannot be counted */

#endif
