/* The simulated G1: MuJoCo behind one header. A world is plain data (state, randomised parameters, running
 * disturbances), so worlds can be copied, stored and compared; the simulator owns one MuJoCo model and data
 * per thread and steps worlds through them. What a world does depends on nothing but the world, so any
 * number of threads gives the same bits.
 *
 * Joint torque at every physics step: clamp(kp (target - q) - kd qd, +-effort). */
#ifndef HRC_SIM_H
#define HRC_SIM_H

#include <stdbool.h>

#include "base/config.h"
#include "base/pool.h"
#include "robot/g1.h"

typedef struct sim sim;

/* What domain randomisation may change; sim_nominal gives the robot of the tables. */
typedef struct {
    double friction;                       /* sliding friction of every geom */
    double torso_com[3];                   /* shift of the torso's centre of mass, m */
    double payload;                        /* extra mass at the torso's centre of mass, kg */
    double armature[HRC_JOINTS];           /* factor */
    double kp[HRC_JOINTS], kd[HRC_JOINTS]; /* factors on the gains */
    double strength;                       /* factor on the torque limits */
    double light;                          /* share of its weight that a robot on the ground lacks */
} sim_params;

typedef struct {
    int link;
    double force[3]; /* world frame, at the link's centre of mass, N */
    double left_s;   /* how much longer; 0: none */
} sim_punch;

typedef struct {
    double time;
    double qpos[HRC_NQ], qvel[HRC_NV];
    double warmstart[HRC_NV];  /* last acceleration: where the contact solver begins */
    double torque[HRC_JOINTS]; /* applied in the last physics step, N m */
    double contact[G1_LINKS];  /* largest net contact force on a link in the last control period, N */
    bool want_contact;         /* fill contact (it costs a few per cent) */
    bool diverged;             /* physics gave non-finite numbers; the state is the last good one */
    sim_params params;
    sim_punch punch;
} sim_world;

hrc_status sim_create(sim **out, const config *cfg, pool *threads, hrc_error *err); /* the pool is borrowed */
void sim_free(sim *s);                                                              /* NULL is fine */
sim_params sim_nominal(const sim *s);
double sim_period(const sim *s); /* seconds in one control period */

/* A world at rest or in motion; qvel NULL: at rest. Parameters are the nominal ones, nothing pushes. */
void sim_reset(const sim *s, sim_world *w, const double *qpos, const double *qvel);

/* One control period. targets (n, HRC_JOINTS), rad. A world that has diverged stays where it is. */
void sim_step(sim *s, sim_world *worlds, const double *targets, int n);

/* The same for one world on the calling thread, which is worker `worker` of the pool. */
void sim_step_one(sim *s, sim_world *w, const double target[HRC_JOINTS], int worker);

/* What presses on the links in the last physics step that this worker did, the strongest first; returns how
 * many. Ask the worker that has just stepped the world in question. */
typedef struct {
    int link;
    double pos[3], force[3]; /* world frame, m and N */
} sim_force;

int sim_forces(const sim *s, int worker, sim_force *out, int max);

void sim_push(sim_world *w, const double lin[3],
              const double ang[3]); /* adds to the root's velocity, world */
void sim_hit(sim_world *w, int link, const double force[3], double seconds);

/* Seconds that all threads have spent inside mj_step. */
double sim_mujoco_s(const sim *s);

/* The compiled model, to be held against the tables. */
typedef struct {
    int links, collision_geoms, motors;
    int warnings; /* that MuJoCo gave while loading */
    double mass;
    double friction_max, friction_min; /* over all geoms that collide */
} sim_info;

sim_info sim_describe(const sim *s);

/* MuJoCo's own kinematics, the reference for robot/fk.h. */
void sim_kinematics(sim *s, const double *qpos, const double *qvel, double pos[G1_LINKS][3],
                    double quat[G1_LINKS][4], double lin[G1_LINKS][3], double ang[G1_LINKS][3]);

#endif
