/* Scalars of a training as a TensorBoard event file: a row of TFRecords, each an Event protobuf message.
 *     record: length (8 bytes), masked CRC of the length (4), message, masked CRC of the message (4)
 *     Event:  wall_time = 1 (double), step = 2 (int64), file_version = 3 (string), summary = 5 (Summary)
 *     Summary: value = 1 (repeated Value);  Value: tag = 1 (string), simple_value = 2 (float)
 * All little-endian; the CRC is CRC-32C, rotated and shifted by a constant. */
#ifndef HRC_LEARN_EVENTS_H
#define HRC_LEARN_EVENTS_H

#include <stdint.h>

#include "base/json.h"
#include "base/text.h"

uint32_t events_crc32c(const void *data, size_t size);

/* The record that every file begins with. time_s: since 1970. */
void events_begin(text *out, double time_s);

/* One record with every number of the line; those in objects are named by their path ("trials/success"). */
void events_add(text *out, double time_s, int64_t step, const json_t *line);

/* How many bytes of a file hold its records up to and including `step`; what is cut off or damaged, and all
 * after it, does not count. 0: no event file. */
size_t events_until(const char *data, size_t size, int64_t step);

#endif
