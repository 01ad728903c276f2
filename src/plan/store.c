#include "plan/store.h"

#include <math.h>
#include <string.h>

static hrc_status check(const motion_store *s, const char *path, const char *length, const char *qpos,
                        hrc_error *err)
{
    int64_t sum = 0;
    for (int i = 0; i < s->n; i++) {
        if (s->length[i] < 2)
            return fail(err, HRC_EFORMAT, "%s: %s[%d] is %d, expected at least 2", path, length, i,
                        (int)s->length[i]);
        sum += s->length[i];
    }
    if (sum != s->frames)
        return fail(err, HRC_EFORMAT, "%s: %s sums to %lld, expected the %d frames of %s", path, length,
                    (long long)sum, s->frames, qpos);
    for (int i = 0; i < s->frames; i++)
        for (int k = 0; k < HRC_NQ; k++)
            if (!isfinite(s->qpos[i][k]))
                return fail(err, HRC_ENONFINITE, "%s: %s, frame %d is not finite", path, qpos, i);
    return HRC_OK;
}

hrc_status store_read(motion_store *s, const tensorfile *file, const char *length, const char *qpos,
                      arena *memory, hrc_error *err)
{
    const tensor *lengths, *poses;
    const int64_t any[1] = {-1}, frames[2] = {-1, HRC_NQ};
    *s = (motion_store){0};
    if (!tensorfile_find(file, length)) return HRC_OK;
    TRY(tensorfile_need(file, length, DT_I32, 1, any, &lengths, err));
    TRY(tensorfile_need(file, qpos, DT_F32, 2, frames, &poses, err));
    s->n = (int)lengths->count, s->frames = (int)poses->shape[0];
    s->length = ARENA_NEW(memory, int32_t, s->n + 1);
    s->qpos = arena_alloc(memory, (size_t)s->frames + 1, sizeof *s->qpos);
    if (!s->length || !s->qpos) return fail(err, HRC_ENOMEM, "%s: out of memory", file->path);
    memcpy(s->length, lengths->data, sizeof *s->length * (size_t)s->n);
    memcpy(s->qpos, poses->data, sizeof *s->qpos * (size_t)s->frames);
    return check(s, file->path, length, qpos, err);
}

int store_tensors(tensor out[STORE_TENSORS], const motion_store *s, const char *length, const char *qpos)
{
    if (!s->n) return 0;
    out[0] = (tensor){length, DT_I32, 1, {s->n}, s->n, s->length};
    out[1] = (tensor){qpos, DT_F32, 2, {s->frames, HRC_NQ}, (int64_t)s->frames * HRC_NQ, s->qpos};
    return STORE_TENSORS;
}
