/* Finished rollouts of an evaluation in a folder, so that one that was interrupted goes on where it stopped.
 * A kept rollout is taken only if it came of the same models, reference, start, disturbances and settings. */
#ifndef HRC_EVAL_KEEP_H
#define HRC_EVAL_KEEP_H

#include "eval/evaluate.h"

typedef struct {
    char text[17]; /* 64 bits in hex */
} keep_key;

uint64_t keep_hash(const method *m, const config *cfg); /* models and settings */
keep_key keep_key_of(uint64_t hash, const course *c);

/* False: not there, or of something else. The record is then empty. */
bool keep_load(outcome *out, const char *folder, const keep_key *key);
hrc_status keep_save(outcome *o, const char *folder, const keep_key *key, hrc_error *err);

#endif
