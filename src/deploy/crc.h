/* The check sum of LowState and LowCmd: CRC-32 with polynomial 0x04C11DB7, start 0xFFFFFFFF, nothing
 * reflected, nothing added at the end, over the message as it lies in memory, read as little-endian words,
 * each from its highest bit down. Padding counts, so messages must be zeroed before they are filled. */
#ifndef HRC_DEPLOY_CRC_H
#define HRC_DEPLOY_CRC_H

#include <stddef.h>
#include <stdint.h>

uint32_t crc_words(const void *data, size_t words);

#endif
