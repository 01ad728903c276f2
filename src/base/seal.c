#include "base/seal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"

#define KEY "digest"

typedef char seal[24];

static uint64_t digest_text(uint64_t seed, const char *text)
{
    return digest_bytes(seed, text, strlen(text));
}

static uint64_t digest_tensor(const tensor *t)
{
    uint64_t h = digest_text(digest_text(1, t->name), dtype_name(t->type));
    for (int i = 0; i < t->ndim; i++) {
        char size[24];
        snprintf(size, sizeof size, "%lld", (long long)t->shape[i]);
        h = digest_text(h, size);
    }
    return digest_bytes(h, t->data, (size_t)t->count * dtype_size(t->type));
}

/* The sum over the entries, each of which carries its name: independent of their order. */
static void make_seal(seal out, const tensor *tensors, int ntensors, const tensor_meta *meta, int nmeta)
{
    uint64_t sum = 0;
    for (int i = 0; i < ntensors; i++) sum += digest_tensor(&tensors[i]);
    for (int i = 0; i < nmeta; i++)
        if (strcmp(meta[i].key, KEY)) sum += digest_text(digest_text(2, meta[i].key), meta[i].value);
    snprintf(out, sizeof(seal), "xxh64:%016llx", (unsigned long long)sum);
}

hrc_status seal_write(const char *path, const tensor *tensors, int ntensors, const tensor_meta *meta,
                      int nmeta, hrc_error *err)
{
    seal digest;
    tensor_meta *all = malloc(((size_t)nmeta + 1) * sizeof *all);
    if (!all) return fail(err, HRC_ENOMEM, "%s: out of memory", path);
    if (nmeta) memcpy(all, meta, (size_t)nmeta * sizeof *all);
    make_seal(digest, tensors, ntensors, meta, nmeta);
    all[nmeta] = (tensor_meta){KEY, digest};
    hrc_status status = tensorfile_write(path, tensors, ntensors, all, nmeta + 1, err);
    free(all);
    return status;
}

hrc_status seal_check(const tensorfile *file, hrc_error *err)
{
    seal digest;
    const char *found = tensorfile_meta(file, KEY);
    if (!found) return HRC_OK;
    make_seal(digest, file->tensors, file->ntensors, file->meta, file->nmeta);
    if (strcmp(found, digest))
        return fail(err, HRC_EFORMAT, "%s: damaged: its content has the digest %s, expected %.40s",
                    file->path, digest, found);
    return HRC_OK;
}

hrc_status seal_need(const tensorfile *file, hrc_error *err)
{
    if (tensorfile_meta(file, KEY)) return HRC_OK;
    return fail(err, HRC_EFORMAT,
                "%s: has no digest, so that damage could not be told: it is of an earlier version or another "
                "program; expected one written by training or by `heracles seal`",
                file->path);
}
