/* Suites that are made, not read:
 *   disturb     standing, hit after a second: pushes of 0.5 to 3 m/s and punches of 100 to 600 N for 0.08 s,
 *               each in 8 directions
 *   omni        lying on back, front and sides, limbs bent at random, 8 robots on each, the reference
 * standing and heading in 8 directions; every seed has 32 robots of its own knockdown, knockdown-validation
 * pushed over while the reference moves on; see below */
#ifndef HRC_EVAL_BUILTIN_H
#define HRC_EVAL_BUILTIN_H

#include "eval/courses.h"
#include "eval/evaluate.h"

#define BUILTIN_DIRECTIONS 8

typedef struct {
    uint64_t seed; /* omni: the first one, of `seeds` that follow each other */
    int seeds;
    const char *corpus; /* of clips; NULL: the shipped one */
} builtin_options;

bool builtin_suite(const char *name);
bool builtin_of_seeds(const char *name); /* seeds decide what it holds */
hrc_status courses_builtin(course_list *out, const char *name, const builtin_options *o, const config *cfg,
                           hrc_error *err);

/* The default stance for some seconds. */
hrc_status courses_add_stand(course_list *list, const char *name, double seconds, course **out,
                             hrc_error *err);

/* What a method stood. */
#define RECOVERY_S 5.0       /* to stand again, and stay so */
#define LATE_RECOVERY_S 10.0 /* the same, for robots that lie at the start */
#define BACK_S 6.0           /* to be back within the bounds for a second, after a push */

typedef struct {
    int n;           /* courses that have a disturbance or their own start */
    double survived; /* share that never went out of bounds */
    /* Shares; NAN where rollouts are too short to tell, or where the question does not arise. */
    double recovered, recovered_late;      /* stands again within RECOVERY_S, LATE_RECOVERY_S */
    double back;                           /* within BACK_S */
    double stand_p50_s;                    /* half of all stand by then; NAN: fewer ever do */
    double largest[2][BUILTIN_DIRECTIONS]; /* by kind and direction: largest strength survived, counting up
                                              without a gap; 0: none */
} endurance;

/* of category; NULL: of all */
void endurance_of(endurance *out, const evaluation *e, int m, const course *courses, const char *category);

/* Knock-downs: references that move on while the robot is pushed over.
 *   knockdown              six clips of suite heldout101, pushed at 2 s in 8 directions with 4, 5 and 6 m/s
 *   knockdown-validation   for decisions: six clips of suite validation (of the training clips where the
 *                          corpus does not have those), pushed at 1.7 s between those directions
 * The clips are the first in the order of their suite that last as long as a rollout: 2 of locomotion, one
 * each of dance, martial, daily, jumps_acro. A rollout ends 7 s after its push, so that a robot that is back
 * after 6 s can be seen to be so for a second. */

#endif
