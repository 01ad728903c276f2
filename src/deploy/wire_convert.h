/* Inside src/deploy: between the wire's messages, made by idlc, and ours. */
#ifndef HRC_DEPLOY_WIRE_CONVERT_H
#define HRC_DEPLOY_WIRE_CONVERT_H

#include <stddef.h>
#include <stdint.h>

#include "deploy/wire.h"
#include "g1.h" /* build/idl/g1.h, from g1.idl */

/* The check sum of LowState and LowCmd: CRC-32 with polynomial 0x04C11DB7, start 0xFFFFFFFF, nothing
 * reflected, nothing added at the end, over the message as it lies in memory, read as little-endian words,
 * each from its highest bit down. Padding counts, so messages must be zeroed before they are filled. */
uint32_t crc_words(const void *data, size_t words);

typedef unitree_hg_msg_dds__LowState_ hg_state;
typedef unitree_hg_msg_dds__LowCmd_ hg_command;

void hg_command_write(hg_command *out, const robot_command *c); /* with its sum */

#endif
