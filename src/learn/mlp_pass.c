#include "learn/mlp_pass.h"

#define WEIGHT_ROWS 256 /* rows of a weight's gradient that one item computes */

NN_FN hrc_status mlp_pass_create(mlp_pass *p, const nn_mlp *net, const nn_ops *ops, pool *threads, int batch,
                                 arena *memory, hrc_error *err)
{
    *p = (mlp_pass){net, ops, threads, batch, NULL};
    p->work = ARENA_NEW(memory, real, (size_t)batch * nn_mlp_work(net) + 1);
    if (!p->work) return fail(err, HRC_ENOMEM, "network: out of memory for a batch of %d", batch);
    return HRC_OK;
}

typedef struct {
    mlp_pass *p;
    real *y, *dx, *grads;
    const real *x, *dy, *params;
    int n, column, columns;
} mlp_job;

typedef struct {
    int first, n;
} mlp_rows;

static mlp_rows mlp_chunk(const mlp_job *j, int item)
{
    int first = item * MLP_CHUNK;
    return (mlp_rows){first, j->n - first < MLP_CHUNK ? j->n - first : MLP_CHUNK};
}

static void forward_chunk(void *ctx, int item, int worker)
{
    (void)worker;
    const mlp_job *j = ctx;
    mlp_rows r = mlp_chunk(j, item);
    nn_mlp_forward(j->p->ops, j->p->net, j->y, j->p->work, j->x, j->params, j->n, r.first, r.n);
}

static void backward_chunk(void *ctx, int item, int worker)
{
    (void)worker;
    const mlp_job *j = ctx;
    mlp_rows r = mlp_chunk(j, item);
    nn_mlp_back(j->p->ops, j->p->net, NULL, j->p->work, j->dy, j->params, j->n, r.first, r.n);
    if (j->columns)
        nn_mlp_back_inputs(j->p->ops, j->p->net, j->dx, j->p->work, j->dy, j->params, j->n, r.first, r.n,
                           j->column, j->columns);
}

static int weight_items(const nn_mlp *m, int layer)
{
    return (m->size[layer + 1] + WEIGHT_ROWS - 1) / WEIGHT_ROWS;
}

static void weight_rows(void *ctx, int item, int worker)
{
    (void)worker;
    const mlp_job *j = ctx;
    const nn_mlp *m = j->p->net;
    int layer = 0;
    for (; item >= weight_items(m, layer); layer++) item -= weight_items(m, layer);
    int first = item * WEIGHT_ROWS, left = m->size[layer + 1] - first;
    nn_mlp_back_w(j->p->ops, m, j->grads, j->p->work, j->dy, j->x, j->n, layer, first,
                  left < WEIGHT_ROWS ? left : WEIGHT_ROWS);
}

static int mlp_chunks(int n)
{
    return (n + MLP_CHUNK - 1) / MLP_CHUNK;
}

NN_FN void mlp_pass_forward(mlp_pass *p, real *y, const real *x, const real *params, int n)
{
    mlp_job j = {.p = p, .y = y, .x = x, .params = params, .n = n};
    pool_items(p->threads, mlp_chunks(n), forward_chunk, &j);
}

NN_FN void mlp_pass_backward(mlp_pass *p, real *dx, int column, int columns, real *grads, const real *dy,
                             const real *x, const real *params, int n)
{
    mlp_job j = {p, NULL, dx, NULL, x, dy, params, n, column, columns};
    pool_items(p->threads, mlp_chunks(n), backward_chunk, &j);
    if (grads) mlp_pass_weights(p, grads, dy, x, n);
}

NN_FN void mlp_pass_weights(mlp_pass *p, real *grads, const real *dy, const real *x, int n)
{
    mlp_job j = {.p = p, .grads = grads, .x = x, .dy = dy, .n = n};
    int items = 0;
    for (int layer = 0; layer < p->net->layers; layer++) items += weight_items(p->net, layer);
    pool_items(p->threads, items, weight_rows, &j);
}
