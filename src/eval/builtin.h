/* Suites that are made, not read:
 *   disturb   standing, hit after a second: pushes of 0.5 to 3 m/s and punches of 100 to 600 N for 0.08 s,
 * each in 8 directions omni      lying on back, front and sides, the reference standing and heading in 8
 * directions */
#ifndef HRC_EVAL_BUILTIN_H
#define HRC_EVAL_BUILTIN_H

#include "eval/courses.h"
#include "eval/evaluate.h"

#define BUILTIN_DIRECTIONS 8

bool builtin_suite(const char *name);
hrc_status courses_builtin(course_list *out, const char *name, const config *cfg, hrc_error *err);

/* The default stance for some seconds. */
hrc_status courses_add_stand(course_list *list, const char *name, double seconds, course **out,
                             hrc_error *err);

/* What a method stood. */
#define RECOVERY_S 5.0 /* to stand again */

typedef struct {
    int n;                                 /* courses that have a disturbance or their own start */
    double survived;                       /* share that never went out of bounds */
    double recovered;                      /* share that stands again in time */
    double largest[2][BUILTIN_DIRECTIONS]; /* by kind and direction: largest strength survived, counting up
                                              without a gap; 0: none */
} endurance;

/* of category; NULL: of all */
void endurance_of(endurance *out, const evaluation *e, int m, const course *courses, const char *category);

#endif
