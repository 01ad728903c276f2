/* Monotonic time, for measuring and waiting; nothing that is computed may depend on it. */
#ifndef HRC_BASE_CLOCK_H
#define HRC_BASE_CLOCK_H

#include <errno.h>
#include <stdint.h>
#include <time.h>

#define NS_PER_S 1000000000LL
#define NS_PER_MS 1000000LL

static inline int64_t clock_ns_of(clockid_t which)
{
    struct timespec t;
    clock_gettime(which, &t);
    return (int64_t)t.tv_sec * NS_PER_S + t.tv_nsec;
}

static inline int64_t clock_now_ns(void)
{
    return clock_ns_of(CLOCK_MONOTONIC);
}

static inline double clock_s(void)
{
    return 1e-9 * (double)clock_now_ns();
}

static inline struct timespec clock_spec(int64_t ns)
{
    return (struct timespec){.tv_sec = (time_t)(ns / NS_PER_S), .tv_nsec = (long)(ns % NS_PER_S)};
}

static inline void clock_sleep_until(int64_t ns)
{
    struct timespec t = clock_spec(ns);
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL) == EINTR) {}
}

#endif
