/* Rehearsal: a motion as physics and the robot allow it, as near to a reference as search in the simulator
 * finds it. Recorded motions are people's: on the ground and in leaps many ask for more than the robot can,
 * and a tracker that differentiates through a model of the world does not come upon what is possible there by
 * small steps. Here the tracker acts with smooth offsets added to its actions, in many copies of the
 * simulated robot at once; the best go on (a beam), 0.2 s at a time, judged by the next second.
 *
 * Where the tracker by itself stays near the reference for that second nothing is searched. */
#ifndef HRC_LEARN_REHEARSE_H
#define HRC_LEARN_REHEARSE_H

#include "sim/reference.h"
#include "sim/sim.h"
#include "track/model.h"

#define REHEARSE_STEP 10 /* periods between choices */

/* The most that the options may say. */
#define REHEARSE_BEAM 32
#define REHEARSE_SAMPLES 1024
#define REHEARSE_HORIZON 100

typedef struct {
    int beam;    /* robots that go on */
    int samples; /* copies that are tried of all of them together; several times the beam */
    int horizon; /* periods they are judged over */
    uint64_t seed;
} rehearse_options;

extern const rehearse_options REHEARSE_DEFAULT;

typedef struct {
    int frames;       /* that were to be done, without the first */
    int within;       /* of these within the bounds of completion */
    int until;        /* frames before the first that was not */
    double joint_rad; /* mean */
} rehearsal;

typedef struct rehearser rehearser;

/* The model is borrowed. Physics are exact and nominal. */
hrc_status rehearser_create(rehearser **out, const track_model *m, const config *cfg, pool *threads,
                            hrc_error *err);
void rehearser_free(rehearser *r); /* NULL is fine */

/* What the robot did, frame by frame: its state, and the joint targets that it was given there (those of the
 * last frame lead nowhere); and what was asked of it. */
typedef struct {
    float *qpos, *qvel, *target, *ref; /* (n, HRC_NQ), (n, HRC_NV), (n, HRC_JOINTS), (n, HRC_NQ) */
} rehearsed;

/* From the reference's state at its first frame. `worker` is a thread of the pool; what comes of it depends
 * on the model, the reference and the seed alone. */
hrc_status rehearse(const rehearser *r, const ref_clip *c, const rehearse_options *o, int worker,
                    const rehearsed *did, hrc_error *err);

/* How well that went; qpos and ref (n, HRC_NQ). */
rehearsal rehearsal_count(const float *qpos, const float *ref, int n);

#endif
