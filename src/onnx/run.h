/* Runs an ONNX graph: a small interpreter of the operators that control policies are made of, with fixed
 * shapes (a free dimension is a batch of 1), in float; whole numbers serve as shapes and indices. What
 * depends on constants alone is computed when the program is made, and weights are packed for nn/packed.h.
 * Anything it does not know is refused with the node and the operator.
 *
 * A program is immutable and may be shared; a runner is the memory of one thread, and never allocates. */
#ifndef HRC_ONNX_RUN_H
#define HRC_ONNX_RUN_H

#include "onnx/read.h"

typedef struct onnx_program onnx_program;
typedef struct onnx_runner onnx_runner;

/* The file is borrowed: it must outlive the program. */
hrc_status onnx_program_create(onnx_program **out, const onnx_file *f, hrc_error *err);
void onnx_program_free(onnx_program *p); /* NULL is fine */

/* By name: where it is, or -1; and how many numbers it has. */
int onnx_program_input(const onnx_program *p, const char *name);
int onnx_program_output(const onnx_program *p, const char *name);
size_t onnx_input_count(const onnx_program *p, int i);
size_t onnx_output_count(const onnx_program *p, int i);
double onnx_products(const onnx_program *p); /* that a run takes */

hrc_status onnx_runner_create(onnx_runner **out, const onnx_program *p, hrc_error *err);
void onnx_runner_free(onnx_runner *r);           /* NULL is fine */
float *onnx_runner_input(onnx_runner *r, int i); /* to be filled before a run; kept from run to run */
const float *onnx_runner_output(const onnx_runner *r, int i);
void onnx_run(onnx_runner *r);

#endif
