/* Three-vectors of networks' numbers: base/rot.h in the precision of `real`, and sums. */
#ifndef HRC_LEARN_WORLD_VEC_H
#define HRC_LEARN_WORLD_VEC_H

#include "base/rot.h"
#include "nn/real.h"

#ifdef NN_DOUBLE
#define dot3 vec_dot
#define cross3 vec_cross
#else
#define dot3 vec_dotf
#define cross3 vec_crossf
#endif

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
