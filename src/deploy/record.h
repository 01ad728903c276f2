/* The recording of a run: one MCAP file with everything that came in, everything that was thought and
 * everything that went out, so that `heracles replay` can do it all again and compare bit by bit. Each thread
 * has a ring of its own and never waits; one more thread empties them into the file. */
#ifndef HRC_DEPLOY_RECORD_H
#define HRC_DEPLOY_RECORD_H

#include "deploy/brain.h"
#include "deploy/mcap.h"

/* The records are plain data without holes, in the order of the schemas in record.c. */
typedef struct {
    int64_t ns; /* when it came */
    uint32_t number;
    robot_state state;
} record_state;

/* Input and outcome of one tick of the pilot. */
typedef struct {
    int64_t now_ns, state_ns;
    uint32_t states, bad_states, other_commands;
    int32_t battery;
    uint32_t target; /* seq of the policy's latest target, 0: none */
    uint32_t asks;
    uint32_t mode, why;
    int32_t joint;
    uint32_t sent; /* 0: nothing was to be sent */
    robot_command command;
} record_tick;

/* The pilot's input that a tick was made from. */
pilot_input record_input(const record_tick *t, const record_state *s, const pilot_target *target);

typedef struct recorder recorder;

typedef enum {
    RECORD_STATE,
    RECORD_TICK,
    RECORD_TARGET,
    RECORD_PLAN,
    RECORD_EVENT,
    RECORD_KINDS
} record_kind;

/* One ring for each thread that records. */
typedef enum { RING_LISTENER, RING_WRITER, RING_POLICY, RING_PLANNER, RING_MAIN, RINGS } record_ring;

const char *record_topic(record_kind kind);

/* realtime: its thread asks for the lowest real-time priority, so that a busy machine does not fill the
 * rings. */
hrc_status recorder_open(recorder **out, const char *path, const mcap_note *notes, int n, bool realtime,
                         hrc_error *err);

/* ns: of the monotonic clock. NULL recorder: nothing happens. A full ring drops the record and counts it. */
void record(recorder *r, record_ring ring, record_kind kind, int64_t ns, const void *data);
void record_event(recorder *r, record_ring ring, int64_t ns, const char *sentence);

/* dropped (may be NULL): records that found their ring full. */
hrc_status recorder_close(recorder *r, uint64_t *dropped, hrc_error *err);

#endif
