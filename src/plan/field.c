#include "plan/field.h"

static hrc_status field_check(const field_shape *s, hrc_error *err)
{
    const struct {
        const char *name;
        int value, max;
    } sizes[] = {{"depth", s->depth, 64},     {"heads", s->heads, 64},   {"width", s->width, 2048},
                 {"MLP ratio", s->ratio, 8},  {"tokens", s->tokens, 64}, {"dimension", s->dim, 1024},
                 {"condition", s->cond, 4096}};
    _Static_assert(2048 <= NN_MAX_WIDTH && 64 <= NN_MAX_TOKENS, "kernels keep these on the stack");
    for (int i = 0; i < COUNT(sizes); i++)
        if (sizes[i].value < 1 || sizes[i].value > sizes[i].max)
            return fail(err, HRC_EINVAL, "velocity field: %s is %d, expected 1 to %d", sizes[i].name,
                        sizes[i].value, sizes[i].max);
    if (s->context != 0 && s->context != 1)
        return fail(err, HRC_EINVAL, "velocity field: context is %d, expected 0 or 1", s->context);
    if (s->width % s->heads || s->width % 2)
        return fail(err, HRC_EINVAL, "velocity field: width %d is not even or not a multiple of %d heads",
                    s->width, s->heads);
    return HRC_OK;
}

NN_FN hrc_status field_init(field *f, field_shape shape, hrc_error *err)
{
    TRY(field_check(&shape, err));
    int C = shape.width, F = shape.ratio * C, L = shape.depth, T = shape.tokens, D = shape.dim;
    *f = (field){
        .shape = shape, .time = {2, {C, C, C}, ACT_SILU, 0}, .cond = {2, {shape.cond, C, C}, ACT_SILU, 0}};
    nn_mlp_add(&f->time, &f->layout, "time", INIT_FAN_IN);
    nn_mlp_add(&f->cond, &f->layout, "cond", INIT_FAN_IN);
    if (shape.context) f->context = (nn_mlp){1, {shape.cond, C}, ACT_SILU, 0};
    nn_mlp_add(&f->context, &f->layout, "context", INIT_XAVIER);
#define X(id, name, init, a, b, c) f->at[FIELD_##id] = nn_layout_add(&f->layout, name, INIT_##init, a, b, c);
    FIELD_TENSORS(X)
#undef X
    return HRC_OK;
}

NN_FN double field_products(const field_shape *s)
{
    double C = s->width, T = s->tokens;
    double block = T * C * C * (4 + 2 * s->ratio) + 6 * C * C + 2 * T * T * C;
    return s->depth * block + 2 * T * C * s->dim + C * C * 3 + s->cond * C * (1 + s->context);
}
