#include "base/hash.h"

#define P1 0x9E3779B185EBCA87u
#define P2 0xC2B2AE3D27D4EB4Fu
#define P3 0x165667B19E3779F9u
#define P4 0x85EBCA77C2B2AE63u
#define P5 0x27D4EB2F165667C5u

static uint64_t turned(uint64_t x, int bits)
{
    return x << bits | x >> (64 - bits);
}

/* Little-endian on every machine. */
static uint64_t word(const unsigned char *p, int bytes)
{
    uint64_t x = 0;
    for (int i = 0; i < bytes; i++) x |= (uint64_t)p[i] << (8 * i);
    return x;
}

static uint64_t round_of(uint64_t lane, uint64_t input)
{
    return turned(lane + input * P2, 31) * P1;
}

static uint64_t tail(uint64_t h, const unsigned char *p, size_t left)
{
    for (; left >= 8; p += 8, left -= 8) h = turned(h ^ round_of(0, word(p, 8)), 27) * P1 + P4;
    if (left >= 4) {
        h = turned(h ^ word(p, 4) * P1, 23) * P2 + P3;
        p += 4, left -= 4;
    }
    for (; left; p++, left--) h = turned(h ^ *p * P5, 11) * P1;
    return h;
}

uint64_t digest_bytes(uint64_t seed, const void *data, size_t size)
{
    const unsigned char *p = data;
    size_t left = size;
    uint64_t h = seed + P5;
    if (size >= 32) {
        uint64_t lane[4] = {seed + P1 + P2, seed + P2, seed, seed - P1};
        for (; left >= 32; p += 32, left -= 32)
            for (int i = 0; i < 4; i++) lane[i] = round_of(lane[i], word(p + 8 * i, 8));
        h = turned(lane[0], 1) + turned(lane[1], 7) + turned(lane[2], 12) + turned(lane[3], 18);
        for (int i = 0; i < 4; i++) h = (h ^ round_of(0, lane[i])) * P1 + P4;
    }
    h = tail(h + size, p, left);
    h = (h ^ h >> 33) * P2;
    h = (h ^ h >> 29) * P3;
    return h ^ h >> 32;
}
