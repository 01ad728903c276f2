/* The velocity field in float: against PyTorch (outputs, every gradient, ten AdamW steps), its size, its
 * start, and that neither threads nor the product's implementation change what it computes. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "learn/field_train.h"
#include "learn/gemm_library.h"
#include "nn/adam.h"
#include "nn/gemm.h"
#include "test.h"

static field f; /* the one under test; too big for the stack */
static hrc_error err;

static float *floats(size_t n)
{
    float *x = calloc(n, sizeof *x);
    ENSURE(x);
    return x;
}

static const float *data_of(const tensorfile *file, const char *name)
{
    const tensor *t = tensorfile_find(file, name);
    if (!t || t->type != DT_F32) test_fail(__FILE__, __LINE__, "no tensor %s", name);
    return t->data;
}

/* Largest difference as a share of the largest value of `want`. */
static double apart(const float *got, const float *want, size_t n)
{
    double top = 0, scale = 1e-30;
    for (size_t i = 0; i < n; i++) {
        double d = fabs((double)got[i] - want[i]);
        if (!(d <= top)) top = d;
        scale = fmax(scale, fabs(want[i]));
    }
    return top / scale;
}

static void ensure_close(const char *what, const float *got, const float *want, size_t n, double tolerance)
{
    double d = apart(got, want, n);
    if (!(d < tolerance)) test_fail(__FILE__, __LINE__, "%s is off by %g of its size", what, d);
}

/* ---- PyTorch ---- */

typedef struct {
    tensorfile file;
    pool *p;
    field_pass *pass;
    field_batch batch;
    float *params, *grads;
} torch_case;

static torch_case torch_open(const nn_ops *ops)
{
    torch_case c = {0};
    ENSURE_OK(tensorfile_open(&c.file, "test/data/torch_field.safetensors", &err));
    ENSURE_OK(field_init(&f, (field_shape){2, 4, 32, 2, 8, 38, 76, 0}, &err));
    ENSURE_OK(pool_create(&c.p, 2, &err));
    c.params = floats(f.layout.count), c.grads = floats(f.layout.count);
    ENSURE_OK(nn_layout_load(c.params, &f.layout, &c.file, "param.", &err));
    c.batch = (field_batch){5,
                            data_of(&c.file, "in.x"),
                            data_of(&c.file, "in.t"),
                            data_of(&c.file, "in.cond"),
                            data_of(&c.file, "in.target"),
                            data_of(&c.file, "in.weight")};
    ENSURE_OK(field_pass_create(&c.pass, &f, ops, c.p, 5, &err));
    return c;
}

static void torch_close(torch_case *c)
{
    field_pass_free(c->pass);
    pool_free(c->p);
    tensorfile_close(&c->file);
    free(c->params), free(c->grads);
}

static void check_gradients(torch_case *c, double tolerance)
{
    double loss = field_gradient(c->pass, c->grads, c->params, &c->batch);
    ENSURE_NEAR(loss, data_of(&c->file, "steps.loss")[0], tolerance);
    for (int i = 0; i < f.layout.n; i++) {
        const nn_tensor *t = &f.layout.tensors[i];
        char name[96];
        snprintf(name, sizeof name, "grad.%s", t->name);
        ensure_close(name, c->grads + t->offset, data_of(&c->file, name), t->count, tolerance);
    }
}

static void test_torch_outputs(void)
{
    for (int level = NN_PLAIN; level <= (int)nn_cpu(); level++) {
        torch_case c = torch_open(nn_ops_at((nn_level)level));
        const float *v = field_forward(c.pass, c.params, &c.batch);
        ensure_close("v", v, data_of(&c.file, "out.v"), 5 * 8 * 38, 1e-5);
        torch_close(&c);
    }
}

static void test_torch_gradients(void)
{
    for (int level = NN_PLAIN; level <= (int)nn_cpu(); level++) {
        torch_case c = torch_open(nn_ops_at((nn_level)level));
        check_gradients(&c, 1e-4);
        torch_close(&c);
    }
    gemm_library_start();
    nn_ops library = *nn_ops_best();
    library.gemm = gemm_library;
    torch_case c = torch_open(&library);
    check_gradients(&c, 1e-4);
    torch_close(&c);
}

static void test_torch_steps(void)
{
    torch_case c = torch_open(nn_ops_best());
    size_t n = f.layout.count;
    adam a = {
        .options = {.rate = 3e-3, .beta1 = 0.9, .beta2 = 0.999, .eps = 1e-8, .decay = 1e-2, .clip = 0.25},
        .n = n,
        .m = floats(n),
        .v = floats(n)};
    for (int step = 0; step < 10; step++) {
        memset(c.grads, 0, n * sizeof *c.grads);
        double loss = field_gradient(c.pass, c.grads, c.params, &c.batch);
        double norm = adam_step(&a, nn_ops_best(), c.p, c.params, c.grads), sum = 0, squares = 0;
        for (size_t i = 0; i < n; i++) {
            sum += c.params[i];
            squares += (double)c.params[i] * c.params[i];
        }
        const float *sums = data_of(&c.file, "steps.sums") + 2 * step;
        ENSURE_NEAR(loss, data_of(&c.file, "steps.loss")[step], 1e-5);
        ENSURE_NEAR(norm, data_of(&c.file, "steps.norm")[step], 1e-5);
        ENSURE_NEAR(sum, sums[0], 1e-4 * fabs(sums[0]) + 1e-3);
        ENSURE_NEAR(squares, sums[1], 1e-5 * sums[1]);
    }
    for (int i = 0; i < f.layout.n; i++) {
        const nn_tensor *t = &f.layout.tensors[i];
        char name[96];
        snprintf(name, sizeof name, "after.%s", t->name);
        if (tensorfile_find(&c.file, name))
            ensure_close(name, c.params + t->offset, data_of(&c.file, name), t->count, 1e-4);
    }
    free(a.m), free(a.v);
    torch_close(&c);
}

/* ---- Size and start ---- */

static void test_count(void)
{
    ENSURE_OK(field_init(&f, field_paper(38), &err));
    ENSURE(f.layout.count == 22932006);
    ENSURE_NEAR(field_products(&f.shape), 111.6e6, 0.1e6);
    ENSURE_OK(field_init(&f, field_paper(35), &err));
    ENSURE(f.layout.count == 22925859);
}

static void test_refuses(void)
{
    field_shape s = field_paper(38);
    s.heads = 3;
    ENSURE(field_init(&f, s, &err) == HRC_EINVAL && strstr(err.text, "512"));
    s = field_paper(38);
    s.depth = 0;
    ENSURE(field_init(&f, s, &err) == HRC_EINVAL && strstr(err.text, "depth"));
}

typedef struct {
    float *x, *t, *cond, *target;
    field_batch batch;
} random_batch;

static random_batch batch_new(int n)
{
    rng r = rng_make(9, 0);
    const field_shape *s = &f.shape;
    size_t numbers = (size_t)(n * s->tokens * s->dim), conds = (size_t)(n * s->cond);
    random_batch b = {floats(numbers), floats((size_t)n), floats(conds), floats(numbers), {0}};
    for (size_t i = 0; i < numbers; i++) b.x[i] = rng_normal(&r), b.target[i] = rng_normal(&r);
    for (size_t i = 0; i < conds; i++) b.cond[i] = rng_normal(&r);
    for (int i = 0; i < n; i++) b.t[i] = rng_uniform(&r, 0, 1);
    b.batch = (field_batch){n, b.x, b.t, b.cond, b.target, NULL};
    return b;
}

static void batch_free(random_batch *b)
{
    free(b->x), free(b->t), free(b->cond), free(b->target);
}

/* At the start v is 0 whatever goes in; the head learns first, then the modulation. */
static void test_starts_at_zero(void)
{
    ENSURE_OK(field_init(&f, (field_shape){3, 2, 16, 2, 8, 6, 12, 0}, &err));
    float *params = floats(f.layout.count), *grads = floats(f.layout.count);
    nn_layout_init(params, &f.layout, 1);
    random_batch b = batch_new(4);
    pool *p;
    field_pass *pass;
    ENSURE_OK(pool_create(&p, 1, &err));
    ENSURE_OK(field_pass_create(&pass, &f, nn_ops_best(), p, 4, &err));
    const float *v = field_forward(pass, params, &b.batch);
    for (int i = 0; i < 4 * 8 * 6; i++) ENSURE(v[i] == 0);
    field_gradient(pass, grads, params, &b.batch);
    double head = 0, rest = 0;
    for (size_t i = 0; i < f.layout.count; i++)
        if (i >= f.at[FIELD_HEAD_W])
            head += fabs(grads[i]);
        else
            rest += fabs(grads[i]);
    ENSURE(head > 0.1 && rest == 0);
    field_pass_free(pass);
    pool_free(p);
    batch_free(&b);
    free(params), free(grads);
}

/* ---- Training is the same for any number of threads, and mixed precision follows float ---- */

enum { STEPS = 10, BATCH = 70 };

/* A few steps on one batch; params and the losses come back. */
static void train(float *params, double loss[STEPS], int threads, const nn_ops *ops)
{
    ENSURE_OK(field_init(&f, (field_shape){2, 2, 32, 2, 8, 10, 20, 0}, &err));
    size_t n = f.layout.count;
    nn_layout_init(params, &f.layout, 3);
    random_batch b = batch_new(BATCH);
    pool *p;
    field_pass *pass;
    ENSURE_OK(pool_create(&p, threads, &err));
    ENSURE_OK(field_pass_create(&pass, &f, ops, p, BATCH, &err));
    adam a = {.options = {.rate = 3e-3,
                          .warmup = 2,
                          .steps = STEPS,
                          .beta1 = 0.9,
                          .beta2 = 0.999,
                          .eps = 1e-8,
                          .decay = 1e-4,
                          .clip = 1,
                          .average = 0.99},
              .n = n,
              .m = floats(n),
              .v = floats(n),
              .averaged = floats(n)};
    float *grads = floats(n);
    for (int i = 0; i < STEPS; i++) {
        memset(grads, 0, n * sizeof *grads);
        loss[i] = field_gradient(pass, grads, params, &b.batch);
        ENSURE(isfinite(adam_step(&a, ops, p, params, grads)));
    }
    free(a.m), free(a.v), free(a.averaged), free(grads);
    field_pass_free(pass);
    pool_free(p);
    batch_free(&b);
}

static void test_threads(void)
{
    gemm_library_start();
    nn_ops library = *nn_ops_best();
    library.gemm = gemm_library;
    const nn_ops *ops[] = {nn_ops_best(), &library};
    static float one[200000], many[200000];
    for (int i = 0; i < 2; i++) {
        double loss1[STEPS], lossn[STEPS];
        train(one, loss1, 1, ops[i]);
        ENSURE(f.layout.count < 200000 && loss1[STEPS - 1] < 0.99 * loss1[0]);
        for (int threads = 2; threads <= 5; threads += 3) {
            train(many, lossn, threads, ops[i]);
            ENSURE(memcmp(loss1, lossn, sizeof loss1) == 0);
            ENSURE(memcmp(one, many, f.layout.count * sizeof *one) == 0);
        }
    }
}

static void test_mixed_precision(void)
{
    nn_ops mixed = *nn_ops_best();
    mixed.gemm = nn_gemm_bf16;
    static float params[200000];
    double plain[STEPS], rounded[STEPS];
    train(params, plain, 2, nn_ops_best());
    train(params, rounded, 2, &mixed);
    ENSURE(memcmp(plain, rounded, sizeof plain) != 0);
    for (int i = 0; i < STEPS; i++) ENSURE_NEAR(rounded[i], plain[i], 0.005 * plain[i]);
}

/* ---- Optimiser and files ---- */

static void test_rate(void)
{
    adam_options o = {.rate = 2, .final_rate = 0.1, .warmup = 10, .steps = 110};
    ENSURE_NEAR(adam_rate(&o, 1), 0.2, 1e-12);
    ENSURE_NEAR(adam_rate(&o, 10), 2, 1e-12);
    ENSURE_NEAR(adam_rate(&o, 60), 1.1, 1e-12);
    ENSURE_NEAR(adam_rate(&o, 110), 0.2, 1e-12);
    ENSURE_NEAR(adam_rate(&o, 500), 0.2, 1e-12);
    o.steps = 0;
    ENSURE_NEAR(adam_rate(&o, 500), 2, 1e-12);
}

/* A gradient that is not finite changes nothing; the average follows the weights. */
static void test_bad_gradient(void)
{
    enum { N = 70000 }; /* more than one piece */
    float *params = floats(N), *grads = floats(N);
    adam a = {.options = {.rate = 0.1, .beta1 = 0.9, .beta2 = 0.999, .eps = 1e-8, .average = 0.5},
              .n = N,
              .m = floats(N),
              .v = floats(N),
              .averaged = floats(N)};
    pool *p;
    ENSURE_OK(pool_create(&p, 2, &err));
    grads[N - 1] = NAN;
    ENSURE(isnan(adam_step(&a, nn_ops_best(), p, params, grads)));
    ENSURE(a.step == 0 && params[0] == 0 && a.m[N - 1] == 0);
    grads[N - 1] = 3;
    ENSURE_NEAR(adam_step(&a, nn_ops_best(), p, params, grads), 3, 1e-6);
    ENSURE(a.step == 1 && params[0] == 0);
    ENSURE_NEAR(params[N - 1], -0.1, 1e-6); /* the first step of Adam is the rate itself */
    ENSURE_NEAR(a.averaged[N - 1], -0.1 * (1 - 2.0 / 11), 1e-6);
    pool_free(p);
    free(params), free(grads), free(a.m), free(a.v), free(a.averaged);
}

static void test_file(void)
{
    ENSURE_OK(field_init(&f, (field_shape){1, 2, 8, 2, 4, 3, 6, 0}, &err));
    float *params = floats(f.layout.count), *back = floats(f.layout.count);
    nn_layout_init(params, &f.layout, 5);
    static tensor tensors[NN_MAX_TENSORS];
    static nn_name names[NN_MAX_TENSORS];
    nn_layout_tensors(tensors, names, &f.layout, params, "planner.");
    const char *path = test_path("field.safetensors");
    ENSURE_OK(tensorfile_write(path, tensors, f.layout.n, NULL, 0, &err));
    tensorfile file;
    ENSURE_OK(tensorfile_open(&file, path, &err));
    ENSURE_OK(nn_layout_load(back, &f.layout, &file, "planner.", &err));
    ENSURE(memcmp(params, back, f.layout.count * sizeof *params) == 0);
    ENSURE_OK(field_init(&f, (field_shape){2, 2, 8, 2, 4, 3, 6, 0}, &err)); /* one block more than the file */
    ENSURE(nn_layout_load(back, &f.layout, &file, "planner.", &err) < 0 && strstr(err.text, "modulation"));
    tensorfile_close(&file);
    free(params), free(back);
}

/* The command, with a batch small enough for a test. */
static void test_bench_train(void)
{
    char out[4096];
    ENSURE(test_shell(out, sizeof out,
                      "$HERACLES bench train --batch 2 --rounds 1 --threads 1 --precision fp32 --json") == 0);
    ENSURE(strstr(out, "\"params\": 22932006") && strstr(out, "\"share_of_peak\"") &&
           !strstr(out, "\"bf16\""));
    ENSURE(test_shell(out, sizeof out, "$HERACLES bench train --precision int4") == 2);
    ENSURE(strstr(out, "int4"));
}

TEST_TABLE({"field.bench_train", test_bench_train}, {"field.torch_outputs", test_torch_outputs},
           {"field.torch_gradients", test_torch_gradients}, {"field.torch_steps", test_torch_steps},
           {"field.count", test_count}, {"field.refuses", test_refuses},
           {"field.starts_at_zero", test_starts_at_zero}, {"field.threads", test_threads},
           {"field.mixed_precision", test_mixed_precision}, {"field.rate", test_rate},
           {"field.bad_gradient", test_bad_gradient}, {"field.file", test_file})
