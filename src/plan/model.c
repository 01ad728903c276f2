#include "plan/model.h"

#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/tensorfile.h"
#include "nn/packed.h"
#include "robot/g1.h"

#define NUMBERS(X) X(depth) X(heads) X(width) X(ratio)
#define SWITCHES(X) X(position) X(velocities) X(under_way)
#define MAX_FILE_TENSORS (NN_MAX_TENSORS + 3 + EXAMPLE_PARTS)

/* The parts of examples in the file: (PLAN_EXAMPLES, n) numbers each. */
#define EXAMPLES(X)                                                                                          \
    X("example.state", question.state)                                                                       \
    X("example.qvel", question.qvel)                                                                         \
    X("example.reference", question.reference)                                                               \
    X("example.under_way", question.under_way)                                                               \
    X("example.keyframes", keyframes)

static const struct {
    const char *name;
    size_t offset, count; /* in plan_example, of floats */
} EXAMPLE_PART[] = {
#define X(name, member)                                                                                      \
    {name, offsetof(plan_example, member), sizeof(((plan_example *)0)->member) / sizeof(float)},
    EXAMPLES(X)
#undef X
};
enum { EXAMPLE_PARTS = COUNT(EXAMPLE_PART) };

static const char *const FORM[] = {[PLAN_ANCHORED] = "anchored", [PLAN_PAPER] = "paper"};

static const char *text_of(const tensorfile *file, const char *key)
{
    return tensorfile_text(file, key, "(missing)");
}

static hrc_status check_text(const tensorfile *file, const char *key, const char *expected, hrc_error *err)
{
    const char *found = text_of(file, key);
    if (strcmp(found, expected))
        return fail(err, HRC_EFORMAT, "%s: %s is \"%.60s\", expected \"%.60s\"", file->path, key, found,
                    expected);
    return HRC_OK;
}

static hrc_status read_number(int *out, const tensorfile *file, const char *key, hrc_error *err)
{
    const char *found = text_of(file, key);
    char *end;
    long value = strtol(found, &end, 10);
    if (end == found || *end || value < 1 || value > 65536)
        return fail(err, HRC_EFORMAT, "%s: %s is \"%.60s\", expected a number of at least 1", file->path, key,
                    found);
    *out = (int)value;
    return HRC_OK;
}

static hrc_status read_switch(bool *out, const tensorfile *file, const char *key, hrc_error *err)
{
    const char *found = text_of(file, key);
    if (strcmp(found, "on") && strcmp(found, "off"))
        return fail(err, HRC_EFORMAT, "%s: %s is \"%.60s\", expected \"on\" or \"off\"", file->path, key,
                    found);
    *out = !strcmp(found, "on");
    return HRC_OK;
}

static hrc_status read_layout(plan_layout *l, const tensorfile *file, hrc_error *err)
{
    const char *form = text_of(file, "form");
    if (strcmp(form, FORM[PLAN_ANCHORED]) && strcmp(form, FORM[PLAN_PAPER]))
        return fail(err, HRC_EFORMAT,
                    "%s: form is \"%.60s\", expected \"anchored\" or \"paper\" (planners before 0.2 have "
                    "none: train again)",
                    file->path, form);
    l->form = strcmp(form, FORM[PLAN_PAPER]) ? PLAN_ANCHORED : PLAN_PAPER;
    TRY(read_number(&l->horizon, file, "horizon", err));
    if (l->horizon < PLAN_K - 1 || l->horizon > PLAN_MAX_H)
        return fail(err, HRC_EFORMAT, "%s: horizon is %d frames, expected %d to %d", file->path, l->horizon,
                    PLAN_K - 1, PLAN_MAX_H);
#define READ(name) TRY(read_switch(&l->name, file, #name, err));
    SWITCHES(READ)
#undef READ
    return HRC_OK;
}

static hrc_status read_shape(field_shape *shape, const plan_layout *l, const tensorfile *file, hrc_error *err)
{
#define READ(name) TRY(read_number(&shape->name, file, #name, err));
    NUMBERS(READ)
#undef READ
    *shape = plan_shape(*shape, l);
    return HRC_OK;
}

static hrc_status read_examples(plan_model *m, const tensorfile *file, hrc_error *err)
{
    for (int i = 0; i < EXAMPLE_PARTS; i++) {
        const tensor *t;
        const size_t count = EXAMPLE_PART[i].count;
        const int64_t shape[] = {PLAN_EXAMPLES, (int64_t)count};
        TRY(tensorfile_need(file, EXAMPLE_PART[i].name, DT_F32, 2, shape, &t, err));
        TRY(tensorfile_finite(file, t, err));
        for (int k = 0; k < PLAN_EXAMPLES; k++)
            memcpy((char *)&m->examples[k] + EXAMPLE_PART[i].offset,
                   (const char *)t->data + sizeof(float) * count * (size_t)k, sizeof(float) * count);
    }
    return HRC_OK;
}

static hrc_status read_model(plan_model *m, const tensorfile *file, hrc_error *err)
{
    field_shape shape = {0};
    TRY(check_text(file, "format", PLAN_FORMAT, err));
    TRY(seal_need(file, err));
    TRY(g1_check_joint_names(tensorfile_meta(file, "joint_names"), file->path, err));
    TRY(check_text(file, "fps", "50", err));
    TRY(read_layout(&m->layout, file, err));
    TRY(read_shape(&shape, &m->layout, file, err));
    TRY(field_init(&m->net, shape, err));
    TRY(nn_layout_check(&m->net.layout, file, "field.", err)); /* before memory is asked for */
    TRY(tensorfile_floats(m->scales.cond_mean, file, "cond_mean", shape.cond, err));
    TRY(tensorfile_floats(m->scales.cond_std, file, "cond_std", shape.cond, err));
    TRY(tensorfile_floats(m->scales.residual_std, file, "residual_std", PLAN_K * PLAN_D, err));
    TRY(read_examples(m, file, err));
    m->path = arena_strdup(&m->memory, file->path);
    m->config = arena_strdup(&m->memory, tensorfile_text(file, "config", ""));
    m->trained = arena_strdup(&m->memory, tensorfile_text(file, "trained", ""));
    m->params = ARENA_NEW(&m->memory, float, m->net.layout.count);
    if (!m->path || !m->config || !m->trained || !m->params)
        return fail(err, HRC_ENOMEM, "%s: out of memory", file->path);
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

void plan_model_round(plan_model *m)
{
    for (size_t i = 0; i < m->net.layout.count; i++) m->params[i] = nn_from_bf16(nn_to_bf16(m->params[i]));
}

/* ---- Saving ---- */

typedef struct {
    tensor tensors[MAX_FILE_TENSORS];
    nn_name names[NN_MAX_TENSORS];
    int n;
    float *examples; /* (PLAN_EXAMPLES) of every part after the other */
    uint16_t *halves;
} contents;

static void add_floats(contents *c, const char *name, const float *values, int n)
{
    c->tensors[c->n++] = (tensor){name, DT_F32, 1, {n}, n, values};
}

static void add_examples(contents *c, const plan_model *m)
{
    float *at = c->examples;
    for (int i = 0; i < EXAMPLE_PARTS; i++) {
        const size_t count = EXAMPLE_PART[i].count;
        for (int k = 0; k < PLAN_EXAMPLES; k++)
            memcpy(at + count * (size_t)k, (const char *)&m->examples[k] + EXAMPLE_PART[i].offset,
                   sizeof(float) * count);
        c->tensors[c->n++] = tensor_rows(EXAMPLE_PART[i].name, at, PLAN_EXAMPLES, (int64_t)count);
        at += count * PLAN_EXAMPLES;
    }
}

static hrc_status write_model(contents *c, const plan_model *m, const char *path, hrc_error *err)
{
#define DECLARE(name) char name[16];
    NUMBERS(DECLARE)
#undef DECLARE
#define PRINT(name) snprintf(name, sizeof name, "%d", m->net.shape.name);
    NUMBERS(PRINT)
#undef PRINT
    char joints[G1_NAMES_BYTES], horizon[16];
    g1_joint_names(joints);
    snprintf(horizon, sizeof horizon, "%d", m->layout.horizon);
    const tensor_meta meta[] = {{"format", PLAN_FORMAT},
                                {"joint_names", joints},
                                {"fps", "50"},
                                {"form", FORM[m->layout.form]},
                                {"horizon", horizon},
#define META(name) {#name, name},
                                NUMBERS(META)
#undef META
#define META(name) {#name, m->layout.name ? "on" : "off"},
                                    SWITCHES(META)
#undef META
                                        {"config", m->config},
                                {"trained", m->trained},
                                {"version", HRC_VERSION}};
    return seal_write(path, c->tensors, c->n, meta, COUNT(meta), err);
}

hrc_status plan_model_save(const plan_model *m, bool bf16, const char *path, hrc_error *err)
{
    const nn_layout *l = &m->net.layout;
    contents *c = calloc(1, sizeof *c);
    hrc_status status = HRC_ENOMEM;
    if (c) c->examples = malloc(sizeof m->examples);
    if (c && bf16) c->halves = malloc(sizeof *c->halves * l->count);
    if (c && c->examples && (c->halves || !bf16)) {
        nn_layout_tensors(c->tensors, c->names, l, m->params, "field.");
        c->n = l->n;
        if (bf16) nn_layout_halves(c->tensors, c->halves, l, m->params);
        add_floats(c, "cond_mean", m->scales.cond_mean, m->net.shape.cond);
        add_floats(c, "cond_std", m->scales.cond_std, m->net.shape.cond);
        add_floats(c, "residual_std", m->scales.residual_std, PLAN_K * PLAN_D);
        add_examples(c, m);
        status = write_model(c, m, path, err);
    } else {
        fail(err, HRC_ENOMEM, "%s: out of memory", path);
    }
    if (c) {
        free(c->examples);
        free(c->halves);
    }
    free(c);
    return status;
}
