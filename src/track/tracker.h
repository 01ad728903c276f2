/* The tracker at 50 Hz: state and reference window in, joint targets out. Weights are packed once; a step
 * never allocates. The same calls serve evaluation and the robot. */
#ifndef HRC_TRACK_TRACKER_H
#define HRC_TRACK_TRACKER_H

#include "nn/packed.h"
#include "track/model.h"

typedef struct tracker tracker;

hrc_status tracker_create(tracker **out, const track_model *m, nn_precision precision,
                          hrc_error *err); /* the model is borrowed */
void tracker_free(tracker *t);             /* NULL is fine */
void tracker_reset(tracker *t);            /* forget history and last action */

/* One control period. frames: the reference, frames[0] being track_model.lead frames after the state. False,
 * and nothing changed: the network's action is not finite, or no action of a policy. */
bool tracker_step(tracker *t, double target[HRC_JOINTS], const g1_state *s,
                  const obs_frame frames[OBS_FRAMES]);

/* The network alone: raw observations, proprio (930) and window (410), to the mean action. */
void tracker_infer(tracker *t, float action[HRC_JOINTS], const float *proprio, const float *window);

const float *tracker_action(const tracker *t);  /* (29) of the last step */
const float *tracker_token(const tracker *t);   /* (d) */
const int32_t *tracker_index(const tracker *t); /* (quant_indices): which value each number of it takes */

/* Load a model and replay its recorded examples. */
hrc_status tracker_load(track_model *m, const char *path, hrc_error *err);

/* Save with recorded examples. bf16 rounds the model's weights in place. */
hrc_status tracker_save(track_model *m, bool bf16, const char *path, hrc_error *err);

#endif
