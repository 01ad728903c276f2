/* A run of the playground: how its scene began, and every order with its step. As JSON:
 * {"scene": {...}, "orders": [[step, order], ...], "whole": true}. */
#ifndef HRC_PLAY_RUN_H
#define HRC_PLAY_RUN_H

#include "base/json.h"
#include "play/catalog.h"

/* What a person may ask of the playground, as plain data and as JSON: {"do": "punch", "link": 15, "x": ...}.
 */
/* Name, smallest and largest `value`. */
#define PLAY_ORDERS(X)                                                                                       \
    X(motion, 0, 0)  /* `index`: follow it now, from where the robot is; empties the queue */                \
    X(queue, 0, 0)   /* `index`: after the present one */                                                    \
    X(clear, 0, 0)   /* empty the queue */                                                                   \
    X(repeat, 0, 1)  /* begin the motion again at its end */                                                 \
    X(push, 0, 0)    /* xyz m/s, in the heading frame of each robot */                                       \
    X(punch, 0, 0)   /* xyz N for PUNCH_S on `link`; world frame of robot `robot`, the other likewise */     \
    X(drag, 0, 0)    /* the same for DRAG_S, meant to be renewed */                                          \
    X(planner, 0, 1) /* on or off */                                                                         \
    X(friction, 0.05, 3)                                                                                     \
    X(payload, 0, 40)        /* kg */                                                                        \
    X(strength, 0.1, 3)      /* factor on the torque limits */                                               \
    X(restart, 0, 0)         /* at the motion's first frame */                                               \
    X(posture, 0, 3)         /* lying on back, front, left, right, at the motion's first place */            \
    X(pair, 0, 1)            /* two robots, the second without planner; begins anew */                       \
    X(seed, 0, 4294967295.0) /* of the planner; begins anew */

typedef enum {
#define X(name, lo, hi) PLAY_##name,
    PLAY_ORDERS(X)
#undef X
        PLAY_KINDS,
} play_kind;

typedef struct {
    play_kind kind;
    int index;    /* of the motion */
    double value; /* of a setting */
    int robot, link;
    double xyz[3];
} play_order;

/* Refuses what is unknown, out of range or not finite. Motions go by name. */
hrc_status play_order_parse(play_order *out, const json_t *value, const catalog *motions, hrc_error *err);
json_t *play_order_json(const play_order *o, const catalog *motions);

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
