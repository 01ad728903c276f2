/* Inside an onnx_program, for the operators: values, steps, and what an operator is. */
#ifndef HRC_ONNX_PROGRAM_H
#define HRC_ONNX_PROGRAM_H

#include "nn/ops.h"
#include "nn/packed.h"
#include "onnx/run.h"

#define STEP_MAX 128 /* inputs or outputs of a node */

typedef struct {
    const char *name;
    int type, ndim;
    int64_t dims[ONNX_MAX_DIMS];
    size_t count;
    const void *constant; /* NULL: its numbers lie in the runner's memory, at `offset` bytes */
    size_t offset;
} onnx_slot;

typedef struct onnx_step onnx_step;

/* in and out: the numbers of the step's inputs (NULL where one is left out) and outputs; scratch: what the
 * step asked for. */
typedef void onnx_kernel(const onnx_step *s, const void *const *in, void *const *out, void *scratch);

struct onnx_step {
    onnx_kernel *run;
    int nin, nout;
    int *in, *out;     /* slots; -1 where an input is left out */
    size_t n;          /* numbers of the first output */
    size_t scratch;    /* floats it wants */
    size_t scratch_at; /* bytes, in the runner's memory */
    int whole;         /* the numbers are int64 */
    int64_t a[4], b[ONNX_MAX_DIMS], c[ONNX_MAX_DIMS], d[ONNX_MAX_DIMS]; /* what each kernel says they are */
    int64_t *list;
    float f[2];
    float (*each)(float);
    nn_packed weight;
};

typedef struct {
    const onnx_file *file;
    const onnx_call *call;
    arena *memory;
    onnx_slot *slots;
    int nslots;
    size_t work;     /* bytes of the runner's memory so far */
    size_t folded;   /* bytes of what was computed from constants */
    double products; /* of all steps */
    const nn_ops *ops;
    hrc_error *err;
} onnx_builder;

/* An operator looks at its inputs, gives its outputs their type and shape (which are zeroed slots), and says
 * how to compute them: step->run; or what they are: alias or constant, then step->run stays NULL. */
typedef hrc_status onnx_prepare(onnx_builder *b, onnx_step *s, onnx_slot *const *in, onnx_slot *const *out);

typedef struct {
    const char *name;
    int least, most; /* inputs */
    int outputs;     /* at most */
    onnx_prepare *prepare;
} onnx_operator;

extern const onnx_operator ONNX_SHAPE_OPERATORS[], ONNX_MATH_OPERATORS[]; /* each ends with a NULL name */

/* "FILE: node NAME (Op): ...", with what was found and expected. */
hrc_status onnx_refuse(const onnx_builder *b, const char *format, ...) HRC_PRINTF(2, 3);

const onnx_setting *onnx_setting_of(const onnx_builder *b, const char *name); /* NULL: not given */
int64_t onnx_integer(const onnx_builder *b, const char *name, int64_t otherwise);
float onnx_number(const onnx_builder *b, const char *name, float otherwise);

/* An axis from -ndim .. ndim-1 as 0 .. ndim-1. */
hrc_status onnx_axis(const onnx_builder *b, int64_t axis, int ndim, int *out);

/* A list of whole numbers from an attribute, or else from a constant input (NULL: none). n = 0 when neither.
 */
hrc_status onnx_list(const onnx_builder *b, const char *name, const onnx_slot *in, const int64_t **out,
                     int *n);

hrc_status onnx_want_float(const onnx_builder *b, const onnx_slot *s);
void onnx_like(onnx_slot *out, const onnx_slot *in);  /* type and shape */
void onnx_alias(onnx_slot *out, const onnx_slot *in); /* its numbers; type and count must be equal */

#endif
