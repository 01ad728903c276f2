/* safetensors files: the one format for everything with numbers (models, clips, corpora, rollouts,
 * checkpoints). Layout: u64 little-endian header length, JSON header, raw little-endian row-major data.
 *
 * Reading maps the file; tensors point into the map and live as long as it. Opening refuses whatever the
 * format does not allow: lengths beyond the file, shapes whose product overflows, offsets that overlap,
 * leave holes, or disagree with shape and type. */
#ifndef HRC_BASE_TENSORFILE_H
#define HRC_BASE_TENSORFILE_H

#include "base/arena.h"
#include "base/file.h"

#define TENSOR_MAX_DIMS 8

typedef enum { DT_F64, DT_F32, DT_F16, DT_BF16, DT_I64, DT_I32, DT_I16, DT_I8, DT_U8, DT_U32, DT_BOOL } dtype;

size_t dtype_size(dtype type);
const char *dtype_name(dtype type); /* as in the file: "F32" */

typedef struct {
    const char *name;
    dtype type;
    int ndim;
    int64_t shape[TENSOR_MAX_DIMS];
    int64_t count; /* product of shape */
    const void *data;
} tensor;

typedef struct {
    const char *key, *value;
} tensor_meta;

typedef struct {
    arena memory;
    file_view map;
    const char *path;
    int ntensors, nmeta;
    tensor *tensors;
    tensor_meta *meta;
} tensorfile;

hrc_status tensorfile_open(tensorfile *file, const char *path, hrc_error *err);
hrc_status tensorfile_parse(tensorfile *file, const char *path, file_view bytes,
                            hrc_error *err); /* borrowed */
void tensorfile_close(tensorfile *file);

const tensor *tensorfile_find(const tensorfile *file, const char *name); /* NULL when absent */
const char *tensorfile_meta(const tensorfile *file, const char *key);    /* NULL when absent */
const char *tensorfile_text(const tensorfile *file, const char *key, const char *absent);
hrc_status tensorfile_need_meta(const tensorfile *file, const char *key, const char **value, hrc_error *err);

/* The tensor of this name, type and shape, or a sentence that says what is there instead.
 * -1 in shape takes any size. */
hrc_status tensorfile_need(const tensorfile *file, const char *name, dtype type, int ndim,
                           const int64_t *shape, const tensor **out, hrc_error *err);

hrc_status tensorfile_finite(const tensorfile *file, const tensor *t, hrc_error *err); /* of F32 */
/* A vector of n floats, all finite. */
hrc_status tensorfile_floats(float *out, const tensorfile *file, const char *name, int64_t n, hrc_error *err);

/* (n, width) floats, to be written. */
static inline tensor tensor_rows(const char *name, const float *data, int64_t n, int64_t width)
{
    return (tensor){name, DT_F32, 2, {n, width}, n * width, data};
}

/* Writing: the arrays are borrowed until the call returns. Keys and tensors are stored in the given order,
 * so equal input gives equal bytes. */
hrc_status tensorfile_write(const char *path, const tensor *tensors, int ntensors, const tensor_meta *meta,
                            int nmeta, hrc_error *err);

/* ---- The digest ---- */

/* A digest over everything a safetensors file says: the name, type, shape and bytes of every tensor and all
 * metadata, kept as metadata "digest" ("xxh64:" and 16 hexadecimal digits). Opening a file that has one
 * checks it; what a robot runs on must have one. The order of entries does not matter. */

/* As tensorfile_write, with the digest; meta has none. */
hrc_status seal_write(const char *path, const tensor *tensors, int ntensors, const tensor_meta *meta,
                      int nmeta, hrc_error *err);

hrc_status seal_need(const tensorfile *file, hrc_error *err); /* refuses a file without one */

#endif
