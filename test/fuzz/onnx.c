/* ONNX: edits of a good policy, or bytes as they are when they begin like a model. What becomes a program
 * must run. */
#include "edited.h"
#include "onnx/write.h"
#include "track/others.h"

static file_view good;

static void make_policy(const char *path)
{
    static float w[HRC_JOINTS * 154];
    static const int64_t axis = 1, whole = TYPE_INT64, axis0 = 0;
    hrc_error err;
    onnx_graph g = {0};
    for (int i = 0; i < COUNT(w); i++) w[i] = 0.01f * (float)(i % 7);
    onnx_value x = onnx_input(&g, "obs", (int64_t[]){1, 154}, 2),
               t = onnx_input(&g, "time_step", (int64_t[]){1, 1}, 2);
    onnx_value weight = onnx_floats(&g, "w", w, (int64_t[]){HRC_JOINTS, 154}, 2);
    onnx_value y =
        onnx_silu(&g, onnx_gemm(&g, x, weight, onnx_floats(&g, "b", w, (int64_t[]){HRC_JOINTS}, 1)));
    y = onnx_node(&g, "Concat", (onnx_value[]){y, y}, 2, NULL, 1, &(onnx_attribute){"axis", &axis, -1}, 1);
    y = onnx_op2(&g, "Reshape", y, onnx_ints(&g, "shape", (int64_t[]){2, -1, 1}, 3));
    y = onnx_node(&g, "Transpose", &y, 1, NULL, 1, &(onnx_attribute){"perm", (int64_t[]){2, 0, 1}, 3}, 1);
    onnx_value kernel = onnx_floats(&g, "kernel", w, (int64_t[]){1, 2, 2}, 3);
    y = onnx_node(&g, "Conv", (onnx_value[]){y, kernel}, 2, NULL, 1,
                  &(onnx_attribute){"pads", (int64_t[]){1, 0}, 2}, 1);
    onnx_value i = onnx_node(&g, "Cast", &t, 1, NULL, 1, &(onnx_attribute){"to", &whole, -1}, 1);
    onnx_value row = onnx_node(&g, "Gather", (onnx_value[]){weight, i}, 2, NULL, 1,
                               &(onnx_attribute){"axis", &axis0, -1}, 1);
    onnx_value mean =
        onnx_node(&g, "ReduceMean", &row, 1, NULL, 1, &(onnx_attribute){"axes", (int64_t[]){-1}, 1}, 1);
    y = onnx_node(&g, "Flatten", &y, 1, NULL, 1, NULL, 0);
    y = onnx_op2(&g, "Add", y, onnx_node(&g, "Flatten", &mean, 1, NULL, 1, NULL, 0));
    onnx_output(&g, "actions", y, (int64_t[]){1, HRC_JOINTS}, 2);
    onnx_meta(&g, "action_scale", "0.5");
    SOUND(onnx_write(&g, "policy", path, &err) >= 0);
    onnx_free(&g);
    SOUND(file_map(path, &good, &err) >= 0 && unlink(path) == 0);
}

static void run_bytes(file_view bytes)
{
    onnx_file f;
    onnx_program *p;
    onnx_runner *r;
    hrc_error err = {{0}};
    if (onnx_parse(&f, "nowhere/input.onnx", bytes, &err) < 0) {
        SOUND(err.text[0] && !f.memory.head);
        return;
    }
    if (onnx_program_create(&p, &f, &err) < 0)
        SOUND(err.text[0]);
    else {
        if (onnx_runner_create(&r, p, &err) >= 0) {
            for (int i = 0; i < f.ninputs; i++) onnx_runner_input(r, i)[0] = 1e9f;
            onnx_run(r);
            onnx_runner_free(r);
        }
        onnx_program_free(p);
    }
    onnx_file_free(&f);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (!good.data) {
        make_policy(fuzz_path("onnx"));
        run_bytes(good);
    }
    if (size > 1 && data[0] == 8 && data[1] < 16) {
        run_bytes((file_view){(const char *)data, size});
        return 0;
    }
    file_view bytes = edited(good, data, size);
    run_bytes(bytes);
    free((void *)bytes.data);
    return 0;
}
