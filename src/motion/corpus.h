/* A corpus: many clips at 50 Hz in one safetensors file, small enough to ship and mapped for reading.
 *
 * Tensors, N frames of C clips:
 *   frames     I16 (N, 36)  codes of root position 3, root quaternion wxyz 4, joints 29
 *   first      I32 (C)      a clip's first frame; clips follow each other without gap
 *   origin     F64 (C, 3)   root position = origin + step * code, m; the steps span the clip's own travel
 *   step       F64 (C, 3)
 *   joint_lo   F64 (29)     angle = lo + (hi - lo) (code + 32768) / 65535, rad: the joint's hard range
 *   joint_hi   F64 (29)
 * A quaternion is code / 32767, normalised. Errors: at most 0.05 mrad (joints), 0.1 mrad (root) and
 * half a step, which is under 0.5 mm for a clip that travels less than 65 m.
 *
 * Metadata "clips" is a JSON array with one object per clip (name, category, split, phases, quality, ...);
 * "left_out" names what was refused and why. A corpus holds nothing of the machine or time it was made on:
 * equal input gives equal bytes. */
#ifndef HRC_MOTION_CORPUS_H
#define HRC_MOTION_CORPUS_H

#include "base/tensorfile.h"
#include "motion/phases.h"
#include "motion/quality.h"

#define CORPUS_FPS 50.0
#define CORPUS_FORMAT "heracles-corpus"

typedef enum { CORPUS_TRAIN, CORPUS_HELDOUT } corpus_split;

/* The figures of a clip that are kept: member, where `quality` has it, key in the file. NAN (null in the
 * file) where there was nothing to measure. */
#define CORPUS_FIGURES(X)                                                                                    \
    X(limit_excess, limit_excess, "limit_excess_rad")                                                        \
    X(low_min, low_min, "lowest_m")                                                                          \
    X(low_share_1cm, low_share_1cm, "share_below_1cm")                                                       \
    X(skate_p90, skate_p90, "skate_p90_mps")                                                                 \
    X(speed_max, speed_max, "joint_speed_max_radps")                                                         \
    X(speed_share, speed_share, "share_over_motor_speed")                                                    \
    X(floating_s, floating_s, "floating_s")                                                                  \
    X(uncarried_s, uncarried_s, "uncarried_s")                                                               \
    X(flight_accel, flight_accel, "flight_accel_mps2")                                                       \
    X(self_depth, self_simulated.depth, "self_depth_m")                                                      \
    X(self_share, self_simulated.share, "self_share")

typedef struct {
#define CORPUS_MEMBER(member, from, key) double member;
    CORPUS_FIGURES(CORPUS_MEMBER)
#undef CORPUS_MEMBER
    double keypoint_error; /* median over key points and frames of the retargeting, m; NAN without one */
    quality_verdict verdict;
} corpus_quality;

typedef struct {
    const char *name, *category, *source, *licence, *description; /* "" when unknown */
    corpus_split split;
    int first, n;
    double origin[3], step[3];
    corpus_quality quality;
    int nphases;
    phase *phases; /* frames counted from the clip's first */
} corpus_entry;

typedef struct {
    const char *name, *reason;
} corpus_left_out;

typedef struct {
    tensorfile file;
    int nclips, nleft_out;
    corpus_entry *clips; /* in file.memory */
    corpus_left_out *left_out;
    int64_t nframes;
    const int16_t *frames;
    const double *joint_lo, *joint_hi;
} corpus;

hrc_status corpus_open(corpus *c, const char *path, hrc_error *err);
hrc_status corpus_parse(corpus *c, const char *path, file_view bytes, hrc_error *err); /* borrowed */
void corpus_close(corpus *c);
int corpus_find(const corpus *c, const char *name); /* -1 when there is none */
double corpus_seconds(const corpus *c);

/* Decode clip i, or its frames first .. last, both included. */
hrc_status corpus_clip(const corpus *c, int i, clip *out, hrc_error *err);
hrc_status corpus_clip_part(const corpus *c, int i, int first, int last, clip *out, hrc_error *err);

/* ---- Making one ---- */

/* A clip on its way into a corpus. corpus_admit fills it; corpus_item_free gives it back. */
typedef struct {
    arena memory;
    clip motion;    /* at CORPUS_FPS */
    int16_t *codes; /* (motion.n, 36); motion holds what they decode to */
    corpus_entry entry;
} corpus_item;

/* Resample to 50 Hz, encode, decode again, and measure what a reader will get. Refuses what is shorter than
 * half a second, has joints beyond their hard limits by more than 1e-4 rad, travels more than 65 m, or is
 * bad by the verdict of its quality. */
hrc_status corpus_admit(corpus_item *out, const clip *c, const char *description, double keypoint_error,
                        hrc_error *err);
void corpus_item_free(corpus_item *item);

/* In the order of the items. meta: further pairs, e.g. an acknowledgement. */
hrc_status corpus_write(const char *path, const corpus_item *items, int n, const corpus_left_out *left_out,
                        int nleft_out, const tensor_meta *meta, int nmeta, hrc_error *err);

#endif
