/* The run on the robot: wire, pilot and brain put together.
 *
 *   listener   the middleware's thread: states into the slots of policy and writer
 *   policy     50 Hz, by the robot's clock: brain_step
 *   planner    25 Hz, when the policy asks: brain_think
 *   writer     500 Hz on absolute time: pilot_tick, and the command goes out
 *
 * They hand each other the latest value (slot.h) and never wait for one another. In lockstep, for simulated
 * robots, one thread does the same things in the order of the states, and time is the robot's.
 *
 * When armed, and not in lockstep, a watchdog process stands by (watchdog.h). */
#ifndef HRC_DEPLOY_DEPLOY_H
#define HRC_DEPLOY_DEPLOY_H

#include <stdint.h>

#include "deploy/brain.h"
#include "deploy/record.h"
#include "deploy/wire.h"

/* A histogram of durations that costs nothing to fill. */
#define TIMES_BINS 200 /* eight to a power of two, from 1 us to half a minute */

typedef struct {
    int64_t n, bin[TIMES_BINS];
    double max_us;
} times;

void times_add(times *t, int64_t ns);
/* us: upper edge of the bin it lies in; 0: nothing measured */
double times_quantile(const times *t, double share);

typedef struct deploy deploy;

typedef struct {
    wire_address at;
    pilot_plan course; /* `first` is filled in from the motion */
    bool armed;        /* commands are sent; else everything but that */
    bool lockstep;
    bool realtime;                /* lock memory, ask for real-time priorities */
    bool no_switcher;             /* the robot has no motion switcher to ask */
    int machine;                  /* mode_machine that the gains are for */
    double patience_s;            /* for the robot to appear */
    double damp_s;                /* how long the watchdog damps when we have died */
    recorder *recording;          /* borrowed; NULL: none */
    int64_t (*allocations)(void); /* of the calling thread so far; NULL: not counted */
    bool freeze_policy;           /* for a test: its thread stops after a second of policy */
} deploy_options;

typedef struct {
    pilot_mode mode;
    trip why;
    int joint;
    uint32_t states, bad_states, other_commands, sent, unsent;
    uint32_t policy_steps, plans, epoch, refused;
    int32_t frame, frames, planned, misses, battery;
    bool ended; /* the motion is over */
    double in_mode_s;
    gate_counts gate;
    int64_t late_ticks;   /* commands that left more than a period after their time */
    int64_t missed_plans; /* all of them */
    double state_hz;      /* over the last second */
    float hottest;        /* deg C */
    float largest_torque; /* share of the effort */
    bool gone;            /* no states any more */
} deploy_status;

typedef struct {
    times tick;             /* wake to sent */
    times wake;             /* lateness of the writer's wake */
    times policy;           /* one step */
    times plan;             /* one plan */
    times react;            /* state received to target ready */
    int64_t faults[3];      /* page faults of writer, policy, planner since they run */
    int64_t allocations[3]; /* likewise; -1: not counted */
    bool memory_locked, priorities;
    double warm_step_ms, warm_plan_ms; /* longest of a few before the start */
} deploy_report;

/* Joins the network, waits for the robot and checks it; nothing has been sent then. The brain is borrowed. */
hrc_status deploy_open(deploy **out, brain *b, const deploy_options *o, hrc_error *err);

/* Takes the robot over from its own motion service (when armed) and starts the threads. */
hrc_status deploy_start(deploy *d, hrc_error *err);
void deploy_ask(deploy *d, uint32_t asks); /* ASK_ bits, from any thread or signal handler */
void deploy_damp(deploy *d);               /* damping from now on, whatever is asked for; likewise */
void deploy_crash(deploy *d);              /* we die: the watchdog damps at once; likewise */
deploy_status deploy_look(deploy *d);      /* one thread */

/* Ends the threads: damping is what is sent last, and nothing after it. */
void deploy_stop(deploy *d, deploy_report *report);
void deploy_close(deploy *d); /* NULL is fine */

#endif
