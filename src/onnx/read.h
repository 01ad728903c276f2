/* Reads ONNX models: graph, constants and metadata as plain structs. Everything is checked against the file's
 * own size; nothing is run here (run.h does that). Tensors are float or int64; their data may lie in a file
 * beside. */
#ifndef HRC_ONNX_READ_H
#define HRC_ONNX_READ_H

#include "base/arena.h"
#include "base/file.h"
#include "onnx/format.h"

#define ONNX_MAX_DIMS 6

typedef struct {
    const char *name;
    int type; /* TYPE_FLOAT or TYPE_INT64 */
    int ndim;
    int64_t dims[ONNX_MAX_DIMS]; /* of an input or output, -1: free, which is the batch */
    size_t count;                /* their product; 0 for inputs and outputs */
    const void *data;            /* NULL for inputs and outputs */
} onnx_array;

typedef struct {
    const char *name;
    int kind; /* KIND_... */
    float number;
    int64_t integer;
    const char *text;
    const int64_t *list; /* (n) */
    int n;
    const onnx_array *array;
} onnx_setting;

typedef struct {
    const char *op, *name;
    const char **in, **out; /* "" where one is left out */
    int nin, nout;
    onnx_setting *settings;
    int nsettings;
} onnx_call;

typedef struct {
    const char *key, *value;
} onnx_entry;

typedef struct {
    arena memory;
    const char *path;
    int opset;
    onnx_call *calls;
    onnx_array *constants, *inputs, *outputs; /* inputs without those that are constants */
    onnx_entry *entries;
    int ncalls, nconstants, ninputs, noutputs, nentries;
} onnx_file;

hrc_status onnx_read(onnx_file *out, const char *path, hrc_error *err);

/* The same of bytes; path is for words and for where to look for data beside it. */
hrc_status onnx_parse(onnx_file *out, const char *path, file_view bytes, hrc_error *err);
void onnx_file_free(onnx_file *f);

const char *onnx_metadata(const onnx_file *f, const char *key); /* NULL: not there */

#endif
