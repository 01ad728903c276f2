/* Hand-over between threads: whole values, never an older one after a newer one, the newest in the end; and
 * the recorder's rings, which lose nothing as long as they are emptied. */
#include "deploy/slot.h"

#include <pthread.h>
#include <stdint.h>

#include "deploy/deploy.h"
#include "deploy/record.h"
#include "test.h"

enum { WORDS = 64, VALUES = 20000 };

typedef struct {
    uint32_t word[WORDS];
} value;

static void *write_all(void *arg)
{
    slot *s = arg;
    for (uint32_t n = 1; n <= VALUES; n++) {
        value v;
        for (int i = 0; i < WORDS; i++) v.word[i] = n;
        slot_write(s, &v);
    }
    return NULL;
}

static void test_whole_values(void)
{
    static value memory[3];
    slot s;
    pthread_t thread;
    slot_init(&s, memory, sizeof(value));
    ENSURE(pthread_create(&thread, NULL, write_all, &s) == 0);
    bool torn = false, back = false;
    for (uint32_t last = 0; last < VALUES && !torn && !back;) {
        const value *v = slot_read(&s);
        for (int i = 1; i < WORDS; i++) torn |= v->word[i] != v->word[0];
        back |= v->word[0] < last;
        last = v->word[0];
    }
    pthread_join(thread, NULL);
    ENSURE(!torn && !back);
}

typedef struct {
    int64_t ticks, states;
    bool in_order;
    uint32_t last;
} tally;

static hrc_status count_message(void *ctx, const mcap_message *m, hrc_error *err)
{
    (void)err;
    tally *t = ctx;
    record_state s;
    t->ticks += m->topic_size == 4;
    if (m->topic_size != 5 || m->size != sizeof s) return HRC_OK;
    memcpy(&s, m->data, sizeof s);
    t->in_order &= s.number == t->last + 1;
    t->last = s.number;
    t->states++;
    return HRC_OK;
}

static void test_recorder(void)
{
    hrc_error err;
    recorder *r;
    uint64_t dropped;
    file_view view;
    bool cut;
    tally t = {.in_order = true};
    const char *path = test_path("ring.mcap");
    ENSURE_OK(recorder_open(&r, path, &(mcap_note){"a", "b"}, 1, false, &err));
    for (uint32_t n = 1; n <= 2000; n++) {
        record_state s = {.ns = n, .number = n};
        record_tick tick = {.now_ns = n};
        record(r, RING_LISTENER, RECORD_STATE, n, &s);
        record(r, RING_WRITER, RECORD_TICK, n, &tick);
    }
    record_event(r, RING_MAIN, 1, "done");
    ENSURE_OK(recorder_close(r, &dropped, &err));
    ENSURE(dropped == 0);
    ENSURE_OK(file_map(path, &view, &err));
    ENSURE_OK(mcap_read(path, view, &(mcap_reader){.ctx = &t, .message = count_message}, &cut, &err));
    file_unmap(&view);
    ENSURE(!cut && t.ticks == 2000 && t.states == 2000 && t.in_order);
}

static void test_times(void)
{
    times t = {0};
    for (int i = 1; i <= 10000; i++) times_add(&t, i * 1000); /* 1 us to 10 ms, even */
    ENSURE_NEAR(times_quantile(&t, 0.5), 5000, 500);
    ENSURE_NEAR(times_quantile(&t, 0.99), 9900, 900);
    ENSURE(t.max_us == 10000 && times_quantile(&t, 1) == 10000);
    times_add(&t, (int64_t)1e12);
    times_add(&t, -5);
    ENSURE(t.n == 10002);
}

TEST_TABLE({"slot.whole_values", test_whole_values}, {"slot.recorder", test_recorder},
           {"slot.times", test_times})
