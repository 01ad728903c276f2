/* Monotonic time, for measuring; nothing that is computed may depend on it. */
#ifndef HRC_BASE_CLOCK_H
#define HRC_BASE_CLOCK_H

#include <stdint.h>
#include <time.h>

#define NS_PER_S 1000000000LL
#define NS_PER_MS 1000000LL

static inline int64_t clock_now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * NS_PER_S + t.tv_nsec;
}

static inline double clock_s(void)
{
    return 1e-9 * (double)clock_now_ns();
}

#endif
