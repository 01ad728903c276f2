/* The part of tracker training that does not depend on the method: iterations and their figures, trials at
 * intervals, checkpoints, the model.
 *
 * A resumed run equals the uninterrupted one, bit for bit, when the number of iterations is given: then
 * nothing depends on the clock. */
#ifndef HRC_LEARN_TRACKER_TRAIN_H
#define HRC_LEARN_TRACKER_TRAIN_H

#include "base/json.h"
#include "learn/tracker_method.h"
#include "learn/trial.h"

typedef struct tracker_trainer tracker_trainer;

typedef struct {
    const tracker_method *method;
    const config *cfg;
    const references *refs;
    const char *const *categories; /* (clips) */
    uint64_t seed;
    pool *threads;
    int trials; /* at the most; 0: 8 of a single clip, 48 of many */
    bool exact; /* the model is stored in float; else its weights are rounded to bfloat16 */
    demonstrations demos;
} tracker_plan;

/* What the plan points to is borrowed. */
hrc_status tracker_trainer_create(tracker_trainer **out, const tracker_plan *plan, hrc_error *err);
void tracker_trainer_free(tracker_trainer *t); /* NULL is fine */

/* Before the first iteration: the weights of a trained model, which must have the same shape. */
hrc_status tracker_trainer_from(tracker_trainer *t, const track_model *m, hrc_error *err);

hrc_status tracker_trainer_iterate(tracker_trainer *t, double done, hrc_error *err);
int64_t tracker_trainer_iterations(const tracker_trainer *t); /* since the beginning, also of a resumed run */
int64_t tracker_trainer_samples(const tracker_trainer *t);    /* likewise, of all ranks */

/* Trials of the present model, with its weights as the file will hold them, in the exact physics (section
 * [sim] of the defaults but for friction). */
hrc_status tracker_trainer_judge(tracker_trainer *t, hrc_error *err);
const trial_summary *tracker_trainer_judged(const tracker_trainer *t); /* .n 0: not yet */

/* One line of the log: figures since the last line, and the newest trials if they are new. The caller frees
 * it. `figure` is a mean since the last line, NAN when unknown; ask before the line is taken. */
double tracker_trainer_figure(const tracker_trainer *t, const char *name);
json_t *tracker_trainer_line(tracker_trainer *t);

/* Sentences when nearly all episodes end at once: which terminations, on which clips. False: all is well. */
bool tracker_trainer_trouble(tracker_trainer *t, text *out);

/* The states before the first divergence into a file, once; false: there was none, or it is written. */
bool tracker_trainer_dump(tracker_trainer *t, const char *path);

/* What the caller keeps in the checkpoint: the length of the log at that moment, so that lines which are
 * computed again can be cut off, and the wall clock of the run so far. */
typedef struct {
    int64_t log_bytes;
    double wall_s;
} tracker_session;

/* light: without the worlds and what was collected in them, so without the exact continuation, but small
 * enough to be taken to another machine, and to another number of processes. */
hrc_status tracker_checkpoint_save(tracker_trainer *t, const char *path, bool light, tracker_session s,
                                   hrc_error *err);
bool tracker_checkpoint_light(const char *path); /* it is a light one */
/* Of either kind. changed: settings, seed and motions may be others than the checkpoint's, as long as
 * networks, worlds and clips have its sizes. */
hrc_status tracker_checkpoint_load(tracker_trainer *t, const char *path, bool changed, tracker_session *s,
                                   hrc_error *err);

/* The model as a file. data: words for the sentence on how it was trained. */
hrc_status tracker_trainer_export(tracker_trainer *t, const char *path, const char *data, hrc_error *err);

#endif
