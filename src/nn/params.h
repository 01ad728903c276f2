/* The parameters of a network: one flat block of numbers, and one list of named tensors that lie in it one
 * after the other. Sizes, initial values and file contents derive from the list. Gradients, both moments and
 * the averaged weights are blocks of the same layout, so saving is one write, the sum over machines one
 * reduction, the norm one loop. */
#ifndef HRC_NN_PARAMS_H
#define HRC_NN_PARAMS_H

#include <stdint.h>

#include "base/tensorfile.h"
#include "nn/real.h"

typedef enum {
    INIT_ZERO,
    INIT_ONE,
    INIT_XAVIER,  /* uniform within sqrt(6 / (in + out)); in and out are the last two sizes */
    INIT_FAN_IN,  /* normal, standard deviation 1 / sqrt(in): numbers of size 1 stay so */
    INIT_SINUSOID /* row t: the sinusoidal embedding of position t */
} nn_init;

#define NN_MAX_TENSORS 128

typedef struct {
    char name[64];
    nn_init init;
    int ndim, shape[3];
    size_t offset, count;
} nn_tensor;

typedef struct {
    int n;
    size_t count; /* of all numbers */
    nn_tensor tensors[NN_MAX_TENSORS];
} nn_layout;

/* Trailing sizes of 0 are left out: (512, 0, 0) is a vector. Returns the offset of the new tensor. */
NN_FN size_t nn_layout_add(nn_layout *l, const char *name, nn_init init, int size0, int size1, int size2);

/* Every tensor draws from its own stream of the seed, so adding one does not change the others. */
NN_FN void nn_layout_init(real *params, const nn_layout *l, uint64_t seed);

#ifndef NN_DOUBLE
/* As l->n file tensors, borrowed, with prefix + name; `names` gives room for them. */
typedef struct {
    char text[96];
} nn_name;

void nn_layout_tensors(tensor *out, nn_name *names, const nn_layout *l, const float *params,
                       const char *prefix);

/* Those tensors as bfloat16, in halves (l->count). */
void nn_layout_halves(tensor *tensors, uint16_t *halves, const nn_layout *l, const float *params);

/* Are all there, in their shapes, and finite? Costs no memory. */
hrc_status nn_layout_check(const nn_layout *l, const tensorfile *file, const char *prefix, hrc_error *err);

/* From float or bfloat16 tensors that pass nn_layout_check. */
hrc_status nn_layout_load(float *params, const nn_layout *l, const tensorfile *file, const char *prefix,
                          hrc_error *err);
#endif

#endif
