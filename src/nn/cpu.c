#include "nn/cpu.h"

#include <stdatomic.h>

#if defined(__x86_64__)
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Linux lends the tiles' 8 KB of registers only to a process that asks: arch_prctl(2), feature 18. */
static int tiles_granted(void)
{
    enum { ARCH_REQ_XCOMP_PERM = 0x1023, XTILE_DATA = 18, LEAF_FEATURES = 7 };
    const unsigned bf16 = 1u << 22, tile = 1u << 24;
    unsigned a, b, c, d;
    if (!__get_cpuid_count(LEAF_FEATURES, 0, &a, &b, &c, &d) || (d & (bf16 | tile)) != (bf16 | tile))
        return 0;
    return syscall(SYS_arch_prctl, ARCH_REQ_XCOMP_PERM, XTILE_DATA) == 0;
}
#endif

static nn_level detect(void)
{
#if defined(__x86_64__)
    if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma")) return NN_PLAIN;
    if (!__builtin_cpu_supports("avx512f") || !__builtin_cpu_supports("avx512vl") ||
        !__builtin_cpu_supports("avx512dq") || !__builtin_cpu_supports("avx512bw"))
        return NN_AVX2;
    if (!__builtin_cpu_supports("avx512bf16")) return NN_AVX512;
    return tiles_granted() ? NN_AMX : NN_AVX512_BF16;
#else
    return NN_PLAIN;
#endif
}

nn_level nn_cpu(void)
{
    static atomic_int known = -1; /* every thread that finds it unknown finds the same */
    int level = atomic_load_explicit(&known, memory_order_relaxed);
    if (level < 0) atomic_store_explicit(&known, level = (int)detect(), memory_order_relaxed);
    return (nn_level)level;
}
