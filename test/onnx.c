/* The ONNX reader and interpreter: operators with known answers, our own exports, networks of others. */
#include "shell.h" /* before anything that has a type named text */

#include "onnx/run.h"
#include "onnx/write.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "small.h"
#include "test.h"

#define FORMATS "../shared/data/formats/"

/* ---- A graph, written, read and made ready ---- */

typedef struct {
    onnx_file file;
    onnx_program *program;
    onnx_runner *runner;
} rig;

static void rig_open(rig *r, const char *path)
{
    hrc_error err;
    ENSURE_OK(onnx_read(&r->file, path, &err));
    ENSURE_OK(onnx_program_create(&r->program, &r->file, &err));
    ENSURE_OK(onnx_runner_create(&r->runner, r->program, &err));
}

static void rig_close(rig *r)
{
    onnx_runner_free(r->runner);
    onnx_program_free(r->program);
    onnx_file_free(&r->file);
}

static void rig_write(rig *r, onnx_graph *g)
{
    hrc_error err;
    const char *path = test_path("graph.onnx");
    ENSURE_OK(onnx_write(g, "graph", path, &err));
    onnx_free(g);
    rig_open(r, path);
}

static void ensure_output(rig *r, const float *expected, int n)
{
    ENSURE(onnx_output_count(r->program, 0) == (size_t)n);
    onnx_run(r->runner);
    for (int i = 0; i < n; i++)
        ENSURE_NEAR((double)onnx_runner_output(r->runner, 0)[i], (double)expected[i], 1e-5);
}

static const onnx_attribute AXIS1 = {"axis", (const int64_t[]){1}, -1};

/* ---- Operators ---- */

static void test_arithmetic(void)
{
    onnx_graph g = {0};
    rig r;
    onnx_value x = onnx_input(&g, "x", (int64_t[]){-1, 3}, 2);
    onnx_value row = onnx_floats(&g, "row", (float[]){1, 2, 4}, (int64_t[]){3}, 1);
    onnx_value column = onnx_floats(&g, "column", (float[]){10, 20}, (int64_t[]){2, 1}, 2);
    onnx_value y = onnx_op2(&g, "Div", onnx_op2(&g, "Sub", x, row), onnx_scalar(&g, "two", 2));
    y = onnx_op2(&g, "Add", onnx_op2(&g, "Mul", y, y), column); /* (2,3) */
    onnx_output(&g, "y", y, (int64_t[]){2, 3}, 2);
    rig_write(&r, &g);
    memcpy(onnx_runner_input(r.runner, 0), (float[]){3, 4, 0}, 12);
    ensure_output(&r, (float[]){11, 11, 14, 21, 21, 24}, 6);
    rig_close(&r);
}

static void test_moves(void)
{
    onnx_graph g = {0};
    rig r;
    onnx_value x = onnx_input(&g, "x", (int64_t[]){1, 6}, 2), part[2];
    onnx_value shape = onnx_ints(&g, "shape", (int64_t[]){0, 2, -1}, 3);
    onnx_value y = onnx_op2(&g, "Reshape", x, shape); /* (1,2,3) */
    y = onnx_node(&g, "Transpose", &y, 1, NULL, 1, &(onnx_attribute){"perm", (const int64_t[]){0, 2, 1}, 3},
                  1);
    y = onnx_node(&g, "Flatten", &y, 1, NULL, 1, NULL, 0); /* 0 3 1 4 2 5 */
    onnx_node(&g, "Split", &y, 1, part, 2, &AXIS1, 1);
    y = onnx_node(&g, "Concat", (onnx_value[]){part[1], part[0]}, 2, NULL, 1, &AXIS1, 1); /* 4 2 5 0 3 1 */
    onnx_value from = onnx_ints(&g, "from", (int64_t[]){-5}, 1),
               to = onnx_ints(&g, "to", (int64_t[]){1000}, 1),
               axis = onnx_ints(&g, "axis", (int64_t[]){1}, 1),
               step = onnx_ints(&g, "step", (int64_t[]){2}, 1);
    y = onnx_node(&g, "Slice", (onnx_value[]){y, from, to, axis, step}, 5, NULL, 1, NULL, 0); /* 2 0 1 */
    y = onnx_node(&g, "Gather", (onnx_value[]){y, onnx_ints(&g, "pick", (int64_t[]){-1, 0, 0}, 3)}, 2, NULL,
                  1, &AXIS1, 1); /* 1 2 2 */
    onnx_output(&g, "y", y, (int64_t[]){1, 3}, 2);
    rig_write(&r, &g);
    for (int i = 0; i < 6; i++) onnx_runner_input(r.runner, 0)[i] = (float)i;
    ensure_output(&r, (float[]){1, 2, 2}, 3);
    rig_close(&r);
}

static void test_layers(void)
{
    static const int64_t yes = 1, last = -1;
    onnx_graph g = {0};
    rig r;
    onnx_value x = onnx_input(&g, "x", (int64_t[]){-1, 3}, 2);
    onnx_value w = onnx_floats(&g, "w", (float[]){1, 0, 2, 0, 1, -1}, (int64_t[]){2, 3}, 2);
    onnx_value bias = onnx_floats(&g, "b", (float[]){0.5f, -0.5f}, (int64_t[]){2}, 1);
    onnx_value y = onnx_node(&g, "Gemm", (onnx_value[]){x, w, bias}, 3, NULL, 1,
                             &(onnx_attribute){"transB", &yes, -1}, 1);
    onnx_value turn = onnx_floats(&g, "turn", (float[]){0, 1, 1, 0}, (int64_t[]){2, 2}, 2);
    y = onnx_op2(&g, "MatMul", y, turn); /* -1.5 7.5 */
    onnx_value mean = onnx_node(&g, "ReduceMean", &y, 1, NULL, 1, &(onnx_attribute){"axes", &last, 1}, 1);
    y = onnx_op1(&g, "Elu", onnx_op2(&g, "Sub", y, mean)); /* elu(-4.5), 4.5 */
    onnx_output(&g, "y", y, (int64_t[]){1, 2}, 2);
    rig_write(&r, &g);
    memcpy(onnx_runner_input(r.runner, 0), (float[]){1, 2, 3}, 12);
    ensure_output(&r, (float[]){expm1f(-4.5f), 4.5f}, 2);
    rig_close(&r);
}

/* (1,2,5) * (1,2,2), stride 2, one pad before: y_t = sum over channels of x[2t-1] w0 + x[2t] w1, plus bias */
static void test_conv(void)
{
    onnx_graph g = {0};
    rig r;
    onnx_value x = onnx_input(&g, "x", (int64_t[]){-1, 2, 5}, 3);
    onnx_value w = onnx_floats(&g, "w", (float[]){1, 10, 2, -1}, (int64_t[]){1, 2, 2}, 3);
    onnx_value bias = onnx_floats(&g, "b", (float[]){100}, (int64_t[]){1}, 1);
    onnx_value y = onnx_node(
        &g, "Conv", (onnx_value[]){x, w, bias}, 3, NULL, 1,
        (onnx_attribute[]){{"strides", (const int64_t[]){2}, 1}, {"pads", (const int64_t[]){1, 0}, 2}}, 2);
    onnx_output(&g, "y", y, (int64_t[]){1, 1, 3}, 3);
    rig_write(&r, &g);
    memcpy(onnx_runner_input(r.runner, 0), (float[]){1, 2, 3, 4, 5, 6, 7, 8, 9, 10}, 40);
    ensure_output(&r, (float[]){100 + 10 - 6, 100 + 2 + 30 + 14 - 8, 100 + 4 + 50 + 18 - 10}, 3);
    rig_close(&r);
}

/* Shapes of shapes are computed when the program is made; an index at run time stays inside its table. */
static void test_index(void)
{
    static const int64_t whole = 7, axis0 = 0;
    onnx_graph g = {0};
    rig r;
    onnx_value t = onnx_input(&g, "time_step", (int64_t[]){1, 1}, 2);
    onnx_value table = onnx_floats(&g, "table", (float[]){1, 2, 3, 4, 5, 6}, (int64_t[]){3, 2}, 2);
    onnx_value i = onnx_node(&g, "Cast", &t, 1, NULL, 1, &(onnx_attribute){"to", &whole, -1}, 1);
    i = onnx_op2(&g, "Squeeze", i, onnx_ints(&g, "one", (int64_t[]){1}, 1));
    onnx_value y = onnx_node(&g, "Gather", (onnx_value[]){table, i}, 2, NULL, 1,
                             &(onnx_attribute){"axis", &axis0, -1}, 1);
    onnx_value shape = onnx_op1(&g, "Shape", y); /* 1 2 */
    y = onnx_op2(&g, "Reshape", y, onnx_op2(&g, "Mul", shape, onnx_ints(&g, "swap", (int64_t[]){2, -1}, 2)));
    onnx_output(&g, "y", y, (int64_t[]){2, 1}, 2);
    hrc_error err;
    const char *path = test_path("bad.onnx");
    ENSURE_OK(onnx_write(&g, "graph", path, &err)); /* 2, -2 is no shape */
    onnx_free(&g);
    ENSURE_OK(onnx_read(&r.file, path, &err));
    ENSURE(onnx_program_create(&r.program, &r.file, &err) < 0 &&
           strstr(err.text, "(Reshape): dimension 1 is -2"));
    onnx_file_free(&r.file);

    onnx_graph h = {0};
    t = onnx_input(&h, "time_step", (int64_t[]){1, 1}, 2);
    table = onnx_floats(&h, "table", (float[]){1, 2, 3, 4, 5, 6}, (int64_t[]){3, 2}, 2);
    i = onnx_node(&h, "Cast", &t, 1, NULL, 1, &(onnx_attribute){"to", &whole, -1}, 1);
    y = onnx_node(&h, "Gather", (onnx_value[]){table, i}, 2, NULL, 1, &(onnx_attribute){"axis", &axis0, -1},
                  1);
    onnx_output(&h, "y", y, (int64_t[]){1, 1, 2}, 3);
    rig_write(&r, &h);
    onnx_runner_input(r.runner, 0)[0] = 1;
    ensure_output(&r, (float[]){3, 4}, 2);
    onnx_runner_input(r.runner, 0)[0] = 1e30f;
    ensure_output(&r, (float[]){1, 2}, 2); /* no whole number: 0 */
    onnx_runner_input(r.runner, 0)[0] = 77;
    ensure_output(&r, (float[]){5, 6}, 2);
    rig_close(&r);
}

/* The first of the smallest; the mean of everything where no dimension is named; NaN is not hidden. */
static void test_reductions(void)
{
    static const int64_t axis0 = 0, no = 0;
    const onnx_attribute over[2] = {{"axis", &axis0, -1}, {"keepdims", &no, -1}};
    onnx_graph g = {0};
    rig r;
    onnx_value x = onnx_input(&g, "x", (int64_t[]){4, 1}, 2);
    onnx_value table = onnx_floats(&g, "table", (float[]){10, 11, 12, 13}, (int64_t[]){4, 1}, 2);
    onnx_value row = onnx_node(&g, "ArgMin", &x, 1, NULL, 1, over, 2); /* (1) */
    onnx_value parts[2] = {onnx_op2(&g, "Gather", table, row), onnx_op1(&g, "ReduceMean", x)};
    onnx_output(&g, "y", onnx_node(&g, "Concat", parts, 2, NULL, 1, &AXIS1, 1), (int64_t[]){1, 2}, 2);
    rig_write(&r, &g);
    memcpy(onnx_runner_input(r.runner, 0), (float[]){3, -1, 2, -1}, 16);
    ensure_output(&r, (float[]){11, 0.75f}, 2);
    rig_close(&r);

    g = (onnx_graph){0};
    x = onnx_input(&g, "x", (int64_t[]){1, 2}, 2);
    onnx_output(&g, "y", onnx_op1(&g, "Relu", x), (int64_t[]){1, 2}, 2);
    rig_write(&r, &g);
    memcpy(onnx_runner_input(r.runner, 0), (float[]){NAN, -1}, 8);
    onnx_run(r.runner);
    ENSURE(isnan(onnx_runner_output(r.runner, 0)[0]) && onnx_runner_output(r.runner, 0)[1] == 0);
    rig_close(&r);
}

static void ensure_refused(onnx_graph *g, const char *why)
{
    hrc_error err;
    onnx_file f;
    onnx_program *p;
    const char *path = test_path("refused.onnx");
    ENSURE_OK(onnx_write(g, "graph", path, &err));
    onnx_free(g);
    ENSURE_OK(onnx_read(&f, path, &err));
    ENSURE(onnx_program_create(&p, &f, &err) < 0);
    if (!strstr(err.text, why)) test_fail(__FILE__, __LINE__, "\"%s\" does not say \"%s\"", err.text, why);
    onnx_file_free(&f);
}

static void test_refusals(void)
{
    onnx_graph g = {0};
    onnx_value x = onnx_input(&g, "x", (int64_t[]){1, 3}, 2);
    onnx_output(&g, "y", onnx_op1(&g, "LSTM", x), (int64_t[]){1, 3}, 2);
    ensure_refused(&g, "node \"LSTM_0\" (LSTM): the operator is not known");

    g = (onnx_graph){0};
    x = onnx_input(&g, "x", (int64_t[]){1, 3}, 2);
    onnx_value w = onnx_floats(&g, "w", (float[]){1, 2}, (int64_t[]){2, 1}, 2);
    onnx_output(&g, "y", onnx_op2(&g, "Gemm", x, w), (int64_t[]){1, 1}, 2);
    ensure_refused(&g, "\"w\" takes 2 numbers, given are 3");

    g = (onnx_graph){0};
    onnx_input(&g, "x", (int64_t[]){1, 3}, 2);
    onnx_output(&g, "y", onnx_op1(&g, "Relu", (onnx_value){"later"}), (int64_t[]){1, 3}, 2);
    ensure_refused(&g, "reads \"later\", which nothing before it makes");

    g = (onnx_graph){0};
    x = onnx_input(&g, "x", (int64_t[]){2, 3}, 2);
    onnx_output(&g, "y", onnx_op1(&g, "ArgMin", x), (int64_t[]){1, 3}, 2);
    ensure_refused(&g, "over dimension 0, expected the last");

    g = (onnx_graph){0};
    x = onnx_input(&g, "x", (int64_t[]){1, 1, 5}, 3);
    w = onnx_floats(&g, "w", (float[]){1}, (int64_t[]){1, 1, 1}, 3);
    onnx_value y = onnx_node(&g, "Conv", (onnx_value[]){x, w}, 2, NULL, 1,
                             &(onnx_attribute){"strides", (const int64_t[]){2, 2}, 2}, 1);
    onnx_output(&g, "y", y, (int64_t[]){1, 1, 5}, 3);
    ensure_refused(&g, "2 strides, 0 pads");
}

/* Before opset 13 a Softmax that names no dimension is over all from the second on. */
static void test_older(void)
{
    hrc_error err;
    onnx_file f;
    onnx_program *p;
    onnx_graph g = {0};
    const char *path = test_path("older.onnx");
    file_view bytes;
    onnx_value x = onnx_input(&g, "x", (int64_t[]){1, 2, 3}, 3);
    onnx_output(&g, "y", onnx_op1(&g, "Softmax", x), (int64_t[]){1, 2, 3}, 3);
    ENSURE_OK(onnx_write(&g, "graph", path, &err));
    onnx_free(&g);
    ENSURE_OK(onnx_read(&f, path, &err));
    ENSURE_OK(onnx_program_create(&p, &f, &err));
    onnx_program_free(p);
    onnx_file_free(&f);
    ENSURE_OK(file_map(path, &bytes, &err));
    char *copy = malloc(bytes.size), *opset = NULL;
    ENSURE(copy);
    memcpy(copy, bytes.data, bytes.size);
    for (size_t i = 0; i + 4 <= bytes.size && !opset; i++)
        if (!memcmp(copy + i, "\x42\x02\x10\x0d", 4)) opset = copy + i + 3; /* opset_import {version: 13} */
    ENSURE(opset);
    *opset = 11;
    ENSURE_OK(onnx_parse(&f, "older.onnx", (file_view){copy, bytes.size}, &err));
    ENSURE(onnx_program_create(&p, &f, &err) < 0 && strstr(err.text, "over dimension 1, expected the last"));
    onnx_file_free(&f);
    file_unmap(&bytes);
    free(copy);
}

/* A field of a message: its number, and fewer than 128 bytes. */
static size_t put_field(char *to, int number, const char *data, size_t n)
{
    to[0] = (char)(number << 3 | WIRE_BLOCK), to[1] = (char)n;
    memcpy(to + 2, data, n);
    return n + 2;
}

static size_t put_entry(char *to, const char *key, const char *value)
{
    char entry[100];
    size_t n = put_field(entry, ENTRY_KEY, key, strlen(key));
    n += put_field(entry + n, ENTRY_VALUE, value, strlen(value));
    return put_field(to, TENSOR_EXTERNAL, entry, n);
}

/* One constant of one number, whose data lie in w.bin beside it. */
static hrc_status parse_beside(const char *offset, const char *length, hrc_error *err)
{
    onnx_file f;
    char array[128], graph[130], model[140];
    size_t n = 6;
    memcpy(array, "\x08\x01\x10\x01\x70\x01", 6); /* dims 1, type float, location outside */
    n += put_field(array + n, TENSOR_NAME, "w", 1);
    n += put_entry(array + n, "location", "w.bin");
    n += put_entry(array + n, "offset", offset);
    n += put_entry(array + n, "length", length);
    n = put_field(graph, GRAPH_INITIALIZER, array, n);
    memcpy(model, "\x42\x02\x10\x0d", 4); /* opset 13 */
    n = 4 + put_field(model + 4, MODEL_GRAPH, graph, n);
    hrc_status status = onnx_parse(&f, test_path("beside.onnx"), (file_view){model, n}, err);
    if (status == HRC_OK) onnx_file_free(&f);
    return status;
}

/* Data beside the model, also at places that no file has. */
static void test_beside(void)
{
    hrc_error err;
    test_write(test_path("w.bin"), "abcdefgh", 8);
    ENSURE_OK(parse_beside("4", "4", &err));
    ENSURE_OK(parse_beside("4", "0", &err)); /* all the rest */
    static const char *const BAD[][2] = {{"-9223372036854775808", "0"},
                                         {"9223372036854775807", "4"},
                                         {"-1", "4"},
                                         {"5", "4"},
                                         {"4", "-4"},
                                         {"9", "0"}};
    for (int i = 0; i < COUNT(BAD); i++)
        ENSURE(parse_beside(BAD[i][0], BAD[i][1], &err) == HRC_EFORMAT && strstr(err.text, "\"w\""));
}

static void test_broken(void)
{
    hrc_error err;
    onnx_file f;
    ENSURE(onnx_read(&f, "motions/wave.safetensors", &err) < 0 && strstr(err.text, "expected an ONNX model"));
    ENSURE(onnx_read(&f, "/nowhere.onnx", &err) < 0);
    ENSURE(onnx_parse(&f, "empty.onnx", (file_view){NULL, 0}, &err) < 0 && strstr(err.text, "no graph"));
}

/* ---- The planner's export: what the field gives, without another runtime ---- */

static void test_field(void)
{
    static float x[8 * 64];
    rig r;
    small_planner("p.safetensors", 38);
    json_t *j = shell_json("$HERACLES export $T/p.safetensors -o $T/p.onnx --json");
    rig_open(&r, test_path("p.onnx"));
    const json_t *v = json_object_get(j, "example_v");
    const size_t n = json_array_size(v), cond = (size_t)json_integer_value(json_object_get(j, "cond"));
    ENSURE(n <= sizeof x / sizeof *x && onnx_program_output(r.program, "v") == 0);
    ENSURE(onnx_input_count(r.program, 0) == n && onnx_input_count(r.program, 2) == cond);
    for (size_t i = 0; i < n; i++) onnx_runner_input(r.runner, 0)[i] = sinf(0.37f * (float)i);
    for (size_t i = 0; i < cond; i++) onnx_runner_input(r.runner, 2)[i] = sinf(0.37f * (float)i);
    onnx_runner_input(r.runner, 1)[0] = (float)json_real_value(json_object_get(j, "example_t"));
    onnx_run(r.runner);
    for (size_t i = 0; i < n; i++)
        ENSURE_NEAR((double)onnx_runner_output(r.runner, 0)[i], json_number_value(json_array_get(v, i)),
                    1e-4);
    rig_close(&r);
    json_decref(j);
}

/* ---- Every export: no constant and no node that nothing needs, of which runners warn ---- */

static bool is_needed(const onnx_file *f, const char *name)
{
    for (int i = 0; i < f->noutputs; i++)
        if (!strcmp(f->outputs[i].name, name)) return true;
    for (int i = 0; i < f->ncalls; i++)
        for (int k = 0; k < f->calls[i].nin; k++)
            if (!strcmp(f->calls[i].in[k], name)) return true;
    return false;
}

static void ensure_all_needed(const char *path)
{
    hrc_error err;
    onnx_file f;
    ENSURE_OK(onnx_read(&f, path, &err));
    for (int i = 0; i < f.nconstants; i++)
        if (!is_needed(&f, f.constants[i].name))
            test_fail(__FILE__, __LINE__, "%s: nothing uses %s", path, f.constants[i].name);
    for (int i = 0; i < f.ncalls; i++) {
        bool needed = false;
        for (int k = 0; k < f.calls[i].nout; k++) needed |= is_needed(&f, f.calls[i].out[k]);
        if (!needed) test_fail(__FILE__, __LINE__, "%s: nothing uses %s", path, f.calls[i].out[0]);
    }
    onnx_file_free(&f);
}

static void test_needed(void)
{
    static const char *const OPTIONS[] = {
        "d.safetensors", "a.safetensors", "p.safetensors",
        "d.safetensors --motion motions/wave.safetensors --dialect unitree",
        "a.safetensors --motion motions/wave.safetensors --dialect beyondmimic"};
    char line[400];
    small_tracker("d.safetensors", "default");
    small_tracker("a.safetensors", "ahead");
    small_planner("p.safetensors", 38);
    for (int i = 0; i < 5; i++) {
        snprintf(line, sizeof line, "rm -f $T/e.*; $HERACLES export $T/%s -o $T/e.onnx", OPTIONS[i]);
        if (shell(line) != 0) test_fail(__FILE__, __LINE__, "%s", shell_output);
        ensure_all_needed(test_path("e.onnx"));
    }
}

/* ---- Networks of others: facts/twist2.md has these numbers from ONNX Runtime ---- */

static void test_twist2(void)
{
    static const float WAVE[] = {-2.176941f, 0.087423f, -0.274612f, -0.141728f, -1.330050f};
    static const float ONES[] = {-0.618686f, 0.127739f, -0.221477f};
    rig r;
    if (access(FORMATS "twist2_1017_20k.onnx", R_OK)) SKIP("no " FORMATS);
    rig_open(&r, FORMATS "twist2_1017_20k.onnx");
    ENSURE(onnx_input_count(r.program, 0) == 1432 && onnx_output_count(r.program, 0) == 29);
    for (int i = 0; i < 1432; i++) onnx_runner_input(r.runner, 0)[i] = 0.5f * sinf(0.37f * (float)i);
    onnx_run(r.runner);
    for (int i = 0; i < 5; i++)
        ENSURE_NEAR((double)onnx_runner_output(r.runner, 0)[i], (double)WAVE[i], 2e-5);
    for (int i = 0; i < 1432; i++) onnx_runner_input(r.runner, 0)[i] = 1;
    onnx_run(r.runner);
    for (int i = 0; i < 3; i++)
        ENSURE_NEAR((double)onnx_runner_output(r.runner, 0)[i], (double)ONES[i], 2e-5);
    rig_close(&r);
}

static void test_others(void)
{
    rig r;
    if (access(FORMATS "holosoma_dancing.onnx", R_OK)) SKIP("no " FORMATS);
    rig_open(&r, FORMATS "holosoma_dancing.onnx");
    ENSURE(onnx_output_count(r.program, onnx_program_output(r.program, "joint_pos")) == 29);
    onnx_run(r.runner);
    const float *quat = onnx_runner_output(r.runner, onnx_program_output(r.program, "ref_quat_xyzw"));
    double square = 0;
    for (int i = 0; i < 4; i++) square += (double)quat[i] * (double)quat[i];
    ENSURE_NEAR(square, 1, 1e-4);
    rig_close(&r);
    rig_open(&r, FORMATS "unitree_rl_mjlab/policy.onnx"); /* weights in a file beside it */
    ENSURE(onnx_input_count(r.program, 0) == 154);
    onnx_run(r.runner);
    for (int i = 0; i < 29; i++) ENSURE(fabsf(onnx_runner_output(r.runner, 0)[i]) < 10);
    rig_close(&r);
}

TEST_TABLE({"onnx.arithmetic", test_arithmetic}, {"onnx.moves", test_moves}, {"onnx.layers", test_layers},
           {"onnx.reductions", test_reductions}, {"onnx.older", test_older}, {"onnx.beside", test_beside},
           {"onnx.conv", test_conv}, {"onnx.index", test_index}, {"onnx.refusals", test_refusals},
           {"onnx.broken", test_broken}, {"onnx.field", test_field}, {"onnx.needed", test_needed},
           {"onnx.twist2", test_twist2}, {"onnx.others", test_others})
