/* The state of something long-running, as one list of named blocks of memory: the same list saves it and
 * restores it, so neither can forget what the other knows. Blocks keep their place and size from the moment
 * they are listed. Files are safetensors, written whole or not at all. */
#ifndef HRC_BASE_STATE_H
#define HRC_BASE_STATE_H

#include <stdbool.h>

#include "base/rng.h"
#include "base/tensorfile.h"

#define STATE_MAX_BLOCKS 128
#define STATE_NAME 64

/* A block as the file has it, before it is taken; data may lie anywhere. err: what is wrong with it. */
typedef hrc_status state_check(const void *ctx, const void *data, int64_t count, hrc_error *err);

typedef struct {
    char name[STATE_NAME];
    dtype type;
    int64_t count;
    bool grows; /* the file may have its beginning only */
    bool bulky; /* state_lighten leaves it out */
    void *data;
    state_check *check; /* NULL: none */
    const void *ctx;
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

/* Every block is looked at before anything is restored: floats must be finite, whole numbers lie within 0 ..
 * 2^53. The last block that was added must also pass this; structs are blocks of bytes. */
void state_examine(state_list *l, state_check *check, const void *ctx);

void state_add_time(state_list *l, const char *prefix, const char *name, double *seconds); /* not negative */
void state_add_dice(state_list *l, const char *prefix, const char *name, rng *dice);
bool state_dice_fine(const rng *dice); /* for streams within structs */
/* The block added last is large, and can be made anew: a light state goes without it. */
void state_bulky(state_list *l);
void state_lighten(state_list *l); /* takes such blocks off the list */

/* meta: what must be equal for the state to be of use ("seed", "data"); kept as text. */
hrc_status state_save(const state_list *l, const char *path, const tensor_meta *meta, int nmeta,
                      hrc_error *err);

/* For entries that say nothing to a reader, as hashes: refuses a file whose `key` differs, with a sentence of
 * its own.
 */
hrc_status state_same(const char *path, tensor_meta entry, const char *sentence, hrc_error *err);

/* Refuses a file whose meta or blocks differ and names the entry; then nothing has changed. */
hrc_status state_load(const state_list *l, const char *path, const tensor_meta *meta, int nmeta,
                      hrc_error *err);

#endif
