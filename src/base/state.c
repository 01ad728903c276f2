#include "base/state.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/tensorfile.h"

#define MOST 9007199254740992.0 /* 2^53 */

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

void state_examine(state_list *l, state_check *check, const void *ctx)
{
    if (l->n < 1 || l->n > STATE_MAX_BLOCKS) return;
    l->blocks[l->n - 1].check = check;
    l->blocks[l->n - 1].ctx = ctx;
}

static hrc_status check_time(const void *ctx, const void *data, int64_t count, hrc_error *err)
{
    double seconds;
    (void)ctx, (void)count;
    memcpy(&seconds, data, sizeof seconds);
    return seconds >= 0 ? HRC_OK : fail(err, HRC_EFORMAT, "is %g s, expected at least 0", seconds);
}

void state_add_time(state_list *l, const char *prefix, const char *name, double *seconds)
{
    state_add(l, prefix, name, DT_F64, seconds, 1);
    state_examine(l, check_time, NULL);
}

bool state_dice_fine(const rng *dice)
{
    return dice->left <= COUNT(dice->block);
}

static hrc_status check_dice(const void *ctx, const void *data, int64_t count, hrc_error *err)
{
    rng dice;
    (void)ctx, (void)count;
    memcpy(&dice, data, sizeof dice);
    return state_dice_fine(&dice) ? HRC_OK : fail(err, HRC_EFORMAT, "is no stream of random numbers");
}

void state_add_dice(state_list *l, const char *prefix, const char *name, rng *dice)
{
    state_add(l, prefix, name, DT_U8, dice, sizeof *dice);
    state_examine(l, check_dice, NULL);
}

/* ---- Looking at what a file has ---- */

static double number(const tensor *t, int64_t i)
{
    switch (t->type) {
    case DT_F64: return ((const double *)t->data)[i];
    case DT_F32: return (double)((const float *)t->data)[i];
    case DT_I64: return (double)((const int64_t *)t->data)[i];
    case DT_I32: return (double)((const int32_t *)t->data)[i];
    default: return 0;
    }
}

static hrc_status look_at(const state_block *b, const tensor *t, const char *path, hrc_error *err)
{
    const bool whole = b->type == DT_I64 || b->type == DT_I32;
    hrc_error why;
    for (int64_t i = 0; i < t->count; i++) {
        const double x = number(t, i);
        if (whole ? x < 0 || x > MOST : !isfinite(x))
            return fail(err, HRC_EFORMAT, "%s: %s[%lld] is %.17g, expected %s", path, b->name, (long long)i,
                        x, whole ? "0 to 2^53" : "a finite number");
    }
    hrc_status status = b->check ? b->check(b->ctx, t->data, t->count, &why) : HRC_OK;
    return status < 0 ? fail(err, status, "%s: %s %.400s", path, b->name, why.text) : HRC_OK;
}

void state_bulky(state_list *l)
{
    if (l->n > 0 && l->n <= STATE_MAX_BLOCKS) l->blocks[l->n - 1].bulky = true;
}

void state_lighten(state_list *l)
{
    int kept = 0;
    if (l->n > STATE_MAX_BLOCKS) return; /* refused later */
    for (int i = 0; i < l->n; i++)
        if (!l->blocks[i].bulky) l->blocks[kept++] = l->blocks[i];
    l->n = kept;
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
    return seal_write(path, tensors, l->n, meta, nmeta, err);
}

hrc_status state_same(const char *path, tensor_meta entry, const char *sentence, hrc_error *err)
{
    tensorfile file;
    TRY(tensorfile_open(&file, path, err));
    const char *has = tensorfile_meta(&file, entry.key);
    const bool same = has && !strcmp(has, entry.value);
    tensorfile_close(&file);
    return same ? HRC_OK : fail(err, HRC_EFORMAT, "%s: %s", path, sentence);
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
    for (int i = 0; i < l->n; i++) {
        TRY(find_block(&found[i], &l->blocks[i], file, err));
        TRY(look_at(&l->blocks[i], found[i], file->path, err));
    }
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
