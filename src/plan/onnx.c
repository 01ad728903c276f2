#include "plan/onnx.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "onnx/write.h"
#include "robot/g1.h"

/* A graph under construction: tokens are (N*T, C) between the products, (N, T, C) elsewhere. */
typedef struct {
    onnx_graph g;
    const plan_model *m;
    int C, H, T, D, L;
    onnx_value one, eps, attention_scale;             /* constants */
    onnx_value to_rows, to_tokens, to_heads, to_head; /* shapes */
} builder;

static const nn_tensor *tensor_info(const builder *b, int which)
{
    const nn_layout *l = &b->m->net.layout;
    return &l->tensors[l->n - FIELD_NTENSORS + which];
}

/* A tensor of the field, of one block when it is stacked. */
static onnx_value weight(builder *b, int which, int block)
{
    const nn_tensor *t = tensor_info(b, which);
    int stacked = block >= 0, ndim = t->ndim - stacked;
    int64_t dims[3];
    char name[80];
    for (int i = 0; i < ndim; i++) dims[i] = t->shape[i + stacked];
    snprintf(name, sizeof name, stacked ? "%.30s.%d" : "%.30s", t->name, block);
    size_t part = stacked ? t->count / (size_t)t->shape[0] : 0;
    return onnx_floats(&b->g, name, b->m->params + t->offset + (size_t)(stacked ? block : 0) * part, dims,
                       ndim);
}

static onnx_value reshape(builder *b, onnx_value x, onnx_value shape)
{
    return onnx_op2(&b->g, "Reshape", x, shape);
}

static onnx_value mean(builder *b, onnx_value x)
{
    static const int64_t axis = -1, keep = 1;
    return onnx_node(&b->g, "ReduceMean", &x, 1, NULL, 1,
                     (onnx_attribute[]){{"axes", &axis, 1}, {"keepdims", &keep, -1}}, 2);
}

static onnx_value normalise(builder *b, onnx_value x)
{
    onnx_graph *g = &b->g;
    onnx_value d = onnx_op2(g, "Sub", x, mean(b, x));
    onnx_value variance = mean(b, onnx_op2(g, "Mul", d, d));
    return onnx_op2(g, "Div", d, onnx_op1(g, "Sqrt", onnx_op2(g, "Add", variance, b->eps)));
}

static onnx_value adaln(builder *b, onnx_value x, onnx_value shift, onnx_value scale)
{
    onnx_graph *g = &b->g;
    onnx_value y = onnx_op2(g, "Mul", normalise(b, x), onnx_op2(g, "Add", scale, b->one));
    return onnx_op2(g, "Add", y, shift);
}

/* [cos(1000 t f), sin(1000 t f)], f_i = 10000^(-i / (C/2)) */
static onnx_value time_waves(builder *b, onnx_value t)
{
    onnx_graph *g = &b->g;
    static const int64_t column[2] = {-1, 1}, axis = 1;
    const int half = b->C / 2;
    float *f = malloc(sizeof *f * (size_t)half);
    if (!f) {
        g->nodes.failed = true;
        return t;
    }
    for (int i = 0; i < half; i++) f[i] = FIELD_TIME_SCALE * powf(10000, -(float)i / (float)half);
    onnx_value waves = onnx_floats(g, "time.frequencies", f, (int64_t[]){1, half}, 2);
    free(f);
    onnx_value angle = onnx_op2(g, "Mul", reshape(b, t, onnx_ints(g, "column", column, 2)), waves);
    onnx_value both[2] = {onnx_op1(g, "Cos", angle), onnx_op1(g, "Sin", angle)};
    return onnx_node(g, "Concat", both, 2, NULL, 1, &(onnx_attribute){"axis", &axis, -1}, 1);
}

static onnx_value attention(builder *b, onnx_value qkv)
{
    onnx_graph *g = &b->g;
    static const int64_t apart[5] = {2, 0, 3, 1, 4}, flip[4] = {0, 1, 3, 2}, back[4] = {0, 2, 1, 3},
                         axis0 = 0, last = -1;
    onnx_value five = reshape(b, qkv, b->to_heads), part[3];
    five = onnx_node(g, "Transpose", &five, 1, NULL, 1, &(onnx_attribute){"perm", apart, 5},
                     1); /* (3,N,H,T,C/H) */
    onnx_node(g, "Split", &five, 1, part, 3, &(onnx_attribute){"axis", &axis0, -1}, 1);
    for (int i = 0; i < 3; i++) part[i] = reshape(b, part[i], b->to_head);
    onnx_value keys = onnx_node(g, "Transpose", &part[1], 1, NULL, 1, &(onnx_attribute){"perm", flip, 4}, 1);
    onnx_value score = onnx_op2(g, "Mul", onnx_op2(g, "MatMul", part[0], keys), b->attention_scale);
    onnx_value prob = onnx_node(g, "Softmax", &score, 1, NULL, 1, &(onnx_attribute){"axis", &last, -1}, 1);
    onnx_value mixed = onnx_op2(g, "MatMul", prob, part[2]);
    mixed = onnx_node(g, "Transpose", &mixed, 1, NULL, 1, &(onnx_attribute){"perm", back, 4}, 1);
    return reshape(b, mixed, b->to_rows);
}

static onnx_value block(builder *b, onnx_value x, int l, const onnx_value *mod)
{
    onnx_graph *g = &b->g;
    onnx_value y = reshape(b, adaln(b, x, mod[MOD_SHIFT1], mod[MOD_SCALE1]), b->to_rows);
    y = attention(b, onnx_gemm(&b->g, y, weight(b, FIELD_QKV_W, l), weight(b, FIELD_QKV_B, l)));
    y = reshape(b, onnx_gemm(&b->g, y, weight(b, FIELD_PROJ_W, l), weight(b, FIELD_PROJ_B, l)), b->to_tokens);
    x = onnx_op2(g, "Add", x, onnx_op2(g, "Mul", y, mod[MOD_GATE1]));
    y = reshape(b, adaln(b, x, mod[MOD_SHIFT2], mod[MOD_SCALE2]), b->to_rows);
    y = onnx_gelu(&b->g, onnx_gemm(&b->g, y, weight(b, FIELD_UP_W, l), weight(b, FIELD_UP_B, l)));
    y = reshape(b, onnx_gemm(&b->g, y, weight(b, FIELD_DOWN_W, l), weight(b, FIELD_DOWN_B, l)), b->to_tokens);
    return onnx_op2(g, "Add", x, onnx_op2(g, "Mul", y, mod[MOD_GATE2]));
}

static void constants(builder *b)
{
    onnx_graph *g = &b->g;
    b->one = onnx_scalar(g, "one", 1);
    b->eps = onnx_scalar(g, "eps", NN_EPS);
    b->attention_scale = onnx_scalar(g, "attention_scale", 1 / sqrtf((float)b->C / (float)b->H));
    b->to_rows = onnx_ints(g, "to_rows", (int64_t[]){-1, b->C}, 2);
    b->to_tokens = onnx_ints(g, "to_tokens", (int64_t[]){-1, b->T, b->C}, 3);
    b->to_heads = onnx_ints(g, "to_heads", (int64_t[]){-1, b->T, 3, b->H, b->C / b->H}, 5);
    b->to_head = onnx_ints(g, "to_head", (int64_t[]){-1, b->H, b->T, b->C / b->H}, 4);
}

/* (N,1,C) for each of the six rows of each block */
static void modulation(builder *b, onnx_value c, onnx_value *mod)
{
    static const int64_t axis = 1;
    onnx_graph *g = &b->g;
    onnx_value all =
        onnx_gemm(&b->g, onnx_silu(&b->g, c), weight(b, FIELD_MOD_W, -1), weight(b, FIELD_MOD_B, -1));
    all = reshape(b, all, onnx_ints(g, "mod_rows", (int64_t[]){-1, 6 * b->L, b->C}, 3));
    onnx_node(g, "Split", &all, 1, mod, 6 * b->L, &(onnx_attribute){"axis", &axis, -1}, 1);
}

/* skip(t) x + gain(t) F, see plan/flow.h */
static onnx_value velocity(builder *b, onnx_value x, onnx_value t, onnx_value F)
{
    onnx_graph *g = &b->g;
    onnx_value each = reshape(b, t, onnx_ints(g, "each_sample", (int64_t[]){-1, 1, 1}, 3));
    onnx_value rest = onnx_op2(g, "Sub", b->one, each);
    onnx_value spread = onnx_op2(g, "Add", onnx_op2(g, "Mul", rest, rest), onnx_op2(g, "Mul", each, each));
    onnx_value skip = onnx_op2(g, "Div", onnx_op2(g, "Sub", each, rest), spread);
    return onnx_op2(g, "Add", onnx_op2(g, "Mul", skip, x),
                    onnx_op2(g, "Div", F, onnx_op1(g, "Sqrt", spread)));
}

static void build(builder *b, onnx_value *mod)
{
    onnx_graph *g = &b->g;
    const int64_t tokens[3] = {-1, b->T, b->D}, batch = -1, cond[2] = {-1, b->m->net.shape.cond};
    constants(b);
    onnx_value noised = onnx_input(g, "x", tokens, 3), t = onnx_input(g, "t", &batch, 1),
               c = onnx_input(g, "cond", cond, 2);
    onnx_value sum =
        onnx_op2(g, "Add", onnx_mlp(&b->g, &b->m->net.time, b->m->params, time_waves(b, t), "time"),
                 onnx_mlp(&b->g, &b->m->net.cond, b->m->params, c, "cond"));
    modulation(b, sum, mod);
    onnx_value x = reshape(b, noised, onnx_ints(g, "rows_in", (int64_t[]){-1, b->D}, 2));
    x = reshape(b, onnx_gemm(&b->g, x, weight(b, FIELD_EMBED_W, -1), weight(b, FIELD_EMBED_B, -1)),
                b->to_tokens);
    x = onnx_op2(g, "Add", x, weight(b, FIELD_POSITION, -1));
    if (b->m->net.shape.context) {
        onnx_value one_row = onnx_ints(g, "one_row", (int64_t[]){-1, 1, b->C}, 3);
        x = onnx_op2(g, "Add", x,
                     reshape(b, onnx_mlp(&b->g, &b->m->net.context, b->m->params, c, "context"), one_row));
    }
    for (int l = 0; l < b->L; l++) x = block(b, x, l, mod + 6 * l);
    x = onnx_op2(g, "Mul", normalise(b, x), weight(b, FIELD_NORM_GAIN, -1));
    x = reshape(b, onnx_op2(g, "Add", x, weight(b, FIELD_NORM_BIAS, -1)), b->to_rows);
    x = onnx_gemm(&b->g, x, weight(b, FIELD_HEAD_W, -1), weight(b, FIELD_HEAD_B, -1));
    x = reshape(b, x, onnx_ints(g, "tokens_out", tokens, 3));
    onnx_output(g, "v", velocity(b, noised, t, x), tokens, 3);
}

hrc_status onnx_export_field(const plan_model *m, const char *path, hrc_error *err)
{
    const field_shape *s = &m->net.shape;
    builder b = {.m = m, .C = s->width, .H = s->heads, .T = s->tokens, .D = s->dim, .L = s->depth};
    onnx_value *mod = calloc((size_t)(6 * s->depth), sizeof *mod);
    if (!mod) return fail(err, HRC_ENOMEM, "%s: out of memory", path);
    char joints[G1_NAMES_BYTES];
    g1_joint_names(joints);
    build(&b, mod);
    onnx_meta(&b.g, "joint_names", joints);
    onnx_meta(&b.g, "trained", m->trained);
    onnx_meta_list(&b.g, "cond_mean", m->scales.cond_mean, s->cond);
    onnx_meta_list(&b.g, "cond_std", m->scales.cond_std, s->cond);
    onnx_meta_list(&b.g, "residual_std", m->scales.residual_std, s->tokens * s->dim);
    hrc_status status = onnx_write(&b.g, "velocity_field", path, err);
    onnx_free(&b.g);
    free(mod);
    return status;
}
