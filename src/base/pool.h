/* A small thread pool. Work is numbered; what an item computes may depend on its number but never on the
 * worker that ran it, so results are the same for any number of threads. The caller is worker 0. */
#ifndef HRC_BASE_POOL_H
#define HRC_BASE_POOL_H

#include "base/status.h"

typedef struct pool pool;

hrc_status pool_create(pool **out, int threads, hrc_error *err); /* threads <= 0: one per core */
void pool_free(pool *p);                                         /* NULL is fine */
int pool_threads(const pool *p);

/* Even work: worker w gets one contiguous range of 0..n-1. */
void pool_ranges(pool *p, int n, void (*work)(void *ctx, int begin, int end, int worker), void *ctx);

/* Uneven work: each worker takes the next item when it is done with the last. */
void pool_items(pool *p, int n, void (*work)(void *ctx, int item, int worker), void *ctx);

#endif
