#include "learn/events.h"

#include <stdio.h>
#include <string.h>

#define TAG 256
#define FRAME 16 /* bytes of a record beside its message: 12 before, 4 after */

/* ---- CRC ---- */

uint32_t events_crc32c(const void *data, size_t size)
{
    uint32_t crc = 0xffffffff;
    for (const unsigned char *byte = data; size--; byte++) {
        crc ^= *byte;
        for (int k = 0; k < 8; k++) crc = (crc >> 1) ^ (crc & 1 ? 0x82f63b78 : 0);
    }
    return ~crc;
}

/* As TFRecord wants it, because a CRC of bytes that hold a CRC tells little. */
static uint32_t masked(const void *data, size_t size)
{
    const uint32_t crc = events_crc32c(data, size);
    return ((crc >> 15) | (crc << 17)) + 0xa282ead8;
}

/* ---- Protobuf ---- */

enum { WIRE_VARINT = 0, WIRE_64 = 1, WIRE_BYTES = 2, WIRE_32 = 5 };

static void add_little(text *out, uint64_t value, int bytes)
{
    for (int i = 0; i < bytes; i++) text_bytes(out, &(unsigned char){(unsigned char)(value >> 8 * i)}, 1);
}

static void add_varint(text *out, uint64_t value)
{
    for (; value > 0x7f; value >>= 7) add_little(out, (value & 0x7f) | 0x80, 1);
    add_little(out, value, 1);
}

static void add_key(text *out, unsigned field, unsigned wire)
{
    add_varint(out, field << 3 | wire);
}

static void add_bytes(text *out, unsigned field, const void *data, size_t size)
{
    add_key(out, field, WIRE_BYTES);
    add_varint(out, size);
    text_bytes(out, data, size);
}

static void add_time(text *out, double time_s)
{
    uint64_t bits;
    memcpy(&bits, &time_s, sizeof bits);
    add_key(out, 1, WIRE_64);
    add_little(out, bits, 8);
}

/* ---- Records ---- */

static void add_record(text *out, const text *message)
{
    text length = {0};
    add_little(&length, message->size, 8);
    if (text_ok(&length) && text_ok(message)) {
        text_bytes(out, length.data, length.size);
        add_little(out, masked(length.data, length.size), 4);
        text_bytes(out, message->data, message->size);
        add_little(out, masked(message->data, message->size), 4);
    } else {
        out->failed = true;
    }
    text_free(&length);
}

void events_begin(text *out, double time_s)
{
    static const char VERSION[] = "brain.Event:2";
    text message = {0};
    add_time(&message, time_s);
    add_bytes(&message, 3, VERSION, strlen(VERSION));
    add_record(out, &message);
    text_free(&message);
}

static void add_value(text *summary, const char *tag, double number)
{
    const float single = (float)number;
    text value = {0};
    uint32_t bits;
    memcpy(&bits, &single, sizeof bits);
    add_bytes(&value, 1, tag, strlen(tag));
    add_key(&value, 2, WIRE_32);
    add_little(&value, bits, 4);
    if (text_ok(&value))
        add_bytes(summary, 1, value.data, value.size);
    else
        summary->failed = true;
    text_free(&value);
}

static void add_values(text *summary, const char *prefix, const json_t *object)
{
    const char *key;
    json_t *member;
    json_object_foreach ((json_t *)object, key, member) {
        char tag[TAG];
        snprintf(tag, sizeof tag, "%s%s%s", prefix, *prefix ? "/" : "", key);
        if (json_is_object(member)) add_values(summary, tag, member);
        if (json_is_number(member)) add_value(summary, tag, json_number_value(member));
    }
}

void events_add(text *out, double time_s, int64_t step, const json_t *line)
{
    text message = {0}, summary = {0};
    add_values(&summary, "", line);
    add_time(&message, time_s);
    add_key(&message, 2, WIRE_VARINT);
    add_varint(&message, (uint64_t)step);
    if (text_ok(&summary)) add_bytes(&message, 5, summary.data, summary.size);
    message.failed |= summary.failed;
    add_record(out, &message);
    text_free(&summary);
    text_free(&message);
}

/* ---- Where a file is to be cut ---- */

static uint64_t read_little(const char *data, int bytes)
{
    uint64_t value = 0;
    for (int i = 0; i < bytes; i++) value |= (uint64_t)(unsigned char)data[i] << 8 * i;
    return value;
}

/* The whole record at `data`: its size, or 0 when it is cut off or damaged. */
static size_t record_size(const char *data, size_t left)
{
    if (left < FRAME) return 0;
    const uint64_t length = read_little(data, 8);
    if (length > left - FRAME || read_little(data + 8, 4) != masked(data, 8)) return 0;
    if (read_little(data + 12 + length, 4) != masked(data + 12, (size_t)length)) return 0;
    return (size_t)length + FRAME;
}

/* Of a message as events_add writes it; 0 for the first one, which has none. */
static int64_t message_step(const char *message, size_t size)
{
    uint64_t step = 0;
    if (size < 11 || message[9] != (2 << 3 | WIRE_VARINT)) return 0;
    for (size_t at = 10, shift = 0; at < size && shift < 63; at++, shift += 7) {
        step |= (uint64_t)(message[at] & 0x7f) << shift;
        if (!(message[at] & 0x80)) break;
    }
    return (int64_t)step;
}

size_t events_until(const char *data, size_t size, int64_t step)
{
    size_t at = 0;
    for (size_t record; (record = record_size(data + at, size - at)); at += record)
        if (message_step(data + at + 12, record - FRAME) > step) break;
    return at;
}
