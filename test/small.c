#include "small.h"

#include <stdlib.h>

#include "base/rng.h"
#include "plan/planner.h"
#include "test.h"

void small_tracker(const char *name, const char *basis)
{
    static track_model m;
    hrc_error err;
    config cfg = config_default();
    cfg.tracker_encoder_width = cfg.tracker_action_width = 64;
    cfg.tracker_token = 16;
    ENSURE_OK(config_set(&cfg, "tracker", "basis", basis, "test", &err));
    ENSURE_OK(track_model_create(&m, &cfg, 5, &err));
    ENSURE_OK(tracker_save(&m, false, test_path(name), &err));
    track_model_free(&m);
}

void small_planner(const char *name, int D)
{
    static plan_model m;
    static plan_pair pair;
    hrc_error err;
    rng r = rng_make(5, 0);
    m = (plan_model){.config = "", .trained = "on nothing"};
    ENSURE_OK(field_init(&m.net, plan_shape((field_shape){2, 2, 32, 2, PLAN_K, D, 0, 0}, true), &err));
    m.params = ARENA_NEW(&m.memory, float, m.net.layout.count);
    for (size_t i = 0; i < m.net.layout.count; i++) m.params[i] = 0.05f * rng_normal(&r);
    for (int d = 0; d < m.net.shape.cond; d++) m.scales.cond_std[d] = 1;
    for (int i = 0; i < PLAN_K * D; i++) m.scales.residual_std[i] = 0.01f;
    ENSURE_OK(planner_record(&pair, &m, &err));
    ENSURE_OK(plan_model_save(&m, &pair, false, test_path(name), &err));
    plan_model_free(&m);
}

/* ---- Counting: this program's malloc, before libc's own. Sanitizers have theirs. ---- */

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANITIZED
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED
#endif

#if defined(SANITIZED) || !defined(__GLIBC__)
long allocations(void)
{
    return -1;
}
#else
static long count;

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *block, size_t size);
void *__libc_memalign(size_t alignment, size_t size);

void *malloc(size_t size)
{
    __atomic_fetch_add(&count, 1, __ATOMIC_RELAXED);
    return __libc_malloc(size);
}

void *calloc(size_t n, size_t size)
{
    __atomic_fetch_add(&count, 1, __ATOMIC_RELAXED);
    return __libc_calloc(n, size);
}

void *realloc(void *block, size_t size)
{
    __atomic_fetch_add(&count, 1, __ATOMIC_RELAXED);
    return __libc_realloc(block, size);
}

void *aligned_alloc(size_t alignment, size_t size)
{
    __atomic_fetch_add(&count, 1, __ATOMIC_RELAXED);
    return __libc_memalign(alignment, size);
}

long allocations(void)
{
    return __atomic_load_n(&count, __ATOMIC_RELAXED);
}
#endif
