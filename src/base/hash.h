/* FNV-1a, 64 bit: to tell data apart, not to protect them. */
#ifndef HRC_BASE_HASH_H
#define HRC_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

#define HASH_START 0xcbf29ce484222325ull

static inline uint64_t hash_bytes(uint64_t hash, const void *data, size_t size)
{
    const unsigned char *p = data;
    for (size_t i = 0; i < size; i++) hash = (hash ^ p[i]) * 0x100000001b3ull;
    return hash;
}

#endif
