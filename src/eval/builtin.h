/* Suites that are made, not read:
 *   disturb     standing, hit after a second: pushes of 0.5 to 3 m/s and punches of 100 to 600 N for 0.08 s,
 *               each in 8 directions
 *   omni        lying on back, front and sides, limbs anyhow, 8 robots on each, the reference standing and
 *               heading in 8 directions; every seed has 32 robots of its own
 *   knockdown, knockdown-validation   pushed over while the reference moves on: knockdown.h */
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
#define LATE_RECOVERY_S 10.0 /* the same, for those who lie at the start */
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

#endif
