/* What this processor can do, from least to most; tests run every level up to it. */
#ifndef HRC_NN_CPU_H
#define HRC_NN_CPU_H

/* NN_AMX: tiles of 16 x 16 sums, fed with bfloat16, besides all of AVX-512. */
typedef enum { NN_PLAIN, NN_AVX2, NN_AVX512, NN_AVX512_BF16, NN_AMX } nn_level;

nn_level nn_cpu(void);

#endif
