#include "nn/params.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/rng.h"
#include "nn/ops.h"
#include "nn/packed.h"

NN_FN size_t nn_layout_add(nn_layout *l, const char *name, nn_init init, int size0, int size1, int size2)
{
    nn_tensor *t = &l->tensors[l->n++];
    *t = (nn_tensor){.init = init, .shape = {size0, size1, size2}, .offset = l->count, .count = 1};
    snprintf(t->name, sizeof t->name, "%s", name);
    for (; t->ndim < 3 && t->shape[t->ndim]; t->ndim++) t->count *= (size_t)t->shape[t->ndim];
    l->count += t->count;
    return t->offset;
}

static void init_tensor(real *p, const nn_tensor *t, rng *r)
{
    int in = t->shape[t->ndim - 1], out = t->ndim > 1 ? t->shape[t->ndim - 2] : 1;
    float bound = sqrtf(6.0f / (float)(in + out));
    if (t->init == INIT_SINUSOID) {
        for (int i = 0; i < out; i++) {
            real position = (real)i;
            nn_sinusoid(p + (size_t)i * (size_t)in, &position, 1, in);
        }
        return;
    }
    for (size_t i = 0; i < t->count; i++) switch (t->init) {
        case INIT_ONE: p[i] = 1; break;
        case INIT_XAVIER: p[i] = rng_uniform(r, -bound, bound); break;
        case INIT_FAN_IN: p[i] = rng_normal(r) / sqrtf((float)in); break;
        default: p[i] = 0;
        }
}

NN_FN void nn_layout_init(real *params, const nn_layout *l, uint64_t seed)
{
    for (int i = 0; i < l->n; i++) {
        rng r = rng_make(seed, (uint64_t)i);
        init_tensor(params + l->tensors[i].offset, &l->tensors[i], &r);
    }
}

#ifndef NN_DOUBLE
void nn_layout_tensors(tensor *out, nn_name *names, const nn_layout *l, const float *params,
                       const char *prefix)
{
    for (int i = 0; i < l->n; i++) {
        const nn_tensor *t = &l->tensors[i];
        snprintf(names[i].text, sizeof names[i].text, "%s%s", prefix, t->name);
        out[i] = (tensor){.name = names[i].text,
                          .type = DT_F32,
                          .ndim = t->ndim,
                          .count = (int64_t)t->count,
                          .data = params + t->offset};
        for (int d = 0; d < t->ndim; d++) out[i].shape[d] = t->shape[d];
    }
}

void nn_layout_halves(tensor *tensors, uint16_t *halves, const nn_layout *l, const float *params)
{
    for (size_t i = 0; i < l->count; i++) halves[i] = nn_to_bf16(params[i]);
    for (int i = 0; i < l->n; i++) {
        tensors[i].type = DT_BF16;
        tensors[i].data = halves + l->tensors[i].offset;
    }
}

static hrc_status find(const tensor **out, const nn_tensor *t, const tensorfile *file, const char *prefix,
                       hrc_error *err)
{
    nn_name name;
    const int64_t shape[3] = {t->shape[0], t->shape[1], t->shape[2]};
    snprintf(name.text, sizeof name.text, "%s%s", prefix, t->name);
    const tensor *found = tensorfile_find(file, name.text);
    const dtype type = found && found->type == DT_BF16 ? DT_BF16 : DT_F32;
    return tensorfile_need(file, name.text, type, t->ndim, shape, out, err);
}

static float value(const tensor *t, int64_t i)
{
    const uint16_t *halves = t->data;
    const float *floats = t->data;
    return t->type == DT_F32 ? floats[i] : nn_from_bf16(halves[i]);
}

hrc_status nn_layout_check(const nn_layout *l, const tensorfile *file, const char *prefix, hrc_error *err)
{
    for (int i = 0; i < l->n; i++) {
        const tensor *found;
        TRY(find(&found, &l->tensors[i], file, prefix, err));
        for (int64_t k = 0; k < found->count; k++)
            if (!isfinite(value(found, k)))
                return fail(err, HRC_EFORMAT, "%s: %s: number %lld is not finite", file->path, found->name,
                            (long long)k);
    }
    return HRC_OK;
}

hrc_status nn_layout_load(float *params, const nn_layout *l, const tensorfile *file, const char *prefix,
                          hrc_error *err)
{
    TRY(nn_layout_check(l, file, prefix, err)); /* all, before any is taken: an error changes nothing */
    for (int i = 0; i < l->n; i++) {
        const tensor *found;
        TRY(find(&found, &l->tensors[i], file, prefix, err));
        for (int64_t k = 0; k < found->count; k++) params[l->tensors[i].offset + (size_t)k] = value(found, k);
    }
    return HRC_OK;
}
#endif
