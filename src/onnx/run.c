#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "onnx/program.h"

#define MAX_CALLS 5000
#define MAX_NUMBERS ((size_t)1 << 24) /* of one value */
#define MAX_WORK ((size_t)1 << 28)    /* bytes of a runner */
#define MAX_PRODUCTS 1e9              /* of one run: a policy takes some millions */

struct onnx_program {
    arena memory;
    onnx_slot *slots;
    int nslots;
    onnx_step *steps;
    int nsteps;
    int *inputs, *outputs; /* slots */
    int ninputs, noutputs;
    size_t work;
    double products;
};

struct onnx_runner {
    const onnx_program *program;
    void *memory;
    void **data; /* of every slot */
};

/* ---- For the operators ---- */

hrc_status onnx_refuse(const onnx_builder *b, const char *format, ...)
{
    char why[300];
    va_list args;
    va_start(args, format);
    vsnprintf(why, sizeof why, format, args);
    va_end(args);
    return fail(b->err, HRC_EFORMAT, "%s: node \"%.100s\" (%.40s): %s", b->file->path, b->call->name,
                b->call->op, why);
}

const onnx_setting *onnx_setting_of(const onnx_builder *b, const char *name)
{
    for (int i = 0; i < b->call->nsettings; i++)
        if (!strcmp(b->call->settings[i].name, name)) return &b->call->settings[i];
    return NULL;
}

int64_t onnx_integer(const onnx_builder *b, const char *name, int64_t otherwise)
{
    const onnx_setting *s = onnx_setting_of(b, name);
    return s ? s->integer : otherwise;
}

float onnx_number(const onnx_builder *b, const char *name, float otherwise)
{
    const onnx_setting *s = onnx_setting_of(b, name);
    return s ? s->number : otherwise;
}

hrc_status onnx_axis(const onnx_builder *b, int64_t axis, int ndim, int *out)
{
    if (axis < -ndim || axis >= ndim)
        return onnx_refuse(b, "axis is %lld, expected -%d to %d", (long long)axis, ndim, ndim - 1);
    *out = (int)(axis < 0 ? axis + ndim : axis);
    return HRC_OK;
}

hrc_status onnx_list(const onnx_builder *b, const char *name, const onnx_slot *in, const int64_t **out,
                     int *n)
{
    const onnx_setting *s = onnx_setting_of(b, name);
    *out = NULL, *n = 0;
    if (s) *out = s->list, *n = s->n;
    if (s || !in) return HRC_OK;
    if (!in->constant || in->type != TYPE_INT64 || in->count > 1000)
        return onnx_refuse(b, "%s is \"%.80s\", expected a constant list of whole numbers", name, in->name);
    *out = in->constant, *n = (int)in->count;
    return HRC_OK;
}

hrc_status onnx_want_float(const onnx_builder *b, const onnx_slot *s)
{
    return s->type == TYPE_FLOAT ? HRC_OK : onnx_refuse(b, "\"%.80s\" is int64, expected float", s->name);
}

void onnx_like(onnx_slot *out, const onnx_slot *in)
{
    out->type = in->type;
    out->ndim = in->ndim;
    memcpy(out->dims, in->dims, sizeof out->dims);
}

void onnx_alias(onnx_slot *out, const onnx_slot *in)
{
    out->type = in->type;
    out->constant = in->constant;
    out->offset = in->offset;
}

/* ---- Slots ---- */

static onnx_slot *find_slot(const onnx_builder *b, const char *name)
{
    for (int i = b->nslots - 1; i >= 0; i--)
        if (!strcmp(b->slots[i].name, name)) return &b->slots[i];
    return NULL;
}

static hrc_status count_slot(const onnx_builder *b, onnx_slot *s)
{
    s->count = 1;
    for (int i = 0; i < s->ndim; i++) {
        if (s->dims[i] < 1 || s->dims[i] > (int64_t)MAX_NUMBERS ||
            s->count > MAX_NUMBERS / (size_t)s->dims[i])
            return fail(b->err, HRC_EFORMAT,
                        "%s: \"%.80s\": dimension %d is %lld, expected at least 1 and %zu in all",
                        b->file->path, s->name, i, (long long)s->dims[i], MAX_NUMBERS);
        s->count *= (size_t)s->dims[i];
    }
    return HRC_OK;
}

static hrc_status reserve(onnx_builder *b, size_t bytes, size_t *at)
{
    *at = b->work;
    b->work += (bytes + 63) / 64 * 64;
    if (b->work <= MAX_WORK) return HRC_OK;
    return fail(b->err, HRC_EFORMAT, "%s: takes over %zu MB to run", b->file->path, MAX_WORK >> 20);
}

static size_t slot_bytes(const onnx_slot *s)
{
    return s->count * (s->type == TYPE_FLOAT ? sizeof(float) : sizeof(int64_t));
}

static void add_constants(onnx_builder *b)
{
    for (int i = 0; i < b->file->nconstants; i++) {
        const onnx_array *a = &b->file->constants[i];
        onnx_slot *s = &b->slots[b->nslots++];
        *s = (onnx_slot){
            .name = a->name, .type = a->type, .ndim = a->ndim, .count = a->count, .constant = a->data};
        memcpy(s->dims, a->dims, sizeof s->dims);
    }
}

static hrc_status add_inputs(onnx_builder *b, onnx_program *p)
{
    for (int i = 0; i < b->file->ninputs; i++) {
        const onnx_array *a = &b->file->inputs[i];
        onnx_slot *s = &b->slots[b->nslots];
        if (a->type != TYPE_FLOAT)
            return fail(b->err, HRC_EFORMAT, "%s: input \"%.80s\" is int64, expected float", b->file->path,
                        a->name);
        *s = (onnx_slot){.name = a->name, .type = a->type, .ndim = a->ndim};
        for (int k = 0; k < a->ndim; k++) s->dims[k] = a->dims[k] < 0 ? 1 : a->dims[k];
        TRY(count_slot(b, s));
        TRY(reserve(b, slot_bytes(s), &s->offset));
        p->inputs[p->ninputs++] = b->nslots++;
    }
    return HRC_OK;
}

static hrc_status find_outputs(const onnx_builder *b, onnx_program *p)
{
    for (int i = 0; i < b->file->noutputs; i++) {
        const onnx_slot *s = find_slot(b, b->file->outputs[i].name);
        if (!s || s->type != TYPE_FLOAT)
            return fail(b->err, HRC_EFORMAT, "%s: output \"%.80s\" %s, expected floats", b->file->path,
                        b->file->outputs[i].name, s ? "is int64" : "is made by no node");
        p->outputs[p->noutputs++] = (int)(s - b->slots);
    }
    return HRC_OK;
}

/* ---- Steps ---- */

static const onnx_operator *find_operator(const char *name)
{
    const onnx_operator *const lists[] = {ONNX_SHAPE_OPERATORS, ONNX_MATH_OPERATORS};
    for (int i = 0; i < COUNT(lists); i++)
        for (const onnx_operator *o = lists[i]; o->name; o++)
            if (!strcmp(o->name, name)) return o;
    return NULL;
}

static hrc_status check_call(const onnx_builder *b, const onnx_operator *o)
{
    const onnx_call *c = b->call;
    if (!o) return onnx_refuse(b, "the operator is not known here");
    if (c->nin < o->least || c->nin > o->most)
        return onnx_refuse(b, "%d inputs, expected %d to %d", c->nin, o->least, o->most);
    if (c->nout < 1 || c->nout > o->outputs)
        return onnx_refuse(b, "%d outputs, expected 1 to %d", c->nout, o->outputs);
    for (int i = 0; i < o->least; i++)
        if (!*c->in[i]) return onnx_refuse(b, "input %d is left out", i);
    return HRC_OK;
}

static hrc_status bind_inputs(onnx_builder *b, onnx_step *s, onnx_slot **in)
{
    for (int i = 0; i < s->nin; i++) {
        const char *name = b->call->in[i];
        in[i] = *name ? find_slot(b, name) : NULL;
        if (*name && !in[i]) return onnx_refuse(b, "reads \"%.80s\", which nothing before it makes", name);
        s->in[i] = in[i] ? (int)(in[i] - b->slots) : -1;
    }
    return HRC_OK;
}

/* Everything it reads is constant: computed now. */
static hrc_status fold(onnx_builder *b, onnx_step *s, onnx_slot *const *in, onnx_slot *const *out)
{
    const void *from[STEP_MAX];
    void *to[STEP_MAX];
    float *scratch = arena_alloc(b->memory, s->scratch + 1, sizeof *scratch);
    bool made = scratch != NULL;
    for (int i = 0; i < s->nin; i++) from[i] = in[i] ? in[i]->constant : NULL;
    for (int i = 0; i < s->nout; i++) b->folded += slot_bytes(out[i]);
    if (b->folded > MAX_WORK) return onnx_refuse(b, "its constants take over %zu MB", MAX_WORK >> 20);
    for (int i = 0; i < s->nout && made; i++)
        made = (to[i] = arena_alloc(b->memory, slot_bytes(out[i]), 1)) != NULL;
    if (!made) return fail(b->err, HRC_ENOMEM, "%s: out of memory", b->file->path);
    s->run(s, from, to, scratch);
    for (int i = 0; i < s->nout; i++) out[i]->constant = to[i];
    s->run = NULL;
    return HRC_OK;
}

static hrc_status place(onnx_builder *b, onnx_step *s, onnx_slot *const *in, onnx_slot *const *out)
{
    bool constant = true;
    for (int i = 0; i < s->nin; i++) constant &= !in[i] || in[i]->constant;
    for (int i = 0; i < s->nout; i++) {
        TRY(count_slot(b, out[i]));
        if (s->run && !constant) TRY(reserve(b, slot_bytes(out[i]), &out[i]->offset));
    }
    s->n = out[0]->count;
    if (!s->run) return HRC_OK; /* an alias or a constant */
    b->products += (double)s->n;
    if (b->products > MAX_PRODUCTS) return onnx_refuse(b, "a run takes over %g products", MAX_PRODUCTS);
    if (constant) return fold(b, s, in, out);
    return reserve(b, s->scratch * sizeof(float), &s->scratch_at);
}

static hrc_status add_step(onnx_builder *b, onnx_step *s)
{
    onnx_slot *in[STEP_MAX], *out[STEP_MAX];
    const onnx_operator *o = find_operator(b->call->op);
    TRY(check_call(b, o));
    s->nin = b->call->nin, s->nout = b->call->nout;
    s->in = ARENA_NEW(b->memory, int, s->nin + 1);
    s->out = ARENA_NEW(b->memory, int, s->nout + 1);
    if (!s->in || !s->out) return fail(b->err, HRC_ENOMEM, "%s: out of memory", b->file->path);
    TRY(bind_inputs(b, s, in));
    for (int i = 0; i < s->nout; i++) {
        out[i] = &b->slots[b->nslots + i];
        *out[i] = (onnx_slot){.name = b->call->out[i]};
        s->out[i] = b->nslots + i;
    }
    TRY(o->prepare(b, s, in, out));
    b->nslots += s->nout;
    return place(b, s, in, out);
}

static hrc_status build(onnx_program *p, const onnx_file *f, hrc_error *err)
{
    size_t slots = (size_t)f->nconstants + (size_t)f->ninputs;
    if (f->ncalls > MAX_CALLS)
        return fail(err, HRC_EFORMAT, "%s: %d nodes, expected at most %d", f->path, f->ncalls, MAX_CALLS);
    for (int i = 0; i < f->ncalls; i++) slots += (size_t)f->calls[i].nout;
    p->slots = ARENA_NEW(&p->memory, onnx_slot, slots + 1);
    p->steps = ARENA_NEW(&p->memory, onnx_step, f->ncalls + 1);
    p->inputs = ARENA_NEW(&p->memory, int, f->ninputs + 1);
    p->outputs = ARENA_NEW(&p->memory, int, f->noutputs + 1);
    if (!p->slots || !p->steps || !p->inputs || !p->outputs)
        return fail(err, HRC_ENOMEM, "%s: out of memory", f->path);
    onnx_builder b = {.file = f, .memory = &p->memory, .slots = p->slots, .ops = nn_ops_best(), .err = err};
    add_constants(&b);
    TRY(add_inputs(&b, p));
    for (int i = 0; i < f->ncalls; i++) {
        onnx_step *s = &p->steps[p->nsteps];
        *s = (onnx_step){0};
        b.call = &f->calls[i];
        TRY(add_step(&b, s));
        p->nsteps += s->run != NULL;
    }
    p->nslots = b.nslots;
    p->work = b.work;
    p->products = b.products;
    return find_outputs(&b, p);
}

hrc_status onnx_program_create(onnx_program **out, const onnx_file *f, hrc_error *err)
{
    onnx_program *p = calloc(1, sizeof *p);
    if (!p) return fail(err, HRC_ENOMEM, "%s: out of memory", f->path);
    hrc_status status = build(p, f, err);
    if (status < 0)
        onnx_program_free(p);
    else
        *out = p;
    return status;
}

void onnx_program_free(onnx_program *p)
{
    if (!p) return;
    arena_free(&p->memory);
    free(p);
}

static int find_named(const onnx_program *p, const int *list, int n, const char *name)
{
    for (int i = 0; i < n; i++)
        if (!strcmp(p->slots[list[i]].name, name)) return i;
    return -1;
}

int onnx_program_input(const onnx_program *p, const char *name)
{
    return find_named(p, p->inputs, p->ninputs, name);
}

int onnx_program_output(const onnx_program *p, const char *name)
{
    return find_named(p, p->outputs, p->noutputs, name);
}

size_t onnx_input_count(const onnx_program *p, int i)
{
    return p->slots[p->inputs[i]].count;
}

size_t onnx_output_count(const onnx_program *p, int i)
{
    return p->slots[p->outputs[i]].count;
}

double onnx_products(const onnx_program *p)
{
    return p->products;
}

/* ---- Running ---- */

hrc_status onnx_runner_create(onnx_runner **out, const onnx_program *p, hrc_error *err)
{
    onnx_runner *r = calloc(1, sizeof *r);
    if (r) r->memory = aligned_alloc(64, p->work + 64);
    if (r) r->data = calloc((size_t)p->nslots + 1, sizeof *r->data);
    if (!r || !r->memory || !r->data) {
        onnx_runner_free(r);
        return fail(err, HRC_ENOMEM, "ONNX: out of memory for %zu bytes", p->work);
    }
    memset(r->memory, 0, p->work + 64);
    r->program = p;
    for (int i = 0; i < p->nslots; i++) {
        const onnx_slot *s = &p->slots[i];
        r->data[i] = s->constant ? (void *)s->constant : (char *)r->memory + s->offset;
    }
    *out = r;
    return HRC_OK;
}

void onnx_runner_free(onnx_runner *r)
{
    if (!r) return;
    free(r->memory);
    free(r->data);
    free(r);
}

float *onnx_runner_input(onnx_runner *r, int i)
{
    return r->data[r->program->inputs[i]];
}

const float *onnx_runner_output(const onnx_runner *r, int i)
{
    return r->data[r->program->outputs[i]];
}

void onnx_run(onnx_runner *r)
{
    const onnx_program *p = r->program;
    const void *in[STEP_MAX];
    void *out[STEP_MAX];
    for (int k = 0; k < p->nsteps; k++) {
        const onnx_step *s = &p->steps[k];
        for (int i = 0; i < s->nin; i++) in[i] = s->in[i] < 0 ? NULL : r->data[s->in[i]];
        for (int i = 0; i < s->nout; i++) out[i] = r->data[s->out[i]];
        s->run(s, in, out, (char *)r->memory + s->scratch_at);
    }
}
