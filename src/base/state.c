#include "base/state.h"

#include <stdio.h>
#include <string.h>

void state_add(state_list *l, const char *prefix, const char *name, dtype type, void *data, size_t count)
{
    if (!count) return;
    if (l->n++ >= STATE_MAX_BLOCKS) return;
    state_block *b = &l->blocks[l->n - 1];
    *b = (state_block){.type = type, .count = (int64_t)count, .data = data};
    snprintf(b->name, sizeof b->name, "%s%s", prefix, name);
}

void state_add_growing(state_list *l, const char *prefix, const char *name, dtype type, void *data,
                       size_t count)
{
    const int before = l->n;
    state_add(l, prefix, name, type, data, count);
    if (l->n > before && l->n <= STATE_MAX_BLOCKS) l->blocks[before].grows = true;
}

static hrc_status find_block(const tensor **out, const state_block *b, const tensorfile *file, hrc_error *err)
{
    const int64_t any = -1;
    TRY(tensorfile_need(file, b->name, b->type, 1, b->grows ? &any : &b->count, out, err));
    if ((*out)->count > b->count)
        return fail(err, HRC_EFORMAT, "%s: %s has %lld numbers, expected at most %lld", file->path, b->name,
                    (long long)(*out)->count, (long long)b->count);
    return HRC_OK;
}

static hrc_status check_room(const state_list *l, const char *path, hrc_error *err)
{
    if (l->n > STATE_MAX_BLOCKS)
        return fail(err, HRC_EINVAL, "%s: %d blocks of state, expected at most %d", path, l->n,
                    STATE_MAX_BLOCKS);
    return HRC_OK;
}

hrc_status state_save(const state_list *l, const char *path, const tensor_meta *meta, int nmeta,
                      hrc_error *err)
{
    tensor tensors[STATE_MAX_BLOCKS];
    TRY(check_room(l, path, err));
    for (int i = 0; i < l->n; i++) {
        const state_block *b = &l->blocks[i];
        tensors[i] = (tensor){b->name, b->type, 1, {b->count}, b->count, b->data};
    }
    return tensorfile_write(path, tensors, l->n, meta, nmeta, err);
}

static hrc_status restore(const state_list *l, const tensorfile *file, const tensor_meta *meta, int nmeta,
                          hrc_error *err)
{
    const tensor *found[STATE_MAX_BLOCKS];
    for (int i = 0; i < nmeta; i++) {
        const char *has = tensorfile_meta(file, meta[i].key);
        if (!has || strcmp(has, meta[i].value))
            return fail(err, HRC_EFORMAT, "%s: %s is %.60s, this run has %.60s", file->path, meta[i].key,
                        has ? has : "missing", meta[i].value);
    }
    for (int i = 0; i < l->n; i++) TRY(find_block(&found[i], &l->blocks[i], file, err));
    for (int i = 0; i < l->n; i++)
        memcpy(l->blocks[i].data, found[i]->data, (size_t)found[i]->count * dtype_size(found[i]->type));
    return HRC_OK;
}

hrc_status state_load(const state_list *l, const char *path, const tensor_meta *meta, int nmeta,
                      hrc_error *err)
{
    tensorfile file;
    TRY(check_room(l, path, err));
    TRY(tensorfile_open(&file, path, err));
    hrc_status status = restore(l, &file, meta, nmeta, err);
    tensorfile_close(&file);
    return status;
}
