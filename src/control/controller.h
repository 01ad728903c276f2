/* Behind hrc_controller, for practice (learn/practice.h): the guide that leads, and what the planner was
 * asked. */
#ifndef HRC_CONTROL_CONTROLLER_H
#define HRC_CONTROL_CONTROLLER_H

#include "control/follow.h"
#include "plan/anchor.h"

/* While a guide leads, the tracker is shown its frames instead of plans; the questions are asked all the
 * same. The guide is advanced with every step. NULL: no guide leads. */
void controller_lead(hrc_controller *c, follower *guide);

/* The question of the last plan or, while a guide leads, of the plan that would have been made. */
void controller_question(const hrc_controller *c, plan_question *out);

/* planner_vary of its planner, if it has one. */
void controller_vary(hrc_controller *c, uint64_t seed, float noise, float share);

#endif
