/* Counter-based random numbers: Philox 4x32-10. The state is plain data, so it can be stored in a
 * checkpoint; streams of one seed are independent, so that every world, clip or batch row can own one and
 * the result does not depend on the number of threads. */
#ifndef HRC_BASE_RNG_H
#define HRC_BASE_RNG_H

#include <stdint.h>

typedef struct {
    uint32_t key[2];
    uint32_t counter[4];
    uint32_t block[4]; /* output of the current counter */
    uint32_t left;     /* how many of block are unused */
} rng;

rng rng_make(uint64_t seed, uint64_t stream);
uint32_t rng_u32(rng *r);
uint32_t rng_below(rng *r, uint32_t n);        /* uniform in 0..n-1, without modulo bias; n > 0 */
float rng_uniform(rng *r, float lo, float hi); /* lo <= x < hi */
double rng_double(rng *r);                     /* 0 <= x < 1, 53 bits */
float rng_normal(rng *r);                      /* mean 0, variance 1 */
void philox4x32(uint32_t out[4], const uint32_t counter[4], const uint32_t key[2]);

#endif
