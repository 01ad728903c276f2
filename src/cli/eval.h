/* What the files of `heracles eval` share. */
#ifndef HRC_CLI_EVAL_H
#define HRC_CLI_EVAL_H

#include "base/text.h"
#include "cli/methods.h"
#include "eval/courses.h"
#include "eval/natural.h"

#define EVAL_MAX_CATEGORIES 64

typedef struct {
    const args *a;
    methods methods;
    course_list list;
    evaluation results;
    const char *categories[EVAL_MAX_CATEGORIES];
    int ncategories;
    summary all[EVALUATE_MAX_METHODS];
    int seeds;                           /* of the planner, for every course */
    int heap_seeds;                      /* of suites whose courses come of seeds */
    natural_result *natural;             /* (methods, courses), of the first seed; NULL: not asked for */
    double spread[EVALUATE_MAX_METHODS]; /* of the completion rate over seeds */
} eval_session;

int eval_print_json(const eval_session *s);
int eval_print_text(const eval_session *s);
void eval_csv(text *out, const eval_session *s); /* one line for each rollout */

#endif
