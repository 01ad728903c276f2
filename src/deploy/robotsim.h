/* The simulated robot on the network: the robot's topics around a simbot. Real time at 500 Hz, or lockstep:
 * after each state it waits for the order that answers it, so that a run takes as long as the two sides need
 * and no scheduler can change its outcome. */
#ifndef HRC_DEPLOY_ROBOTSIM_H
#define HRC_DEPLOY_ROBOTSIM_H

#include "deploy/simbot.h"
#include "eval/rollout.h"

typedef struct {
    wire_address at;
    bool lockstep;
    double seconds; /* of the robot's time; 0: until `stop` says so */
    int bad_states; /* this many states leave with a wrong check sum, from second bad_at_s on */
    double bad_at_s;
    double flat_at_s;         /* from this second on the battery is nearly flat; 0: never */
    double patience_s;        /* lockstep: wait so long for a controller, or for an order, in real seconds */
    bool (*stop)(void);       /* NULL: never */
    void (*ready)(void *ctx); /* may be NULL: called once the topics are there */
    void *ctx;
} robotsim_options;

typedef struct {
    int64_t states;     /* sent */
    int64_t unanswered; /* lockstep: states whose order never came */
    int64_t late;       /* ticks that began more than a period late */
    double wall_s, robot_s;
} robotsim_report;

/* frames: the truth at 50 Hz, room for `seconds`; NULL: not wanted. */
hrc_status robotsim_run(simbot *b, const robotsim_options *options, rollout *frames, robotsim_report *report,
                        hrc_error *err);

#endif
