#include "nn/packed_mlp.h"

#include <string.h>

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
