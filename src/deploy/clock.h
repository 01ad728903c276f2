/* Sleeping by the monotonic clock, and real-time scheduling where it is allowed. */
#ifndef HRC_DEPLOY_CLOCK_H
#define HRC_DEPLOY_CLOCK_H

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>

#include "base/clock.h"

#define TICK_NS (2 * NS_PER_MS) /* 500 Hz */

static inline struct timespec clock_spec(int64_t ns)
{
    return (struct timespec){.tv_sec = (time_t)(ns / NS_PER_S), .tv_nsec = (long)(ns % NS_PER_S)};
}

static inline void clock_sleep_until(int64_t ns)
{
    struct timespec t = clock_spec(ns);
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL) == EINTR) {}
}

/* The calling thread gets SCHED_FIFO at this priority; false: not allowed. */
static inline bool realtime_take(int priority)
{
    struct sched_param p = {.sched_priority = priority};
    return pthread_setschedparam(pthread_self(), SCHED_FIFO, &p) == 0;
}

#endif
