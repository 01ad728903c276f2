/* Trials: how well a tracker follows references in MuJoCo from given starts, by the errors and the tally of
 * eval/course.h, but without a controller: where a reference is, there it stays. Deterministic: exactly the
 * reference's state at the start, the mean action, no noise, no push, no randomisation; so the same weights
 * give the same figures, whatever the number of threads. */
#ifndef HRC_LEARN_TRIAL_H
#define HRC_LEARN_TRIAL_H

#include <stdbool.h>

#include "base/pool.h"
#include "motion/clip.h"
#include "sim/reference.h"
#include "sim/sim.h"
#include "track/model.h"

typedef struct {
    int clip, frame;
} trial_start;

typedef struct {
    double longest_s;    /* of one trial; 0: to the clip's end */
    double height, tilt; /* a frame fails when the root's height is off by more (m), or its tilt (rad) */
    bool go_on;          /* after a failure, to count all good frames (completion); else stop there */
} trial_options;

extern const trial_options TRIAL_DEFAULT; /* to the end of the clip, 0.3 m, 1.2 rad */

typedef struct {
    int clip, first;
    int frames;                 /* that were to be tracked */
    int good;                   /* before the first failure */
    double progress;            /* good / frames */
    double completion;          /* share of frames that do not fail; = progress unless go_on */
    bool success;               /* no failure */
    double joint, height, tilt; /* means over the frames that were run: rad (L2 norm), m, rad */
} trial;

/* The exact physics, whatever short cuts a training takes. */
config trial_physics(const config *cfg);

typedef struct trials trials;

/* The physics of the config's section [sim]. References and pool are borrowed. */
hrc_status trials_create(trials **out, const config *cfg, const references *refs, pool *threads,
                         hrc_error *err);
void trials_free(trials *t); /* NULL is fine */

/* out (n). The model may be a shallow copy of another with other weights: view = *m, view.params = averaged.
 * use: where to add the counts of the token's values (quant_count), or NULL. */
hrc_status trials_run(trials *t, const track_model *m, const trial_start *starts, int n,
                      const trial_options *o, trial *out, int64_t *use, hrc_error *err);

/* ---- Starts ---- */

/* Frame 0 of one clip and n-1 more, evenly spread: 0, 1/n, 2/n, ... of its length. */
void trial_starts_spread(trial_start *out, const references *refs, int which, int n);

/* One start every `seconds` of every clip that is no rehearsal, as long as half of that (or the whole clip)
 * is left. Returns how many; out NULL: only counts. */
int trial_starts_every(trial_start *out, const references *refs, double seconds);

/* ---- Summary ---- */

typedef struct {
    int n;
    double success, progress, completion; /* means over trials */
    double joint, height, tilt;           /* likewise */
} trial_summary;

/* Over the trials whose clip has this mark; mark NULL: over all. marks (clips). */
trial_summary trial_summarise(const trial *list, int n, const int *marks, int mark);

/* ---- What a tracker has yet to learn: of a list of clips those that it does not do to the end ---- */

#define FAILING_HEIGHT_M 0.25

/* fails (n), in the physics of trials. */
hrc_status failing_clips(bool *fails, const clip *clips, int n, const track_model *m, const config *cfg,
                         pool *threads, hrc_error *err);

#endif
