/* From the network's output to the velocity of the flow:
 *
 *   v(x,t,c) = skip(t) x + gain(t) F(x,t,c),    skip = (2t - 1) / q,  gain = 1 / sqrt(q),  q = (1-t)^2 + t^2
 *
 * For data of unit variance skip(t) x_t is the best linear guess of v = x_1 - x_0 that needs no condition,
 * and gain^2 the variance of what it misses. So the network need not carry the noise through all of its
 * layers to subtract it at the end, and what it learns has size 1 at every t. */
#ifndef HRC_PLAN_FLOW_H
#define HRC_PLAN_FLOW_H

#include <math.h>

static inline float flow_spread(float t)
{
    return (1 - t) * (1 - t) + t * t;
}

static inline float flow_skip(float t)
{
    return (2 * t - 1) / flow_spread(t);
}

static inline float flow_gain(float t)
{
    return 1 / sqrtf(flow_spread(t));
}

#endif
