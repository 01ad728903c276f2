/* How fast the simulator is on this machine: our stepping against bare mj_step over the same trajectory in
 * the same run, and many worlds on one thread against all threads. */
#ifndef HRC_SIM_SPEED_H
#define HRC_SIM_SPEED_H

#include "sim/sim.h"

typedef struct {
    double bare_us;       /* per mj_step, nothing else in the loop */
    double sim_us;        /* per physics step through sim_step_one */
    double share;         /* bare / sim, median over rounds of both */
    double steps_per_s_1; /* control steps per second of many worlds on one thread */
    double steps_per_s_n; /* and on all threads */
    double speedup;       /* of all threads over one, median over rounds of both */
    int threads;
} sim_speed;

hrc_status sim_measure(sim_speed *out, const config *cfg, int threads, double seconds, hrc_error *err);

#endif
