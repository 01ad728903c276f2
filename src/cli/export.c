/* heracles export: a model for other programs. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cli/commands.h"
#include "plan/onnx.h"
#include "plan/flow.h"
#include "plan/planner.h"

#define EXAMPLE_T 0.54f

/* The velocity for x_i = cond_i = sin(0.37 i) at t = 0.54, so that a reader of the ONNX file can
 * check what its own runtime makes of it. */
static hrc_status example(json_t **out, const plan_model *m, hrc_error *err)
{
    float x[PLAN_K * PLAN_D], cond[PLAN_COND_MAX], v[PLAN_K * PLAN_D], t = EXAMPLE_T;
    const int n = PLAN_K * PLAN_D;
    infer *s;
    for (int i = 0; i < n; i++) x[i] = sinf(0.37f * (float)i);
    for (int i = 0; i < m->net.shape.cond; i++) cond[i] = sinf(0.37f * (float)i);
    TRY(infer_create(&s, &m->net, m->params, NN_FLOAT, &t, 1, NULL, err));
    infer_begin(s, cond);
    infer_step(s, v, x, 0);
    infer_free(s);
    *out = json_array();
    for (int i = 0; i < n; i++)
        json_array_append_new(*out, json_number((double)(flow_skip(t) * x[i] + flow_gain(t) * v[i])));
    return HRC_OK;
}

static int run_export(const args *a)
{
    json_t *v = NULL;
    hrc_error err;
    plan_model m = {0};
    const char *out = arg(a, "out");
    if (!out) return cli_usage(a, "--out is missing");
    size_t length = strlen(out);
    if (length < 5 || strcmp(out + length - 5, ".onnx"))
        return cli_usage(a, "--out is %.80s, expected a name that ends in .onnx", out);
    hrc_status status = plan_model_load(&m, a->operands[0], &err);
    if (status == HRC_OK) status = planner_verify(&m, &err);
    if (status == HRC_OK) status = onnx_export_field(&m, out, &err);
    if (status == HRC_OK) status = example(&v, &m, &err);
    size_t count = m.net.layout.count;
    int dim = m.net.shape.dim, cond = m.net.shape.cond;
    plan_model_free(&m);
    if (status < 0) return cli_fail(&err);
    if (a->json)
        return cli_json(json_pack("{s:s, s:I, s:i, s:i, s:f, s:o}", "onnx", out, "params", (json_int_t)count,
                                  "dim", dim, "cond", cond, "example_t", (double)EXAMPLE_T, "example_v", v));
    json_decref(v);
    printf("%s: velocity field, %zu parameters; inputs x, t, cond, output v\n", out, count);
    return EXIT_DONE;
}

static const option OPTIONS[] = {{"out", "FILE", NULL, "where to write (-o): .onnx"}, {0}};

const command CMD_EXPORT = {
    .name = "export",
    .operands = "MODEL",
    .summary = "a planner's velocity field as an ONNX model",
    .example = "heracles export models/planner.safetensors -o planner.onnx",
    .options = OPTIONS,
    .min_operands = 1,
    .max_operands = 1,
    .run = run_export,
};
