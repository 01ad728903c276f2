/* Which ways up to carry, by trial: robots that lie on every side with their limbs anyhow are led along each
 * way from its moment most like them. Then ways are left out, one after the other, as long as that gets more
 * of the robots up by the way they would pick among the rest (track/recover.h): a way that looks like the
 * right one and is not does more harm than a way less. */
#ifndef HRC_EVAL_WAYS_CHOOSE_H
#define HRC_EVAL_WAYS_CHOOSE_H

#include "eval/course.h"
#include "plan/getups.h"

hrc_status ways_choose(getups *ways, const hrc_model *tracker, const config *cfg, pool *threads,
                       hrc_error *err);

/* The way from a frame on as the reference of a robot that lies there like this, at rest. */
hrc_status way_course(course *out, const hrc_motion *way, int frame, const double lying[HRC_NQ],
                      hrc_error *err);

/* The choice alone: cost and stands (robots, ways); keep (ways), all true before. Returns how many robots
 * get up. */
int ways_leave_out(bool *keep, const float *cost, const bool *stands, int robots, int ways);

#endif
