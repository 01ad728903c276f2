/* Where episodes start: adaptive sampling over temporal bins of all clips (paper 3.3).
 *
 *   d      = 1 - mean score of an episode; a failure adds one bin of steps with score 0, so that failing
 *            early is harder than tracking loosely
 *            (measure "score"); or 1 in the bin where it failed, 0 in those it came through ("failure"),
 *            which tells hard bins from easy ones more sharply once most are tracked
 *   F_b   <- rate d + (1 - rate) F_b      for every bin the episode went through
 *   F^_b   = min(F_b, cap mean F)
 *   F~_b   = sum_i k_i F^_(b+i), i < 4, k_i ~ 0.8^i: a hard bin raises those before it; the last of a clip
 *            repeats
 *   P_b    ~ w_b (share F~_b / sum F~ + (1 - share) / B), w_b = (n / n_k)^even, 4 at the most, where n_k of
 *            all frames are of the bin's kind and n of the most frequent kind. Kinds are leaps with their
 *            push-off, else by the root's mean speed over the floor, and whether it is under 0.5 m; so
 * running is not drowned by walking.
 *
 * Uniform over all frames before the warm-up is over. A start is uniform within its bin. */
#ifndef HRC_LEARN_SAMPLING_H
#define HRC_LEARN_SAMPLING_H

#include "sim/env.h"

#define SAMPLING_BIN 50 /* frames of a bin */

typedef struct {
    int clip, first, n; /* frames first .. first+n-1 of the clip */
} sampling_bin;

typedef struct {
    arena memory;
    bool by_failure;
    double rate, share, cap;
    int64_t warmup, episodes; /* episodes: seen so far */
    int n;                    /* B */
    sampling_bin *bins;
    int *first_bin;                            /* (clips + 1) */
    double *difficulty;                        /* (B): F; with `episodes` all the state there is */
    double *probability, *cumulative, *smooth; /* (B) */
    double *weight;                            /* (B): w */
} sampling;

hrc_status sampling_create(sampling *s, const config *cfg, const references *refs, hrc_error *err);
void sampling_free(sampling *s);

/* Draws follow the distribution of the last refresh: call it between rollouts. */
void sampling_refresh(sampling *s);
void sampling_draw(const sampling *s, rng *r, int *which, int *frame);
void sampling_ended(sampling *s, const env_episode *e);

void sampling_state(sampling *s, state_list *l, const char *prefix);

double sampling_entropy(const sampling *s); /* as a share of the highest */

/* For env_create; the sampling is borrowed. */
env_starts sampling_starts(sampling *s);

#endif
