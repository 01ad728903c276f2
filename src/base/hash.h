/* FNV-1a, 64 bit: to tell data apart, not to protect them. */
#ifndef HRC_BASE_HASH_H
#define HRC_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define HASH_START 0xcbf29ce484222325ull

static inline uint64_t hash_bytes(uint64_t hash, const void *data, size_t size)
{
    const unsigned char *p = data;
    for (size_t i = 0; i < size; i++) hash = (hash ^ p[i]) * 0x100000001b3ull;
    return hash;
}

/* The same, 8 bytes at a time: another hash, and eight times as fast. */
static inline uint64_t hash_words(uint64_t hash, const void *data, size_t size)
{
    const size_t words = size / 8;
    for (size_t i = 0; i < words; i++) {
        uint64_t word;
        memcpy(&word, (const char *)data + 8 * i, 8);
        hash = (hash ^ word) * 0x100000001b3ull;
    }
    return hash_bytes(hash, (const char *)data + 8 * words, size % 8);
}

/* XXH64 (Yann Collet's, public specification): a good 64-bit hash of bytes, 8 of them at a time. It finds
 * damage; it is no protection against deliberate change. */
/* Chain by handing the digest of one piece on as the seed of the next. */
uint64_t digest_bytes(uint64_t seed, const void *data, size_t size);

#endif
