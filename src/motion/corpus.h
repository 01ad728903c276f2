/* A corpus: many clips at 50 Hz in one safetensors file, small enough to ship; a clip is unpacked when it is
 * asked for.
 *
 * Tensors, for C clips:
 *   packed     U8 (B)       a block for each clip (pack.h), one after the other: units of root position 3,
 *                           root quaternion wxyz 4, joints 29
 *   size       I32 (C)      bytes of the clip's block
 *   grain      U8 (C, 36)   code = min(grain * unit + (grain - 1) / 2 - 32768, 32767)
 *   origin     F64 (C, 3)   root position = origin + step * code, m; the steps span the clip's own travel
 *   step       F64 (C, 3)
 *   quality    F64 (C, 12)  the figures of CORPUS_FIGURES in their order, then keypoint_error
 *   joint_lo   F64 (29)     angle = lo + (hi - lo) (code + 32768) / 65535, rad: the joint's hard range
 *   joint_hi   F64 (29)
 * A quaternion is code / 32767, normalised. Errors: at most 0.05 mrad (joints), 0.1 mrad (root) and 0.1 mm,
 * or half a step of what travels more than 13 m (65 m: 0.5 mm).
 *
 * Files from before blocks have instead: frames I16 (N, 36), the codes of all clips one after the other,
 * first I32 (C), where each begins, and the figures among the metadata. They are read, no longer written.
 *
 * Metadata "clips" is a JSON array with one object per clip (name, category, split, phases, ...); source and
 * licence are metadata of their own when they are the same for all; "left_out" names what was refused and
 * why. A corpus holds nothing of the machine or time it was made on: equal input gives equal bytes. */
#ifndef HRC_MOTION_CORPUS_H
#define HRC_MOTION_CORPUS_H

#include <stdbool.h>

#include "base/tensorfile.h"
#include "motion/phases.h"
#include "motion/quality.h"

#define CORPUS_FPS 50.0
#define CORPUS_FORMAT "heracles-corpus"

/* Held out: never trained on; judged by at the end. Validation: never trained on; choices are made by it. */
typedef enum { CORPUS_TRAIN, CORPUS_HELDOUT, CORPUS_VALIDATION, CORPUS_SPLITS } corpus_split;
const char *corpus_split_word(corpus_split split); /* "train", "heldout", "validation" */

/* The figures of a clip that are kept: member, where `quality` has it, key in `corpus info`. NAN where there
 * was nothing to measure. */
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

#define CORPUS_COUNT(member, from, key) +1
enum { CORPUS_FIGURE_COUNT = CORPUS_FIGURES(CORPUS_COUNT) + 1 }; /* with keypoint_error */
#undef CORPUS_COUNT

typedef struct {
    const char *name, *category, *source, *licence, *description; /* "" when unknown */
    corpus_split split;
    int first, n;
    double origin[3], step[3];
    uint8_t grain[HRC_NQ];
    const uint8_t *block; /* NULL in a file from before blocks */
    int64_t block_size;
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
    const int16_t *frames; /* (nframes, HRC_NQ) of a file from before blocks, NULL otherwise */
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
    clip motion; /* at CORPUS_FPS; up to the grain what a reader will get */
    corpus_entry entry;
} corpus_item;

typedef struct {
    const char *description;
    double keypoint_error; /* of the retargeting, m; NAN without one */
    bool exact; /* all 16 bits (grain 1), as clips of suites have them: references stay the same to the bit */
} corpus_note;

/* Resample to 50 Hz, encode, decode again, and measure what a reader will get but for the grain. Refuses what
 * is shorter than half a second, has joints beyond their hard limits by more than 1e-4 rad, travels more than
 * 65 m, or is bad by the verdict of its quality. */
hrc_status corpus_admit(corpus_item *out, const clip *c, const corpus_note *note, hrc_error *err);
void corpus_item_free(corpus_item *item);

/* In the order of the items. meta: further pairs, e.g. an acknowledgement. */
hrc_status corpus_write(const char *path, const corpus_item *items, int n, const corpus_left_out *left_out,
                        int nleft_out, const tensor_meta *meta, int nmeta, hrc_error *err);

#endif
