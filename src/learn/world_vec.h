/* Three-vectors of networks' numbers. */
#ifndef HRC_LEARN_WORLD_VEC_H
#define HRC_LEARN_WORLD_VEC_H

#include "nn/real.h"

static inline real dot3(const real a[3], const real b[3])
{
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

static inline void cross3(real out[3], const real a[3], const real b[3])
{
    const real x = a[1] * b[2] - a[2] * b[1], y = a[2] * b[0] - a[0] * b[2], z = a[0] * b[1] - a[1] * b[0];
    out[0] = x, out[1] = y, out[2] = z;
}

static inline void add3(real out[3], real scale, const real a[3]) /* out += scale a */
{
    for (int k = 0; k < 3; k++) out[k] += scale * a[k];
}

/* out += scale a x b */
static inline void add_cross3(real out[3], real scale, const real a[3], const real b[3])
{
    real c[3];
    cross3(c, a, b);
    add3(out, scale, c);
}

#endif
