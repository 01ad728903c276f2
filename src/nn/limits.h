/* Sizes that kernels keep on the stack; what builds a network checks against them. */
#pragma once

#define NN_MAX_WIDTH 4096 /* channels of a LayerNorm */
#define NN_MAX_TOKENS 64
