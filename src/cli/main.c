/* The entry, and what must be in the program alone: its malloc counts itself, thread by thread, so that
 * `bench deploy` and `deploy` can say that control threads ask for no memory. Sanitizers bring their own. */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "cli/cli.h"
#include "deploy/watchdog.h"
#include "learn/gemm_library.h"

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) && defined(__GLIBC__)

static _Thread_local int64_t asked;

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *old, size_t size);

void *malloc(size_t size)
{
    asked++;
    return __libc_malloc(size);
}

void *calloc(size_t count, size_t size)
{
    asked++;
    return __libc_calloc(count, size);
}

void *realloc(void *old, size_t size)
{
    asked++;
    return __libc_realloc(old, size);
}

static int64_t count(void)
{
    return asked;
}

#define COUNTER count
#else
#define COUNTER NULL
#endif

int main(int argc, char **argv)
{
    if (argc > 0 && !strcmp(argv[0], WATCHDOG_NAME)) return watchdog_main(argc, argv);
    gemm_library_choose(argv);
    cli_allocations = COUNTER;
    return cli_main(argc, argv);
}
