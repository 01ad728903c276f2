/* Recordings of deploy. An input that begins as an MCAP file is one; any other is a list of edits, (what,
 * place low, place high, byte) each, of a good recording, which the recorder's own writer makes once. */
#include "deploy/mcap.h"

#include <stdio.h>
#include <unistd.h>

#include "deploy/reflight.h"
#include "fuzz.h"

#define TICKS 24

static file_view good;

static void add(mcap *m, record_kind kind, const void *data, size_t size)
{
    mcap_add(m, (int)kind, 1000, data, size);
}

/* States and ticks of a fiftieth of a second and a little more, two targets, a plan, an event. */
static void add_messages(mcap *m)
{
    static const char EVENT[12 + 5] = {[8] = 5, [12] = 'h', 'o', 'l', 'd'};
    for (uint32_t i = 1; i <= TICKS; i++) {
        record_state s = {.ns = i, .number = i, .state = {.tick = 2 * i, .quat = {1}}};
        record_tick t = {.now_ns = i, .states = i, .target = i > TICKS / 2 ? 2 : 0, .mode = PILOT_POLICY};
        add(m, RECORD_STATE, &s, sizeof s);
        add(m, RECORD_TICK, &t, sizeof t);
        if (i == TICKS / 2) mcap_flush(m);
    }
    for (uint32_t i = 1; i <= 2; i++) {
        brain_output o = {.target = {.seq = i, .epoch = 1, .state = i}, .reference = {0.1f}};
        add(m, RECORD_TARGET, &o, sizeof o);
    }
    brain_plan p = {.step = 1, .epoch = 1};
    add(m, RECORD_PLAN, &p, sizeof p);
    add(m, RECORD_EVENT, EVENT, sizeof EVENT);
}

static void make_good(void)
{
    static const mcap_note NOTES[] = {{"config", "[deploy]\nstep = 0.08\n"}, {"ramp_s", "0.5"}};
    char path[] = "/tmp/fuzz-mcap-XXXXXX";
    hrc_error err;
    mcap *m;
    int fd = mkstemp(path);
    SOUND(fd >= 0 && close(fd) == 0);
    SOUND(mcap_create(&m, path, &err) >= 0);
    for (int i = 0; i < RECORD_KINDS; i++) mcap_channel(m, record_topic(i), "heracles/Any", "uint8 x\n");
    mcap_notes(m, "heracles", NOTES, COUNT(NOTES));
    add_messages(m);
    SOUND(mcap_close(m, &err) >= 0);
    SOUND(file_map(path, &good, &err) >= 0 && unlink(path) == 0);
}

/* What is accepted can be looked at. */
static void read_bytes(const char *bytes, size_t size)
{
    reflight *r;
    rollout frames = {0};
    config cfg;
    pilot_plan course;
    hrc_error err = {{0}};
    if (reflight_parse(&r, "input.mcap", (file_view){bytes, size}, &err) < 0) {
        SOUND(err.text[0]);
        return;
    }
    reflight_course(r, &cfg, &course, &err);
    if (reflight_rollout(r, &frames, &err) == HRC_OK) SOUND(frames.n >= 1 && frames.qpos);
    rollout_free(&frames);
    reflight_free(r);
}

static size_t edit(char *bytes, size_t size, const uint8_t *e)
{
    const size_t at = (size_t)(e[1] | e[2] << 8) % size, n = 1 + e[3];
    switch (e[0] % 8) {
    case 0: return at + 1; /* cut off */
    case 1:                /* without some bytes */
        if (at + n >= size) return size;
        memmove(bytes + at, bytes + at + n, size - at - n);
        return size - n;
    default: bytes[at] = (char)e[3]; return size;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (!good.data) make_good();
    if (size && data[0] == (uint8_t)good.data[0]) {
        read_bytes((const char *)data, size);
        return 0;
    }
    char *bytes = malloc(good.size);
    SOUND(bytes);
    memcpy(bytes, good.data, good.size);
    size_t n = good.size;
    for (; size >= 4; data += 4, size -= 4) n = edit(bytes, n, data);
    char *exact = malloc(n); /* so that one byte too far is seen */
    SOUND(exact);
    memcpy(exact, bytes, n);
    read_bytes(exact, n);
    free(exact);
    free(bytes);
    return 0;
}
