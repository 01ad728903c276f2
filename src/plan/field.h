/* The planner's velocity field v(x, t, c): an AdaLN-Zero transformer over the tokens of a plan (paper 3.2).
 *
 *   c   = time MLP(sinusoid(1000 t)) + condition MLP(condition)                                   (C)
 *   mod = W silu(c) + b: shift, scale, gate for the attention and for the MLP of every block      (L,6,C)
 *   x   = embed(tokens) + position [+ context(condition), the same for every token]               (T,C)
 *   x  += gate1 * attention(LN(x) (1 + scale1) + shift1)          } L blocks; these LN have
 *   x  += gate2 * MLP(LN(x) (1 + scale2) + shift2)                } no gain and bias of their own
 *   v   = head(LN(x) gain + bias)                                                                 (T,D)
 *
 * The context is ours: through modulation alone the network learns only very slowly what the condition says
 * about each number of a plan (docs/planner.md). Without it this is the paper's network.
 *
 * Positions are learned and begin as sinusoids. mod and head begin at zero: at first every block is the
 * identity and v is 0. This file is the list of parameters; learn/field_train.h trains, plan/ infers. */
#ifndef HRC_PLAN_FIELD_H
#define HRC_PLAN_FIELD_H

#include "base/status.h"
#include "nn/mlp.h"

typedef struct {
    int depth;   /* L, blocks */
    int heads;   /* H, divides the width */
    int width;   /* C, even */
    int ratio;   /* of the MLP's hidden width to C */
    int tokens;  /* T */
    int dim;     /* D, numbers of a token */
    int cond;    /* numbers of the condition */
    int context; /* 1: the condition is also added to every token, through a linear layer */
} field_shape;

/* The paper's: 6 blocks, 4 heads, width 512, MLP ratio 2, 8 keyframes. 38: 22 932 006 parameters. */
static inline field_shape field_paper(int dim)
{
    return (field_shape){6, 4, 512, 2, 8, dim, 2 * dim, 0};
}

#define FIELD_TIME_SCALE 1000 /* t is 0..1; the sinusoids are made for 0..1000 */

/* X(id, name in files, initial values, sizes); C, F, L, T, D as above, F = ratio * C. The small MLPs
 * (time, cond, context) come before them in the block. Matrices of all blocks are stacked. */
#define FIELD_TENSORS(X)                                                                                     \
    X(EMBED_W, "embed.weight", XAVIER, C, D, 0)                                                              \
    X(EMBED_B, "embed.bias", ZERO, C, 0, 0)                                                                  \
    X(POSITION, "position", SINUSOID, T, C, 0)                                                               \
    X(MOD_W, "modulation.weight", ZERO, L * 6 * C, C, 0)                                                     \
    X(MOD_B, "modulation.bias", ZERO, L * 6 * C, 0, 0)                                                       \
    X(QKV_W, "attention.qkv.weight", XAVIER, L, 3 * C, C)                                                    \
    X(QKV_B, "attention.qkv.bias", ZERO, L, 3 * C, 0)                                                        \
    X(PROJ_W, "attention.proj.weight", XAVIER, L, C, C)                                                      \
    X(PROJ_B, "attention.proj.bias", ZERO, L, C, 0)                                                          \
    X(UP_W, "mlp.up.weight", XAVIER, L, F, C)                                                                \
    X(UP_B, "mlp.up.bias", ZERO, L, F, 0)                                                                    \
    X(DOWN_W, "mlp.down.weight", XAVIER, L, C, F)                                                            \
    X(DOWN_B, "mlp.down.bias", ZERO, L, C, 0)                                                                \
    X(NORM_GAIN, "norm.weight", ONE, C, 0, 0)                                                                \
    X(NORM_BIAS, "norm.bias", ZERO, C, 0, 0)                                                                 \
    X(HEAD_W, "head.weight", ZERO, D, C, 0)                                                                  \
    X(HEAD_B, "head.bias", ZERO, D, 0, 0)

enum {
#define X(id, name, init, a, b, c) FIELD_##id,
    FIELD_TENSORS(X)
#undef X
        FIELD_NTENSORS
};

/* Order of the six rows of a block's modulation. */
enum { MOD_SHIFT1, MOD_SCALE1, MOD_GATE1, MOD_SHIFT2, MOD_SCALE2, MOD_GATE2 };

typedef struct {
    field_shape shape;
    nn_mlp time, cond, context; /* context: one layer, or none */
    size_t at[FIELD_NTENSORS];  /* offset of each tensor in the block */
    nn_layout layout;           /* layout.count parameters */
} field;

NN_FN hrc_status field_init(field *f, field_shape shape, hrc_error *err);

/* Multiplications of one forward pass of one sample, for rates in FLOP/s (two each). */
NN_FN double field_products(const field_shape *s);

#endif
