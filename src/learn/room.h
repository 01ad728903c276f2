/* The room of a practice, shared by its parts: situations, and attempts at them. */
#ifndef HRC_LEARN_ROOM_H
#define HRC_LEARN_ROOM_H

#include "base/rng.h"
#include "control/library.h"
#include "learn/practice.h"
#include "learn/teacher.h"
#include "sim/sim.h"

#define FRESH_VARIANT 4096 /* heaps (eval/course.h) from here on: practice; below: trials */

struct practice {
    practice_options o;
    int nclips;
    hrc_motion *motions; /* (nclips) */
    int *ground;         /* clips that go to the ground */
    int nground;
    hrc_motion stand;
    arena memory;
    teacher ways;
    practice_ways found;
    pool *threads;
    sim *physics;
    hrc_controller **controls; /* one a thread */
    int horizon;
};

/* ---- Situations (attempt.c) ---- */

typedef struct {
    situation_kind kind;
    const hrc_motion *motion;
    int first, how; /* of hrc_follow */
    sim_world start;
    int push_at; /* control step; -1: none */
    double push[3];
    int judged_from; /* control step after which being calm counts */
} situation;

/* made false: there is nothing to practise in it. */
hrc_status situation_make(situation *s, const practice *p, int number, rng *dice, int worker, bool *made,
                          hrc_error *err);

/* A robot that lies in this heap, on a side that is drawn. */
hrc_status situation_lying(situation *s, const practice *p, int variant, rng *dice, int worker,
                           hrc_error *err);

/* ---- Attempts (attempt.c) ---- */

typedef enum { BY_BASE, BY_OWN, BY_NOISE, BY_SWITCH, BY_TEACHER, BY_OTHER_WAY } approach;

typedef struct {
    lessons made;
    bool back;
    double back_s; /* when it came back */
    approach by;
} attempt;

/* rank: of the first way that leads. */
hrc_status attempt_run(attempt *a, const practice *p, const situation *s, uint64_t seed, int rank, int worker,
                       hrc_error *err);

#endif
