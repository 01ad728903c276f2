#include "learn/world.h"

#include <math.h>
#include <string.h>
#include <tgmath.h>

#define TOUCH ((real)25) /* 1/m: heights of some centimetres matter */

NN_FN void world_init(world_model *m, const int *hidden, int n_hidden)
{
    memset(m, 0, sizeof *m);
    m->net = (nn_mlp){.layers = n_hidden + 1, .activation = ACT_ELU};
    m->net.size[0] = WI;
    for (int i = 0; i < n_hidden; i++) m->net.size[i + 1] = hidden[i];
    m->net.size[n_hidden + 1] = WO;
    nn_mlp_add(&m->net, &m->layout, "world", INIT_XAVIER);
    m->skip = nn_layout_add(&m->layout, "skip", INIT_ZERO, WO, WI, 0);
    world_points_make(m->points);
    for (int i = 0; i < WI; i++) m->in_scale[i] = 1;
    for (int i = 0; i < WO; i++) m->out_scale[i] = 1;
    for (int i = 0; i < WS; i++) m->error_scale[i] = 1;
}

NN_FN hrc_status world_pass_create(world_pass *p, const world_model *m, const nn_ops *ops, pool *threads,
                                   int rows, arena *memory, hrc_error *err)
{
    *p = (world_pass){.m = m, .ops = ops, .rows = rows};
    TRY(mlp_pass_create(&p->net, &m->net, ops, threads, rows, memory, err));
    p->x = ARENA_NEW(memory, real, (size_t)rows * WI);
    p->dx = ARENA_NEW(memory, real, (size_t)rows * WI);
    p->y = ARENA_NEW(memory, real, (size_t)rows * WO);
    p->o = ARENA_NEW(memory, real, (size_t)rows * WO);
    p->dy = ARENA_NEW(memory, real, (size_t)rows * WO);
    if (!p->x || !p->dx || !p->y || !p->o || !p->dy)
        return fail(err, HRC_ENOMEM, "world model: out of memory for %d rows", rows);
    return HRC_OK;
}

/* ---- Inputs ---- */

static void plain_inputs(real x[WI_HEIGHT], const real s[WS], const real *target)
{
    for (int k = 0; k < 3; k++) {
        x[k] = s[WS_EZ + k];
        x[4 + k] = s[WS_V + k];
        x[7 + k] = s[WS_W + k];
    }
    x[3] = s[WS_Z];
    memcpy(x + 10, s + WS_Q, sizeof(real) * 2 * HRC_JOINTS);
    for (int i = 0; i < HRC_JOINTS; i++) {
        const hrc_joint *j = &G1_JOINT[i];
        const real error = target[i] - s[WS_Q + i];
        x[WI_TARGET + i] = error;
        x[WI_TORQUE + i] = tanh(((real)j->kp * error - (real)j->kd * s[WS_QD + i]) / (real)j->effort);
    }
}

/* Of the torque before its limit. */
static real torque_back(const real dx[WI_HEIGHT], const real *torque, int i)
{
    return dx[WI_TORQUE + i] * (1 - torque[i] * torque[i]) / (real)G1_JOINT[i].effort;
}

/* torque (HRC_JOINTS): inputs WI_TORQUE, raw */
static void plain_inputs_back(real ds[WS], real *dtarget, const real dx[WI_HEIGHT], const real *torque)
{
    for (int k = 0; k < 3; k++) {
        ds[WS_EZ + k] += dx[k];
        ds[WS_V + k] += dx[4 + k];
        ds[WS_W + k] += dx[7 + k];
    }
    ds[WS_Z] += dx[3];
    for (int i = 0; i < 2 * HRC_JOINTS; i++) ds[WS_Q + i] += dx[10 + i];
    for (int i = 0; i < HRC_JOINTS; i++) {
        const real dtorque = torque_back(dx, torque, i);
        dtarget[i] = dx[WI_TARGET + i] + (real)G1_JOINT[i].kp * dtorque;
        ds[WS_Q + i] -= dtarget[i];
        ds[WS_QD + i] -= (real)G1_JOINT[i].kd * dtorque;
    }
}

static void inputs_of_lanes(const world_model *m, real *x, const real *s, const real *target, int n)
{
    world_lanes lanes;
    world_pose pose;
    world_per_point height, rise;
    world_to_lanes(lanes, s, n);
    world_pose_of(&pose, m->points, (const real(*)[WORLD_LANES])lanes);
    world_heights(height, rise, &pose, m->points, (const real(*)[WORLD_LANES])lanes);
    for (int l = 0; l < n; l++, x += WI) {
        plain_inputs(x, s + l * WS, target + l * HRC_JOINTS);
        for (int i = 0; i < WORLD_POINTS; i++) {
            x[WI_HEIGHT + i] = height[i][l];
            x[WI_TOUCH + i] = tanh(TOUCH * height[i][l]);
            x[WI_RISE + i] = rise[i][l];
        }
    }
}

NN_FN void world_inputs(const world_model *m, real *x, const real *s, const real *target, int n)
{
    for (int i = 0; i < n; i += WORLD_LANES)
        inputs_of_lanes(m, x + (size_t)i * WI, s + (size_t)i * WS, target + (size_t)i * HRC_JOINTS,
                        n - i < WORLD_LANES ? n - i : WORLD_LANES);
}

static real raw_input(const world_model *m, const real *x, int i)
{
    return x[i] / m->in_scale[i] + m->in_shift[i];
}

/* dx: raw. x^ gives the tanh's back. */
static void inputs_back_lanes(const world_model *m, real *ds, real *dtarget, const real *dx, const real *x,
                              const real *s, int n)
{
    world_lanes lanes, dlanes;
    world_pose pose;
    world_per_point dheight = {{0}}, drise = {{0}};
    world_vectors none;
    memset(none, 0, sizeof none);
    memset(dlanes, 0, sizeof dlanes);
    world_to_lanes(lanes, s, n);
    world_pose_of(&pose, m->points, (const real(*)[WORLD_LANES])lanes);
    for (int l = 0; l < n; l++)
        for (int i = 0; i < WORLD_POINTS; i++) {
            const int touch = WI_TOUCH + i;
            const real t = raw_input(m, x + l * WI, touch);
            dheight[i][l] = dx[l * WI + WI_HEIGHT + i] + dx[l * WI + touch] * TOUCH * (1 - t * t);
            drise[i][l] = dx[l * WI + WI_RISE + i];
        }
    world_points_back(dlanes, &pose, m->points, (const real(*)[WORLD_LANES])lanes,
                      (const real(*)[WORLD_LANES])dheight, (const real(*)[WORLD_LANES])drise,
                      (const real(*)[3][WORLD_LANES])none);
    for (int l = 0; l < n; l++) {
        real torque[HRC_JOINTS];
        for (int i = 0; i < HRC_JOINTS; i++) torque[i] = raw_input(m, x + l * WI, WI_TORQUE + i);
        plain_inputs_back(ds + l * WS, dtarget + l * HRC_JOINTS, dx + l * WI, torque);
        for (int i = 0; i < WS; i++) ds[l * WS + i] += dlanes[i][l];
    }
}

/* ---- One period ---- */

NN_FN void world_forward(world_pass *p, real *next, const real *s, const real *target, const real *params,
                         int first, int n)
{
    const world_model *m = p->m;
    real *x = p->x + (size_t)first * WI, *y = p->y + (size_t)first * WO, *o = p->o + (size_t)first * WO;
    world_inputs(m, x, s, target, n);
    for (int r = 0; r < n; r++)
        for (int i = 0; i < WI; i++)
            x[(size_t)r * WI + i] = (x[(size_t)r * WI + i] - m->in_shift[i]) * m->in_scale[i];
    nn_mlp_forward(p->ops, &m->net, p->y, p->net.work, p->x, params, p->rows, first, n);
    nn_product(p->ops, y, x, params + m->skip, n, WO, WI, WO, WI, WI, GEMM_TB | GEMM_ADD);
    for (int r = 0; r < n; r++) {
        const size_t at = (size_t)r * WO;
        for (int i = 0; i < WO; i++) o[at + i] = m->out_shift[i] + m->out_scale[i] * y[at + i];
        world_advance(next + (size_t)r * WS, s + (size_t)r * WS, o + at);
    }
}

NN_FN void world_backward(world_pass *p, real *ds, real *dtarget, const real *dnext, const real *s,
                          const real *next, const real *params, int first, int n)
{
    const world_model *m = p->m;
    real *x = p->x + (size_t)first * WI, *dx = p->dx + (size_t)first * WI, *dy = p->dy + (size_t)first * WO,
         *o = p->o + (size_t)first * WO;
    for (int r = 0; r < n; r++) {
        const size_t at = (size_t)r * WO, state = (size_t)r * WS;
        world_advance_back(ds + state, dy + at, dnext + state, s + state, next + state, o + at);
        for (int i = 0; i < WO; i++) dy[at + i] *= m->out_scale[i];
    }
    nn_mlp_back(p->ops, &m->net, p->dx, p->net.work, p->dy, params, p->rows, first, n);
    nn_product(p->ops, dx, dy, params + m->skip, n, WI, WO, WI, WO, WI, GEMM_ADD);
    for (int r = 0; r < n; r++)
        for (int i = 0; i < WI; i++) dx[(size_t)r * WI + i] *= m->in_scale[i];
    for (int i = 0; i < n; i += WORLD_LANES) {
        const size_t at = (size_t)i;
        inputs_back_lanes(m, ds + at * WS, dtarget + at * HRC_JOINTS, dx + at * WI, x + at * WI, s + at * WS,
                          n - i < WORLD_LANES ? n - i : WORLD_LANES);
    }
}

NN_FN void world_weights(world_pass *p, real *grads)
{
    mlp_pass_weights(&p->net, grads, p->dy, p->x, p->rows);
    p->ops->gemm(grads + p->m->skip, p->dy, p->x, WO, WI, p->rows, WI, WO, WI, GEMM_TA | GEMM_ADD);
}
