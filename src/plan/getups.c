#include "plan/getups.h"

#include <math.h>
#include <string.h>

#include "plan/store.h"

#define LENGTH "getups.length"
#define QPOS "getups.qpos"

static hrc_status check_cases(const getups *g, const char *path, hrc_error *err)
{
    for (int i = 0; i < g->cases; i++) {
        const int32_t way = g->led[i][0], frame = g->led[i][1];
        if (way < 0 || way >= g->n || frame < 0 || frame >= g->length[way])
            return fail(err, HRC_EFORMAT, "%s: getups.led[%d] is way %d, frame %d, which is not there", path,
                        i, (int)way, (int)frame);
        for (int k = 0; k < HRC_NQ; k++)
            if (!isfinite(g->lying[i][k]))
                return fail(err, HRC_ENONFINITE, "%s: getups.lying, case %d is not finite", path, i);
    }
    return HRC_OK;
}

static hrc_status read_cases(getups *g, const tensorfile *file, arena *memory, hrc_error *err)
{
    const tensor *lying, *led;
    if (!tensorfile_find(file, "getups.lying")) return HRC_OK;
    const int64_t poses[2] = {-1, HRC_NQ};
    TRY(tensorfile_need(file, "getups.lying", DT_F32, 2, poses, &lying, err));
    const int64_t pairs[2] = {lying->shape[0], 2};
    TRY(tensorfile_need(file, "getups.led", DT_I32, 2, pairs, &led, err));
    g->cases = (int)lying->shape[0];
    g->lying = arena_alloc(memory, (size_t)g->cases + 1, sizeof *g->lying);
    g->led = arena_alloc(memory, (size_t)g->cases + 1, sizeof *g->led);
    if (!g->lying || !g->led) return fail(err, HRC_ENOMEM, "%s: out of memory", file->path);
    memcpy(g->lying, lying->data, sizeof *g->lying * (size_t)g->cases);
    memcpy(g->led, led->data, sizeof *g->led * (size_t)g->cases);
    return check_cases(g, file->path, err);
}

static hrc_status read_velocities(getups *g, const tensorfile *file, arena *memory, hrc_error *err)
{
    const tensor *qvel;
    const int64_t velocities[2] = {g->frames, HRC_NV};
    TRY(tensorfile_need(file, "getups.qvel", DT_F32, 2, velocities, &qvel, err));
    g->qvel = arena_alloc(memory, (size_t)g->frames + 1, sizeof *g->qvel);
    if (!g->qvel) return fail(err, HRC_ENOMEM, "%s: out of memory", file->path);
    memcpy(g->qvel, qvel->data, sizeof *g->qvel * (size_t)g->frames);
    for (int i = 0; i < g->frames; i++)
        for (int k = 0; k < HRC_NV; k++)
            if (!isfinite(g->qvel[i][k]))
                return fail(err, HRC_ENONFINITE, "%s: getups.qvel, frame %d is not finite", file->path, i);
    return HRC_OK;
}

hrc_status getups_read(getups *g, const tensorfile *file, arena *memory, hrc_error *err)
{
    motion_store ways;
    *g = (getups){0};
    TRY(store_read(&ways, file, LENGTH, QPOS, memory, err));
    if (!ways.n) return HRC_OK;
    *g = (getups){.n = ways.n, .frames = ways.frames, .length = ways.length, .qpos = ways.qpos};
    TRY(read_velocities(g, file, memory, err));
    return read_cases(g, file, memory, err);
}

int getups_tensors(tensor out[GETUPS_TENSORS], const getups *g)
{
    if (!g->n) return 0;
    const motion_store ways = {g->n, g->frames, g->length, g->qpos};
    store_tensors(out, &ways, LENGTH, QPOS);
    out[2] = (tensor){"getups.qvel", DT_F32, 2, {g->frames, HRC_NV}, (int64_t)g->frames * HRC_NV, g->qvel};
    if (!g->cases) return 3;
    out[3] = (tensor){"getups.lying", DT_F32, 2, {g->cases, HRC_NQ}, (int64_t)g->cases * HRC_NQ, g->lying};
    out[4] = (tensor){"getups.led", DT_I32, 2, {g->cases, 2}, (int64_t)g->cases * 2, g->led};
    return GETUPS_TENSORS;
}
