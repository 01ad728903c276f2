#include "small.h"

#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "base/tensorfile.h"
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

plan_layout small_layout(int D)
{
    return (plan_layout){PLAN_ANCHORED, PLAN_H, D == PLAN_D, true, true};
}

void small_plan_model(plan_model *m, const plan_layout *layout, float sigma)
{
    hrc_error err;
    rng r = rng_make(5, 0);
    *m = (plan_model){.path = "small", .config = "", .trained = "on nothing", .layout = *layout};
    ENSURE_OK(field_init(&m->net, plan_shape((field_shape){2, 2, 32, 2, 0, 0, 0, 0}, layout), &err));
    m->params = ARENA_NEW(&m->memory, float, m->net.layout.count);
    ENSURE(m->params);
    for (size_t i = 0; i < m->net.layout.count; i++) m->params[i] = 0.05f * rng_normal(&r);
    for (int d = 0; d < m->net.shape.cond; d++) m->scales.cond_std[d] = 1;
    for (int i = 0; i < PLAN_K * PLAN_D; i++) m->scales.residual_std[i] = sigma;
}

void small_planner(const char *name, int D)
{
    static plan_model m;
    hrc_error err;
    const plan_layout layout = small_layout(D);
    small_plan_model(&m, &layout, 0.01f);
    ENSURE_OK(planner_record(m.examples, &m, &err));
    ENSURE_OK(plan_model_save(&m, false, test_path(name), &err));
    plan_model_free(&m);
}

static void replace(char *data, size_t size, const char *from, const char *to)
{
    const size_t n = strlen(from);
    char *at = memmem(data, size, from, n);
    ENSURE(at && strlen(to) == n);
    memcpy(at, to, n);
}

void tampered(const char *path, const char *out, const char *from, const char *to)
{
    hrc_error err;
    file_view view;
    tensorfile file;
    ENSURE_OK(file_map(path, &view, &err));
    char *copy = malloc(view.size);
    ENSURE(copy);
    memcpy(copy, view.data, view.size);
    replace(copy, view.size, "\"digest\"", "\"digged\""); /* which is not looked at */
    replace(copy, view.size, from, to);
    ENSURE_OK(tensorfile_parse(&file, path, (file_view){copy, view.size}, &err));
    ENSURE_OK(seal_write(out, file.tensors, file.ntensors, file.meta, file.nmeta, &err));
    tensorfile_close(&file);
    file_unmap(&view);
    free(copy);
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
