/* Which recorded ways up a tracker can be led along: from every half second of a way that lies on the ground,
 * at rest, the tracker alone follows it in the simulator. A way begins where it is followed to its end from
 * there and from everywhere after it; one that is nowhere followed is dropped. Of the rest those are kept
 * that get robots up that lie in heaps of their own (ways_choose.h). */
#ifndef HRC_EVAL_WAYS_H
#define HRC_EVAL_WAYS_H

#include "base/pool.h"
#include "eval/course.h"
#include "plan/getups.h"

hrc_status ways_keep(getups *ways, const hrc_model *tracker, const config *cfg, pool *threads,
                     hrc_error *err);

#endif
