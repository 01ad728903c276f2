/* The report of an evaluation: one page with tables beside the paper's, bars by category, when the planner
 * acts, what tokens know, and a list of all rollouts that play when clicked. */
#ifndef HRC_EVAL_REPORT_H
#define HRC_EVAL_REPORT_H

#include "eval/codebook.h"
#include "eval/evaluate.h"
#include "eval/natural.h"

typedef struct {
    const char *title;
    const char *suite; /* "" when there is none; the paper's tables belong to some */
    uint64_t seed;
    const method *methods;
    const char *const *tracker_paths, *const *planner_paths;
    const course *courses;
    const evaluation *results;     /* with records */
    const natural_result *natural; /* (nmethods, ncourses); NULL: not measured */
    const codebook *tokens;        /* NULL: none */
} report;

hrc_status report_write(const char *path, const report *r, size_t *bytes, hrc_error *err);

#endif
