/* Where in a clip the robot stands, goes down, is down and gets up, computed from the motion alone.
 *
 * Down: pelvis under 0.45 m while something other than feet and hands is on the floor (within 6 cm), or the
 * pelvis is tilted by more than 60 degrees; a squat on both feet is not down, unless it sits on its heels.
 * Standing: pelvis over 0.62 m and tilted by less than 60 degrees. What lies between the last standing frame
 * and the first that is down is falling (also on purpose), what lies between the last that is down and the
 * first that stands again is getting up; the gap between the two heights is the hysteresis. A clip that
 * begins or ends low without ever being down (crouched, say) counts as standing there.
 *
 * Phases follow each other without gap or overlap from the first frame to the last. A stay on the ground
 * is split where the posture changes for at least 0.3 s. */
#ifndef HRC_MOTION_PHASES_H
#define HRC_MOTION_PHASES_H

#include "motion/clip.h"

#define PHASE_LIST(X)                                                                                        \
    X(STANDING, "standing")                                                                                  \
    X(FALLING, "falling")                                                                                    \
    X(DOWN, "down")                                                                                          \
    X(GETTING_UP, "getting up")

/* The posture of the trunk while down; side-left lies on its left side. */
#define POSTURE_LIST(X)                                                                                      \
    X(NONE, "")                                                                                              \
    X(SUPINE, "supine")                                                                                      \
    X(PRONE, "prone")                                                                                        \
    X(SIDE_LEFT, "side-left")                                                                                \
    X(SIDE_RIGHT, "side-right")                                                                              \
    X(SIT, "sit")                                                                                            \
    X(KNEEL, "kneel")                                                                                        \
    X(CRAWL, "crawl")

typedef enum {
#define PHASE_ENUM(name, word) PHASE_##name,
    PHASE_LIST(PHASE_ENUM)
#undef PHASE_ENUM
        PHASE_KINDS
} phase_kind;

typedef enum {
#define POSTURE_ENUM(name, word) POSTURE_##name,
    POSTURE_LIST(POSTURE_ENUM)
#undef POSTURE_ENUM
        POSTURES
} phase_posture;

typedef struct {
    phase_kind kind;
    phase_posture posture; /* of PHASE_DOWN; POSTURE_NONE otherwise */
    int first, last;       /* frames, both included */
} phase;

const char *phase_word(phase_kind kind);
const char *posture_word(phase_posture posture);
int phase_from_word(const char *word);   /* -1 when there is none */
int posture_from_word(const char *word); /* -1 when there is none */

/* *out lives in memory; at least one phase. */
hrc_status phases_find(arena *memory, phase **out, int *n, const clip *c, hrc_error *err);

/* The get-up of a clip, frames first .. last: from its first frame (where it stands before it is on the
 * ground: from when it is first on the ground, posture_down) until it has stood (posture_stands) for
 * GET_UP_STEADY_S, which is part of it. An error says why there is none. */
#define GET_UP_STEADY_S 1.0  /* a fall within that: it did not get up */
#define GET_UP_LONGEST_S 5.0 /* a fall or a rest on the way makes it longer: not to be learned from */
hrc_status phases_get_up(int *first, int *last, const clip *c, hrc_error *err);

/* What a clip is, by what the robot does in it, where that is plain; what it was called otherwise. */
/* In this order:
 *   fall_recovery  what is called so; not standing (phases.h) for 40 % of its time
 *   jumps_acro     what is called so; turns over: pelvis tilted by more than 110 degrees while over 0.4 m
 *   running        some second (all of a shorter one) faster than 1.8 m/s
 *   locomotion     what is daily and covers more than 0.5 m/s in the mean
 *   daily          what is locomotion and covers less than 0.05 m/s */
const char *kind_of(const clip *c, const phase *phases, int nphases, const char *called);

#endif
