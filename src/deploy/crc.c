#include "deploy/crc.h"

#include <string.h>

/* CRC of the sixteen half bytes. */
static const uint32_t NIBBLE[16] = {0x00000000, 0x04c11db7, 0x09823b6e, 0x0d4326d9, 0x130476dc, 0x17c56b6b,
                                    0x1a864db2, 0x1e475005, 0x2608edb8, 0x22c9f00f, 0x2f8ad6d6, 0x2b4bcb61,
                                    0x350c9b64, 0x31cd86d3, 0x3c8ea00a, 0x384fbdbd};

uint32_t crc_words(const void *data, size_t words)
{
    uint32_t crc = 0xFFFFFFFF;
    for (size_t i = 0; i < words; i++) {
        uint32_t word;
        memcpy(&word, (const char *)data + 4 * i, 4);
        crc ^= word;
        for (int k = 0; k < 8; k++) crc = (crc << 4) ^ NIBBLE[crc >> 28];
    }
    return crc;
}
