/* What a reference does on the ground, done as the robot knows it. A tracker that has learned to get up like
 * one person falls when another does it a little differently; on the ground no joint angle tells how the
 * floor will carry the body. The planner's file carries the motions on the ground that its tracker follows.
 * While a reference is on the ground and one of these is like it, the robot is given that one instead, in
 * step with the reference: along the cheapest path through their moments, by how unlike each is to the
 * reference at that time, how unevenly the path runs, and how often it leaves one motion for another.
 *
 * The path is found by dynamic programming over the next seconds of the reference (a Viterbi decoder with a
 * fixed lag), 25 times a second. Only the reference is looked at, not the robot. */
#ifndef HRC_TRACK_KNOWN_H
#define HRC_TRACK_KNOWN_H

#include "base/arena.h"
#include "plan/store.h"
#include "robot/posture.h"
#include "track/follow.h"

enum {
    KNOWN_EVERY = 2, /* frames between moments */
    KNOWN_FEATURES = POSTURE_FEATURES + 1,
    KNOWN_LAG = 100, /* moments of the reference that are looked at ahead: 4 s */
};

typedef struct {
    arena memory;
    const motion_store *motions; /* borrowed; n = 0 below: none */
    float (*qvel)[HRC_NV];       /* (frames) */
    int n;                       /* moments of all motions; n itself stands for the reference as it is */
    int32_t *motion, *frame;     /* (n) of a moment */
    float *features;             /* (KNOWN_FEATURES, n) */
    float *unlike;               /* (n) to the frame of the reference that was last looked at */
    float *cost, *before;        /* (n + 1) of the cheapest path to a moment, now and one step ago */
    uint8_t *from;               /* (KNOWN_LAG, n + 1) by which step it came there */
    int32_t best[KNOWN_LAG];     /* before that step, the moment with the cheapest path */
    int32_t path[KNOWN_LAG];     /* the cheapest: at the reference's time, and after it */
    int first;                   /* frame of the reference that was looked at first */
    int seen;                    /* how many were */
    int known;                   /* steps of `path` that there are */
    bool enough;                 /* ... to begin with */

    bool active;
    follower way; /* while active: the motion, where it was placed, its present frame */
    int which;    /* motion */
    float phase;  /* frame of it, between frames */
    float pace;   /* frames of it in one of the reference */
    int against;  /* control steps for which the path runs elsewhere */
} known;

hrc_status known_create(known *k, const motion_store *motions, hrc_error *err); /* motions are borrowed */
void known_free(known *k);
void known_restart(known *k); /* another reference, or another frame of it */

/* Every control step: looks as far ahead as there is reference, or room. */
void known_look(known *k, const follower *reference);

/* After that, before the window is made: on along the path, which may begin here. True when a motion was
 * begun or left in this step; a left one leaves the robot where the reference is not. */
bool known_step(known *k, const follower *reference, const float qpos[HRC_NQ]);

/* While active: the frame that lies `ahead` frames after the robot's time. */
void known_frame(const known *k, int ahead, hrc_frame *out);
void known_advance(known *k);

#endif
