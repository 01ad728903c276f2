/* Muon's steps: against the polynomial it is made of, and what they leave alone. */
#include <math.h>
#include <string.h>

#include "base/rng.h"
#include "nn/muon.h"
#include "test.h"

enum { SHORT = 64, LONG = 96, HEAD = 29 };

typedef struct {
    arena memory;
    nn_layout layout;
    muon m;
    float *params, *grads;
    size_t wide, tall, head, bias;
} bench;

static bench make(void)
{
    bench b = {0};
    hrc_error err;
    b.wide = nn_layout_add(&b.layout, "wide", INIT_XAVIER, SHORT, LONG, 0);
    b.tall = nn_layout_add(&b.layout, "tall", INIT_XAVIER, LONG, SHORT, 0);
    b.head = nn_layout_add(&b.layout, "head", INIT_XAVIER, HEAD, SHORT, 0);
    b.bias = nn_layout_add(&b.layout, "bias", INIT_ZERO, SHORT, 0, 0);
    ENSURE_OK(muon_create(&b.m, &b.layout, &b.memory, &err));
    b.params = ARENA_NEW(&b.memory, float, b.layout.count);
    b.grads = ARENA_NEW(&b.memory, float, b.layout.count);
    ENSURE(b.params && b.grads && b.m.n == 2);
    return b;
}

static double step(bench *b, double rate, int threads)
{
    pool *p;
    hrc_error err;
    ENSURE_OK(pool_create(&p, threads, &err));
    const double norm = muon_step(&b->m, nn_ops_best(), p, b->params, b->grads, rate, 1);
    pool_free(p);
    return norm;
}

/* Of a diagonal gradient each entry goes its own way: x <- a x + b x^3 + c x^5, five times. */
static void test_polynomial(void)
{
    bench b = make();
    double squares = 0;
    for (int i = 0; i < SHORT; i++) {
        const float g = 0.1f + (float)i / SHORT;
        b.grads[b.wide + (size_t)i * LONG + (size_t)i] = g;
        b.grads[b.tall + (size_t)i * SHORT + (size_t)i] = -g;
        squares += (double)g * (double)g;
    }
    ENSURE_NEAR(step(&b, 1, 1), sqrt(2 * squares), 1e-4);
    for (int i = 0; i < SHORT; i++) {
        double x = (0.1 + (double)i / SHORT) / sqrt(squares);
        for (int k = 0; k < 5; k++) x = 3.4445 * x - 4.7750 * pow(x, 3) + 2.0315 * pow(x, 5);
        ENSURE(x > 0.5 && x < 1.3);
        ENSURE_NEAR(b.params[b.wide + (size_t)i * LONG + (size_t)i], -0.2 * sqrt(LONG) * x, 1e-3);
        ENSURE_NEAR(b.params[b.tall + (size_t)i * SHORT + (size_t)i], 0.2 * sqrt(LONG) * x, 1e-3);
    }
    ENSURE_NEAR(b.params[b.wide + 1], 0, 1e-6);
    arena_free(&b.memory);
}

static void draw(bench *b, float scale)
{
    rng r = rng_make(5, 0);
    for (size_t i = 0; i < b->layout.count; i++) b->grads[i] = scale * rng_normal(&r);
}

/* Heads and vectors are AdamW's; a matrix' gradient is used up; neither its size nor the threads matter. */
static void test_rest(void)
{
    bench b = make(), large = make();
    draw(&b, 1), draw(&large, 1000);
    const float head = b.grads[b.head], bias = b.grads[b.bias];
    step(&b, 1e-3, 1), step(&large, 1e-3, 3);
    ENSURE(b.grads[b.head] == head && b.grads[b.bias] == bias);
    ENSURE(b.params[b.head] == 0 && b.params[b.bias] == 0);
    ENSURE(b.grads[b.wide] == 0 && b.grads[b.tall + LONG * SHORT - 1] == 0);
    double most = 0;
    for (size_t i = 0; i < b.head; i++) {
        most = fmax(most, fabs((double)b.params[i]));
        ENSURE_NEAR(b.params[i], large.params[i], 1e-6);
    }
    ENSURE(most > 1e-4);
    b.grads[b.tall] = NAN;
    const float before = b.params[b.wide];
    ENSURE(!isfinite(step(&b, 1, 1)) && b.params[b.wide] == before);
    arena_free(&b.memory), arena_free(&large.memory);
}

TEST_TABLE({"muon.polynomial", test_polynomial}, {"muon.rest", test_rest})
