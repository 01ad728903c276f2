#include "nn/cpu.h"

nn_level nn_cpu(void)
{
#if defined(__x86_64__)
    if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma")) return NN_PLAIN;
    if (!__builtin_cpu_supports("avx512f") || !__builtin_cpu_supports("avx512vl") ||
        !__builtin_cpu_supports("avx512dq") || !__builtin_cpu_supports("avx512bw"))
        return NN_AVX2;
    return __builtin_cpu_supports("avx512bf16") ? NN_AVX512_BF16 : NN_AVX512;
#else
    return NN_PLAIN;
#endif
}
