/* How well a robot follows a reference (docs/evaluation.md): frame by frame, then as figures of a rollout. */
#ifndef HRC_EVAL_METRICS_H
#define HRC_EVAL_METRICS_H

#include <stdbool.h>

#include "robot/g1.h"

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
    bool complete, strict; /* within the bounds */
} frame_error;

void frame_compare(frame_error *out, const double qpos[HRC_NQ], const double qvel[HRC_NV],
                   const float ref_qpos[HRC_NQ], const float ref_qvel[HRC_NV]);

/* Sums while a rollout goes on. {0} is empty. */
typedef struct {
    int frames, complete;
    int until_failure; /* frames before the first one that was not complete */
    bool failed, broke_strict;
    frame_error sum;
} tally;

void tally_add(tally *t, const frame_error *e);
void tally_figures(figures *out, const tally *t);

#endif
