/* The methods of an evaluation, from words: --method NAME[,NAME...] beside --tracker and --planner.
 *   pd         plain PD tracking of the reference's joints
 *   tracker    --tracker alone
 *   heracles   --tracker and --planner
 *   cold       the same without the planner's warm start (the paper's ablation)
 *   NAME=TRACKER[+PLANNER]   model files of one's own */
#ifndef HRC_CLI_METHODS_H
#define HRC_CLI_METHODS_H

#include "cli/models.h"
#include "eval/evaluate.h"

typedef struct {
    int n;
    method list[EVALUATE_MAX_METHODS];
    const char *tracker_path[EVALUATE_MAX_METHODS], *planner_path[EVALUATE_MAX_METHODS]; /* "off": none */
    models own[EVALUATE_MAX_METHODS];                                                    /* of NAME=... */
    models common;                                                                       /* of the options */
    char *words;
} methods;

/* EXIT_DONE, or another exit code after saying why. Without --method it is heracles, or tracker when the
 * planner is off. */
int methods_load(methods *m, const args *a);
void methods_free(methods *m);

#endif
