#include "plan/model.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "nn/packed.h"
#include "robot/names.h"

#define NUMBERS(X) X(depth) X(heads) X(width) X(ratio) X(tokens) X(dim)
#define KNOWN_LENGTH "known.length"
#define KNOWN_QPOS "known.qpos"
#define MAX_FILE_TENSORS (NN_MAX_TENSORS + 6 + GETUPS_TENSORS + STORE_TENSORS)

static hrc_status check_text(const tensorfile *file, const char *key, const char *expected, hrc_error *err)
{
    const char *found = tensorfile_meta(file, key);
    if (!found || strcmp(found, expected))
        return fail(err, HRC_EFORMAT, "%s: %s is \"%.60s\", expected \"%.60s\"", file->path, key,
                    found ? found : "(missing)", expected);
    return HRC_OK;
}

static hrc_status read_number(int *out, const tensorfile *file, const char *key, hrc_error *err)
{
    const char *found = tensorfile_meta(file, key);
    char *end = NULL;
    long value = found ? strtol(found, &end, 10) : 0;
    if (!found || end == found || *end || value < 1 || value > 65536)
        return fail(err, HRC_EFORMAT, "%s: %s is \"%.60s\", expected a number of at least 1", file->path, key,
                    found ? found : "(missing)");
    *out = (int)value;
    return HRC_OK;
}

static hrc_status read_shape(field_shape *shape, const tensorfile *file, hrc_error *err)
{
#define READ(name) TRY(read_number(&shape->name, file, #name, err));
    NUMBERS(READ)
#undef READ
    const char *timed = tensorfile_meta(file, "timed");
    if (!timed || (strcmp(timed, "on") && strcmp(timed, "off")))
        return fail(err, HRC_EFORMAT, "%s: timed is \"%.60s\", expected \"on\" or \"off\"", file->path,
                    timed ? timed : "(missing)");
    *shape = plan_shape(*shape, !strcmp(timed, "on"));
    if (shape->tokens != PLAN_K || (shape->dim != PLAN_D_MAX && shape->dim != PLAN_D_BLIND))
        return fail(err, HRC_EFORMAT, "%s: %d tokens of %d numbers, expected %d of %d or %d", file->path,
                    shape->tokens, shape->dim, PLAN_K, PLAN_D_MAX, PLAN_D_BLIND);
    return HRC_OK;
}

static hrc_status read_floats(float *out, const tensorfile *file, const char *name, int n, hrc_error *err)
{
    const tensor *t;
    const int64_t shape = n;
    TRY(tensorfile_need(file, name, DT_F32, 1, &shape, &t, err));
    memcpy(out, t->data, sizeof(float) * (size_t)n);
    return HRC_OK;
}

static hrc_status read_model(plan_model *m, const tensorfile *file, hrc_error *err)
{
    field_shape shape = {0};
    TRY(check_text(file, "format", PLAN_FORMAT, err));
    TRY(g1_check_joint_names(tensorfile_meta(file, "joint_names"), file->path, err));
    TRY(check_text(file, "fps", "50", err));
    TRY(check_text(file, "horizon", "10", err));
    TRY(read_shape(&shape, file, err));
    TRY(field_init(&m->net, shape, err));
    TRY(read_floats(m->scales.cond_mean, file, "cond_mean", shape.cond, err));
    TRY(read_floats(m->scales.cond_std, file, "cond_std", shape.cond, err));
    TRY(read_floats(m->scales.residual_std, file, "residual_std", PLAN_K * shape.dim, err));
    const char *config_found = tensorfile_meta(file, "config"), *trained = tensorfile_meta(file, "trained");
    m->path = arena_strdup(&m->memory, file->path);
    m->config = arena_strdup(&m->memory, config_found ? config_found : "");
    m->trained = arena_strdup(&m->memory, trained ? trained : "");
    m->params = ARENA_NEW(&m->memory, float, m->net.layout.count);
    if (!m->path || !m->config || !m->trained || !m->params)
        return fail(err, HRC_ENOMEM, "%s: out of memory", file->path);
    TRY(getups_read(&m->ups, file, &m->memory, err));
    TRY(store_read(&m->known, file, KNOWN_LENGTH, KNOWN_QPOS, &m->memory, err));
    return nn_layout_load(m->params, &m->net.layout, file, "field.", err);
}

hrc_status plan_model_load(plan_model *m, const char *path, hrc_error *err)
{
    tensorfile file;
    *m = (plan_model){0};
    TRY(tensorfile_open(&file, path, err));
    hrc_status status = read_model(m, &file, err);
    tensorfile_close(&file);
    if (status < 0) plan_model_free(m);
    return status;
}

void plan_model_free(plan_model *m)
{
    arena_free(&m->memory);
    *m = (plan_model){0};
}

hrc_status plan_model_pair(plan_pair *out, const char *path, hrc_error *err)
{
    tensorfile file;
    TRY(tensorfile_open(&file, path, err));
    hrc_status status = read_floats(out->state, &file, "pair.state", HRC_NQ, err);
    if (status == HRC_OK) status = read_floats(out->target, &file, "pair.target", HRC_NQ, err);
    if (status == HRC_OK)
        status = read_floats(out->keyframes[0], &file, "pair.keyframes", PLAN_K * HRC_NQ, err);
    tensorfile_close(&file);
    return status;
}

void plan_model_round(plan_model *m)
{
    for (size_t i = 0; i < m->net.layout.count; i++) m->params[i] = nn_from_bf16(nn_to_bf16(m->params[i]));
}

/* ---- Saving ---- */

typedef struct {
    tensor tensors[MAX_FILE_TENSORS];
    nn_name names[NN_MAX_TENSORS];
    int n;
} contents;

static void add_floats(contents *c, const char *name, const float *values, int n)
{
    c->tensors[c->n++] = (tensor){name, DT_F32, 1, {n}, n, values};
}

static hrc_status write_model(contents *c, const plan_model *m, uint16_t *halves, const char *path,
                              hrc_error *err)
{
    const nn_layout *l = &m->net.layout;
    for (int i = 0; halves && i < l->n; i++) {
        const nn_tensor *t = &l->tensors[i];
        for (size_t k = 0; k < t->count; k++) halves[t->offset + k] = nn_to_bf16(m->params[t->offset + k]);
        c->tensors[i].type = DT_BF16;
        c->tensors[i].data = halves + t->offset;
    }
#define DECLARE(name) char name[16];
    NUMBERS(DECLARE)
#undef DECLARE
#define PRINT(name) snprintf(name, sizeof name, "%d", m->net.shape.name);
    NUMBERS(PRINT)
#undef PRINT
    char joints[G1_NAMES_BYTES];
    g1_joint_names(joints);
    const tensor_meta meta[] = {{"format", PLAN_FORMAT},
                                {"joint_names", joints},
                                {"fps", "50"},
                                {"horizon", "10"},
#define META(name) {#name, name},
                                NUMBERS(META)
#undef META
                                    {"timed", plan_model_timed(m) ? "on" : "off"},
                                {"config", m->config},
                                {"trained", m->trained},
                                {"version", HRC_VERSION}};
    return tensorfile_write(path, c->tensors, c->n, meta, COUNT(meta), err);
}

hrc_status plan_model_save(const plan_model *m, const plan_pair *pair, bool bf16, const char *path,
                           hrc_error *err)
{
    const nn_layout *l = &m->net.layout;
    contents *c = calloc(1, sizeof *c);
    uint16_t *halves = bf16 ? malloc(sizeof *halves * l->count) : NULL;
    hrc_status status = HRC_ENOMEM;
    if (c && (halves || !bf16)) {
        nn_layout_tensors(c->tensors, c->names, l, m->params, "field.");
        c->n = l->n;
        add_floats(c, "cond_mean", m->scales.cond_mean, m->net.shape.cond);
        add_floats(c, "cond_std", m->scales.cond_std, m->net.shape.cond);
        add_floats(c, "residual_std", m->scales.residual_std, PLAN_K * m->net.shape.dim);
        add_floats(c, "pair.state", pair->state, HRC_NQ);
        add_floats(c, "pair.target", pair->target, HRC_NQ);
        add_floats(c, "pair.keyframes", pair->keyframes[0], PLAN_K * HRC_NQ);
        c->n += getups_tensors(c->tensors + c->n, &m->ups);
        c->n += store_tensors(c->tensors + c->n, &m->known, KNOWN_LENGTH, KNOWN_QPOS);
        status = write_model(c, m, halves, path, err);
    } else {
        fail(err, HRC_ENOMEM, "%s: out of memory", path);
    }
    free(c);
    free(halves);
    return status;
}
