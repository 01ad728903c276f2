/* Inside src/sim: the compiled model, and what each thread steps worlds with. */
#ifndef HRC_SIM_MODEL_H
#define HRC_SIM_MODEL_H

#include <mujoco/mujoco.h>

#include "sim/sim.h"

typedef struct {
    mjModel *model; /* own copy: randomisation writes into it */
    mjData *data;
    sim_params applied; /* what model holds now */
    double mujoco_s;    /* spent inside mj_step */
} sim_worker;

struct sim {
    mjModel *model; /* as compiled; never written */
    sim_worker *workers;
    int nworkers;
    pool *threads;
    int substeps;
    bool implicit_damping;
    int warnings;
    sim_params nominal;
};

/* World into worker, and one physics step's torques; the two halves of stepping that speed.c shares. */
void worker_load(const sim *s, sim_worker *k, const sim_world *w);
void worker_actuate(const sim *s, sim_worker *k, sim_world *w, const double target[HRC_JOINTS]);

#endif
