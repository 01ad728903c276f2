/* The world model: a network that says how the robot moves in one control period under given joint targets,
 * so that a policy can be trained by differentiating through many imagined periods.
 *
 *   x (213)  ez, z, v, w, q, qd, target - q; tanh of the PD law's torque over its limit, since weak joints
 *            saturate under the body's weight; of every point of world_points.h: height, tanh(25 height),
 *            rise. Nothing tells place or heading.
 *   o (70)   = shift + scale (net(x^) + skip x^): world_state.h says what they do. x^ is normalised; `skip`
 *            is linear and starts as a ridge regression, so that the network learns what is not linear. */
#ifndef HRC_LEARN_WORLD_H
#define HRC_LEARN_WORLD_H

#include "learn/mlp_pass.h"
#include "learn/world_points.h"

enum {
    WI_TARGET = 10 + 2 * HRC_JOINTS,
    WI_TORQUE = WI_TARGET + HRC_JOINTS,
    WI_HEIGHT = WI_TORQUE + HRC_JOINTS,
    WI_TOUCH = WI_HEIGHT + WORLD_POINTS,
    WI_RISE = WI_TOUCH + WORLD_POINTS,
    WI = WI_RISE + WORLD_POINTS, /* 213 */
};

typedef struct {
    nn_mlp net;
    size_t skip; /* offset of (WO, WI) */
    nn_layout layout;
    world_point points[WORLD_POINTS];
    real in_shift[WI], in_scale[WI];   /* x^ = (x - shift) scale */
    real out_shift[WO], out_scale[WO]; /* o = shift + scale y */
    real error_scale[WS]; /* 1 / standard deviation of a period's change: the loss counts in it */
} world_model;

NN_FN void world_init(world_model *m, const int *hidden, int n_hidden);

/* Arrays of one pass, for `rows` rows. Rows may be worked on in any pieces by any threads. */
typedef struct {
    const world_model *m;
    const nn_ops *ops;
    mlp_pass net;
    int rows;
    real *x, *y; /* (rows, WI), (rows, WO): normalised inputs and outputs */
    real *o;     /* (rows, WO) */
    real *dy, *dx;
} world_pass;

NN_FN hrc_status world_pass_create(world_pass *p, const world_model *m, const nn_ops *ops, pool *threads,
                                   int rows, arena *memory, hrc_error *err);

/* Raw inputs x (n, WI) of states (n, WS) and targets (n, HRC_JOINTS). */
NN_FN void world_inputs(const world_model *m, real *x, const real *s, const real *target, int n);

/* Rows first .. first+n-1 of the pass; the other arrays begin at these rows: s, next (n, WS),
 * target (n, HRC_JOINTS). */
NN_FN void world_forward(world_pass *p, real *next, const real *s, const real *target, const real *params,
                         int first, int n);

/* After world_forward of the same rows: ds += and dtarget set, for dnext. Keeps what world_weights needs. */
NN_FN void world_backward(world_pass *p, real *ds, real *dtarget, const real *dnext, const real *s,
                          const real *next, const real *params, int first, int n);

/* grads += of all rows. */
NN_FN void world_weights(world_pass *p, real *grads);

#endif
