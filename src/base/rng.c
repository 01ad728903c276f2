#include "base/rng.h"

#include <math.h>

/* One round mixes two 32x32 -> 64 bit products; ten rounds pass the usual test batteries. */
void philox4x32(uint32_t out[4], const uint32_t counter[4], const uint32_t key[2])
{
    uint32_t c0 = counter[0], c1 = counter[1], c2 = counter[2], c3 = counter[3];
    uint32_t k0 = key[0], k1 = key[1];
    for (int round = 0; round < 10; round++) {
        uint64_t p0 = (uint64_t)0xD2511F53u * c0;
        uint64_t p1 = (uint64_t)0xCD9E8D57u * c2;
        uint32_t n0 = (uint32_t)(p1 >> 32) ^ c1 ^ k0;
        uint32_t n2 = (uint32_t)(p0 >> 32) ^ c3 ^ k1;
        c1 = (uint32_t)p1;
        c3 = (uint32_t)p0;
        c0 = n0;
        c2 = n2;
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
    out[0] = c0, out[1] = c1, out[2] = c2, out[3] = c3;
}

rng rng_make(uint64_t seed, uint64_t stream)
{
    /* The seed is the key, the stream the upper half of the counter: streams never overlap. */
    return (rng){.key = {(uint32_t)seed, (uint32_t)(seed >> 32)},
                 .counter = {0, 0, (uint32_t)stream, (uint32_t)(stream >> 32)}};
}

uint32_t rng_u32(rng *r)
{
    if (r->left == 0) {
        philox4x32(r->block, r->counter, r->key);
        if (++r->counter[0] == 0) r->counter[1]++;
        r->left = 4;
    }
    return r->block[4 - r->left--];
}

uint32_t rng_below(rng *r, uint32_t n)
{
    /* The high half of u*n is uniform once the few low halves below 2^32 mod n are rejected. */
    uint32_t threshold = (uint32_t)(-n) % n;
    for (;;) {
        uint64_t product = (uint64_t)rng_u32(r) * n;
        if ((uint32_t)product >= threshold) return (uint32_t)(product >> 32);
    }
}

float rng_uniform(rng *r, float lo, float hi)
{
    float u = (float)(rng_u32(r) >> 8) * 0x1p-24f;
    float x = lo + (hi - lo) * u;
    return x < hi ? x : lo;
}

double rng_double(rng *r)
{
    uint64_t high = rng_u32(r) >> 5, low = rng_u32(r) >> 6;
    return (double)(high << 26 | low) * 0x1p-53;
}

float rng_normal(rng *r)
{
    /* Box-Muller; the second value is dropped so that the state stays four words and a count. */
    float u = ((float)(rng_u32(r) >> 8) + 1.0f) * 0x1p-24f;
    float angle = (float)(rng_u32(r) >> 8) * 0x1p-24f * 6.28318530718f;
    return sqrtf(-2.0f * logf(u)) * cosf(angle);
}
