/* The playground: one robot, or two side by side, that follow motions while a person disturbs them. Whatever
 * changes the robots is an order; orders are kept with the step at which they came, so a run can be had
 * again, bit for bit. Without a tracker the joints follow the reference by PD control alone. No thread but
 * the simulator's pool, no clock, no network. */
#ifndef HRC_PLAY_PLAYGROUND_H
#define HRC_PLAY_PLAYGROUND_H

#include "play/run.h"

#define PLAY_ROBOTS TAPE_ROBOTS
#define PLAY_FORCES 8

typedef struct playground playground;

typedef struct {
    const hrc_model *tracker, *planner; /* NULL: none */
    sim *physics;
    pool *threads; /* the simulator's */
    const catalog *motions;
    tape *record;
    uint64_t seed;
    const config *cfg;  /* of the closed loop, [control] */
} playground_resources; /* all borrowed */

typedef struct {
    sim_world world;
    hrc_target target;
    hrc_report report;
    bool planner; /* it has one, and it is on */
    int nforces;
    sim_force forces[PLAY_FORCES];
    char problem[200]; /* why it stands still; "" */
} play_robot;

/* Begins with motion `first` of the catalog. */
hrc_status playground_create(playground **out, const playground_resources *resources, int first,
                             hrc_error *err);
void playground_free(playground *p); /* NULL is fine */

/* On failure nothing has changed. */
hrc_status playground_order(playground *p, const play_order *o, hrc_error *err);
void playground_step(playground *p); /* one control period of every robot */

const play_scene *playground_scene(const playground *p);
const play_robot *playground_robot(const playground *p, int i);

/* The run from its beginning, and such a run again. */
const play_run *playground_run(const playground *p);
hrc_status playground_restore(playground *p, const play_run *run, hrc_error *err);

#endif
