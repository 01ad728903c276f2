/* A trained tracker as a file: everything a runner needs, and what is needed to refuse a mismatch. It proves
 * itself: its content must have the digest it says (base/tensorfile.h), and recorded observations go through
 * the network again at load and must give the recorded actions.
 *
 * safetensors, format "heracles-tracker". Tensors: policy.* (float or bfloat16), normal.proprio.mean (93),
 * .variance, normal.window.mean (41), .variance, codebook (codes,d) for VQ, robot.{q0,kp,kd,action_scale}
 * (29, F64), pair.{proprio,window,action} (n,.). Metadata: joint_names, observation, rotation, lead, basis,
 * fps, the network's shape, config (INI text), trained (a sentence). */
#ifndef HRC_TRACK_MODEL_H
#define HRC_TRACK_MODEL_H

#include "base/arena.h"
#include "track/normal.h"
#include "track/observe.h"
#include "track/policy.h"

#define TRACK_FORMAT "heracles-tracker"

typedef struct {
    arena memory;
    const char *path;
    policy net;
    float *params;          /* (net.layout.count) */
    float *codebook;        /* (quant_state): VQ; else NULL */
    normal proprio, window; /* of 93 and 41 numbers */
    obs_rotation rotation;
    int lead; /* frames from the robot's time to the first of the window */
    action_basis basis;
    const char *config;  /* the resolved settings it was trained with, INI text */
    const char *trained; /* one sentence: data, method, steps */
} track_model;

/* A fresh network by the settings. */
hrc_status track_model_create(track_model *m, const config *cfg, uint64_t seed, hrc_error *err);

/* Another model's weights and statistics, whose network must have the same shape and no codebook. */
hrc_status track_model_adopt(track_model *m, const track_model *from, hrc_error *err);

/* (1 - share) m + share other, weight by weight. Of trackers with one beginning, whose observations are
 * scaled alike: others have no mean that means anything. */
hrc_status track_model_blend(track_model *m, const track_model *other, double share, hrc_error *err);

/* Checks everything but the recorded examples: tracker_load (tracker.h) does that too. */
hrc_status track_model_load(track_model *m, const char *path, hrc_error *err);
void track_model_free(track_model *m);

/* Recorded examples: raw observations, and the actions a float runner made of them. */
#define TRACK_PAIRS 8

typedef struct {
    int n; /* files may have fewer */
    float proprio[TRACK_PAIRS][OBS_PROPRIO], window[TRACK_PAIRS][OBS_WINDOW], action[TRACK_PAIRS][HRC_JOINTS];
} track_pairs;

hrc_status track_model_pairs(track_pairs *out, const char *path, hrc_error *err);

/* bf16: half the size. The examples must have been made with the weights as they will be read back:
 * track_model_round first. tracker_save (tracker.h) does both. */
void track_model_round(track_model *m);
hrc_status track_model_save(const track_model *m, const track_pairs *pairs, bool bf16, const char *path,
                            hrc_error *err);

#endif
