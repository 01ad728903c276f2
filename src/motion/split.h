/* Which clips training never sees, and the suites made of them.
 *
 * Clips that hold the same motion are one group and stay on one side: recordings that the CMU database
 * lists under two subjects, and pieces of one file ("dance-1", "dance-2").
 *
 * Each category has a quota of sequences of up to 20 s. Its groups are sorted into strata (falls: by
 * posture on the ground, with or without getting up; the rest: by subject, the part of the name before
 * '_'), shuffled by the seed, and taken in turn from every stratum until the quota is filled. Falls never
 * give more than half of a stratum, so that training keeps getting up from every posture. */
#ifndef HRC_MOTION_SPLIT_H
#define HRC_MOTION_SPLIT_H

#include "motion/suite.h"

#define SPLIT_SEQUENCE_FRAMES 1000 /* 20 s */
#define SPLIT_KEY 96

/* The group's name: equal for clips of the same motion. */
void split_key(char out[SPLIT_KEY], const char *name);

/* Fills entries[i]->split. */
hrc_status split_choose(corpus_entry *const *entries, int n, uint64_t seed, hrc_error *err);

/* From the held-out clips of a corpus: all sequences by the quotas and ten of them held (101 when there is
 * enough); every way up and down, each also held for 0.5 s; one short sequence per category. Fails when
 * the corpus holds nothing out. Free all three. */
typedef struct {
    suite heldout, recovery, smoke;
} split_suites;

hrc_status split_make_suites(split_suites *out, const corpus *c, hrc_error *err);
void split_suites_free(split_suites *s);

/* How many sequences of which category the held-out suite has. */
typedef struct {
    const char *category;
    int sequences;
} split_quota;

#define SPLIT_CATEGORIES 6

extern const split_quota SPLIT_QUOTA[SPLIT_CATEGORIES];

#endif
