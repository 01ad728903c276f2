/* Which of the motions on the ground that a planner could carry (track/known.h) its tracker follows, found
 * out by trial: each from its beginning and from later moments on. The others are dropped. */
#ifndef HRC_EVAL_MASTERED_H
#define HRC_EVAL_MASTERED_H

#include "base/pool.h"
#include "eval/course.h"
#include "plan/store.h"

typedef struct {
    void (*progress)(void *ctx, double fraction); /* may be NULL */
    bool (*stop)(void);                           /* asked before each rollout; may be NULL */
    void *ctx;
} mastered_options;

/* Of at least one motion. */
hrc_status mastered_keep(motion_store *motions, const hrc_model *tracker, const config *cfg, pool *threads,
                         const mastered_options *options, hrc_error *err);

#endif
