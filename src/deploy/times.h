/* A histogram of durations that costs nothing to fill. */
#ifndef HRC_DEPLOY_TIMES_H
#define HRC_DEPLOY_TIMES_H

#include <stdint.h>

#define TIMES_BINS 200 /* eight to a power of two, from 1 us to half a minute */

typedef struct {
    int64_t n, bin[TIMES_BINS];
    double max_us;
} times;

void times_add(times *t, int64_t ns);
double times_quantile(const times *t,
                      double share); /* us: upper edge of the bin it lies in; 0: nothing measured */

#endif
