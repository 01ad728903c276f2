/* Quantizers of the motion token: z (n,d) from the encoder becomes a token e (n,d) that takes few values, and
 * gradients pass straight through the rounding.
 *
 *   iFSQ  f(z) = 2 sigmoid(1.6 z) - 1, rounded to L (odd) levels over -1 .. 1, each number by itself
 *   FSQ   f(z) = tanh, likewise; even L are shifted by half a level
 *   VQ    the nearest of `codes` vectors. The codebook follows the encoder by moving averages; the encoder is
 *         drawn to its code by the loss `commitment` * mean (z - e)^2; codes that die are reset to encodings
 *   none  e = z
 *
 * All calls work on rows that the caller hands over, so a batch can be shared out. */
#ifndef HRC_TRACK_QUANTIZE_H
#define HRC_TRACK_QUANTIZE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/rng.h"
#include "base/status.h"
#include "nn/ops.h"

typedef enum { QUANT_IFSQ, QUANT_FSQ, QUANT_VQ, QUANT_NONE } quant_kind;

typedef struct {
    quant_kind kind;
    int dim;         /* d */
    int levels;      /* L, of iFSQ and FSQ */
    int codes;       /* of VQ */
    bool smooth;     /* leave the rounding out: what the straight-through gradient is the gradient of */
    real commitment; /* of VQ */
} quant;

/* A word of the setting tracker.quantizer, and back. */
NN_FN quant_kind quant_kind_of(const char *word);
NN_FN const char *quant_name(quant_kind kind);
NN_FN hrc_status quant_check(const quant *q, hrc_error *err);

/* Numbers of the index of one row: d, or 1 for VQ, 0 for none; and the values each takes. */
NN_FN int quant_indices(const quant *q);
NN_FN int quant_values(const quant *q);

/* Numbers of the codebook's state: codes (c,d), average sums (c,d), average counts (c); 0 for the others. */
NN_FN size_t quant_state(const quant *q);

/* e (n,d), index (n, quant_indices) from z (n,d). scratch (n, codes) for VQ, else unused. state may be NULL
 * but for VQ. */
NN_FN void quant_forward(const quant *q, const nn_ops *o, real *e, int32_t *index, real *scratch,
                         const real *z, const real *state, int n);

/* dz (n,d) = de passed through, dz may be de; for VQ with the gradient of the commitment, whose mean is over
 * `rows` rows in all. */
NN_FN void quant_backward(const quant *q, real *dz, const real *de, const real *z, const real *e, int n,
                          int rows);

/* The commitment loss of these rows as a share of the mean over `rows`; 0 but for VQ. */
NN_FN double quant_loss(const quant *q, const real *z, const real *e, int n, int rows);

/* How far from a change of its token the nearest number is: 0 .. 0.5 levels; for VQ the gap of the two
 * nearest codes' squared distances over their sum. 1 when there is nothing to change. */
NN_FN double quant_margin(const quant *q, const real *z, const real *state);

/* ---- The codebook of VQ ---- */

#define QUANT_DECAY 0.99 /* of the moving averages */

/* A code used less than this share of even use is reset: an unused one after 230 updates. */
#define QUANT_DEAD 0.1

/* First codes: rows of z (n,d), repeated with a little noise; n > 0. */
NN_FN void quant_state_init(const quant *q, real *state, const real *z, int n, rng *r);

/* One update from a batch: averages, codes, resets. Serial, so it is the same for any number of threads.
 * Returns how many codes were reset. */
NN_FN int quant_state_update(const quant *q, real *state, const real *z, const int32_t *index, int n, rng *r);

/* ---- Use of the codes ---- */

typedef struct {
    double used;       /* share of the values that occur, mean over dimensions */
    double entropy;    /* of the values as a share of the highest, mean over dimensions */
    double perplexity; /* exp(entropy), mean over dimensions */
    double saturated;  /* share at the lowest or highest level; 0 for VQ */
} quant_usage;

/* counts (quant_indices, quant_values) += how often each value occurs. */
NN_FN void quant_count(const quant *q, int64_t *counts, const int32_t *index, int n);
NN_FN quant_usage quant_usage_of(const quant *q, const int64_t *counts);

#endif
