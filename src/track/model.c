#include "track/model.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/tensorfile.h"
#include "nn/packed.h"
#include "robot/g1.h"

#define FPS "50"
#define MAX_FILE_TENSORS (NN_MAX_TENSORS + 16)
#define LIST_BYTES 128
#define HEAD_SCALE 0.01 /* of the action decoder's last layer at first: the first actions are small */

/* ---- The robot's constants: what a policy was trained with must be what the runner uses ---- */

#define CONSTANTS(X) X(q0) X(kp) X(kd) X(action_scale)

enum {
#define X(name) CONSTANT_##name,
    CONSTANTS(X)
#undef X
        NCONSTANTS
};

static const char *const CONSTANT_NAME[] = {
#define X(name) #name,
    CONSTANTS(X)
#undef X
};

typedef double constants[NCONSTANTS][HRC_JOINTS];

static void robot_constants(constants out)
{
    for (int i = 0; i < HRC_JOINTS; i++) {
#define X(name) out[CONSTANT_##name][i] = G1_JOINT[i].name;
        CONSTANTS(X)
#undef X
    }
}

static hrc_status check_constants(const tensorfile *file, hrc_error *err)
{
    constants ours;
    robot_constants(ours);
    for (int c = 0; c < NCONSTANTS; c++) {
        char name[32];
        const int64_t joints = HRC_JOINTS;
        const tensor *t;
        snprintf(name, sizeof name, "robot.%s", CONSTANT_NAME[c]);
        TRY(tensorfile_need(file, name, DT_F64, 1, &joints, &t, err));
        for (int i = 0; i < HRC_JOINTS; i++) {
            double found;
            memcpy(&found, (const char *)t->data + sizeof found * (size_t)i, sizeof found);
            if (!(fabs(found - ours[c][i]) <= 1e-9 * (1 + fabs(ours[c][i]))))
                return fail(err, HRC_EFORMAT, "%s: %s of %s is %.9g, expected %.9g", file->path, name,
                            G1_JOINT[i].name, found, ours[c][i]);
        }
    }
    return HRC_OK;
}

/* ---- Reading metadata ---- */

static const char *text_of(const tensorfile *file, const char *key)
{
    return tensorfile_text(file, key, "(missing)");
}

static hrc_status check_text(const tensorfile *file, const char *key, const char *expected, hrc_error *err)
{
    const char *found = text_of(file, key);
    if (strcmp(found, expected))
        return fail(err, HRC_EFORMAT, "%s: %s is \"%.120s\", expected \"%.120s\"", file->path, key, found,
                    expected);
    return HRC_OK;
}

static hrc_status read_number(int *out, const tensorfile *file, const char *key, int lo, int hi,
                              hrc_error *err)
{
    const char *found = text_of(file, key);
    char *end;
    long value = strtol(found, &end, 10);
    if (end == found || *end || value < lo || value > hi)
        return fail(err, HRC_EFORMAT, "%s: %s is \"%.60s\", expected a number from %d to %d", file->path, key,
                    found, lo, hi);
    *out = (int)value;
    return HRC_OK;
}

/* One of the words, separated by '|' as in config.def. */
static hrc_status read_word(char out[CONFIG_WORD], const tensorfile *file, const char *key, const char *words,
                            hrc_error *err)
{
    const char *found = text_of(file, key);
    const size_t n = strlen(found);
    for (const char *at = words; *at; at += strcspn(at, "|"), at += *at == '|')
        if (n == strcspn(at, "|") && n < CONFIG_WORD && strncmp(at, found, n) == 0) {
            memcpy(out, found, n + 1);
            return HRC_OK;
        }
    return fail(err, HRC_EFORMAT, "%s: %s is \"%.60s\", expected one of %s", file->path, key, found, words);
}

static hrc_status read_widths(policy_hidden *out, const tensorfile *file, const char *key, hrc_error *err)
{
    const char *found = text_of(file, key), *at = found;
    *out = (policy_hidden){0};
    while (*at) {
        char *end;
        long value = strtol(at, &end, 10);
        if (end == at || (*end && *end != ',') || value < 1 || value > 16384 || out->n == POLICY_MAX_HIDDEN)
            return fail(err, HRC_EFORMAT, "%s: %s is \"%.60s\", expected at most %d widths like \"512,256\"",
                        file->path, key, found, POLICY_MAX_HIDDEN);
        out->size[out->n++] = (int)value;
        at = *end ? end + 1 : end;
    }
    return HRC_OK;
}

static void print_widths(char out[LIST_BYTES], const policy_hidden *h)
{
    int used = 0;
    out[0] = 0;
    for (int i = 0; i < h->n; i++)
        used += snprintf(out + used, (size_t)(LIST_BYTES - used), i ? ",%d" : "%d", h->size[i]);
}

static hrc_status read_shape(policy_shape *s, const tensorfile *file, hrc_error *err)
{
    char word[CONFIG_WORD] = "";
    *s = (policy_shape){.window = OBS_WINDOW, .proprio = OBS_PROPRIO, .actions = HRC_JOINTS};
    TRY(read_word(word, file, "activation", "elu|silu|gelu", err));
    s->activation = policy_activation(word);
    TRY(read_word(word, file, "quantizer", "ifsq|fsq|vq|none", err));
    s->token.kind = quant_kind_of(word);
    TRY(read_number(&s->token.dim, file, "token", 1, 4096, err));
    TRY(read_number(&s->token.levels, file, "levels", 2, 65536, err));
    TRY(read_number(&s->token.codes, file, "codes", 2, 65536, err));
    TRY(read_widths(&s->encoder, file, "encoder", err));
    TRY(read_widths(&s->reconstruction, file, "reconstruction", err));
    return read_widths(&s->action, file, "action", err);
}

/* ---- Creating and loading ---- */

static hrc_status allocate(track_model *m, const char *path, hrc_error *err)
{
    const size_t state = quant_state(&m->net.shape.token);
    m->path = arena_strdup(&m->memory, path);
    m->params = ARENA_NEW(&m->memory, float, m->net.layout.count);
    m->codebook = state ? ARENA_NEW(&m->memory, float, state) : NULL;
    if (!m->path || !m->params || (state && !m->codebook))
        return fail(err, HRC_ENOMEM, "%s: out of memory for %zu parameters", path, m->net.layout.count);
    TRY(normal_create(&m->proprio, OBS_P, &m->memory, err));
    return normal_create(&m->window, OBS_M, &m->memory, err);
}

static hrc_status fresh(track_model *m, const config *cfg, uint64_t seed, hrc_error *err)
{
    policy_shape shape = policy_from_config(cfg);
    TRY(policy_init(&m->net, &shape, err));
    TRY(allocate(m, "(new tracker)", err));
    policy_fresh(m->params, &m->net, seed, HEAD_SCALE, TRACK_STD);
    m->rotation = obs_rotation_mode(cfg->tracker_rotation);
    m->lead = OBS_LEAD;
    m->basis = action_basis_of(cfg->tracker_basis);
    char *settings = config_text(cfg);
    m->config = settings ? arena_strdup(&m->memory, settings) : NULL;
    free(settings);
    m->trained = "not trained";
    return m->config ? HRC_OK : fail(err, HRC_ENOMEM, "tracker: out of memory");
}

hrc_status track_model_create(track_model *m, const config *cfg, uint64_t seed, hrc_error *err)
{
    memset(m, 0, sizeof *m);
    hrc_status status = fresh(m, cfg, seed, err);
    if (status < 0) track_model_free(m);
    return status;
}

static hrc_status read_normal(normal *s, const tensorfile *file, const char *name, hrc_error *err)
{
    float mean[OBS_P], variance[OBS_P];
    char key[48];
    snprintf(key, sizeof key, "normal.%s.mean", name);
    TRY(tensorfile_floats(mean, file, key, s->n, err));
    snprintf(key, sizeof key, "normal.%s.variance", name);
    TRY(tensorfile_floats(variance, file, key, s->n, err));
    for (int i = 0; i < s->n; i++)
        if (variance[i] < 0)
            return fail(err, HRC_EFORMAT, "%s: %s[%d] is %g, expected at least 0", file->path, key, i,
                        (double)variance[i]);
    normal_set(s, 1, mean, variance);
    return HRC_OK;
}

static hrc_status read_choices(track_model *m, const tensorfile *file, hrc_error *err)
{
    char word[CONFIG_WORD] = "";
    TRY(g1_check_joint_names(tensorfile_meta(file, "joint_names"), file->path, err));
    TRY(check_text(file, "observation", OBS_LAYOUT, err));
    TRY(check_text(file, "fps", FPS, err));
    TRY(check_constants(file, err));
    TRY(read_word(word, file, "rotation", "body|world", err));
    m->rotation = obs_rotation_mode(word);
    TRY(read_word(word, file, "basis", "default|reference|ahead", err));
    m->basis = action_basis_of(word);
    return read_number(&m->lead, file, "lead", 0, 10, err);
}

/* Before memory is asked for: what the metadata say must be in the file. */
static hrc_status check_sizes(const policy *net, const tensorfile *file, hrc_error *err)
{
    const quant *q = &net->shape.token;
    const int64_t numbers = (int64_t)q->codes * q->dim;
    const tensor *t;
    TRY(nn_layout_check(&net->layout, file, "policy.", err));
    return quant_state(q) ? tensorfile_need(file, "codebook", DT_F32, 1, &numbers, &t, err) : HRC_OK;
}

static hrc_status read_model(track_model *m, const tensorfile *file, hrc_error *err)
{
    policy_shape shape;
    TRY(check_text(file, "format", TRACK_FORMAT, err));
    TRY(seal_need(file, err));
    TRY(read_choices(m, file, err));
    TRY(read_shape(&shape, file, err));
    TRY(policy_init(&m->net, &shape, err));
    TRY(check_sizes(&m->net, file, err));
    TRY(allocate(m, file->path, err));
    TRY(read_normal(&m->proprio, file, "proprio", err));
    TRY(read_normal(&m->window, file, "window", err));
    const quant *q = &m->net.shape.token;
    if (m->codebook) TRY(tensorfile_floats(m->codebook, file, "codebook", (int64_t)q->codes * q->dim, err));
    m->config = arena_strdup(&m->memory, text_of(file, "config"));
    m->trained = arena_strdup(&m->memory, text_of(file, "trained"));
    if (!m->config || !m->trained) return fail(err, HRC_ENOMEM, "%s: out of memory", file->path);
    return nn_layout_load(m->params, &m->net.layout, file, "policy.", err);
}

static void adopt_normal(normal *s, const normal *from)
{
    float variance[OBS_P];
    for (int i = 0; i < from->n; i++) variance[i] = normal_variance(from, i);
    normal_set(s, from->count, from->shift, variance);
}

/* Whether two networks take and mean the same; `whose`: what m has, for the sentence. */
static hrc_status check_alike(const track_model *m, const track_model *from, const char *whose,
                              hrc_error *err)
{
    const nn_layout *have = &from->net.layout, *want = &m->net.layout;
    for (int i = 0; i < want->n; i++)
        if (i >= have->n || strcmp(have->tensors[i].name, want->tensors[i].name) != 0 ||
            memcmp(have->tensors[i].shape, want->tensors[i].shape, sizeof want->tensors[i].shape) != 0)
            return fail(err, HRC_EINVAL, "%s: %s has another shape than by %s", from->path,
                        want->tensors[i].name, whose);
    const quant *a = &from->net.shape.token, *b = &m->net.shape.token;
    if (a->kind != b->kind || a->levels != b->levels ||
        from->net.shape.activation != m->net.shape.activation || from->basis != m->basis ||
        from->lead != m->lead || from->rotation != m->rotation)
        return fail(err, HRC_EINVAL, "%s: tokenizer, activation, basis, lead or rotation is not that of %s",
                    from->path, whose);
    if (m->codebook)
        return fail(err, HRC_EINVAL, "%s: a vq model's averages are not in its file", from->path);
    return HRC_OK;
}

hrc_status track_model_adopt(track_model *m, const track_model *from, hrc_error *err)
{
    TRY(check_alike(m, from, "the settings of [tracker]", err));
    memcpy(m->params, from->params, sizeof(float) * m->net.layout.count);
    adopt_normal(&m->proprio, &from->proprio);
    adopt_normal(&m->window, &from->window);
    return HRC_OK;
}

static bool same_normal(const normal *a, const normal *b)
{
    const size_t size = sizeof(float) * (size_t)a->n;
    return !memcmp(a->shift, b->shift, size) && !memcmp(a->scale, b->scale, size);
}

hrc_status track_model_blend(track_model *m, const track_model *other, double share, hrc_error *err)
{
    TRY(check_alike(m, other, m->path, err));
    if (!same_normal(&m->proprio, &other->proprio) || !same_normal(&m->window, &other->window))
        return fail(err, HRC_EINVAL,
                    "%s: its observations are scaled otherwise than those of %s; only trackers of one "
                    "beginning (train tracker --from) have a mean",
                    other->path, m->path);
    for (size_t i = 0; i < m->net.layout.count; i++)
        m->params[i] = (float)((1 - share) * (double)m->params[i] + share * (double)other->params[i]);
    return HRC_OK;
}

hrc_status track_model_load(track_model *m, const char *path, hrc_error *err)
{
    tensorfile file;
    memset(m, 0, sizeof *m);
    TRY(tensorfile_open(&file, path, err));
    hrc_status status = read_model(m, &file, err);
    tensorfile_close(&file);
    if (status < 0) track_model_free(m);
    return status;
}

void track_model_free(track_model *m)
{
    arena_free(&m->memory);
    memset(m, 0, sizeof *m);
}

/* (n, width), or (width) as long as there was only one example. */
static hrc_status read_examples(float *out, int *n, const tensorfile *file, const char *name, int64_t width,
                                hrc_error *err)
{
    const tensor *t = tensorfile_find(file, name);
    if (t && t->ndim == 1)
        TRY(tensorfile_need(file, name, DT_F32, 1, &width, &t, err));
    else
        TRY(tensorfile_need(file, name, DT_F32, 2, (int64_t[]){*n ? *n : -1, width}, &t, err));
    const int64_t rows = t->count / width;
    if (rows < 1 || rows > TRACK_PAIRS || (*n && rows != *n))
        return fail(err, HRC_EFORMAT, "%s: %s has %lld examples, expected %d to %d", file->path, name,
                    (long long)rows, *n ? *n : 1, *n ? *n : TRACK_PAIRS);
    *n = (int)rows;
    memcpy(out, t->data, sizeof *out * (size_t)t->count);
    return tensorfile_finite(file, t, err);
}

hrc_status track_model_pairs(track_pairs *out, const char *path, hrc_error *err)
{
    tensorfile file;
    TRY(tensorfile_open(&file, path, err));
    out->n = 0;
    hrc_status status = read_examples(out->proprio[0], &out->n, &file, "pair.proprio", OBS_PROPRIO, err);
    if (status == HRC_OK)
        status = read_examples(out->window[0], &out->n, &file, "pair.window", OBS_WINDOW, err);
    if (status == HRC_OK)
        status = read_examples(out->action[0], &out->n, &file, "pair.action", HRC_JOINTS, err);
    tensorfile_close(&file);
    return status;
}

/* ---- Saving ---- */

void track_model_round(track_model *m)
{
    for (size_t i = 0; i < m->net.layout.count; i++) m->params[i] = nn_from_bf16(nn_to_bf16(m->params[i]));
}

typedef struct {
    tensor tensors[MAX_FILE_TENSORS];
    nn_name names[NN_MAX_TENSORS];
    int n;
    constants robot;
    float proprio_variance[OBS_P], window_variance[OBS_M];
} contents;

static void add(contents *c, const char *name, dtype type, const void *values, int64_t n)
{
    c->tensors[c->n++] =
        (tensor){.name = name, .type = type, .ndim = 1, .shape = {n}, .count = n, .data = values};
}

static void gather(contents *c, const track_model *m, const track_pairs *pairs, uint16_t *halves)
{
    const nn_layout *l = &m->net.layout;
    const quant *q = &m->net.shape.token;
    nn_layout_tensors(c->tensors, c->names, l, m->params, "policy.");
    c->n = l->n;
    if (halves) nn_layout_halves(c->tensors, halves, l, m->params);
    for (int i = 0; i < OBS_P; i++) c->proprio_variance[i] = normal_variance(&m->proprio, i);
    for (int i = 0; i < OBS_M; i++) c->window_variance[i] = normal_variance(&m->window, i);
    robot_constants(c->robot);
    if (m->codebook) add(c, "codebook", DT_F32, m->codebook, (int64_t)q->codes * q->dim);
    add(c, "normal.proprio.mean", DT_F32, m->proprio.shift, OBS_P);
    add(c, "normal.proprio.variance", DT_F32, c->proprio_variance, OBS_P);
    add(c, "normal.window.mean", DT_F32, m->window.shift, OBS_M);
    add(c, "normal.window.variance", DT_F32, c->window_variance, OBS_M);
    c->tensors[c->n++] = tensor_rows("pair.proprio", pairs->proprio[0], pairs->n, OBS_PROPRIO);
    c->tensors[c->n++] = tensor_rows("pair.window", pairs->window[0], pairs->n, OBS_WINDOW);
    c->tensors[c->n++] = tensor_rows("pair.action", pairs->action[0], pairs->n, HRC_JOINTS);
#define X(name) add(c, "robot." #name, DT_F64, c->robot[CONSTANT_##name], HRC_JOINTS);
    CONSTANTS(X)
#undef X
}

static hrc_status write_model(const contents *c, const track_model *m, const char *path, hrc_error *err)
{
    const policy_shape *s = &m->net.shape;
    char joints[G1_NAMES_BYTES], token[16], levels[16], codes[16], lead[16];
    char encoder[LIST_BYTES], reconstruction[LIST_BYTES], action[LIST_BYTES];
    g1_joint_names(joints);
    snprintf(token, sizeof token, "%d", s->token.dim);
    snprintf(levels, sizeof levels, "%d", s->token.levels);
    snprintf(codes, sizeof codes, "%d", s->token.codes);
    snprintf(lead, sizeof lead, "%d", m->lead);
    print_widths(encoder, &s->encoder);
    print_widths(reconstruction, &s->reconstruction);
    print_widths(action, &s->action);
    const tensor_meta meta[] = {{"format", TRACK_FORMAT},
                                {"joint_names", joints},
                                {"observation", OBS_LAYOUT},
                                {"fps", FPS},
                                {"rotation", m->rotation == OBS_WORLD ? "world" : "body"},
                                {"basis", action_basis_name(m->basis)},
                                {"lead", lead},
                                {"activation", policy_activation_name(s->activation)},
                                {"quantizer", quant_name(s->token.kind)},
                                {"token", token},
                                {"levels", levels},
                                {"codes", codes},
                                {"encoder", encoder},
                                {"reconstruction", reconstruction},
                                {"action", action},
                                {"config", m->config},
                                {"trained", m->trained},
                                {"version", HRC_VERSION}};
    return seal_write(path, c->tensors, c->n, meta, COUNT(meta), err);
}

hrc_status track_model_save(const track_model *m, const track_pairs *pairs, bool bf16, const char *path,
                            hrc_error *err)
{
    contents *c = calloc(1, sizeof *c);
    uint16_t *halves = bf16 ? malloc(sizeof *halves * m->net.layout.count) : NULL;
    hrc_status status;
    if (c && (halves || !bf16)) {
        gather(c, m, pairs, halves);
        status = write_model(c, m, path, err);
    } else {
        status = fail(err, HRC_ENOMEM, "%s: out of memory", path);
    }
    free(c);
    free(halves);
    return status;
}
