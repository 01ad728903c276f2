#include "base/pool.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

/* Workers look for new work this long before they sleep: a control step of all worlds takes about a
 * millisecond, and a futex wake-up would be a visible share of it. */
#define SPINS 20000

struct pool {
    int threads;
    pthread_t *handles; /* threads - 1 of them */
    pthread_mutex_t lock;
    pthread_cond_t wake;
    atomic_uint round;  /* rises by one with every job */
    atomic_int running; /* workers that have not finished the current job */
    atomic_int next;    /* next item of an uneven job */
    bool stop;
    int n;
    void (*ranges)(void *, int, int, int);
    void (*items)(void *, int, int);
    void *ctx;
};

typedef struct {
    pool *owner;
    int worker;
} seat;

static void work_share(pool *p, int worker)
{
    if (p->ranges) {
        int begin = (int)((long long)p->n * worker / p->threads);
        int end = (int)((long long)p->n * (worker + 1) / p->threads);
        if (begin < end) p->ranges(p->ctx, begin, end, worker);
    } else {
        for (int i; (i = atomic_fetch_add(&p->next, 1)) < p->n;) p->items(p->ctx, i, worker);
    }
}

static void relax(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#endif
}

static void wait_for_round(pool *p, unsigned seen)
{
    for (int i = 0; i < SPINS; i++) {
        if (atomic_load(&p->round) != seen) return;
        relax();
    }
    pthread_mutex_lock(&p->lock);
    while (atomic_load(&p->round) == seen) pthread_cond_wait(&p->wake, &p->lock);
    pthread_mutex_unlock(&p->lock);
}

static void *worker_main(void *argument)
{
    seat s = *(seat *)argument;
    free(argument);
    for (unsigned seen = 0;; seen++) {
        wait_for_round(s.owner, seen);
        if (s.owner->stop) return NULL;
        work_share(s.owner, s.worker);
        atomic_fetch_sub(&s.owner->running, 1);
    }
}

static void start_round(pool *p)
{
    pthread_mutex_lock(&p->lock);
    atomic_fetch_add(&p->round, 1);
    pthread_cond_broadcast(&p->wake);
    pthread_mutex_unlock(&p->lock);
}

static void run(pool *p)
{
    atomic_store(&p->next, 0);
    atomic_store(&p->running, p->threads - 1);
    if (p->threads > 1) start_round(p);
    work_share(p, 0);
    for (int i = 0; atomic_load(&p->running) > 0; i++) {
        relax();
        if (i > SPINS) usleep(50); /* the others are far behind: do not burn the core they may need */
    }
}

void pool_ranges(pool *p, int n, void (*work)(void *, int, int, int), void *ctx)
{
    p->n = n, p->ranges = work, p->items = NULL, p->ctx = ctx;
    run(p);
}

void pool_items(pool *p, int n, void (*work)(void *, int, int), void *ctx)
{
    p->n = n, p->ranges = NULL, p->items = work, p->ctx = ctx;
    run(p);
}

hrc_status pool_create(pool **out, int threads, hrc_error *err)
{
    if (threads <= 0) threads = (int)sysconf(_SC_NPROCESSORS_ONLN);
    if (threads < 1) threads = 1;
    pool *p = calloc(1, sizeof *p);
    pthread_t *handles = calloc((size_t)threads, sizeof *handles);
    if (!p || !handles) {
        free(p);
        free(handles);
        return fail(err, HRC_ENOMEM, "thread pool: out of memory");
    }
    *p = (pool){.threads = 1, .handles = handles};
    pthread_mutex_init(&p->lock, NULL);
    pthread_cond_init(&p->wake, NULL);
    for (int w = 1; w < threads; w++) {
        seat *s = malloc(sizeof *s);
        if (s) *s = (seat){p, w};
        if (!s || pthread_create(&handles[w - 1], NULL, worker_main, s) != 0) {
            free(s);
            pool_free(p);
            return fail(err, HRC_ENOMEM, "thread pool: cannot start thread %d of %d", w, threads);
        }
        p->threads = w + 1;
    }
    *out = p;
    return HRC_OK;
}

void pool_free(pool *p)
{
    if (!p) return;
    p->stop = true;
    start_round(p);
    for (int w = 1; w < p->threads; w++) pthread_join(p->handles[w - 1], NULL);
    pthread_cond_destroy(&p->wake);
    pthread_mutex_destroy(&p->lock);
    free(p->handles);
    free(p);
}

int pool_threads(const pool *p)
{
    return p->threads;
}
