#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/rot.h"
#include "onnx/write.h"
#include "robot/fk.h"
#include "robot/g1.h"
#include "track/onnx.h"

/* ---- The tracker's network as nodes ---- */

typedef struct {
    onnx_graph g;
    const track_model *m;
} onnx_tracker;

typedef struct {
    onnx_value action, token; /* (1,29) raw, (1,d) */
} onnx_made;

/* Columns from .. to-1 of x (rows, n). */
static onnx_value onnx_columns(onnx_graph *g, onnx_value x, int64_t from, int64_t to)
{
    const int64_t axis = 1;
    char name[48];
    onnx_value part[4] = {x};
    const struct {
        const char *word;
        int64_t value;
    } PLACE[3] = {{"from", from}, {"to", to}, {"axis", axis}};
    for (int i = 0; i < 3; i++) {
        snprintf(name, sizeof name, "%s.%d", PLACE[i].word, g->made);
        part[1 + i] = onnx_ints(g, name, &PLACE[i].value, 1);
    }
    return onnx_node(g, "Slice", part, 4, NULL, 1, NULL, 0);
}

static onnx_value onnx_concat(onnx_graph *g, const onnx_value *in, int n, int64_t axis)
{
    return onnx_node(g, "Concat", in, n, NULL, 1, &(onnx_attribute){"axis", &axis, -1}, 1);
}

/* (x - shift) * scale, the same for every row of a window or history. */
static onnx_value normalise(onnx_tracker *b, onnx_value x, const normal *s, int rows, const char *prefix)
{
    float shift[OBS_PROPRIO], scale[OBS_PROPRIO];
    const int64_t dims[2] = {1, rows * s->n};
    char name[48];
    for (int i = 0; i < rows * s->n; i++) shift[i] = s->shift[i % s->n], scale[i] = s->scale[i % s->n];
    snprintf(name, sizeof name, "%s.mean", prefix);
    onnx_value mean = onnx_floats(&b->g, name, shift, dims, 2);
    snprintf(name, sizeof name, "%s.scale", prefix);
    return onnx_op2(&b->g, "Mul", onnx_op2(&b->g, "Sub", x, mean), onnx_floats(&b->g, name, scale, dims, 2));
}

/* Numbers bound to levels and rounded, see quantize.h. Round and rint both take ties to even. */
static onnx_value quantised(onnx_tracker *b, onnx_value z)
{
    onnx_graph *g = &b->g;
    const quant *q = &b->m->net.shape.token;
    if (q->kind == QUANT_NONE) return z;
    const float half = (float)(q->levels - 1) / 2;
    onnx_value slope = onnx_scalar(g, "slope", 1.6f),
               levels = onnx_scalar(g, "levels", (float)(q->levels - 1)),
               middle = onnx_scalar(g, "middle", half), step = onnx_scalar(g, "step", 1 / half);
    onnx_value bound = onnx_op1(g, "Sigmoid", onnx_op2(g, "Mul", z, slope));
    onnx_value whole = onnx_op1(g, "Round", onnx_op2(g, "Sub", onnx_op2(g, "Mul", bound, levels), middle));
    return onnx_op2(g, "Mul", whole, step);
}

/* What the actions are added to: the default pose, or a frame of the window. */
static onnx_value basis(onnx_tracker *b, onnx_value window)
{
    onnx_graph *g = &b->g;
    const int64_t dims[2] = {1, HRC_JOINTS};
    float q0[HRC_JOINTS];
    for (int i = 0; i < HRC_JOINTS; i++) q0[i] = (float)G1_JOINT[i].q0;
    if (b->m->basis == BASIS_DEFAULT) return onnx_floats(g, "q0", q0, dims, 2);
    const int64_t from = action_frame(b->m->basis) * OBS_M + OBS_REF_Q;
    return onnx_columns(g, window, from, from + HRC_JOINTS);
}

static onnx_made onnx_tracker_network(onnx_tracker *b, onnx_value proprio, onnx_value window)
{
    onnx_graph *g = &b->g;
    const policy *net = &b->m->net;
    onnx_value z = onnx_mlp(&b->g, &net->encoder, b->m->params,
                            normalise(b, window, &b->m->window, OBS_FRAMES, "normal.window"), "encoder");
    onnx_value token = quantised(b, z);
    onnx_value both[2] = {token, normalise(b, proprio, &b->m->proprio, OBS_HISTORY, "normal.proprio")};
    onnx_value action = onnx_mlp(&b->g, &net->action, b->m->params, onnx_concat(g, both, 2, 1), "action");
    return (onnx_made){action, token};
}

static onnx_value onnx_tracker_targets(onnx_tracker *b, onnx_value action, onnx_value window)
{
    onnx_graph *g = &b->g;
    const int64_t dims[2] = {1, HRC_JOINTS};
    float scale[HRC_JOINTS];
    for (int i = 0; i < HRC_JOINTS; i++) scale[i] = (float)G1_JOINT[i].action_scale;
    onnx_value moved = onnx_op2(g, "Mul", action, onnx_floats(g, "action_scale", scale, dims, 2));
    return onnx_op2(g, "Add", basis(b, window), moved);
}

static void build(onnx_tracker *b)
{
    onnx_graph *g = &b->g;
    const int64_t p[2] = {1, OBS_PROPRIO}, w[2] = {1, OBS_WINDOW}, a[2] = {1, HRC_JOINTS},
                  d[2] = {1, b->m->net.shape.token.dim};
    onnx_value proprio = onnx_input(g, "proprio", p, 2), window = onnx_input(g, "window", w, 2);
    const onnx_made made = onnx_tracker_network(b, proprio, window);
    onnx_output(g, "actions", made.action, a, 2);
    onnx_output(g, "joint_targets", onnx_tracker_targets(b, made.action, window), a, 2);
    onnx_output(g, "token", made.token, d, 2);
}

static void onnx_tracker_joints(onnx_tracker *b)
{
    onnx_graph *g = &b->g;
    char joints[G1_NAMES_BYTES];
    float kp[HRC_JOINTS], kd[HRC_JOINTS], q0[HRC_JOINTS], scale[HRC_JOINTS];
    for (int i = 0; i < HRC_JOINTS; i++) {
        const hrc_joint *j = &G1_JOINT[i];
        kp[i] = (float)j->kp, kd[i] = (float)j->kd, q0[i] = (float)j->q0, scale[i] = (float)j->action_scale;
    }
    g1_joint_names(joints);
    onnx_meta(g, "joint_names", joints);
    onnx_meta_list(g, "joint_stiffness", kp, HRC_JOINTS);
    onnx_meta_list(g, "joint_damping", kd, HRC_JOINTS);
    onnx_meta_list(g, "default_joint_pos", q0, HRC_JOINTS);
    onnx_meta_list(g, "action_scale", scale, HRC_JOINTS);
}

static void onnx_tracker_about(onnx_tracker *b)
{
    char number[24];
    snprintf(number, sizeof number, "%d", HRC_RATE_HZ);
    onnx_meta(&b->g, "fps", number);
    onnx_meta(&b->g, "trained", b->m->trained);
}

static void add_metadata(onnx_tracker *b)
{
    onnx_graph *g = &b->g;
    char number[24];
    onnx_meta(g, "format", TRACK_ONNX_FORMAT);
    onnx_tracker_joints(b);
    onnx_meta(g, "action_basis", action_basis_name(b->m->basis));
    onnx_meta(g, "observation", OBS_LAYOUT);
    onnx_meta(g, "rotation", b->m->rotation == OBS_BODY ? "body" : "world");
    snprintf(number, sizeof number, "%d", b->m->lead);
    onnx_meta(g, "lead", number);
    onnx_tracker_about(b);
}

static hrc_status onnx_tracker_begin(onnx_tracker *b, const track_model *m, hrc_error *err)
{
    const quant_kind kind = m->net.shape.token.kind;
    if (kind != QUANT_IFSQ && kind != QUANT_NONE)
        return fail(err, HRC_EINVAL, "%s: has the quantizer %s, expected ifsq or none for an export", m->path,
                    quant_name(kind));
    *b = (onnx_tracker){.m = m};
    return HRC_OK;
}

hrc_status onnx_export_tracker(const track_model *m, const char *path, hrc_error *err)
{
    onnx_tracker b;
    TRY(onnx_tracker_begin(&b, m, err));
    build(&b);
    add_metadata(&b);
    hrc_status status = onnx_write(&b.g, "tracker", path, err);
    onnx_free(&b.g);
    return status;
}

/* ---- With a motion ---- */

/* A tracker with one motion inside, for runners that show one frame of it: see onnx.h.
 *
 * With R the root's and T the torso's orientation of the robot, and primes for the reference, the runner
 * gives M = T^T Y T' of the present frame, Y how it has turned the reference about the vertical. T = R W, W
 * the waist's three joints. So R^T Y R'(k) of frame k of the window is W M T'^T R'(k), of which all but W and
 * M are constants. */

enum {
    COMMAND = 2 * HRC_JOINTS,
    ORI = 6,
    OBS = COMMAND + ORI + OBS_PROPRIO,
    ROT = 6,  /* two columns of a rotation, row by row */
    FULL = 9, /* all of one */
};

/* ---- Rows ---- */

int onnx_motion_rows(const hrc_motion *motion)
{
    return motion->n + ONNX_HELD;
}

void onnx_frame_code(float speed[HRC_JOINTS], int64_t row)
{
    for (int b = 0; b < HRC_JOINTS; b++)
        if (row >> b & 1) speed[b] += ONNX_FRAME_CODE;
}

void onnx_motion_row(hrc_frame *out, const hrc_motion *motion, int row)
{
    const int last = motion->n - 1, frame = row < last ? row : last;
    memcpy(out->qpos, motion->qpos + (size_t)frame * HRC_NQ, sizeof out->qpos);
    memcpy(out->qvel, motion->qvel + (size_t)frame * HRC_NV, sizeof out->qvel);
    if (row >= last) memset(out->qvel, 0, sizeof out->qvel);
    onnx_frame_code(out->qvel + 6, row);
}

/* ---- Tables ---- */

typedef struct {
    arena memory;
    int rows;                        /* that the runner may show */
    int frames;                      /* of the tables below: the motion's, and one more, the last at rest */
    float *command;                  /* (rows, 58) */
    float *lin, *ang, *joints, *rot; /* (frames, 3), 3, 29, 6: what the window is made of */
    float *torso;                    /* (frames, 9): T'^T */
    float *offset;                /* (frames + 1, 29): basis of the actions - q0, in actions; the last: 0 */
    int64_t *now, *window, *past; /* (rows, 1), (rows, 10), (rows, 10): frames */
    float *body[4];               /* (rows, 14, 3 or 4): pos, quat, lin_vel, ang_vel */
    float *qpos, *qvel;           /* (rows, 29) as outputs: joint_pos, joint_vel */
} tables;

static const int BODY_WIDTH[4] = {3, 4, 3, 3};

static hrc_status make_tables(tables *t, int motion_frames, hrc_error *err)
{
    t->frames = motion_frames + 1, t->rows = motion_frames + ONNX_HELD;
    const struct {
        float **place;
        size_t n;
    } FLOATS[] = {{&t->command, (size_t)t->rows * COMMAND},
                  {&t->lin, (size_t)t->frames * 3},
                  {&t->ang, (size_t)t->frames * 3},
                  {&t->joints, (size_t)t->frames * HRC_JOINTS},
                  {&t->rot, (size_t)t->frames * ROT},
                  {&t->torso, (size_t)t->frames * FULL},
                  {&t->offset, (size_t)(t->frames + 1) * HRC_JOINTS},
                  {&t->qpos, (size_t)t->rows * HRC_JOINTS},
                  {&t->qvel, (size_t)t->rows * HRC_JOINTS},
                  {&t->body[0], (size_t)t->rows * G1_TRACKED * 3},
                  {&t->body[1], (size_t)t->rows * G1_TRACKED * 4},
                  {&t->body[2], (size_t)t->rows * G1_TRACKED * 3},
                  {&t->body[3], (size_t)t->rows * G1_TRACKED * 3}};
    bool good = true;
    for (int i = 0; i < COUNT(FLOATS) && good; i++)
        good = (*FLOATS[i].place = ARENA_NEW(&t->memory, float, FLOATS[i].n)) != NULL;
    t->now = good ? ARENA_NEW(&t->memory, int64_t, t->rows) : NULL;
    t->window = good ? ARENA_NEW(&t->memory, int64_t, (size_t)t->rows * OBS_FRAMES) : NULL;
    t->past = good ? ARENA_NEW(&t->memory, int64_t, (size_t)t->rows * OBS_HISTORY) : NULL;
    return t->now && t->window && t->past ? HRC_OK : fail(err, HRC_ENOMEM, "export: out of memory");
}

/* R00 R01 R10 R11 R20 R21 to all nine, transposed. */
static void transposed(float out[FULL], const double columns[6])
{
    const double *c = columns;
    const double third[3] = {c[2] * c[5] - c[4] * c[3], c[4] * c[1] - c[0] * c[5], c[0] * c[3] - c[2] * c[1]};
    for (int i = 0; i < 3; i++)
        out[i] = (float)c[2 * i], out[3 + i] = (float)c[2 * i + 1], out[6 + i] = (float)third[i];
}

static void fill_frame(tables *t, const track_model *m, const hrc_motion *motion, int i)
{
    static const double upright[4] = {1, 0, 0, 0};
    const int frame = i < motion->n ? i : motion->n - 1;
    static const float at_rest[HRC_NV];
    float seen[OBS_M];
    const obs_frame shown = {motion->qpos + (size_t)frame * HRC_NQ,
                             i < motion->n ? motion->qvel + (size_t)frame * HRC_NV : at_rest};
    double columns[6];
    fk_pose pose;
    fk_frame(&pose, shown.qpos);
    quat_to_6d(columns, pose.quat[G1_TORSO]);
    transposed(t->torso + (size_t)i * FULL, columns);
    obs_reference(seen, shown, upright, OBS_BODY);
    memcpy(t->lin + (size_t)i * 3, seen + OBS_REF_LIN, 3 * sizeof *seen);
    memcpy(t->ang + (size_t)i * 3, seen + OBS_REF_ANG, 3 * sizeof *seen);
    memcpy(t->rot + (size_t)i * ROT, seen + OBS_REF_ROT, ROT * sizeof *seen);
    memcpy(t->joints + (size_t)i * HRC_JOINTS, seen + OBS_REF_Q, HRC_JOINTS * sizeof *seen);
    for (int k = 0; k < HRC_JOINTS && m->basis != BASIS_DEFAULT; k++)
        t->offset[(size_t)i * HRC_JOINTS + (size_t)k] =
            (float)(((double)seen[OBS_REF_Q + k] - G1_JOINT[k].q0) / G1_JOINT[k].action_scale);
}

/* The frame that lies `ahead` of row `row`: follow_frame. */
static int64_t frame_ahead(const tables *t, int row, int ahead)
{
    const int rest = t->frames - 1, last = rest - 1;
    if (row >= last) return rest;
    return row + ahead < last ? row + ahead : last;
}

static void fill_row(tables *t, const track_model *m, const hrc_motion *motion, int row)
{
    hrc_frame f;
    fk_pose pose;
    fk_velocity velocity;
    double qpos[HRC_NQ], qvel[HRC_NV];
    onnx_motion_row(&f, motion, row);
    for (int k = 0; k < HRC_NQ; k++) qpos[k] = (double)f.qpos[k];
    for (int k = 0; k < HRC_NV; k++) qvel[k] = (double)f.qvel[k];
    fk(&pose, qpos);
    fk_velocities(&velocity, &pose, qvel);
    memcpy(t->qpos + (size_t)row * HRC_JOINTS, f.qpos + 7, HRC_JOINTS * sizeof(float));
    memcpy(t->qvel + (size_t)row * HRC_JOINTS, f.qvel + 6, HRC_JOINTS * sizeof(float));
    memcpy(t->command + (size_t)row * COMMAND, f.qpos + 7, HRC_JOINTS * sizeof(float));
    memcpy(t->command + (size_t)row * COMMAND + HRC_JOINTS, f.qvel + 6, HRC_JOINTS * sizeof(float));
    for (int b = 0; b < G1_TRACKED; b++) {
        const int link = G1_TRACKED_LINK[b];
        const double *const from[4] = {pose.pos[link], pose.quat[link], velocity.lin[link],
                                       velocity.ang[link]};
        for (int a = 0; a < 4; a++)
            for (int k = 0; k < BODY_WIDTH[a]; k++)
                t->body[a][((size_t)row * G1_TRACKED + (size_t)b) * (size_t)BODY_WIDTH[a] + (size_t)k] =
                    (float)from[a][k];
    }
    t->now[row] = frame_ahead(t, row, 0);
    for (int k = 0; k < OBS_FRAMES; k++)
        t->window[(size_t)row * OBS_FRAMES + (size_t)k] = frame_ahead(t, row, m->lead + k);
    for (int k = 0; k < OBS_HISTORY; k++) { /* the action in p of row - 9 + k is that of the row before */
        const int of = row - OBS_HISTORY + k;
        t->past[(size_t)row * OBS_HISTORY + (size_t)k] =
            of < 0 ? t->frames : frame_ahead(t, of, m->lead + action_frame(m->basis));
    }
}

/* Two rows that a runner shows alike. Rows are compared until they differ, which is at once. */
static hrc_status check_rows(const tables *t, const track_model *m, hrc_error *err)
{
    for (int i = 0; i < t->rows; i++)
        for (int j = 0; j < i; j++) {
            const float *a = t->command + (size_t)i * COMMAND, *b = t->command + (size_t)j * COMMAND;
            int k = 0;
            while (k < COMMAND && fabsf(a[k] - b[k]) < ONNX_FRAME_CODE / 4) k++;
            if (k == COMMAND)
                return fail(err, HRC_EINVAL, "%s: frames %d and %d of the motion cannot be told apart",
                            m->path, j, i);
        }
    return HRC_OK;
}

static hrc_status fill_tables(tables *t, const track_model *m, const hrc_motion *motion, hrc_error *err)
{
    TRY(make_tables(t, motion->n, err));
    for (int i = 0; i < t->frames; i++) fill_frame(t, m, motion, i);
    for (int i = 0; i < t->rows; i++) fill_row(t, m, motion, i);
    return check_rows(t, m, err);
}

/* ---- Nodes ---- */

typedef struct {
    onnx_tracker b;
    const tables *t;
    onnx_value obs, row; /* row: (1) */
} builder;

static onnx_value table(builder *b, const char *name, const float *data, int64_t rows, int64_t columns)
{
    return onnx_floats(&b->b.g, name, data, (int64_t[]){rows, columns}, 2);
}

static onnx_value frames_table(builder *b, const char *name, const int64_t *data, int64_t columns)
{
    char flat_name[48];
    snprintf(flat_name, sizeof flat_name, "%s.flat", name);
    const int64_t shape[2] = {b->t->rows, columns};
    onnx_value flat = onnx_ints(&b->b.g, flat_name, data, (int)(b->t->rows * columns));
    snprintf(flat_name, sizeof flat_name, "%s.shape", name);
    return onnx_op2(&b->b.g, "Reshape", flat, onnx_ints(&b->b.g, flat_name, shape, 2));
}

static onnx_value gather(builder *b, onnx_value data, onnx_value index)
{
    return onnx_op2(&b->b.g, "Gather", data, index);
}

static onnx_value reshaped(builder *b, onnx_value x, int64_t d0, int64_t d1, int64_t d2)
{
    char name[48];
    const int64_t shape[3] = {d0, d1, d2};
    snprintf(name, sizeof name, "shape.%d", b->b.g.made);
    return onnx_op2(&b->b.g, "Reshape", x, onnx_ints(&b->b.g, name, shape, d2 ? 3 : 2));
}

static onnx_value turned(builder *b, onnx_value x, int64_t p0, int64_t p1, int64_t p2)
{
    const int64_t perm[3] = {p0, p1, p2};
    return onnx_node(&b->b.g, "Transpose", &x, 1, NULL, 1, &(onnx_attribute){"perm", perm, 3}, 1);
}

static onnx_value product(builder *b, onnx_value x, onnx_value y)
{
    return onnx_op2(&b->b.g, "MatMul", x, y);
}

/* Which row the command is: the nearest. */
static onnx_value find_row(builder *b)
{
    onnx_graph *g = &b->b.g;
    static const int64_t axis = 0, keep = 0;
    float ones[COMMAND];
    for (int i = 0; i < COMMAND; i++) ones[i] = 1;
    onnx_value way = onnx_op2(g, "Sub", table(b, "motion.command", b->t->command, b->t->rows, COMMAND),
                              onnx_columns(g, b->obs, 0, COMMAND));
    onnx_value far = product(b, onnx_op2(g, "Mul", way, way), table(b, "ones", ones, COMMAND, 1));
    const onnx_attribute how[2] = {{"axis", &axis, -1}, {"keepdims", &keep, -1}};
    onnx_value least = onnx_node(g, "ArgMin", &far, 1, NULL, 1, how, 2);
    return least;
}

/* cos, sin and what stays of a turn about one axis. */
static onnx_value turn_about(builder *b, int joint, int axis, onnx_value q_rel)
{
    onnx_graph *g = &b->b.g;
    float part[3][FULL] = {{0}};
    const int i = (axis + 1) % 3, j = (axis + 2) % 3;
    char name[48];
    part[0][4 * i] = part[0][4 * j] = 1;
    part[1][3 * i + j] = -1, part[1][3 * j + i] = 1;
    part[2][4 * axis] = 1;
    onnx_value constant[3];
    for (int k = 0; k < 3; k++) {
        snprintf(name, sizeof name, "waist.%d.%d", joint, k);
        constant[k] = table(b, name, part[k], 3, 3);
    }
    snprintf(name, sizeof name, "waist.%d.q0", joint);
    onnx_value angle = onnx_op2(g, "Add", onnx_columns(g, q_rel, joint, joint + 1),
                                onnx_scalar(g, name, (float)G1_JOINT[joint].q0));
    onnx_value cosine = onnx_op2(g, "Mul", onnx_op1(g, "Cos", angle), constant[0]);
    onnx_value sine = onnx_op2(g, "Mul", onnx_op1(g, "Sin", angle), constant[1]);
    return onnx_op2(g, "Add", onnx_op2(g, "Add", cosine, sine), constant[2]);
}

/* M, from its first two columns. */
static onnx_value anchor_rotation(builder *b)
{
    onnx_graph *g = &b->b.g;
    static const int64_t next[3] = {1, 2, 0}, after[3] = {2, 0, 1};
    onnx_value two = reshaped(b, onnx_columns(g, b->obs, COMMAND, COMMAND + ORI), 3, 2, 0);
    onnx_value x = onnx_columns(g, two, 0, 1), y = onnx_columns(g, two, 1, 2);
    onnx_value n = onnx_ints(g, "next", next, 3), a = onnx_ints(g, "after", after, 3);
    onnx_value z = onnx_op2(g, "Sub", onnx_op2(g, "Mul", gather(b, x, n), gather(b, y, a)),
                            onnx_op2(g, "Mul", gather(b, x, a), gather(b, y, n)));
    return onnx_concat(g, (onnx_value[]){two, z}, 2, 1);
}

/* The window (1,410). q_rel: joints of now (1,29) against q0. */
static onnx_value make_window(builder *b, onnx_value q_rel)
{
    onnx_graph *g = &b->b.g;
    const tables *t = b->t;
    const int64_t n = t->frames;
    static const int WAIST[3] = {12, 13, 14}, AXIS[3] = {2, 0, 1}; /* yaw, roll, pitch */
    onnx_value now = reshaped(b, gather(b, frames_table(b, "motion.now", t->now, 1), b->row), 1, 1, 0);
    onnx_value frames = reshaped(
        b, gather(b, frames_table(b, "motion.window", t->window, OBS_FRAMES), b->row), OBS_FRAMES, 1, 0);
    onnx_value waist = turn_about(b, WAIST[0], AXIS[0], q_rel);
    for (int i = 1; i < 3; i++) waist = product(b, waist, turn_about(b, WAIST[i], AXIS[i], q_rel));
    onnx_value torso = reshaped(b, gather(b, table(b, "motion.torso", t->torso, n, FULL), now), 3, 3, 0);
    onnx_value turn = product(b, product(b, waist, anchor_rotation(b)), torso);
    onnx_value rot = reshaped(b, gather(b, table(b, "motion.rot", t->rot, n, ROT), frames), OBS_FRAMES, 3, 2);
    rot = reshaped(b, turned(b, rot, 1, 0, 2), 3, 2 * OBS_FRAMES, 0);
    rot = turned(b, reshaped(b, product(b, turn, rot), 3, OBS_FRAMES, 2), 1, 0, 2);
    onnx_value parts[4] = {
        reshaped(b, gather(b, table(b, "motion.lin", t->lin, n, 3), frames), OBS_FRAMES, 3, 0),
        reshaped(b, gather(b, table(b, "motion.ang", t->ang, n, 3), frames), OBS_FRAMES, 3, 0),
        reshaped(b, rot, OBS_FRAMES, ROT, 0),
        reshaped(b, gather(b, table(b, "motion.joints", t->joints, n, HRC_JOINTS), frames), OBS_FRAMES,
                 HRC_JOINTS, 0)};
    return reshaped(b, onnx_concat(g, parts, 4, 1), 1, OBS_WINDOW, 0);
}

/* proprio (1,930) from histories term by term; *now: joints of now. */
static onnx_value make_proprio(builder *b, onnx_value *now)
{
    static const int SIZE[5] = {3, 3, HRC_JOINTS, HRC_JOINTS, HRC_JOINTS};
    onnx_graph *g = &b->b.g;
    onnx_value parts[5];
    int at = COMMAND + ORI;
    for (int i = 0; i < 5; i++) {
        const int n = OBS_HISTORY * SIZE[i];
        parts[i] = reshaped(b, onnx_columns(g, b->obs, at, at + n), OBS_HISTORY, SIZE[i], 0);
        if (i == 2) *now = onnx_columns(g, b->obs, at + n - HRC_JOINTS, at + n);
        at += n;
    }
    if (b->b.m->basis != BASIS_DEFAULT) { /* back to actions counted from the reference */
        onnx_value past = reshaped(
            b, gather(b, frames_table(b, "motion.past", b->t->past, OBS_HISTORY), b->row), OBS_HISTORY, 1, 0);
        onnx_value offset =
            gather(b, table(b, "motion.offset", b->t->offset, b->t->frames + 1, HRC_JOINTS), past);
        parts[4] = onnx_op2(g, "Sub", parts[4], reshaped(b, offset, OBS_HISTORY, HRC_JOINTS, 0));
    }
    return reshaped(b, onnx_concat(g, parts, 5, 1), 1, OBS_PROPRIO, 0);
}

/* Targets as actions that are counted from q0. */
static onnx_value from_default(builder *b, onnx_value action, onnx_value window)
{
    onnx_graph *g = &b->b.g;
    float q0[HRC_JOINTS], scale[HRC_JOINTS];
    if (b->b.m->basis == BASIS_DEFAULT) return action;
    for (int i = 0; i < HRC_JOINTS; i++)
        q0[i] = (float)G1_JOINT[i].q0, scale[i] = (float)G1_JOINT[i].action_scale;
    onnx_value targets = onnx_tracker_targets(&b->b, action, window);
    return onnx_op2(g, "Div", onnx_op2(g, "Sub", targets, table(b, "from.q0", q0, 1, HRC_JOINTS)),
                    table(b, "from.scale", scale, 1, HRC_JOINTS));
}

/* What BeyondMimic's runner asks for at every time step: the motion itself. */
static void add_motion_outputs(builder *b)
{
    static const char *const BODY[4] = {"body_pos_w", "body_quat_w", "body_lin_vel_w", "body_ang_vel_w"};
    onnx_graph *g = &b->b.g;
    const tables *t = b->t;
    const int64_t one[2] = {1, 1}, joints[2] = {1, HRC_JOINTS}, to = 7, zero = 0, last = t->rows - 1,
                  flat = 1;
    onnx_value time = onnx_input(g, "time_step", one, 2);
    time = onnx_node(g, "Cast", &time, 1, NULL, 1, &(onnx_attribute){"to", &to, -1}, 1);
    time = onnx_op2(g, "Reshape", time, onnx_ints(g, "time.shape", &flat, 1));
    onnx_value bounds[2];
    const int64_t *const bound[2] = {&zero, &last};
    for (int i = 0; i < 2; i++) bounds[i] = onnx_whole(g, i ? "time.last" : "time.first", *bound[i]);
    time = onnx_node(g, "Clip", (onnx_value[]){time, bounds[0], bounds[1]}, 3, NULL, 1, NULL, 0);
    onnx_output(g, "joint_pos", gather(b, table(b, "motion.joint_pos", t->qpos, t->rows, HRC_JOINTS), time),
                joints, 2);
    onnx_output(g, "joint_vel", gather(b, table(b, "motion.joint_vel", t->qvel, t->rows, HRC_JOINTS), time),
                joints, 2);
    for (int a = 0; a < 4; a++) {
        char name[48];
        const int64_t all[3] = {t->rows, G1_TRACKED, BODY_WIDTH[a]}, each[3] = {1, G1_TRACKED, BODY_WIDTH[a]};
        snprintf(name, sizeof name, "motion.%s", BODY[a]);
        onnx_output(g, BODY[a], gather(b, onnx_floats(g, name, t->body[a], all, 3), time), each, 3);
    }
}

static void build_motion(builder *b, onnx_dialect dialect)
{
    onnx_graph *g = &b->b.g;
    const int64_t o[2] = {1, OBS}, a[2] = {1, HRC_JOINTS};
    const int64_t d[2] = {1, b->b.m->net.shape.token.dim}; /* NOLINT: onnx_tracker_begin has set m */
    onnx_value now;
    b->obs = onnx_input(g, "obs", o, 2);
    b->row = find_row(b);
    onnx_value proprio = make_proprio(b, &now), window = make_window(b, now);
    const onnx_made made = onnx_tracker_network(&b->b, proprio, window);
    onnx_output(g, "actions", from_default(b, made.action, window), a, 2);
    if (dialect == ONNX_BEYONDMIMIC) add_motion_outputs(b);
    onnx_output(g, "token", made.token, d, 2);
}

static void add_motion_metadata(builder *b, onnx_dialect dialect)
{
    onnx_graph *g = &b->b.g;
    char number[32];
    text bodies = {0};
    snprintf(number, sizeof number, "%.9g", (double)ONNX_FRAME_CODE);
    onnx_meta(g, "frame_code", number);
    snprintf(number, sizeof number, "%d", b->t->rows);
    onnx_meta(g, "frames", number);
    onnx_tracker_about(&b->b);
    if (dialect == ONNX_UNITREE) return; /* the rest is in its deploy.yaml */
    for (int i = 0; i < G1_TRACKED; i++)
        text_add(&bodies, "%s%s", i ? "," : "", G1_LINK[G1_TRACKED_LINK[i]].name);
    onnx_tracker_joints(&b->b);
    onnx_meta(g, "command_names", "motion");
    onnx_meta(g, "observation_names",
              "command,motion_anchor_ori_b,projected_gravity,base_ang_vel,joint_pos,joint_vel,actions");
    onnx_meta(g, "observation_history_lengths", "1,1,10,10,10,10,10");
    onnx_meta(g, "anchor_body_name", G1_LINK[G1_TORSO].name);
    if (text_ok(&bodies)) onnx_meta(g, "body_names", bodies.data);
    text_free(&bodies);
}

hrc_status onnx_export_with_motion(const track_model *m, const hrc_motion *motion, onnx_dialect dialect,
                                   const char *path, hrc_error *err)
{
    tables t = {.rows = 0};
    builder b = {.t = &t};
    if (motion->n < 1 || motion->n > ONNX_MOTION_MAX)
        return fail(err, HRC_EINVAL, "%s: a motion of %d frames, expected 1 to %d in an export", path,
                    motion->n, ONNX_MOTION_MAX);
    if (m->rotation != OBS_BODY)
        return fail(err, HRC_EINVAL,
                    "%s: sees its rotations in the world's frame, which these runners do not show; expected "
                    "tracker.rotation = body",
                    m->path);
    TRY(onnx_tracker_begin(&b.b, m, err));
    hrc_status status = fill_tables(&t, m, motion, err);
    if (status == HRC_OK) {
        build_motion(&b, dialect);
        add_motion_metadata(&b, dialect);
        status = onnx_write(&b.b.g, "tracker", path, err);
    }
    onnx_free(&b.b.g);
    arena_free(&t.memory);
    return status;
}
