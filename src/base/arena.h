/* Arena: memory with the life of one object. Blocks are zeroed and aligned to 64 bytes (a cache line, an
 * AVX-512 register); everything goes at once with arena_free. Not for the control path: only load and
 * create allocate. */
#ifndef HRC_BASE_ARENA_H
#define HRC_BASE_ARENA_H

#include <stddef.h>

typedef struct arena_block arena_block;

typedef struct {
    arena_block *head; /* newest block; {0} is an empty arena */
    size_t bytes;      /* sum of what was asked for */
} arena;

void *arena_alloc(arena *a, size_t count, size_t size); /* NULL when out of memory or count*size overflows */
char *arena_strdup(arena *a, const char *text);
void arena_free(arena *a);

#define ARENA_NEW(a, type, count) ((type *)arena_alloc((a), (size_t)(count), sizeof(type)))

#endif
