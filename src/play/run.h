/* A run of the playground: how its scene began, and every order with its step. As JSON:
 * {"scene": {...}, "orders": [[step, order], ...], "whole": true}. */
#ifndef HRC_PLAY_RUN_H
#define HRC_PLAY_RUN_H

#include "base/json.h"
#include "eval/course.h"
#include "eval/rollout.h"
#include "motion/corpus.h"
#include "sim/sim.h"

/* The motions a person may pick from: files, the clips of a corpus, and what is added while it plays. An
 * entry never changes once it is there and never moves, so any thread that was told its number may read it;
 * `n` belongs to the thread that adds. */
typedef struct {
    const char *name, *category, *description; /* "" when unknown */
    int frames;                                /* at 50 Hz */
    const char *path;                          /* of a file */
    const clip *added;                         /* or a motion in memory, at 50 Hz */
    int clip;                                  /* or, where both are NULL, of the corpus */
} catalog_entry;

#define CATALOG_ADDED 32 /* as many may be added */

typedef struct {
    arena memory;
    corpus clips; /* nclips 0: none */
    int n, room;
    catalog_entry *entries; /* the files first, what is added last */
    clip_options reading;   /* of the files; its texts are the caller's */
} catalog;

/* corpus_path NULL: no corpus. reading may be NULL. Without any motion at all it fails. */
hrc_status catalog_open(catalog *out, const char *corpus_path, const char *const *files, int n,
                        const clip_options *reading, hrc_error *err);
void catalog_close(catalog *c);

/* Takes a motion at 50 Hz over, also on failure. It is called as the clip is, or "NAME (2)" where there is
 * one of that name. *at: its number. */
hrc_status catalog_add(catalog *c, clip *motion, int *at, hrc_error *err);
int catalog_find(const catalog *c, const char *name); /* -1 when there is none */

/* Entry i, to be followed from its first frame. */
hrc_status catalog_course(const catalog *c, int i, course *out, hrc_error *err);

/* The last minutes of up to two robots, frame by frame, while they still run. One thread adds; any other may
 * take a copy meanwhile, which never holds the first one up for longer than a few frames take to copy. */
#define TAPE_S 120
#define TAPE_ROBOTS 2

typedef struct tape tape;

hrc_status tape_create(tape **out, hrc_error *err);
void tape_free(tape *r);              /* NULL is fine */
void tape_clear(tape *r, int robots); /* forget all; how many there are from now on */

/* One control period: for every robot its pose before, and what came of it; then the next one. */
void tape_add(tape *r, int robot, const double qpos[HRC_NQ], const hrc_target *target,
              const double torque[HRC_JOINTS], const hrc_report *report);
void tape_next(tape *r);
void tape_note(tape *r, const char *text); /* an event, now */

/* Marks the first frame of what `take` gives; false: everything that is still there. */
void tape_mark(tape *r, bool on);

typedef struct {
    int robots;
    double seconds; /* that `take` would give */
    bool marked;
} tape_status;

tape_status tape_state(tape *r);
hrc_status tape_take(tape *r, int robot, const char *name, rollout *out, hrc_error *err);

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
