/* Curves of JSON-lines logs as one page that needs nothing else. Every number of a line is a figure; numbers
 * in objects are named by their path ("trials.success"). What is no number is left out. */
#ifndef HRC_EVAL_CURVES_H
#define HRC_EVAL_CURVES_H

#include "base/status.h"

typedef struct {
    int lines, figures; /* of all logs; of the log that has most */
} curves_count;

hrc_status curves_write(const char *path, const char *const *logs, int n, curves_count *count,
                        hrc_error *err);

#endif
