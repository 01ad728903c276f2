/* Knock-downs: references that move on while the robot is pushed over.
 *   knockdown              six clips of suite heldout101, pushed at 2 s in 8 directions with 4, 5 and 6 m/s
 *   knockdown-validation   for decisions: six clips of suite validation (of the training clips where the
 *                          corpus does not have those), pushed at 1.7 s between those directions
 * The clips are the first in the order of their suite that last as long as a rollout: 2 of locomotion, one
 * each of dance, martial, daily, jumps_acro. A rollout ends 7 s after its push, so that a robot that is back
 * after 6 s can be seen to be so for a second. */
#ifndef HRC_EVAL_KNOCKDOWN_H
#define HRC_EVAL_KNOCKDOWN_H

#include "eval/courses.h"

bool knockdown_suite(const char *name);

/* One category for each strength. corpus_path NULL: the shipped one. */
hrc_status courses_knockdown(course_list *out, const char *name, const char *corpus_path, hrc_error *err);

#endif
