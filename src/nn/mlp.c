#include "nn/mlp.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

NN_FN void nn_mlp_add(nn_mlp *m, nn_layout *l, const char *prefix, nn_init init)
{
    m->offset = l->count;
    for (int i = 0; i < m->layers; i++) {
        char name[64];
        snprintf(name, sizeof name, "%s.%d.weight", prefix, 2 * i);
        nn_layout_add(l, name, init, m->size[i + 1], m->size[i], 0);
        snprintf(name, sizeof name, "%s.%d.bias", prefix, 2 * i);
        nn_layout_add(l, name, INIT_ZERO, m->size[i + 1], 0, 0);
    }
}

NN_FN size_t nn_mlp_work(const nn_mlp *m)
{
    size_t sum = 0;
    for (int i = 1; i < m->layers; i++) sum += 3 * (size_t)m->size[i];
    return sum;
}

/* Where layer i has its weight and bias, and hidden layer i (1 ...) its three arrays of (rows, size[i]). */
static size_t weight_at(const nn_mlp *m, int layer)
{
    size_t at = m->offset;
    for (int i = 0; i < layer; i++) at += (size_t)(m->size[i] + 1) * (size_t)m->size[i + 1];
    return at;
}

static size_t bias_at(const nn_mlp *m, int layer)
{
    return weight_at(m, layer) + (size_t)m->size[layer] * (size_t)m->size[layer + 1];
}

enum { BEFORE, AFTER, GRADIENT };

static size_t hidden_at(const nn_mlp *m, int layer, int which, int rows)
{
    size_t at = (size_t)which * (size_t)m->size[layer];
    for (int i = 1; i < layer; i++) at += 3 * (size_t)m->size[i];
    return at * (size_t)rows;
}

static void activate(const nn_ops *o, nn_activation kind, real *y, const real *x, int n)
{
    (kind == ACT_SILU ? o->silu : kind == ACT_ELU ? o->elu : o->gelu)(y, x, n);
}

static void activate_back(const nn_ops *o, nn_activation kind, real *dx, const real *dy, const real *x, int n)
{
    (kind == ACT_SILU ? o->silu_back : kind == ACT_ELU ? o->elu_back : o->gelu_back)(dx, dy, x, n);
}

NN_FN void nn_mlp_forward(const nn_ops *o, const nn_mlp *m, real *y, real *work, const real *x,
                          const real *params, int rows, int first, int n)
{
    const real *in = x + (size_t)first * (size_t)m->size[0];
    for (int i = 0; i < m->layers; i++) {
        int nin = m->size[i], nout = m->size[i + 1];
        bool last = i + 1 == m->layers;
        size_t skip = (size_t)first * (size_t)nout;
        /* cppcheck-suppress nullPointerArithmetic ; one layer has no hidden ones, and no work */
        real *out = (last ? y : work + hidden_at(m, i + 1, BEFORE, rows)) + skip;
        nn_linear(o, out, in, params + weight_at(m, i), params + bias_at(m, i), n, nin, nout);
        if (last) break;
        /* cppcheck-suppress nullPointerArithmetic */
        real *active = work + hidden_at(m, i + 1, AFTER, rows) + skip;
        activate(o, m->activation, active, out, n * nout);
        in = active;
    }
}

NN_FN void nn_mlp_back(const nn_ops *o, const nn_mlp *m, real *dx, real *work, const real *dy,
                       const real *params, int rows, int first, int n)
{
    for (int i = m->layers - 1; i >= 0; i--) {
        int nin = m->size[i], nout = m->size[i + 1];
        const real *from = i + 1 == m->layers ? dy : work + hidden_at(m, i + 1, GRADIENT, rows);
        real *to = i ? work + hidden_at(m, i, GRADIENT, rows) : dx;
        if (!to) return;
        size_t skip = (size_t)first * (size_t)nin;
        nn_linear_back_x(o, to + skip, from + (size_t)first * (size_t)nout, params + weight_at(m, i), n, nin,
                         nout, 0);
        if (i)
            activate_back(o, m->activation, to + skip, to + skip, work + hidden_at(m, i, BEFORE, rows) + skip,
                          n * nin);
    }
}

NN_FN void nn_mlp_back_inputs(const nn_ops *o, const nn_mlp *m, real *dx, const real *work, const real *dy,
                              const real *params, int rows, int first, int n, int column, int columns)
{
    const int nin = m->size[0], nout = m->size[1];
    const real *from = m->layers == 1 ? dy : work + hidden_at(m, 1, GRADIENT, rows);
    nn_product(o, dx + (size_t)first * (size_t)columns, from + (size_t)first * (size_t)nout,
               params + weight_at(m, 0) + column, n, columns, nout, columns, nout, nin, 0);
}

#ifndef NN_DOUBLE
bool nn_mlp_keep(const nn_mlp *m, nn_kept *s, const float *params, arena *memory)
{
    bool fine = true;
    for (int i = 0; i < m->layers; i++) {
        const int nin = m->size[i], nout = m->size[i + 1];
        const float *w = params + weight_at(m, i);
        fine = fine && nn_kept_add(s, w, nout, nin, nin, GEMM_TB, memory) &&
               nn_kept_add(s, w, nin, nout, nin, 0, memory);
    }
    return fine;
}

bool nn_mlp_keep_inputs(const nn_mlp *m, nn_kept *s, const float *params, int column, int columns,
                        arena *memory)
{
    return nn_kept_add(s, params + weight_at(m, 0) + column, columns, m->size[1], m->size[0], 0, memory);
}
#endif

NN_FN void nn_mlp_back_w(const nn_ops *o, const nn_mlp *m, real *grads, const real *work, const real *dy,
                         const real *x, int rows, int layer, int first, int n)
{
    /* cppcheck-suppress nullPointerArithmetic ; one layer has no hidden ones, and no work */
    const real *out = layer + 1 == m->layers ? dy : work + hidden_at(m, layer + 1, GRADIENT, rows);
    const real *in = layer ? work + hidden_at(m, layer, AFTER, rows) : x;
    nn_linear_back_w(o, grads + weight_at(m, layer), grads + bias_at(m, layer), out, in, rows, m->size[layer],
                     m->size[layer + 1], first, n);
}

NN_FN const real *nn_mlp_gradient(const nn_mlp *m, const real *work, int layer, int rows)
{
    return work + hidden_at(m, layer, GRADIENT, rows);
}

/* ---- For inference ---- */

#ifndef NN_DOUBLE
static hrc_status pack(packed_mlp *p, const nn_mlp *m, const float *params, nn_precision precision,
                       arena *memory, hrc_error *err)
{
    const float *at = params + m->offset;
    size_t widest = 1;
    for (int i = 0; i < m->layers; i++) {
        const int nin = m->size[i], nout = m->size[i + 1];
        void *panels = arena_alloc(memory, nn_packed_bytes(nout, nin, precision), 1);
        float *bias = ARENA_NEW(memory, float, nout);
        if (!panels || !bias) return fail(err, HRC_ENOMEM, "network: out of memory for layer %d", i);
        p->weight[i] = nn_pack(panels, at, nout, nin, nin, 1, precision);
        at += (size_t)nin * (size_t)nout;
        memcpy(bias, at, (size_t)nout * sizeof *bias);
        p->bias[i] = bias;
        at += nout;
        if ((size_t)nout > widest) widest = (size_t)nout;
    }
    for (int i = 0; i < 2; i++)
        if (!(p->hidden[i] = ARENA_NEW(memory, float, widest)))
            return fail(err, HRC_ENOMEM, "network: out of memory for hidden layers");
    return HRC_OK;
}

hrc_status packed_mlp_create(packed_mlp *p, const nn_mlp *m, const float *params, nn_precision precision,
                             arena *memory, hrc_error *err)
{
    *p = (packed_mlp){.layers = m->layers, .activation = m->activation, .ops = nn_ops_best()};
    return pack(p, m, params, precision, memory, err);
}

void packed_mlp_run(packed_mlp *p, float *y, const float *x)
{
    const nn_ops *o = p->ops;
    void (*const act)(float *, const float *, int) = p->activation == ACT_SILU  ? o->silu
                                                     : p->activation == ACT_ELU ? o->elu
                                                                                : o->gelu;
    for (int i = 0; i < p->layers; i++) {
        const nn_packed *w = &p->weight[i];
        float *out = i + 1 == p->layers ? y : p->hidden[i % 2];
        nn_packed_mul(out, w->n, x, w->k, w, 1, 0, nn_panels(w->n), 0);
        for (int j = 0; j < w->n; j++) out[j] += p->bias[i][j];
        if (i + 1 < p->layers) act(out, out, w->n);
        x = out;
    }
}
#endif
