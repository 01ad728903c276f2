#include "deploy/record.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "deploy/clock.h"

#define RING_BYTES (1u << 21) /* more than four seconds of the fastest */
#define EVENT_BYTES 240
#define DRAIN_MS 20
#define PRIORITY 1
#define CHUNK_MS 200

/* A string as CDR has it: its length with the zero, and the bytes. */
typedef struct {
    int64_t ns;
    uint32_t length;
    char text[EVENT_BYTES];
} event;

static const struct {
    const char *topic, *type, *fields;
    size_t size;
} KIND[RECORD_KINDS] = {
    {"state", "heracles/State",
     "int64 ns\nuint32 number\nuint32 tick\nuint32 mode_machine\nfloat32[4] quat\nfloat32[3] gyro\nfloat32[3] accel\n"
     "float32[29] q\nfloat32[29] dq\nfloat32[29] tau\nint16[58] temperature\nuint32[29] fault\nuint8[40] remote\n",
     sizeof(record_state)},
    {"tick", "heracles/Tick",
     "int64 now_ns\nint64 state_ns\nuint32 states\nuint32 bad_states\nuint32 other_commands\nint32 battery\n"
     "uint32 target\nuint32 asks\nuint32 mode\nuint32 why\nint32 joint\nuint32 sent\n"
     "uint32 tick\nuint32 mode_machine\nuint32 on\n"
     "float32[29] q\nfloat32[29] dq\nfloat32[29] tau\nfloat32[29] kp\nfloat32[29] kd\n",
     sizeof(record_tick)},
    {"target", "heracles/Target",
     "int64 ns\nuint32 seq\nuint32 epoch\nuint32 state\nuint32 flags\nfloat32[29] q\nfloat32[29] kp\nfloat32[29] kd\n"
     "int64 plan_step\nuint32 plan_epoch\nint32 frame\nint32 planned\nint32 misses\nfloat32 gap_rad\n"
     "float32 rewrite_rad\nfloat32[29] reference\n",
     sizeof(brain_output)},
    {"plan", "heracles/Plan",
     "int64 step\nint64 ns\nint64 took_ns\nuint32 epoch\nint32 verdict\nfloat32[288] keyframes\nfloat64 span_s\n",
     sizeof(brain_plan)},
    {"event", "heracles/Event", "int64 ns\nstring text\n", sizeof(event)},
};

typedef struct {
    uint32_t kind, size;
    int64_t ns;
} head;

/* Bytes from one thread to the recorder's; positions only grow. */
typedef struct {
    _Atomic uint64_t written, read;
    _Atomic uint64_t dropped;
    char bytes[RING_BYTES];
} ring;

struct recorder {
    mcap *file;
    int64_t to_wall_ns; /* monotonic to the calendar */
    pthread_t thread;
    atomic_bool stop;
    bool realtime;
    int64_t flushed_ns;
    ring rings[RINGS];
};

const char *record_topic(record_kind kind)
{
    return KIND[kind].topic;
}

pilot_input record_input(const record_tick *t, const record_state *s, const pilot_target *target)
{
    return (pilot_input){
        .robot = {.now_ns = t->now_ns,
                  .state_ns = t->state_ns,
                  .state = t->states ? &s->state : NULL,
                  .states = t->states,
                  .bad_states = t->bad_states,
                  .other_commands = t->other_commands,
                  .battery = t->battery},
        .target = t->target ? target : NULL,
        .asks = t->asks,
    };
}

/* ---- Rings ---- */

static void ring_put(ring *r, uint64_t at, const void *data, size_t size)
{
    size_t from = (size_t)(at % RING_BYTES), first = size < RING_BYTES - from ? size : RING_BYTES - from;
    memcpy(r->bytes + from, data, first);
    memcpy(r->bytes, (const char *)data + first, size - first);
}

static void ring_get(const ring *r, uint64_t at, void *data, size_t size)
{
    size_t from = (size_t)(at % RING_BYTES), first = size < RING_BYTES - from ? size : RING_BYTES - from;
    memcpy(data, r->bytes + from, first);
    memcpy((char *)data + first, r->bytes, size - first);
}

static void push(recorder *rec, record_ring which, record_kind kind, int64_t ns, const void *data,
                 size_t size)
{
    if (!rec) return;
    ring *r = &rec->rings[which];
    head h = {.kind = kind, .size = (uint32_t)size, .ns = ns};
    uint64_t at = atomic_load_explicit(&r->written, memory_order_relaxed);
    if (at + sizeof h + size - atomic_load_explicit(&r->read, memory_order_acquire) > RING_BYTES) {
        atomic_fetch_add(&r->dropped, 1);
        return;
    }
    ring_put(r, at, &h, sizeof h);
    ring_put(r, at + sizeof h, data, size);
    atomic_store_explicit(&r->written, at + sizeof h + size, memory_order_release);
}

void record(recorder *r, record_ring which, record_kind kind, int64_t ns, const void *data)
{
    push(r, which, kind, ns, data, KIND[kind].size);
}

void record_event(recorder *r, record_ring which, int64_t ns, const char *sentence)
{
    event e = {.ns = ns};
    snprintf(e.text, sizeof e.text, "%s", sentence);
    e.length = (uint32_t)strlen(e.text) + 1;
    push(r, which, RECORD_EVENT, ns, &e, offsetof(event, text) + e.length);
}

static void drain(recorder *rec, ring *r)
{
    char data[sizeof(brain_plan) + sizeof(record_tick) + sizeof(record_state)];
    uint64_t at = atomic_load_explicit(&r->read, memory_order_relaxed);
    while (at < atomic_load_explicit(&r->written, memory_order_acquire)) {
        head h;
        ring_get(r, at, &h, sizeof h);
        ring_get(r, at + sizeof h, data, h.size);
        at += sizeof h + h.size;
        atomic_store_explicit(&r->read, at, memory_order_release);
        mcap_add(rec->file, (int)h.kind, (uint64_t)(h.ns + rec->to_wall_ns), data, h.size);
    }
}

static void drain_all(recorder *rec)
{
    for (int i = 0; i < RINGS; i++) drain(rec, &rec->rings[i]);
    int64_t now = clock_now_ns();
    if (now - rec->flushed_ns < CHUNK_MS * NS_PER_MS) return;
    mcap_flush(rec->file);
    rec->flushed_ns = now;
}

static void *keep_draining(void *arg)
{
    recorder *rec = arg;
    if (rec->realtime) realtime_take(PRIORITY);
    while (!atomic_load(&rec->stop)) {
        drain_all(rec);
        clock_sleep_until(clock_now_ns() + DRAIN_MS * NS_PER_MS);
    }
    drain_all(rec);
    return NULL;
}

/* ---- Open and close ---- */

hrc_status recorder_open(recorder **out, const char *path, const mcap_note *notes, int n, bool realtime,
                         hrc_error *err)
{
    recorder *r = calloc(1, sizeof *r);
    if (!r) return fail(err, HRC_ENOMEM, "%s: out of memory", path);
    hrc_status status = mcap_create(&r->file, path, err);
    if (status < 0) {
        free(r);
        return status;
    }
    for (int i = 0; i < RECORD_KINDS; i++) mcap_channel(r->file, KIND[i].topic, KIND[i].type, KIND[i].fields);
    mcap_notes(r->file, "heracles", notes, n);
    r->to_wall_ns = clock_ns_of(CLOCK_REALTIME) - clock_now_ns();
    r->realtime = realtime;
    if (pthread_create(&r->thread, NULL, keep_draining, r)) {
        status = fail(err, HRC_ENOMEM, "%s: no thread for the recording", path);
        mcap_close(r->file, NULL);
        free(r);
        return status;
    }
    *out = r;
    return HRC_OK;
}

hrc_status recorder_close(recorder *r, uint64_t *dropped, hrc_error *err)
{
    uint64_t lost = 0;
    char text[24];
    if (!r) return HRC_OK;
    atomic_store(&r->stop, true);
    pthread_join(r->thread, NULL);
    for (int i = 0; i < RINGS; i++) lost += atomic_load(&r->rings[i].dropped);
    snprintf(text, sizeof text, "%llu", (unsigned long long)lost);
    mcap_notes(r->file, "heracles-end", &(mcap_note){"dropped", text}, 1);
    hrc_status status = mcap_close(r->file, err);
    free(r);
    if (dropped) *dropped = lost;
    return status;
}
