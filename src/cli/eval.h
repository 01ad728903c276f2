/* What the files of `heracles eval` share. */
#ifndef HRC_CLI_EVAL_H
#define HRC_CLI_EVAL_H

#include "base/text.h"
#include "cli/models.h"
#include "eval/courses.h"
#include "eval/evaluate.h"
#include "eval/natural.h"

/* The methods of an evaluation, from words: --method NAME[,NAME...] beside --tracker and --planner.
 *   pd         plain PD tracking of the reference's joints
 *   tracker    --tracker alone
 *   heracles   --tracker and --planner
 *   cold       the same without the planner's warm start (the paper's ablation)
 *   NAME=TRACKER[+PLANNER]   model files of one's own */
typedef struct {
    int n;
    method list[EVALUATE_MAX_METHODS];
    const char *tracker_path[EVALUATE_MAX_METHODS], *planner_path[EVALUATE_MAX_METHODS]; /* "off": none */
    models own[EVALUATE_MAX_METHODS];                                                    /* of NAME=... */
    models common;                                                                       /* of the options */
    char *words;
} methods;

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
