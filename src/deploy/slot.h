/* The latest value from one thread to one other, without locks or waiting: three buffers change hands by one
 * atomic exchange. The reader sees whole values only, always the newest, and keeps what it read until it
 * reads again. */
#ifndef HRC_DEPLOY_SLOT_H
#define HRC_DEPLOY_SLOT_H

#include <stdatomic.h>
#include <stddef.h>
#include <string.h>

#define SLOT_NEW 4u

typedef struct {
    _Atomic unsigned middle; /* the buffer in between, and whether it is newer than the reader's */
    unsigned back, front;    /* the writer's, the reader's */
    size_t size;
    char *memory; /* three values; zeroed means: none yet */
} slot;

static inline void slot_init(slot *s, void *three, size_t size)
{
    memset(three, 0, 3 * size);
    *s = (slot){.middle = 1, .back = 0, .front = 2, .size = size, .memory = three};
}

static inline void slot_write(slot *s, const void *value)
{
    memcpy(s->memory + s->back * s->size, value, s->size);
    s->back = atomic_exchange(&s->middle, s->back | SLOT_NEW) & ~SLOT_NEW;
}

static inline const void *slot_read(slot *s)
{
    if (atomic_load(&s->middle) & SLOT_NEW) s->front = atomic_exchange(&s->middle, s->front) & ~SLOT_NEW;
    return s->memory + s->front * s->size;
}

#endif
