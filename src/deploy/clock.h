/* The tick of the robot, and real-time scheduling where it is allowed. */
#ifndef HRC_DEPLOY_CLOCK_H
#define HRC_DEPLOY_CLOCK_H

#include <pthread.h>
#include <sched.h>
#include <stdbool.h>

#include "base/clock.h"

#define TICK_NS (2 * NS_PER_MS) /* 500 Hz */

/* The calling thread gets SCHED_FIFO at this priority; false: not allowed. */
static inline bool realtime_take(int priority)
{
    struct sched_param p = {.sched_priority = priority};
    return pthread_setschedparam(pthread_self(), SCHED_FIFO, &p) == 0;
}

#endif
