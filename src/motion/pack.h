/* The codes of a clip in few bytes, without loss. Each of the 36 channels is differenced as often (0 to 4
 * times) as leaves the least; motion is smooth, so that what is left mostly fits a byte. Then zstd.
 *
 * A block is one zstd frame with 36 + 72 n bytes for n frames of 36 channels:
 *   order U8 (36)     how often the channel was differenced
 *   low   U8 (36, n)  of each difference d, modulo 65536, as z = 2 d or -2 d - 1 when d < 0
 *   high  U8 (36, n)  z = 256 high + low
 * Differences of order k: x[0], then those of order 1 of 2 frames, ... up to k, of which the rest is. */
#ifndef HRC_MOTION_PACK_H
#define HRC_MOTION_PACK_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/status.h"

/* codes (n, HRC_NQ). The block is in memory. The same zstd gives the same bytes. */
hrc_status pack_codes(arena *memory, const uint16_t *codes, int n, const uint8_t **block, int64_t *size,
                      hrc_error *err);

/* Whether the block says that it holds n frames and has enough bytes for them; asks for no memory. */
bool pack_holds(const uint8_t *block, int64_t size, int n);

/* Fails with HRC_EFORMAT on a block that is not one of n frames. */
hrc_status unpack_codes(uint16_t *codes, int n, const uint8_t *block, int64_t size, hrc_error *err);

#endif
