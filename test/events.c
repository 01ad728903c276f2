/* TensorBoard event files of both trainers, read by a reader that shares nothing with the writer, and
 * compared with the JSON lines beside them. */
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/file.h"
#include "learn/events.h"
#include "shell.h"

/* ---- The reader: CRC by its definition, protobuf field by field ---- */

static uint32_t crc_of(const unsigned char *data, size_t size)
{
    uint32_t table[256], crc = 0xffffffff;
    for (uint32_t i = 0; i < 256; i++) {
        table[i] = i;
        for (int k = 0; k < 8; k++) table[i] = table[i] & 1 ? (table[i] >> 1) ^ 0x82f63b78u : table[i] >> 1;
    }
    for (size_t i = 0; i < size; i++) crc = table[(crc ^ data[i]) & 0xff] ^ (crc >> 8);
    crc = ~crc;
    return (crc >> 15 | crc << 17) + 0xa282ead8u;
}

typedef struct {
    const unsigned char *at, *end;
} bytes;

typedef struct {
    unsigned number, wire;
    uint64_t value; /* varint, or the bits of a fixed field */
    bytes data;     /* of a field with a length */
} pb_field;

static uint64_t take_varint(bytes *b)
{
    uint64_t value = 0;
    for (int shift = 0;; shift += 7) {
        ENSURE(b->at < b->end && shift < 64);
        value |= (uint64_t)(*b->at & 0x7f) << shift;
        if (!(*b->at++ & 0x80)) return value;
    }
}

static bool take_field(bytes *b, pb_field *f)
{
    if (b->at == b->end) return false;
    const uint64_t key = take_varint(b);
    *f = (pb_field){.number = (unsigned)(key >> 3), .wire = key & 7};
    size_t fixed = f->wire == 1 ? 8 : f->wire == 5 ? 4 : 0;
    if (f->wire == 0) f->value = take_varint(b);
    if (f->wire == 2) {
        const uint64_t size = take_varint(b);
        ENSURE(size <= (uint64_t)(b->end - b->at));
        f->data = (bytes){b->at, b->at + size};
        b->at += size;
    }
    ENSURE(f->wire == 0 || f->wire == 2 || fixed);
    ENSURE(fixed <= (size_t)(b->end - b->at));
    memcpy(&f->value, b->at, fixed ? fixed : 0);
    b->at += fixed;
    return true;
}

/* {"trials/success": 0.5, ...} of a Summary. */
static json_t *read_summary(bytes b)
{
    json_t *out = json_object();
    for (pb_field v, f; take_field(&b, &v);) {
        char tag[300] = "";
        float number = NAN;
        ENSURE(v.number == 1 && v.wire == 2);
        while (take_field(&v.data, &f)) {
            if (f.number == 1)
                snprintf(tag, sizeof tag, "%.*s", (int)(f.data.end - f.data.at), (const char *)f.data.at);
            if (f.number == 2) memcpy(&number, &f.value, sizeof number);
        }
        ENSURE(*tag && isfinite(number) && !json_object_get(out, tag));
        json_object_set_new(out, tag, json_real((double)number));
    }
    return out;
}

/* The next record as {"step": N, "scalars": {...}} or {"version": ""}; checks both sums. */
static json_t *read_event(bytes *file)
{
    uint64_t length;
    uint32_t crc;
    ENSURE(file->end - file->at >= 16);
    memcpy(&length, file->at, 8);
    memcpy(&crc, file->at + 8, 4);
    ENSURE(crc == crc_of(file->at, 8) && length <= (uint64_t)(file->end - file->at - 16));
    bytes message = {file->at + 12, file->at + 12 + length};
    memcpy(&crc, message.end, 4);
    ENSURE(crc == crc_of(message.at, length));
    file->at = message.end + 4;
    json_t *out = json_object();
    double wall = 0;
    for (pb_field f; take_field(&message, &f);) {
        if (f.number == 1) memcpy(&wall, &f.value, 8);
        if (f.number == 2) json_object_set_new(out, "step", json_integer((json_int_t)f.value));
        if (f.number == 3)
            json_object_set_new(out, "version",
                                json_stringn((const char *)f.data.at, (size_t)(f.data.end - f.data.at)));
        if (f.number == 5) json_object_set_new(out, "scalars", read_summary(f.data));
    }
    ENSURE(wall > 1.6e9 && wall < 1e10); /* a date of this century */
    return out;
}

/* ---- Comparison with the log ---- */

static void compare(const json_t *line, const char *prefix, const json_t *scalars, size_t *count)
{
    const char *key;
    json_t *member;
    json_object_foreach ((json_t *)line, key, member) {
        char tag[300];
        snprintf(tag, sizeof tag, "%s%s%s", prefix, *prefix ? "/" : "", key);
        if (json_is_object(member)) compare(member, tag, scalars, count);
        if (!json_is_number(member)) continue;
        const double has = json_number_value(json_object_get(scalars, tag)), want = json_number_value(member);
        if (!json_object_get(scalars, tag)) test_fail(__FILE__, __LINE__, "there is no %s", tag);
        ENSURE_NEAR(has, want, 1e-5 * fabs(want) + 1e-30);
        ++*count;
    }
}

/* One event a line, with the same numbers, in growing steps. Returns how many. */
static int check_model(const char *model, const char *step_name)
{
    char path[256];
    hrc_error err;
    file_view events, log;
    snprintf(path, sizeof path, "%s.tensorboard/events.out.tfevents.heracles", model);
    ENSURE_OK(file_map(test_path(path), &events, &err));
    snprintf(path, sizeof path, "%s.log.jsonl", model);
    ENSURE_OK(file_map(test_path(path), &log, &err));
    bytes b = {(const unsigned char *)events.data, (const unsigned char *)events.data + events.size};
    json_t *first = read_event(&b);
    ENSURE(!strcmp(json_string_value(json_object_get(first, "version")), "brain.Event:2"));
    json_decref(first);
    int lines = 0;
    json_int_t last = 0;
    for (const char *at = log.data, *end; at < log.data + log.size; at = end + 1, lines++) {
        size_t count = 0;
        end = memchr(at, '\n', (size_t)(log.data + log.size - at));
        ENSURE(end);
        json_t *line = json_loadb(at, (size_t)(end - at), 0, NULL), *event = read_event(&b);
        const json_t *scalars = json_object_get(event, "scalars");
        const json_int_t step = json_integer_value(json_object_get(event, "step"));
        ENSURE(step > last && step == json_integer_value(json_object_get(line, step_name)));
        compare(line, "", scalars, &count);
        ENSURE(count > 3 && count == json_object_size(scalars));
        last = step;
        json_decref(line);
        json_decref(event);
    }
    ENSURE(b.at == b.end);
    file_unmap(&events);
    file_unmap(&log);
    return lines;
}

/* ---- Tests ---- */

/* Figures of others: the check value of CRC-32C, and how every event file of TensorFlow begins. */
static void test_framing(void)
{
    static const char BEGIN[] = "\x18\0\0\0\0\0\0\0\xa3\x7fK\"\t";
    text file = {0};
    ENSURE(events_crc32c("123456789", 9) == 0xe3069283);
    events_begin(&file, 1.7e9);
    ENSURE(text_ok(&file) && file.size == 40 && !memcmp(file.data, BEGIN, sizeof BEGIN - 1));
    const size_t first = file.size;
    json_t *line = json_pack("{s:f, s:{s:i, s:n, s:s}}", "a", 0.5, "b", "c", 3, "not", "word", "x");
    events_add(&file, 1.7e9, 7, line);
    const size_t second = file.size;
    events_add(&file, 1.7e9, 300, line);
    json_decref(line);
    ENSURE(events_until(file.data, file.size, 6) == first && events_until(file.data, file.size, 7) == second);
    ENSURE(events_until(file.data, file.size, 299) == second);
    ENSURE(events_until(file.data, file.size, 300) == file.size);
    ENSURE(events_until(file.data, file.size - 1, 300) == second); /* cut off while writing */
    file.data[second - 6] ^= 1;
    ENSURE(events_until(file.data, file.size, 300) == first && events_until(file.data, 11, 300) == 0);
    text_free(&file);
}

#define PLANNER                                                                                              \
    "$HERACLES train planner motions/wave.safetensors motions/floor.safetensors --planner.width=32 "         \
    "--planner.depth=1 --planner.batch=16 --planner.warmup=5 --log-every 5 --quiet "                         \
    "--threads 1 -o $T/ev.safetensors "

/* Lines that were written after the checkpoint are written again by the resumed run, and are there once. */
static void test_planner(void)
{
    ENSURE(shell(PLANNER "--planner.steps=10") == 0 && check_model("ev.safetensors", "step") == 2);
    ENSURE(shell("cd $T && cp ev.safetensors.checkpoint old.checkpoint") == 0);
    ENSURE(shell(PLANNER "--planner.steps=30 --resume") == 0 && check_model("ev.safetensors", "step") == 6);
    ENSURE(shell("cd $T && cp old.checkpoint ev.safetensors.checkpoint && printf '{\"step\": 3' >> "
                 "ev.safetensors.log.jsonl") == 0);
    ENSURE(shell(PLANNER "--planner.steps=30 --resume") == 0 && check_model("ev.safetensors", "step") == 6);
    ENSURE(shell(PLANNER "--planner.steps=30 --overwrite") == 0 &&
           check_model("ev.safetensors", "step") == 6);
}

#define TRACKER                                                                                              \
    "$HERACLES train tracker --method ppo --quiet --threads 1 --motion test/data/turn.csv --trials 2 "       \
    "--tracker.encoder_width=16 --tracker.action_width=16 --tracker.critic_width=16 --tracker.token=8 "      \
    "--ppo.worlds=6 --ppo.horizon=8 --ppo.minibatches=2 --train.precision=float --log-seconds 0 "            \
    "-o $T/evt.safetensors "

static void test_tracker(void)
{
    ENSURE(shell(TRACKER "--iterations 2") == 0 && check_model("evt.safetensors", "iteration") == 2);
    ENSURE(shell("cd $T && cp evt.safetensors.checkpoint old.checkpoint") == 0);
    ENSURE(shell(TRACKER "--iterations 4 --resume") == 0);
    ENSURE(check_model("evt.safetensors", "iteration") == 4);
    ENSURE(shell("cd $T && cp old.checkpoint evt.safetensors.checkpoint") == 0);
    ENSURE(shell(TRACKER "--iterations 3 --resume") == 0);
    ENSURE(check_model("evt.safetensors", "iteration") == 3);
}

TEST_TABLE({"events.framing", test_framing}, {"events.planner", test_planner},
           {"events.tracker", test_tracker})
