/* Inference of the velocity field against the training pass, which is checked against PyTorch. */
#include "plan/infer.h"

#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "learn/field_train.h"
#include "test.h"

static void fill(float *x, size_t n, float scale, rng *r)
{
    for (size_t i = 0; i < n; i++) x[i] = scale * rng_normal(r);
}

/* Largest difference relative to the largest value, over all steps. */
static double compare(field_shape shape, nn_precision precision, int threads)
{
    enum { STEPS = 5 };
    static const float TIMES[STEPS] = {0.9f, 0.72f, 0.54f, 0.36f, 0.18f};
    hrc_error err;
    field f;
    pool *one, *many;
    field_pass *pass;
    infer *s;
    rng r = rng_make(3, 0);
    ENSURE_OK(field_init(&f, shape, &err));
    ENSURE_OK(pool_create(&one, 1, &err));
    ENSURE_OK(pool_create(&many, threads, &err));
    float *params = malloc(sizeof(float) * f.layout.count);
    fill(params, f.layout.count, 0.05f, &r); /* random everywhere: zero gates would hide the blocks */
    ENSURE_OK(field_pass_create(&pass, &f, nn_ops_best(), one, 1, &err));
    ENSURE_OK(infer_create(&s, &f, params, precision, TIMES, STEPS, threads > 1 ? many : NULL, &err));
    int n = shape.tokens * shape.dim;
    float *x = malloc(sizeof(float) * (size_t)n), *v = malloc(sizeof(float) * (size_t)n);
    float *cond = malloc(sizeof(float) * (size_t)shape.cond);
    fill(x, (size_t)n, 1, &r);
    fill(cond, (size_t)shape.cond, 1, &r);
    double worst = 0, size = 0;
    infer_begin(s, cond);
    for (int step = 0; step < STEPS; step++) {
        infer_step(s, v, x, step);
        const float *truth =
            field_forward(pass, params, &(field_batch){.n = 1, .x = x, .t = &TIMES[step], .cond = cond});
        for (int i = 0; i < n; i++) {
            worst = fmax(worst, fabs((double)(v[i] - truth[i])));
            size = fmax(size, fabs((double)truth[i]));
        }
    }
    free(x), free(v), free(cond), free(params);
    infer_free(s);
    field_pass_free(pass);
    pool_free(one);
    pool_free(many);
    return worst / size;
}

static void test_matches_training(void)
{
    static const field_shape SHAPES[] = {{2, 4, 64, 2, 8, 38, 76, 0},
                                         {2, 4, 64, 2, 8, 38, 77, 1},
                                         {3, 2, 50, 3, 8, 35, 70, 0},
                                         {1, 1, 16, 1, 5, 7, 3, 1}};
    for (int i = 0; i < COUNT(SHAPES); i++)
        for (int threads = 1; threads <= 3; threads++) {
            ENSURE_NEAR(compare(SHAPES[i], NN_FLOAT, threads), 0, 2e-5);
            ENSURE_NEAR(compare(SHAPES[i], NN_BF16, threads), 0, 3e-2);
        }
}

static void test_refuses(void)
{
    field f;
    hrc_error err;
    infer *s;
    ENSURE_OK(field_init(&f, (field_shape){1, 1, 16, 1, 5, 7, 3, 0}, &err));
    ENSURE(infer_create(&s, &f, NULL, NN_FLOAT, NULL, 17, NULL, &err) < 0);
    ENSURE(strstr(err.text, "17 integration steps, expected 1 to 16"));
}

TEST_TABLE({"infer.matches_training", test_matches_training}, {"infer.refuses", test_refuses})
