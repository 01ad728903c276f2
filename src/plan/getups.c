#include "plan/getups.h"

#include <math.h>
#include <string.h>

static hrc_status check_values(const getups *g, const char *path, hrc_error *err)
{
    int64_t sum = 0;
    for (int i = 0; i < g->n; i++) {
        if (g->length[i] < 2)
            return fail(err, HRC_EFORMAT, "%s: getups.length[%d] is %d, expected at least 2", path, i,
                        (int)g->length[i]);
        sum += g->length[i];
    }
    if (sum != g->frames)
        return fail(err, HRC_EFORMAT, "%s: getups.length sums to %lld, expected the %d frames of getups.qpos",
                    path, (long long)sum, g->frames);
    for (int i = 0; i < g->frames; i++) {
        for (int k = 0; k < HRC_NQ; k++)
            if (!isfinite(g->qpos[i][k]) || (k < HRC_NV && !isfinite(g->qvel[i][k])))
                return fail(err, HRC_ENONFINITE, "%s: getups, frame %d is not finite", path, i);
    }
    return HRC_OK;
}

hrc_status getups_read(getups *g, const tensorfile *file, arena *memory, hrc_error *err)
{
    const tensor *length, *qpos, *qvel;
    *g = (getups){0};
    if (!tensorfile_find(file, "getups.length")) return HRC_OK;
    const int64_t any[1] = {-1}, poses[2] = {-1, HRC_NQ};
    TRY(tensorfile_need(file, "getups.length", DT_I32, 1, any, &length, err));
    TRY(tensorfile_need(file, "getups.qpos", DT_F32, 2, poses, &qpos, err));
    const int64_t velocities[2] = {qpos->shape[0], HRC_NV};
    TRY(tensorfile_need(file, "getups.qvel", DT_F32, 2, velocities, &qvel, err));
    g->n = (int)length->count, g->frames = (int)qpos->shape[0];
    g->length = ARENA_NEW(memory, int32_t, g->n + 1);
    g->qpos = arena_alloc(memory, (size_t)g->frames + 1, sizeof *g->qpos);
    g->qvel = arena_alloc(memory, (size_t)g->frames + 1, sizeof *g->qvel);
    if (!g->length || !g->qpos || !g->qvel) return fail(err, HRC_ENOMEM, "%s: out of memory", file->path);
    memcpy(g->length, length->data, sizeof *g->length * (size_t)g->n);
    memcpy(g->qpos, qpos->data, sizeof *g->qpos * (size_t)g->frames);
    memcpy(g->qvel, qvel->data, sizeof *g->qvel * (size_t)g->frames);
    return check_values(g, file->path, err);
}

void getups_trim(getups *g, const int *from)
{
    int kept = 0, to = 0, at = 0;
    for (int w = 0; w < g->n; w++) {
        const int length = g->length[w], left = length - from[w];
        if (left > 0) {
            memmove(g->qpos[to], g->qpos[at + from[w]], sizeof *g->qpos * (size_t)left);
            memmove(g->qvel[to], g->qvel[at + from[w]], sizeof *g->qvel * (size_t)left);
            g->length[kept++] = left;
            to += left;
        }
        at += length;
    }
    g->n = kept, g->frames = to;
}

int getups_tensors(tensor out[GETUPS_TENSORS], const getups *g)
{
    if (!g->n) return 0;
    out[0] = (tensor){"getups.length", DT_I32, 1, {g->n}, g->n, g->length};
    out[1] = (tensor){"getups.qpos", DT_F32, 2, {g->frames, HRC_NQ}, (int64_t)g->frames * HRC_NQ, g->qpos};
    out[2] = (tensor){"getups.qvel", DT_F32, 2, {g->frames, HRC_NV}, (int64_t)g->frames * HRC_NV, g->qvel};
    return GETUPS_TENSORS;
}
