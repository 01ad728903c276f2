/* The state of something long-running, as one list of named blocks of memory: the same list saves it and
 * restores it, so neither can forget what the other knows. Blocks keep their place and size from the moment
 * they are listed. Files are safetensors, written whole or not at all. */
#ifndef HRC_BASE_STATE_H
#define HRC_BASE_STATE_H

#include <stdbool.h>

#include "base/tensorfile.h"

#define STATE_MAX_BLOCKS 128
#define STATE_NAME 64

typedef struct {
    char name[STATE_NAME];
    dtype type;
    int64_t count;
    bool grows; /* the file may have its beginning only */
    void *data;
} state_block;

typedef struct {
    int n; /* beyond STATE_MAX_BLOCKS: some were lost, which saving and loading refuse */
    state_block blocks[STATE_MAX_BLOCKS];
} state_list;

/* Blocks of 0 numbers are left out. */
void state_add(state_list *l, const char *prefix, const char *name, dtype type, void *data, size_t count);

/* A list with an entry for each thing of which there may be more by the time it is restored: what was stored
 * is its beginning, the rest stays as it is. */
void state_add_growing(state_list *l, const char *prefix, const char *name, dtype type, void *data,
                       size_t count);

/* meta: what must be equal for the state to be of use ("seed", "data"); kept as text. */
hrc_status state_save(const state_list *l, const char *path, const tensor_meta *meta, int nmeta,
                      hrc_error *err);

/* Refuses a file whose meta or blocks differ and names the entry; then nothing has changed. */
hrc_status state_load(const state_list *l, const char *path, const tensor_meta *meta, int nmeta,
                      hrc_error *err);

#endif
