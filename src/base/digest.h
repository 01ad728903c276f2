/* XXH64 (Yann Collet's, public specification): a good 64-bit hash of bytes, 8 of them at a time. It finds
 * damage; it is no protection against somebody who wants to deceive. */
#ifndef HRC_BASE_DIGEST_H
#define HRC_BASE_DIGEST_H

#include <stddef.h>
#include <stdint.h>

/* Chain by handing the digest of one piece on as the seed of the next. */
uint64_t digest_bytes(uint64_t seed, const void *data, size_t size);

#endif
