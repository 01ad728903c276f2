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
#include "motion/corpus.h"
#include "robot/g1.h"

/* Between frames and their units of 16 bits; corpus.h says how. Shared by reader and writer. */

/* e->grain: as coarse as the promised errors allow; exact: 1. Uses e->step. */
void corpus_choose_grain(corpus_entry *e, const double *lo, const double *hi, bool exact);

/* Codes with an offset: 0 .. 65535, which are the units of grain 1. Uses e->origin and e->step; lo and hi
 * (HRC_JOINTS). */
void corpus_encode(uint16_t out[HRC_NQ], const float *frame, const corpus_entry *e, const double *lo,
                   const double *hi);

/* From units; uses e->grain as well. */
void corpus_decode(float *frame, const uint16_t units[HRC_NQ], const corpus_entry *e, const double *lo,
                   const double *hi);

/* codes (n, HRC_NQ). The block is in memory. The same zstd gives the same bytes. */
hrc_status pack_codes(arena *memory, const uint16_t *codes, int n, const uint8_t **block, int64_t *size,
                      hrc_error *err);

/* Whether the block says that it holds n frames and has enough bytes for them; asks for no memory. */
bool pack_holds(const uint8_t *block, int64_t size, int n);

/* Fails with HRC_EFORMAT on a block that is not one of n frames. */
hrc_status unpack_codes(uint16_t *codes, int n, const uint8_t *block, int64_t size, hrc_error *err);

#endif
