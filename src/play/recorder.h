/* The last minutes of up to two robots, frame by frame, while they still run. One thread adds; any other may
 * take a copy meanwhile, which never holds the first one up for longer than a few frames take to copy. */
#ifndef HRC_PLAY_RECORDER_H
#define HRC_PLAY_RECORDER_H

#include "eval/rollout.h"
#include "sim/sim.h"

#define RECORDER_S 120
#define RECORDER_ROBOTS 2

typedef struct recorder recorder;

hrc_status recorder_create(recorder **out, hrc_error *err);
void recorder_free(recorder *r);              /* NULL is fine */
void recorder_clear(recorder *r, int robots); /* forget all; how many there are from now on */

/* One control period: for every robot its pose before, and what came of it; then the next one. */
void recorder_add(recorder *r, int robot, const float qpos[HRC_NQ], const hrc_target *target,
                  const double torque[HRC_JOINTS], const hrc_report *report);
void recorder_next(recorder *r);
void recorder_note(recorder *r, const char *text); /* an event, now */

/* Marks the first frame of what `take` gives; false: everything that is still there. */
void recorder_mark(recorder *r, bool on);

typedef struct {
    int robots;
    double seconds; /* that `take` would give */
    bool marked;
} recorder_status;

recorder_status recorder_state(recorder *r);
hrc_status recorder_take(recorder *r, int robot, const char *name, rollout *out, hrc_error *err);

#endif
