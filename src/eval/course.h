/* One course: a reference, where the robot starts, what disturbs it. Run with a method it gives figures and,
 * if wanted, a recording. What a course gives depends on nothing but course, method and simulator settings.
 */
#ifndef HRC_EVAL_COURSE_H
#define HRC_EVAL_COURSE_H

#include <stdbool.h>

#include "base/rng.h"
#include "eval/rollout.h"
#include "motion/clip.h"
#include "robot/g1.h"
#include "sim/sim.h"

/* How well a robot follows a reference (docs/evaluation.md): frame by frame, then as figures of a rollout. */

/* Completion has the paper's bounds (robot/posture.h); this is the stricter rule of peers, under which an
 * episode would end. */
#define STRICT_HEIGHT 0.25 /* m */
#define STRICT_GRAVITY 0.8 /* vertical part of the unit vector down, in the root frame */

/* Every figure: name (also in JSON and CSV), heading, unit, whether more is better. */
#define FIGURES(X)                                                                                           \
    X(cr, "CR", "", true)                           /* share of frames within the paper's bounds */          \
    X(joint_rad, "joints", "rad", false)            /* L2 over 29, mean over frames; so the others */        \
    X(height_m, "height", "m", false)               /* |root height error| */                                \
    X(ori_rad, "tilt", "rad", false)                /* root orientation error without heading */             \
    X(linvel_mps, "velocity", "m/s", false)         /* root velocity, each in its own root frame */          \
    X(progress, "progress", "", true)               /* share of frames before the first one out of bounds */ \
    X(success, "success", "", true)                 /* 1 when the strict rule always held */                 \
    X(mpjpe_local_mm, "links local", "mm", false)   /* 14 links relative to the root, mean */                \
    X(mpjpe_global_mm, "links global", "mm", false) /* the same in the world */

typedef struct {
#define X(name, heading, unit, more) double name;
    FIGURES(X)
#undef X
} figures;

typedef enum {
#define X(name, heading, unit, more) FIGURE_##name,
    FIGURES(X)
#undef X
        FIGURE_COUNT
} figure_index;

typedef struct {
    const char *name, *heading, *unit;
    bool more_is_better;
} figure_info;

extern const figure_info FIGURE[FIGURE_COUNT];

static inline double figure_of(const figures *f, int i)
{
    return ((const double *)f)[i];
}

static inline double *figure_at(figures *f, int i)
{
    return (double *)f + i;
}

/* Errors at one frame. */
typedef struct {
    double joint_rad, height_m, ori_rad, linvel_mps, mpjpe_local_mm, mpjpe_global_mm;
    bool complete, strict; /* within the bounds, and the physics has not diverged */
} frame_error;

frame_error frame_compare(const sim_world *w, const float ref_qpos[HRC_NQ], const float ref_qvel[HRC_NV]);

/* Sums while a rollout goes on. {0} is empty. */
typedef struct {
    int frames, complete;
    int until_failure; /* frames before the first one that was not complete */
    bool failed, broke_strict;
    frame_error sum;
} tally;

void tally_add(tally *t, const frame_error *e);

/* One more frame of a rollout; the first loss of the reference is noted in the record (NULL: none). True when
 * the frame is complete. */
bool tally_judge(tally *t, const sim_world *w, const float ref_qpos[HRC_NQ], const float ref_qvel[HRC_NV],
                 rollout *record, double t_s);
void tally_figures(figures *out, const tally *t);

#define STANDS_S 1.0 /* on the reference for as long without a break: stands again */

typedef enum { DISTURB_PUSH, DISTURB_PUNCH } disturb_kind;

typedef struct {
    disturb_kind kind;
    double t_s;     /* after the start */
    double xyz[3];  /* m/s added to the root, or N; in the heading frame of the robot at that time */
    double seconds; /* of a punch */
    int link;       /* of a punch */
} disturbance;

#define COURSE_MAX_DISTURBANCES 8

typedef struct {
    const char *name, *category, *description; /* description: in words, "" when there are none */
    clip motion;                               /* at 50 Hz; owned */
    float *qvel;                               /* (motion.n, HRC_NV); in motion.memory */
    int first;                                 /* frame where it starts */
    int frames;                                /* that are simulated and judged */
    int ndisturb;
    disturbance disturb[COURSE_MAX_DISTURBANCES]; /* in order of time */
    bool own_start;                               /* start is not the reference's own state */
    double start[HRC_NQ];                         /* at rest */
    int how;                                      /* of hrc_follow */
} course;

/* Takes the clip over, also on failure. held: the reference is piecewise constant, so its velocity is 0. */
hrc_status course_create(course *t, const char *name, const char *category, clip *motion, bool held,
                         int first, double limit_s, hrc_error *err);
hrc_status course_describe(course *t, const char *description, hrc_error *err);
void course_free(course *t);
hrc_motion course_motion(const course *t);

typedef struct {
    figures figures;
    int frames;
    bool diverged;
    int64_t plans, verdicts[HRC_VERDICTS];
    double plan_ms;  /* mean; wall clock, so not the same twice */
    double stands_s; /* after the last disturbance or the start: when the robot is on the reference for a
                        second without a break, and stays so; -1: never */
    double back_s;   /* the same the first time that it is so, whatever comes later: 0 when it never left */
} course_result;

typedef struct {
    sim *physics;
    int worker;              /* of the simulator's pool */
    hrc_controller *control; /* NULL: plain PD tracking of the reference's joints, no balance feedback */
    bool plans;              /* record keyframes too */
    void (*tick)(void *ctx, int frame); /* called now and again; may be NULL */
    void *ctx;
} course_means;

/* record NULL: figures only. */
hrc_status course_run(const course *t, const course_means *means, course_result *out, rollout *record,
                      hrc_error *err);

/* One control period of robot and controller: what `run` and the playground do too. */
hrc_status loop_step(hrc_controller *c, sim *physics, sim_world *w, int worker, hrc_target *target,
                     hrc_error *err);

/* A robot in the state of a reference's frame. */
void world_on_frame(sim_world *w, const sim *physics, const float qpos[HRC_NQ], const float qvel[HRC_NV]);

/* The world of the course's start: the reference's own state, or `start`, at rest. */
void course_world(const course *c, const double *start, const sim *physics, sim_world *w);

void disturb_apply(const disturbance *d, sim_world *w);

/* Applies those that are due, each once, and notes them as events of the record (NULL: none). *next is the
 * first that is not done yet. True when there was one. */
bool disturb_due(const disturbance *list, int n, int *next, double t_s, sim_world *w, rollout *record);
void disturb_describe(const disturbance *d, char *out, size_t size); /* "push 1.5 m/s to the left" */

/* ---- Lying on the floor ---- */

/* Where a robot may begin that no reference knows of: come to rest in the simulator. */

enum { POSTURE_COUNT = 4 };
extern const char *const POSTURE_NAME[POSTURE_COUNT];
#define LYING_STARTS "lying-back, lying-front, lying-left, lying-right"

/* At the origin, the head toward -x turned by `heading` rad about the vertical. Variant 0 is dropped with the
 * limbs of the stance; every other one with limbs bent at random and tilted a little, its own. The worker of
 * the simulator lets the robot settle. HRC_EINVAL when there is no posture of that name. */
hrc_status posture_lying(double qpos[HRC_NQ], const char *name, double heading, int variant, sim *s,
                         int worker, hrc_error *err);

/* The same with limbs drawn from `dice`; NULL: those of the stance. Variants draw from streams 0 to
 * POSTURE_COUNT - 1: practice takes other streams for heaps that no variant has. */
hrc_status posture_heap(double qpos[HRC_NQ], int side, double heading, rng *dice, sim *s, int worker,
                        hrc_error *err);

#endif
