/* Sizes that kernels keep on the stack; what builds a network checks against them. */
#ifndef HRC_NN_LIMITS_H
#define HRC_NN_LIMITS_H

#define NN_MAX_WIDTH 4096 /* channels of a LayerNorm */
#define NN_MAX_TOKENS 64

#endif
