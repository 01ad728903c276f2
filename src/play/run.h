/* A run of the playground: how its scene began, and every order with its step. As JSON:
 * {"scene": {...}, "orders": [[step, order], ...], "whole": true}. */
#ifndef HRC_PLAY_RUN_H
#define HRC_PLAY_RUN_H

#include "play/order.h"

#define PLAY_QUEUE 16
#define PLAY_KEPT 256

/* What a person sees of the whole. */
typedef struct {
    int64_t step; /* since the scene began */
    int robots;
    bool planner, pair, repeat;
    double friction, payload, strength;
    uint64_t seed;
    int posture; /* the scene began lying; -1: no */
    int motion, queued, queue[PLAY_QUEUE];
    bool scripted; /* orders of a restored run are still to come */
    char event[96];
    int64_t event_number; /* of the last event: rises with each */
} play_scene;

typedef struct {
    int64_t step;
    play_order order;
} play_kept;

typedef struct {
    play_scene scene; /* at step 0 */
    int n;
    play_kept orders[PLAY_KEPT];
    bool whole; /* every order is there: no more than PLAY_KEPT came */
} play_run;

json_t *play_run_json(const play_run *r, const catalog *motions);
hrc_status play_run_parse(play_run *out, const json_t *value, const catalog *motions, hrc_error *err);

bool play_begins(play_kind k); /* such an order begins a new run */

#endif
