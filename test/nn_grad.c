/* Every backward pass of src/nn and of the velocity field against central differences, in double: the
 * sources themselves are compiled once more here with that number type. */
#define NN_DOUBLE
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "differences.h"

#include "learn/field_train.c"
#include "nn/adam.c"
#include "nn/mlp.c"
#include "nn/ops.c"
#include "nn/params.c"
#include "plan/field.c"

static rng dice;

static double *random_array(size_t n)
{
    double *x = malloc((n + 1) * sizeof *x);
    ENSURE(x);
    for (size_t i = 0; i < n; i++) x[i] = rng_normal(&dice);
    return x;
}

static double *zeros(size_t n)
{
    double *x = calloc(n + 1, sizeof *x);
    ENSURE(x);
    return x;
}

static double dot_of(const double *a, const double *b, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++) sum += a[i] * b[i];
    return sum;
}

/* ---- Activations ---- */

typedef struct {
    void (*forward)(real *, const real *, int);
    double *x, *y, *r;
    int n;
} activation_case;

static double activation_value(void *ctx)
{
    activation_case *c = ctx;
    c->forward(c->y, c->x, c->n);
    return dot_of(c->y, c->r, (size_t)c->n);
}

static void test_activations(void)
{
    const nn_ops *o = nn_ops_best();
    enum { N = 200 };
    dice = rng_make(1, 0);
    void (*const forward[])(real *, const real *, int) = {o->gelu, o->silu, o->elu};
    void (*const backward[])(real *, const real *, const real *, int) = {o->gelu_back, o->silu_back,
                                                                         o->elu_back};
    static const char *const NAME[] = {"gelu", "silu", "elu"};
    for (int k = 0; k < 3; k++) {
        activation_case c = {forward[k], random_array(N), zeros(N), random_array(N), N};
        double *dx = zeros(N);
        for (int i = 0; i < N; i++) c.x[i] *= 3;
        backward[k](dx, c.r, c.x, N);
        check_gradient(NAME[k], dx, c.x, N, activation_value, &c, 1e-5, 1e-3);
        free(c.x), free(c.y), free(c.r), free(dx);
    }
}

/* ---- LayerNorm, AdaLN, gate, attention: B samples of T tokens of C channels ---- */

enum { B_ = 3, T_ = 5, C_ = 12, H_ = 3, N_ = B_ * T_ * C_, STRIDE = 2 * C_ + 7 };

typedef struct {
    double *x, *h, *gain, *bias, *mod, *qkv, *y, *stat, *prob, *r;
} tokens_case;

static tokens_case tokens_new(void)
{
    dice = rng_make(2, 0);
    return (tokens_case){.x = random_array(N_),
                         .h = random_array(N_),
                         .gain = random_array(C_),
                         .bias = random_array(C_),
                         .mod = random_array(B_ * STRIDE),
                         .qkv = random_array(3 * N_),
                         .y = zeros(N_),
                         .stat = zeros(B_ * T_ * 2),
                         .prob = zeros(B_ * H_ * T_ * T_),
                         .r = random_array(N_)};
}

static void tokens_free(tokens_case *c)
{
    free(c->x), free(c->h), free(c->gain), free(c->bias), free(c->mod);
    free(c->qkv), free(c->y), free(c->stat), free(c->prob), free(c->r);
}

static double norm_value(void *ctx)
{
    tokens_case *c = ctx;
    nn_ops_best()->norm(c->y, c->stat, c->x, c->gain, c->bias, B_ * T_, C_);
    return dot_of(c->y, c->r, N_);
}

static void test_norm(void)
{
    tokens_case c = tokens_new();
    double *dx = zeros(N_), *dgain = zeros(C_), *dbias = zeros(C_);
    norm_value(&c);
    nn_ops_best()->norm_back(dx, dgain, dbias, c.r, c.x, c.stat, c.gain, B_ * T_, C_);
    check_gradient("norm x", dx, c.x, N_, norm_value, &c, 1e-5, 1e-3);
    check_gradient("norm gain", dgain, c.gain, C_, norm_value, &c, 1e-5, 1e-3);
    check_gradient("norm bias", dbias, c.bias, C_, norm_value, &c, 1e-5, 1e-3);
    double once = dgain[3];
    nn_ops_best()->norm_back(dx, dgain, dbias, c.r, c.x, c.stat, c.gain, B_ * T_, C_);
    ENSURE_NEAR(dgain[3], 2 * once, 1e-12 * fabs(once)); /* accumulates */
    free(dx), free(dgain), free(dbias);
    tokens_free(&c);
}

static double adaln_value(void *ctx)
{
    tokens_case *c = ctx;
    nn_ops_best()->adaln(c->y, c->stat, c->x, c->mod, c->mod + C_, STRIDE, B_, T_, C_);
    return dot_of(c->y, c->r, N_);
}

static void test_adaln(void)
{
    tokens_case c = tokens_new();
    double *dx = zeros(N_), *dmod = zeros(B_ * STRIDE);
    adaln_value(&c);
    nn_ops_best()->adaln_back(dx, dmod, dmod + C_, c.r, c.x, c.stat, c.mod + C_, STRIDE, B_, T_, C_);
    check_gradient("adaln x", dx, c.x, N_, adaln_value, &c, 1e-5, 1e-3);
    check_gradient("adaln mod", dmod, c.mod, B_ * STRIDE, adaln_value, &c, 1e-5, 1e-3);
    free(dx), free(dmod);
    tokens_free(&c);
}

static double gate_value(void *ctx)
{
    tokens_case *c = ctx;
    nn_ops_best()->gate(c->y, c->x, c->h, c->mod, STRIDE, B_, T_, C_);
    return dot_of(c->y, c->r, N_);
}

static void test_gate(void)
{
    tokens_case c = tokens_new();
    double *dh = zeros(N_), *dmod = zeros(B_ * STRIDE);
    nn_ops_best()->gate_back(dh, dmod, c.r, c.h, c.mod, STRIDE, B_, T_, C_);
    check_gradient("gate h", dh, c.h, N_, gate_value, &c, 1e-5, 1e-3);
    check_gradient("gate x", c.r, c.x, N_, gate_value, &c, 1e-5, 1e-3);
    check_gradient("gate mod", dmod, c.mod, B_ * STRIDE, gate_value, &c, 1e-5, 1e-3);
    free(dh), free(dmod);
    tokens_free(&c);
}

static double attention_value(void *ctx)
{
    tokens_case *c = ctx;
    nn_ops_best()->attention(c->y, c->prob, c->qkv, B_, T_, C_, H_);
    return dot_of(c->y, c->r, N_);
}

static void test_attention(void)
{
    tokens_case c = tokens_new();
    double *dqkv = zeros(3 * N_);
    attention_value(&c);
    for (int i = 0; i < B_ * H_ * T_; i++) {
        double sum = 0;
        for (int t = 0; t < T_; t++) sum += c.prob[i * T_ + t];
        ENSURE_NEAR(sum, 1, 1e-12);
    }
    nn_ops_best()->attention_back(dqkv, c.r, c.qkv, c.prob, B_, T_, C_, H_);
    check_gradient("attention qkv", dqkv, c.qkv, 3 * N_, attention_value, &c, 1e-5, 1e-3);
    free(dqkv);
    tokens_free(&c);
}

/* ---- MLP stack ---- */

typedef struct {
    nn_mlp m;
    double *params, *x, *y, *work, *r;
    int rows;
} mlp_case;

static double mlp_value(void *ctx)
{
    mlp_case *c = ctx;
    nn_mlp_forward(nn_ops_best(), &c->m, c->y, c->work, c->x, c->params, c->rows, 0, 2);
    nn_mlp_forward(nn_ops_best(), &c->m, c->y, c->work, c->x, c->params, c->rows, 2, c->rows - 2);
    return dot_of(c->y, c->r, (size_t)(c->rows * c->m.size[c->m.layers]));
}

static void test_mlp(void)
{
    const nn_ops *o = nn_ops_best();
    for (int act = ACT_SILU; act <= ACT_GELU; act++) {
        dice = rng_make(4, (uint64_t)act);
        static nn_layout layout;
        layout = (nn_layout){0};
        nn_layout_add(&layout, "before", INIT_ZERO, 5, 0, 0); /* so that the offset matters */
        mlp_case c = {.m = {3, {4, 7, 6, 3}, (nn_activation)act, 0}, .rows = 5};
        nn_mlp_add(&c.m, &layout, "mlp", INIT_XAVIER);
        ENSURE(layout.count == 5 + 5 * 7 + 8 * 6 + 7 * 3);
        c.params = random_array(layout.count), c.x = random_array(20), c.y = zeros(15);
        c.r = random_array(15), c.work = zeros(5 * nn_mlp_work(&c.m));
        double *dx = zeros(20), *grads = zeros(layout.count);
        mlp_value(&c);
        nn_mlp_back(o, &c.m, dx, c.work, c.r, c.params, 5, 0, 3);
        nn_mlp_back(o, &c.m, dx, c.work, c.r, c.params, 5, 3, 2);
        for (int layer = 0; layer < 3; layer++) {
            nn_mlp_back_w(o, &c.m, grads, c.work, c.r, c.x, 5, layer, 0, 2);
            nn_mlp_back_w(o, &c.m, grads, c.work, c.r, c.x, 5, layer, 2, c.m.size[layer + 1] - 2);
        }
        check_gradient("mlp x", dx, c.x, 20, mlp_value, &c, 1e-5, 1e-3);
        check_gradient("mlp params", grads, c.params, layout.count, mlp_value, &c, 1e-5, 1e-3);
        free(c.params), free(c.x), free(c.y), free(c.r), free(c.work), free(dx), free(grads);
    }
}

/* ---- The whole velocity field, every parameter ---- */

typedef struct {
    field_pass *pass;
    field_batch batch;
    double *params;
} field_case;

static double field_value(void *ctx)
{
    field_case *c = ctx;
    return field_loss(c->pass, c->params, &c->batch);
}

static void test_field(void)
{
    hrc_error err;
    static field f;
    const field_shape shape = {2, 2, 8, 2, 3, 5, 7, 1};
    enum { BATCH = 3 };
    ENSURE_OK(field_init(&f, shape, &err));
    dice = rng_make(5, 0);
    pool *p;
    ENSURE_OK(pool_create(&p, 1, &err));
    field_case c = {.params = random_array(f.layout.count)};
    for (size_t i = 0; i < f.layout.count; i++) c.params[i] *= 0.5; /* nothing zero: all paths count */
    double *x = random_array(BATCH * 15), *target = random_array(BATCH * 15), *w = random_array(BATCH * 15);
    double *cond = random_array(BATCH * 7), t[BATCH] = {0.1, 0.55, 0.9}, *grads = zeros(f.layout.count);
    for (int i = 0; i < BATCH * 15; i++) w[i] = fabs(w[i]);
    c.batch = (field_batch){BATCH, x, t, cond, target, w};
    ENSURE_OK(field_pass_create(&c.pass, &f, nn_ops_best(), p, BATCH + 2, &err));
    double loss = field_gradient(c.pass, grads, c.params, &c.batch);
    ENSURE_NEAR(loss, field_value(&c), 0);
    for (int i = 0; i < f.layout.n; i++) {
        const nn_tensor *part = &f.layout.tensors[i];
        check_gradient(part->name, grads + part->offset, c.params + part->offset, part->count, field_value,
                       &c, 1e-5, 1e-3);
    }
    field_pass_free(c.pass);
    pool_free(p);
    free(c.params), free(x), free(target), free(w), free(cond), free(grads);
}

TEST_TABLE({"nn_grad.activations", test_activations}, {"nn_grad.norm", test_norm},
           {"nn_grad.adaln", test_adaln}, {"nn_grad.gate", test_gate}, {"nn_grad.attention", test_attention},
           {"nn_grad.mlp", test_mlp}, {"nn_grad.field", test_field})
