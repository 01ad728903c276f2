#include <math.h>
#include <stdio.h>

#include "robot/g1.h"
#include "track/onnx_parts.h"

onnx_value onnx_columns(onnx_graph *g, onnx_value x, int64_t from, int64_t to)
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

onnx_value onnx_concat(onnx_graph *g, const onnx_value *in, int n, int64_t axis)
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

onnx_made onnx_tracker_network(onnx_tracker *b, onnx_value proprio, onnx_value window)
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

onnx_value onnx_tracker_targets(onnx_tracker *b, onnx_value action, onnx_value window)
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

void onnx_tracker_joints(onnx_tracker *b)
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

void onnx_tracker_about(onnx_tracker *b)
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

hrc_status onnx_tracker_begin(onnx_tracker *b, const track_model *m, hrc_error *err)
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
