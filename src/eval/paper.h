/* The paper's own figures, to stand beside ours: its tables on held-out motions, on fall and recovery, and of
 * the planner's ablations. Other robots' motions, other training budgets: for orientation, not for a ranking.
 */
#ifndef HRC_EVAL_PAPER_H
#define HRC_EVAL_PAPER_H

typedef struct {
    const char *method;
    double cr, joint_rad, height_m, ori_rad, linvel_mps;
} paper_row;

/* The rows that belong to a suite of this name; 0 when there are none. */
int paper_rows(const paper_row **out, const char *suite);

#endif
