#include "base/arena.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define ALIGNMENT ((size_t)64)
#define BLOCK_BYTES ((size_t)1 << 16)
#define HUGE_PAGE ((size_t)2 << 20)

struct arena_block {
    arena_block *next;
    size_t used, capacity; /* bytes of data after the aligned header */
};

static size_t round_up(size_t n)
{
    return (n + ALIGNMENT - 1) & ~(ALIGNMENT - 1);
}

/* Large blocks ask for huge pages: weights are read from end to end, and address translation of 4 KiB pages
 * is a visible share of that. */
static arena_block *block_create(size_t capacity)
{
    size_t alignment = capacity >= HUGE_PAGE ? HUGE_PAGE : ALIGNMENT;
    size_t total = (ALIGNMENT + capacity + alignment - 1) & ~(alignment - 1);
    arena_block *block = aligned_alloc(alignment, total);
    if (!block) return NULL;
    if (alignment == HUGE_PAGE) madvise(block, total, MADV_HUGEPAGE); /* a wish: failure changes nothing */
    memset(block, 0, total);
    block->capacity = capacity;
    return block;
}

void *arena_alloc(arena *a, size_t count, size_t size)
{
    if (size != 0 && count > (SIZE_MAX / 2) / size) return NULL;
    size_t bytes = round_up(count * size);
    if (bytes == 0) bytes = ALIGNMENT; /* a distinct pointer even for nothing */
    if (!a->head || a->head->capacity - a->head->used < bytes) {
        arena_block *block = block_create(bytes > BLOCK_BYTES ? bytes : BLOCK_BYTES);
        if (!block) return NULL;
        block->next = a->head;
        a->head = block;
    }
    void *p = (char *)a->head + ALIGNMENT + a->head->used;
    a->head->used += bytes;
    a->bytes += bytes;
    return p;
}

char *arena_strdup(arena *a, const char *text)
{
    size_t length = strlen(text) + 1;
    char *copy = arena_alloc(a, length, 1);
    if (copy) memcpy(copy, text, length);
    return copy;
}

void arena_free(arena *a)
{
    while (a->head) {
        arena_block *next = a->head->next;
        free(a->head);
        a->head = next;
    }
    a->bytes = 0;
}
